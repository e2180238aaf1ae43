"""Kernels of moves: ancestors as networkx finds them, and cycles."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from sepset.kernels.structure import climbing as kernels


def random_edges(rng: np.random.Generator, n: int) -> np.ndarray:
    order = rng.permutation(n)
    edges = np.triu(rng.random((n, n)) < 0.15, 1)
    return edges[np.ix_(order, order)]


def as_sets(above: np.ndarray) -> list[set[int]]:
    n = len(above)
    return [{x for x in range(n) if kernels.is_ancestor(above, x, y)} for y in range(n)]


@pytest.mark.parametrize("n", [1, 5, 64, 65, 130])
def test_ancestors(n: int) -> None:
    rng = np.random.default_rng(n)
    edges = random_edges(rng, n)
    above = np.zeros((n, (n + 63) // 64), np.uint64)
    assert kernels.ancestors(edges, above)
    graph = nx.from_numpy_array(edges, create_using=nx.DiGraph)
    assert as_sets(above) == [nx.ancestors(graph, y) for y in range(n)]
    for _ in range(5):
        x, y = rng.integers(0, n, 2).tolist()
        if x != y and not kernels.is_ancestor(above, y, x):
            edges[x, y] = True
            graph.add_edge(x, y)
            kernels.add_ancestors(above, x, y)
            assert as_sets(above) == [nx.ancestors(graph, v) for v in range(n)]


def test_a_cycle_is_seen() -> None:
    edges = np.zeros((3, 3), np.bool_)
    edges[0, 1] = edges[1, 2] = edges[2, 0] = True
    assert not kernels.ancestors(edges, np.zeros((3, 1), np.uint64))


def test_ties_go_to_the_first_pair_and_barred_moves_wait() -> None:
    gains = np.full((3, 3), 2.0)
    np.fill_diagonal(gains, -np.inf)
    edges, above, barred = np.zeros((3, 3), np.bool_), np.zeros((3, 1), np.uint64), np.zeros((3, 3), np.int64)
    out, indegree = np.zeros(3, np.int64), np.zeros(3, np.int64)
    assert kernels.best_move(gains, edges, above, indegree, 2, barred, 0, np.inf, 1e-8, out) == 2.0
    assert out.tolist() == [kernels.ADD, 0, 1]
    barred[0, 1] = 5
    kernels.best_move(gains, edges, above, indegree, 2, barred, 4, np.inf, 1e-8, out)
    assert out.tolist() == [kernels.ADD, 0, 2]
    kernels.best_move(gains, edges, above, indegree, 2, barred, 4, 1.0, 1e-8, out)
    assert out.tolist() == [kernels.ADD, 0, 1]
    assert kernels.best_move(gains, edges, above, indegree, 0, barred, 0, np.inf, 1e-8, out) == -np.inf
