"""Minors: what they leave of a graph is never wider than the graph."""

from __future__ import annotations

import itertools

import numpy as np

import sepset as ss
from sepset.graphs.minors import contracted, core, grid_side


def width(pairs):
    """The treewidth."""
    edges = [(str(a), str(b)) for a, b in pairs.tolist()]
    return ss.graphs.treewidth(ss.UndirectedGraph(sorted({v for edge in edges for v in edge}), edges))


def test_the_shorter_side_of_a_grid():
    for height, width in ((2, 2), (3, 5), (6, 4)):
        x = np.arange(7, 7 + height * width).reshape(height, width)
        pairs = np.array(
            sorted([*zip(x[:, :-1].flat, x[:, 1:].flat, strict=True), *zip(x[:-1].flat, x[1:].flat, strict=True)])
        )
        assert grid_side(pairs) == min(height, width)
        assert not any(grid_side(np.delete(pairs, i, axis=0)) == min(height, width) for i in range(len(pairs)))
    assert grid_side(np.zeros((0, 2), np.int64)) == grid_side(np.array([[0, 2], [1, 3]])) == 0


def test_contracting_nodes_of_few_neighbors_makes_no_graph_wider():
    rng = np.random.default_rng(2)
    for _ in range(3):
        pairs = np.array([p for p in itertools.combinations(range(6), 2) if rng.random() < 0.5]).reshape(-1, 2)
        left, into = contracted(pairs, 6)
        edges = {*map(tuple, pairs.tolist())}
        assert all(a == b or (min(a, b), max(a, b)) in edges for a, b in enumerate(into.tolist()))
        assert {tuple(sorted(into[list(e)].tolist())) for e in edges if into[e[0]] != into[e[1]]} == {
            *map(tuple, left.tolist())
        }
        assert width(left) <= width(pairs)


def test_cores_are_those_of_removing_one_node_after_the_other():
    rng = np.random.default_rng(3)
    for _ in range(30):
        pairs = np.array([p for p in itertools.combinations(range(9), 2) if rng.random() < 0.4]).reshape(-1, 2)
        for least in range(1, 5):
            left = {tuple(p) for p in pairs.tolist()}
            while drop := [v for v in range(9) if 0 < sum(v in p for p in left) < least]:
                left = {p for p in left if drop[0] not in p}
            assert {tuple(p) for p in core(pairs, least).tolist()} == left
