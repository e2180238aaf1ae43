"""Reductions keep the optimum, and a best assignment is found again from what is left."""

import itertools

import numpy as np
import pytest

from sepset.inference.map.consistency.functions import CostFunctions
from sepset.inference.map.consistency.reduction import Reduction, absorb, dominated
from support.blocks import in_blocks
from support.cost_networks import every, random_wiring, ranked


@in_blocks("seed", range(40))
def test_an_optimum_is_kept(seed):
    for each in range(5):
        rng = np.random.default_rng([seed, each])
        wiring = random_wiring(rng)
        best = ranked(wiring)[0]
        reduction = Reduction.of(CostFunctions.of(wiring.consistent), entries=int(rng.integers(1, 12)))
        left = reduction.functions
        gone = {step.variable for step in reduction.steps}
        free = [range(1 if i in gone else card) for i, card in enumerate(left.cards)]
        found = min(itertools.product(*free), key=left.cost)
        assert -left.cost(found) == pytest.approx(best)
        if best > -np.inf:
            assert wiring.log_value(reduction.completed(np.array(found, np.int64))) == pytest.approx(best)
        assert not any(set(a) < set(b) for a in left.tables for b in left.tables if len(a) > 1)


@pytest.mark.parametrize("seed", range(30))
def test_dominated_states_are_never_needed(seed):
    wiring = random_wiring(np.random.default_rng([3, seed]), most=5)
    functions, best = CostFunctions.of(wiring), ranked(wiring)[0]
    for i in range(len(functions.cards)):
        gone = dominated(functions, i)
        values = [wiring.log_value(codes) for codes in every(wiring) if not gone[codes[i]]]
        assert max(values) == pytest.approx(best)


def test_one_of_two_equal_states_is_kept():
    functions = CostFunctions((2, 2))
    functions.add((0, 1), np.array([[1.0, 2.0], [1.0, 2.0]]))
    assert dominated(functions, 0).tolist() == [True, False]
    functions.add((0,), np.zeros(2))
    absorb(functions)
    assert list(functions.tables) == [(0, 1), (0,)]


def test_functions_that_only_shrink_are_always_eliminated_and_large_ones_are_not_compared():
    rng = np.random.default_rng(0)
    functions = CostFunctions((400, 300, 2))
    functions.add((0, 1), rng.random((400, 300)))
    functions.add((1, 2), rng.random((300, 2)))
    assert not dominated(functions, 0).any()
    best = (functions.tables[(0, 1)].min(axis=0) + functions.tables[(1, 2)].min(axis=1)).min()
    reduction = Reduction.of(functions, entries=1)
    assert sorted(step.variable for step in reduction.steps) == [0, 1, 2]
    assert reduction.functions.constant == pytest.approx(best)
