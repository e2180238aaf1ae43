"""Cost functions have the negative log values of a wired model."""

import numpy as np
import pytest

from sepset.inference.map.consistency.functions import CostFunctions, spread
from support.cost_networks import every, random_wiring


@pytest.mark.parametrize("seed", range(20))
def test_costs_are_negative_log_values(seed):
    wiring = random_wiring(np.random.default_rng(seed))
    functions = CostFunctions.of(wiring)
    for codes in every(wiring):
        assert functions.cost(codes) == pytest.approx(-wiring.log_value(codes))
    assert all(list(scope) == sorted(set(scope)) for scope in functions.tables)


def test_functions_of_one_scope_are_merged_and_taken():
    functions = CostFunctions((2, 3, 1))
    functions.add((0, 1), np.ones((2, 3)))
    functions.add((0, 1), np.ones((2, 3)))
    functions.add((), np.array(4.0))
    assert (list(functions.components()), functions.neighbors(0), functions.size((0, 1))) == ([[0, 1]], (1,), 6)
    assert functions.take((0, 1)).tolist() == [[2.0] * 3] * 2
    assert (functions.tables, functions.constant, list(functions.components())) == ({}, 4.0, [])
    assert spread((1,), np.zeros(3), (0, 1, 2)).shape == (1, 3, 1)
