"""Kernels of classes: cycles are seen, orders are topological, components are directed without immoralities."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.structure import classes as kernels


def rows_of(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sources, targets = np.nonzero(edges)
    return kernels.adjacency(len(edges), sources, targets)


@pytest.mark.parametrize("seed", range(4))
def test_adjacency_and_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(12)
    edges = np.triu(rng.random((12, 12)) < 0.3, 1)[np.ix_(order, order)]
    start, near = rows_of(edges)
    for x in range(12):
        assert sorted(near[start[x] : start[x + 1]]) == np.flatnonzero(edges[x] | edges[:, x]).tolist()
    place = np.argsort(kernels.topological(edges, start, near))
    assert all(place[x] < place[y] for x, y in np.argwhere(edges))


def test_a_cycle_is_seen() -> None:
    edges = np.zeros((3, 3), np.bool_)
    edges[0, 1] = edges[1, 2] = edges[2, 0] = True
    assert not kernels.essential(edges, np.zeros_like(edges), *rows_of(edges), edges.copy())


def test_a_component_is_directed_from_the_nodes_asked_for() -> None:
    arcs = np.zeros((5, 5), np.bool_)
    for x, y in [(0, 1), (1, 2), (0, 2), (2, 3)]:
        arcs[x, y] = arcs[y, x] = True
    arcs[4, 3] = True
    edges = np.zeros_like(arcs)
    kernels.direct_component(arcs, np.array([1, 2]), edges)
    assert {(int(x), int(y)) for x, y in np.argwhere(edges)} == {(1, 2), (1, 0), (2, 0), (2, 3)}


def test_paths_avoid_blocked_nodes_and_the_edge() -> None:
    arcs = np.zeros((4, 4), np.bool_)
    arcs[0, 1] = arcs[1, 2] = arcs[2, 1] = arcs[2, 3] = arcs[0, 3] = True
    start, near = kernels.adjacency(4, *np.nonzero(arcs & ~(np.tri(4, dtype=np.bool_) & arcs.T)))
    before, free = np.empty(4, np.int64), np.zeros(4, np.bool_)
    blocked = np.array([False, False, True, False])
    assert kernels.semi_directed_path(arcs, start, near, 0, 3, blocked, True, before)
    assert not kernels.semi_directed_path(arcs, start, near, 0, 3, blocked, False, before)
    assert kernels.semi_directed_path(arcs, start, near, 0, 3, free, False, before)
    assert before.tolist() == [0, 0, 1, 2]
    assert not kernels.semi_directed_path(arcs, start, near, 3, 0, free, True, before)
