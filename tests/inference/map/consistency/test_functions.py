"""Cost functions have the negative log values of a wired model, and reductions of them keep a best assignment."""

import itertools

import numpy as np
import pytest

from sepset.inference.map.consistency.functions import CostFunctions
from support.blocks import in_blocks
from support.cost_networks import every, random_wiring, ranked


@in_blocks("seed", range(20))
def test_costs_are_negative_log_values(seed):
    wiring = random_wiring(np.random.default_rng(seed))
    functions = CostFunctions.of(wiring)
    for codes in every(wiring):
        assert functions.cost(codes) == pytest.approx(-wiring.log_value(codes))
    assert all(list(scope) == sorted(set(scope)) for scope in functions.tables)


def test_functions_of_one_scope_are_merged_and_small_ones_have_no_table():
    functions = CostFunctions.empty((2, 3, 1))
    assert functions.components() == []
    functions.add((0, 1), np.ones((2, 3)))
    functions.add((0, 1), np.ones((2, 3)))
    functions.add((), np.array(4.0))
    functions.add((1,), np.arange(3.0))
    assert {scope: table.tolist() for scope, table in functions.tables.items()} == {(0, 1): [[2.0] * 3] * 2}
    assert (functions.constant, [part.tolist() for part in functions.components()]) == (4.0, [[0, 1]])
    assert functions.pool.unary.tolist() == [0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 4.0]
    assert functions.cost([1, 2, 0]) == 8.0
    assert functions.is_possible
    functions.add((0, 1), np.full((2, 3), np.inf))
    assert not functions.is_possible


@in_blocks("seed", range(40))
def test_an_optimum_is_kept(seed):
    for each in range(5):
        rng = np.random.default_rng([seed, each])
        wiring = random_wiring(rng)
        best = ranked(wiring)[0]
        left = CostFunctions.of(wiring.consistent)
        left.reduce(int(rng.integers(1, 12)))
        left.absorb()
        gone = set(left.eliminated.tolist())
        free = [range(1 if i in gone else card) for i, card in enumerate(left.cards)]
        found = min(itertools.product(*free), key=left.cost)
        assert -left.cost(found) == pytest.approx(best)
        if best > -np.inf:
            assert wiring.log_value(left.completed(np.array(found, np.int64))) == pytest.approx(best)
        tables = left.tables
        assert not any(set(a) < set(b) for a in tables for b in tables)
        assert not any(gone & set(scope) for scope in tables)
        touched = sorted(i for part in left.components() for i in part.tolist())
        assert touched == sorted({i for scope in tables for i in scope})


def test_reductions_begin_with_the_fewest_neighbors_and_only_shrink_what_is_large():
    rng = np.random.default_rng(0)
    functions = CostFunctions.empty((400, 300, 2))
    functions.add((0, 1), rng.random((400, 300)))
    functions.add((1, 2), rng.random((300, 2)))
    best = (functions.tables[(0, 1)].min(axis=0) + functions.tables[(1, 2)].min(axis=1)).min()
    functions.reduce(1)
    assert sorted(functions.eliminated.tolist()) == [0, 1, 2]
    assert functions.constant == pytest.approx(best)
    star = CostFunctions.empty((2,) * 6)
    for leaf in range(1, 6):
        star.add((0, leaf), rng.random((2, 2)))
    star.reduce(1)
    assert 0 in star.eliminated.tolist()[-2:]
    ring = CostFunctions.empty((3,) * 7)
    for i in range(7):
        ring.add(tuple(sorted((i, (i + 1) % 7))), rng.normal(size=(3, 3)))
    assert ring.num_eliminated == 0
    ring.reduce(9)
    assert ring.num_eliminated == 7


def test_pools_grow_as_they_are_needed():
    """Many eliminations leave larger functions than there were; the last one leaves the cost of what they decide."""
    rng, n = np.random.default_rng(1), 30
    for _ in range(5):
        functions, tables = CostFunctions.empty((2,) * n), {}
        for i in range(n):
            for j in ((i + 1) % n, (i + 3) % n):
                tables[min(i, j), max(i, j)] = rng.normal(size=(2, 2))
        for scope, costs in tables.items():
            functions.add(scope, costs)
        functions.reduce(2**12)
        assert functions.num_eliminated == n
        codes = functions.completed(np.zeros(n, np.int64))
        assert functions.constant == pytest.approx(sum(t[codes[i], codes[j]] for (i, j), t in tables.items()))
        for i in range(n):  # no single change is better
            other = np.where(np.arange(n) == i, 1 - codes, codes)
            assert sum(t[other[i], other[j]] for (i, j), t in tables.items()) >= functions.constant - 1e-9
