"""Orders within layers, against all orders of small layers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.graphs.layered.crossings import LARGE, Orders, best_changes, ordered, summed
from support.blocks import in_blocks


def counted(joins, orders):
    """The crossings, pair by pair."""
    total = 0
    for join, upper, lower in zip(joins, orders, orders[1:], strict=False):
        place = [{int(item): k for k, item in enumerate(order)} for order in (upper, lower)]
        edges = [(place[0][i], place[1][j], join[i, j]) for i, j in zip(*map(list, np.nonzero(join)), strict=True)]
        total += sum(m * n for (a, b, m), (c, d, n) in itertools.combinations(edges, 2) if (a - c) * (b - d) < 0)
    return total


def random_joins(rng, sizes, share=0.45):
    return [(rng.random(pair) < share) * rng.integers(1, 3, pair).astype(float) for pair in itertools.pairwise(sizes)]


@in_blocks("seed", range(6))
def test_counts_and_moves_against_pairs(seed):
    rng = np.random.default_rng(seed)
    joins = random_joins(rng, (3, 5, 4))
    orders = [rng.permutation(n) for n in (3, 5, 4)]
    state = Orders(joins, orders)
    before = counted(joins, orders)
    assert state.crossings() == before
    change = np.zeros((5, 5))
    for item, to in itertools.product(range(5), repeat=2):
        moved = orders[1].tolist()
        moved.insert(to, moved.pop(item))
        change[item, to] = counted(joins, [orders[0], moved, orders[2]]) - before
    assert best_changes(state.gains(1)).tolist() == change.min(axis=1).tolist()
    assert state.sift(1) == before - state.crossings()
    state.drift(1)
    assert state.crossings() <= before


@pytest.mark.parametrize("seed", range(4))
def test_small_layers_have_the_fewest_crossings(seed):
    rng = np.random.default_rng(10 + seed)
    sizes = (3, 4, 3)
    joins = random_joins(rng, sizes)
    found = ordered(joins, [[np.arange(n) for n in sizes], [rng.permutation(n) for n in sizes]])
    every = itertools.product(*(itertools.permutations(range(n)) for n in sizes))
    assert counted(joins, found) == min(counted(joins, orders) for orders in every)
    assert [sorted(order.tolist()) for order in found] == [list(range(n)) for n in sizes]


def test_layers_without_edges():
    assert [order.tolist() for order in ordered([np.zeros((2, 1))], [[np.arange(2), np.arange(1)]])] == [[0, 1], [0]]
    assert [order.tolist() for order in ordered([], [[np.arange(2)]])] == [[0, 1]]


def test_sums_of_small_and_large_layers_are_the_same():
    counts = np.random.default_rng(0).integers(-3, 4, (LARGE + 5, 40)).astype(np.float32)
    found = summed(counts)
    assert found.dtype == np.float32
    assert (found == np.cumsum(counts.astype(np.int64), axis=1)).all()
    assert (summed(counts[:10]) == found[:10]).all()
