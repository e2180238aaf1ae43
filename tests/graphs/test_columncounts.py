"""The sizes of messages, counted without them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.errors import TooLarge
from sepset.graphs import elimination
from sepset.graphs.columncounts import message_sizes, receivers
from support.blocks import in_blocks


def eliminated(num, pairs):
    """The later neighbors of each node when it is eliminated, in the order of their numbers."""
    rows = [set() for _ in range(num)]
    for a, b in pairs:
        rows[a].add(b)
        rows[b].add(a)
    messages = []
    for i in range(num):
        later = {u for u in rows[i] if u > i}
        messages.append(later)
        for a, b in itertools.combinations(later, 2):
            rows[a].add(b)
            rows[b].add(a)
    return messages


@in_blocks("seed", range(200))
def test_sizes_are_those_of_the_messages(seed):
    rng = np.random.default_rng(seed)
    num = int(rng.integers(1, 25))
    pairs = {(a, b) for a in range(num) for b in range(a + 1, num) if rng.random() < rng.choice([0.05, 0.15, 0.5])}
    messages = eliminated(num, pairs)
    earlier = [[a for a in range(i) if (a, i) in pairs] for i in range(num)]
    later = [[b for b in range(i + 1, num) if (i, b) in pairs] for i in range(num)]
    assert message_sizes(earlier, later) == [len(m) for m in messages]
    assert receivers(earlier) == [min(m, default=-1) for m in messages]


def test_orders_with_too_many_members_are_refused(monkeypatch):
    monkeypatch.setattr(elimination, "SMALL_GRAPH", 3)
    monkeypatch.setattr(elimination, "MOST_MEMBERS", 10)
    graph = ss.UndirectedGraph.parse("A - B; A - C; A - D; A - E; A - F")
    assert ss.graphs.eliminate_graph(graph, "BCDEFA").width == 1
    with pytest.raises(TooLarge, match="have 15 members together, the largest 6"):
        ss.graphs.eliminate_graph(graph, "ABCDEF")
