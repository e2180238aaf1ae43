"""The sweep, compiled and as plain Python, against one written with lists."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.graphs.graph import UndirectedGraph
from sepset.kernels.graphs import ordering, sweeps
from support.small_contractions import uncompile


def levels(rows, first):
    seen, found = {first}, [[first]]
    while found[-1]:
        found.append(sorted({u for v in found[-1] for u in rows[v]} - seen))
        seen.update(found[-1])
    return found[:-1]


def by_lists(rows, firsts):
    """King's rule, with the counts taken anew for each step."""
    order, reached = [], []
    for first in firsts:
        if first in reached:
            continue
        depth, node = -1, first
        while len(found := levels(rows, node)) - 1 > depth:
            depth, node = len(found) - 1, min(found[-1], key=lambda v: (len(rows[v]), v))
        reached.append(node)
        while waiting := [v for v in reached if v not in order]:
            v = min(waiting, key=lambda v: (len(set(rows[v]) - set(reached)), reached.index(v)))
            order.append(v)
            reached += [u for u in rows[v] if u not in reached]
    return order


@pytest.mark.parametrize("seed", range(30))
def test_the_sweep_is_kings(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 16))
    pairs = [(f"v{a}", f"v{b}") for a in range(n) for b in range(a) if rng.random() < 2 / n]
    graph = UndirectedGraph([f"v{i}" for i in range(n)], pairs)
    indptr, indices = graph.neighbor_csr
    rows = [indices[indptr[v] : indptr[v + 1]].tolist() for v in range(n)]
    firsts = np.argsort(np.diff(indptr), kind="stable")
    expected = by_lists(rows, firsts.tolist())
    assert sweeps.sweep(indptr, indices, firsts).tolist() == expected
    uncompile(monkeypatch, ordering, sweeps)
    assert sweeps.sweep(indptr, indices, firsts).tolist() == expected
