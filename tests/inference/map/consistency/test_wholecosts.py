"""Whole units are at most the costs, and close to them."""

import itertools

import numpy as np
import pytest

from sepset.inference.map.consistency.functions import CostFunctions
from sepset.inference.map.consistency.wholecosts import WholeCosts
from support.blocks import in_blocks
from support.cost_networks import random_wiring


@in_blocks("seed", range(40))
def test_units_bound_the_costs(seed):
    rng = np.random.default_rng(seed)
    functions = CostFunctions.of(random_wiring(rng, most=5))
    if not functions.cards or not functions.is_possible:
        return
    every = {codes: functions.cost(codes) for codes in itertools.product(*map(range, functions.cards))}
    finite = [cost for cost in every.values() if cost < np.inf]
    known, below = None, np.inf
    if finite and rng.random() < 0.5:
        known = list(every)[rng.choice(np.flatnonzero(np.isfinite(list(every.values()))))]
        below = every[known] - functions.constant
    given = None if known is None else np.array(known, np.int64)
    costs = WholeCosts.of(functions, np.arange(len(functions.cards)), known=given)
    for codes, cost in every.items():
        placed = np.array(codes)[costs.variables]
        units, real = costs.cost(placed), cost - functions.constant
        if real <= below and real < np.inf:
            assert units < costs.most
            assert costs.real(units) <= real + 1e-12 * max(1.0, abs(real))
            assert real <= costs.real(units + len(functions.tables) + 1) + 1e-12 * max(1.0, abs(real))
        elif units < costs.most:
            assert real >= costs.real(units) - 1e-12 * max(1.0, abs(real))


def test_huge_and_equal_costs():
    functions = CostFunctions.empty((2, 2))
    functions.add((0, 1), np.array([[0.0, 1e300], [np.inf, 3.0]]))
    costs = WholeCosts.of(functions, np.arange(2))
    assert costs.cost(np.zeros(2, np.int64)) == 0
    near = WholeCosts.of(functions, np.arange(2), known=np.array([1, 1]))
    assert near.real(near.cost(np.array([1, 1]))) == pytest.approx(3.0)
    assert near.is_limited
    flat = CostFunctions.empty((2,))
    assert WholeCosts.of(flat, np.arange(1)).cost(np.array([1])) == 0
