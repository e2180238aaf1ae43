"""Cost functions in arrays: states that others dominate, and the functions that are left, by enumeration."""

import numpy as np
import pytest

from sepset.base.threads import NEVER
from sepset.inference.map.consistency.functions import CostFunctions
from sepset.kernels.kernel import kernel
from sepset.kernels.map.reduction import LISTED, STATES, compare, is_dominated, neighbors, reduce, restrict
from support.blocks import in_blocks
from support.cost_networks import every, random_wiring, ranked


@kernel(borrows=True)
def dominates(pool, i, a, b):
    return is_dominated(pool, i, a, b)


@kernel(borrows=True)
def only_state(pool, i):
    return compare(pool, i)


@kernel(borrows=True)
def list_neighbors(pool, i):
    return neighbors(pool, i)


@kernel(borrows=True)
def restrict_it(pool, i, x):
    restrict(pool, i, x)


@in_blocks("seed", range(30))
def test_dominated_states_are_never_better(seed):
    wiring = random_wiring(np.random.default_rng([3, seed]), most=5)
    functions, rows = CostFunctions.of(wiring), every(wiring)
    values = {tuple(codes): functions.cost(codes) for codes in rows.tolist()}
    for i, card in enumerate(functions.cards):
        for a, b in np.ndindex(card, card):
            live = np.isfinite(functions.pool.unary[functions.pool.variables[STATES, i] + np.array([a, b])]).all()
            if a == b or not live or not dominates(functions.pool, i, a, b):
                continue
            for codes in values:
                if codes[i] == a:
                    assert values[codes] >= values[(*codes[:i], b, *codes[i + 1 :])] - 1e-12


@in_blocks("seed", range(20))
def test_some_state_that_is_best_stays(seed):
    wiring = random_wiring(np.random.default_rng([4, seed]), most=5)
    functions, best = CostFunctions.of(wiring), ranked(wiring)[0]
    for i in range(len(functions.cards)):
        only_state(functions.pool, i)
    assert max((-functions.cost(codes) for codes in every(wiring)), default=0.0) == pytest.approx(best)


def test_one_of_two_equal_states_is_kept_and_large_functions_are_not_compared():
    functions = CostFunctions.empty((2, 2))
    functions.add((0, 1), np.array([[1.0, 2.0], [1.0, 2.0]]))
    assert only_state(functions.pool, 0) == 1
    assert np.isinf(functions.pool.unary).tolist() == [True, False, False, False, False]
    wide = CostFunctions.empty((400, 300))
    wide.add((0, 1), np.arange(120000.0).reshape(400, 300))
    assert only_state(wide.pool, 0) == -1
    assert np.isfinite(wide.pool.unary).all()


def test_neighbors_are_sorted_and_functions_at_one_state_are_merged():
    rng = np.random.default_rng(0)
    functions = CostFunctions.empty((2, 3, 2, 2))
    first, second = rng.random((3, 2, 2)), rng.random((2, 2))
    functions.add((1, 2, 3), first)
    functions.add((2, 3), second)
    assert functions.pool.variables[LISTED, : list_neighbors(functions.pool, 3)].tolist() == [1, 2]
    assert list_neighbors(functions.pool, 0) == 0
    restrict_it(functions.pool, 1, 2)
    ((scope, table),) = functions.tables.items()
    assert scope == (2, 3)
    np.testing.assert_array_equal(table, first[2] + second)


def test_a_pool_without_room_says_so_and_goes_on():
    functions = CostFunctions.empty((2,) * 4)
    rng = np.random.default_rng(1)
    tables = {(i, j): rng.random((2, 2)) for i in range(4) for j in range(i + 1, 4)}
    for scope, costs in tables.items():
        functions.add(scope, costs)
    best = min(sum(t[c[i], c[j]] for (i, j), t in tables.items()) for c in np.ndindex(2, 2, 2, 2))
    functions.pool = functions.pool._replace(near=np.zeros(2, np.int64), room=np.zeros(128))
    assert not reduce(functions.pool, 64, 64, NEVER)
    functions.reduce(64)
    assert functions.constant == pytest.approx(best)
