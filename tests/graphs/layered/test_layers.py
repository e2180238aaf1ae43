"""Layers: every edge goes down, and their total length is the least there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.graphs.layered.layers import downward, layers, neighbors
from support.blocks import in_blocks


def length(depth, edges):
    return sum(depth[b] - depth[a] for a, b in edges)


def least_length(count, edges):
    """Over all layers of a small graph."""
    lawful = (d for d in itertools.product(range(count), repeat=count) if all(d[b] > d[a] for a, b in edges))
    return min(length(d, edges) for d in lawful)


def connected(count, rng, share):
    tree = [(int(rng.integers(b)), b) for b in range(1, count)]
    others = [pair for pair in itertools.combinations(range(count), 2) if rng.random() < share]
    return list(dict.fromkeys([*tree, *others]))


@in_blocks("seed", range(6))
def test_the_total_length_is_the_least(seed):
    rng = np.random.default_rng(seed)
    edges = connected(6, rng, 0.3)
    order = rng.permutation(6)
    edges = [(int(order[a]), int(order[b])) for a, b in edges]
    found = layers(6, edges)
    assert min(found) == 0
    assert all(found[b] > found[a] for a, b in edges)
    assert length(found, edges) == least_length(6, edges)


def test_edges_that_join_the_same_nodes_count_each():
    """A node between joins the side with more edges."""
    chain = [(0, 1), (1, 2), (2, 3)]
    assert layers(5, [*chain, (0, 4), (4, 3), (4, 3)])[4] == 2
    assert layers(5, [*chain, (0, 4), (0, 4), (4, 3)])[4] == 1


@pytest.mark.parametrize("count", [40, 300])
def test_a_linear_program_has_no_shorter_edges(count):
    from scipy.optimize import linprog

    edges = connected(count, np.random.default_rng(count), 1.0 / count)
    matrix = np.zeros((len(edges), count))
    for row, (a, b) in enumerate(edges):
        matrix[row, a], matrix[row, b] = 1.0, -1.0
    best = linprog(-matrix.sum(0), A_ub=matrix, b_ub=-np.ones(len(edges)), bounds=(0, count)).fun
    assert length(layers(count, edges), edges) == round(best)


def test_small_graphs():
    assert layers(0, []) == []
    assert layers(1, []) == [0]
    assert layers(2, [(1, 0)]) == [1, 0]


def test_cycles_are_cut():
    edges = [(0, 1), (1, 2), (2, 0), (2, 3)]
    found = downward(4, edges, [])
    assert {frozenset(pair) for pair in found} == {frozenset(pair) for pair in edges}
    assert sum(one != two for one, two in zip(found, edges, strict=True)) == 1
    layers(4, found)


def test_arrows_go_down_among_lines():
    found = downward(4, [(3, 1), (1, 0)], [(0, 2), (2, 3)])
    assert found[:2] == [(3, 1), (1, 0)]
    depth = layers(4, found)
    assert depth[3] < depth[1] < depth[0]


def test_trees_hang_from_their_center_and_grids_from_a_corner():
    path = [(k, k + 1) for k in range(4)]
    assert max(layers(5, downward(5, [], path))) == 2
    grid = [(3 * i + j, 3 * i + j + 1) for i in range(3) for j in range(2)]
    grid += [(3 * i + j, 3 * i + j + 3) for i in range(2) for j in range(3)]
    assert np.bincount(layers(9, downward(9, [], grid))).tolist() == [1, 2, 3, 2, 1]


def test_neighbors():
    assert neighbors(3, [(0, 2), (1, 2)]) == [[2], [2], [0, 1]]
