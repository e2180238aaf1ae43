"""Symbolic elimination against elimination by hand: scopes, sizes, totals, names."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import sepset as ss
from sepset.graphs.symbolic import symbolic_elimination


@dataclass(frozen=True)
class Fixed:
    """An ordering method that arranges nodes as it was told."""

    order: tuple[int, ...]

    def arrange(self, task):
        return self.order


def random_graph(rng, num):
    """Neighbors by node, and the same as compressed rows."""
    near = {i: set() for i in range(num)}
    for a in range(num):
        for b in range(a):
            if rng.random() < 0.3:
                near[a].add(b)
                near[b].add(a)
    start = np.concatenate([[0], np.cumsum([len(near[i]) for i in range(num)])]).astype(np.int64)
    flat = np.array([j for i in range(num) for j in sorted(near[i])], dtype=np.int64)
    return near, (start, flat)


def eliminated(near, order):
    """The neighbors of each node when it goes, by plain elimination."""
    near = {i: set(others) for i, others in near.items()}
    found = []
    for node in order:
        around = near.pop(node)
        for other in around:
            near[other] |= around
            near[other] -= {node, other}
        found.append(around)
    return found


def symbolic(rows, cards, order):
    names = tuple(f"n{i}" for i in range(len(cards)))
    return symbolic_elimination(names, rows, tuple(cards), np.zeros(len(cards), np.int64), Fixed(tuple(order)))


def test_elimination_by_hand():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        num = int(rng.integers(0, 9))
        near, rows = random_graph(rng, num)
        cards = rng.integers(1, 5, size=num).tolist()
        order = rng.permutation(num).tolist()
        made = symbolic(rows, cards, order)
        around = eliminated(near, order)
        cliques = [{node, *others} for node, others in zip(order, around, strict=True)]
        sizes = [math.prod(cards[i] for i in clique) for clique in cliques]
        maximal = [i for i, c in enumerate(cliques) if not any(c < d for d in cliques)]
        assert made.width == max((len(others) for others in around), default=0)
        assert list(made.sizes) == sizes
        assert made.largest == max(sizes, default=1)
        assert made.total_size == sum(sizes[i] for i in maximal)
        rank = {node: r for r, node in enumerate(order)}
        for r, others in enumerate(around):
            scope = made.scopes[made.start[r] : made.start[r + 1]].tolist()
            assert scope == sorted(rank[i] for i in others)
            assert made.parents[r] == min(scope, default=-1)
            assert cliques[r] <= cliques[made.absorbed[r]]
            assert made.absorbed[r] in maximal
        assert made.names == tuple(f"n{i}" for i in order)


def test_names_when_somebody_looks():
    rng = np.random.default_rng(3)
    near, rows = random_graph(rng, 8)
    order = rng.permutation(8).tolist()
    made = symbolic(rows, [2] * 8, order)
    named = made.named
    assert named.order == made.names
    assert (named.width, named.total_size, named.largest) == (made.width, made.total_size, made.largest)
    graph = ss.UndirectedGraph(
        [f"n{i}" for i in range(8)], [(f"n{a}", f"n{b}") for a in near for b in near[a] if a < b]
    )
    assert named.cliques == ss.eliminate_graph(graph, made.names, dict.fromkeys(made.names, 2)).cliques


def test_multiplications_count_factors_and_messages():
    rows = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1])
    made = symbolic(rows, [2, 3, 5], [0, 1, 2])
    # Two factors meet the first clique (6 entries), one and a message the second (15), a message the third (5).
    assert made.cost(np.array([0, 0, 1])) == 2 * 6 + 2 * 15 + 5


def test_figures_beyond_floats_are_exact():
    num = 80
    rows = (
        np.arange(num + 1, dtype=np.int64) * (num - 1),
        np.array([j for i in range(num) for j in range(num) if j != i], dtype=np.int64),
    )
    made = symbolic(rows, [3] * num, range(num))
    assert made.largest == made.total_size == 3**num
    assert made.cost(np.zeros(1, np.int64)) == sum(3**k for k in range(1, num + 1))


def test_nothing_to_eliminate():
    made = symbolic((np.zeros(1, np.int64), np.zeros(0, np.int64)), [], [])
    assert (made.width, made.largest, made.total_size, made.names) == (0, 1, 0, ())


@pytest.mark.parametrize("order", [(0, 0, 1), (0, 1), (0, 1, 3)])
def test_an_order_names_each_node_once(order):
    rows = np.zeros(4, np.int64), np.zeros(0, np.int64)
    with pytest.raises(ss.ScopeError, match="each of the 3 nodes once"):
        symbolic(rows, [2, 2, 2], order)
