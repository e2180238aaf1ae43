"""Sweeps raise the lower bound, towards that of the linear program, and leave the cost of every assignment as it is."""

import numpy as np

from sepset.base.threads import NEVER
from sepset.kernels.map.costs import FORBIDDEN, LOWER, SETTLED, SWEPT, UPPER
from support.blocks import in_blocks
from support.cost_networks import assignments, consistent, is_live, moved_cost, random_costs


@in_blocks("seed", range(60))
def test_costs_stay_and_bounds_rise(seed):
    rng = np.random.default_rng([3, seed])
    costs, _ = random_costs(rng)
    state = costs.state()
    original = {codes: moved_cost(costs, state, codes)[0] for codes in assignments(costs)}
    finite = sorted(c for c in original.values() if c < FORBIDDEN)
    if finite and rng.random() < 0.5:
        state.numbers[UPPER] = int(rng.choice(finite)) + int(rng.integers(0, 2))
    upper, lower = int(state.numbers[UPPER]), 0
    for _ in range(4):
        is_open = consistent(costs, state, int(rng.integers(0, 15)), NEVER)
        if not is_open:
            assert min(original.values()) >= upper
            return
        assert lower <= state.numbers[LOWER] <= min(original.values())
        lower = int(state.numbers[LOWER])
        for codes, cost in original.items():
            if is_live(costs, state, codes) and cost < FORBIDDEN:
                found, least = moved_cost(costs, state, codes)
                assert found == cost
                assert least >= 0
            elif cost < FORBIDDEN:
                assert cost >= upper


def test_sweeps_end_where_they_no_longer_help():
    settled = 0
    for seed in range(30):
        costs, _ = random_costs(np.random.default_rng([4, seed]))
        state = costs.state()
        if consistent(costs, state, 1000, NEVER) and len(costs.network.places):
            assert state.numbers[SETTLED]
            assert state.numbers[SWEPT] < 1000
            settled += 1
    assert settled > 5


def test_many_large_costs_are_rounded_and_bounds_still_hold():
    """Costs that are lent and taken back many times exceed the whole numbers of floating point."""
    for seed in range(10):
        rng = np.random.default_rng([5, seed])
        costs, _ = random_costs(rng)
        state, best = costs.state(), min(costs.cost(np.array(codes)) for codes in assignments(costs))
        state.cells[: len(costs.unary)] += 2**52
        shift = 2**52 * len(costs.variables)
        state.numbers[UPPER] = 2**58
        if consistent(costs, state, 50, NEVER):
            assert state.numbers[LOWER] <= best + shift
            for codes in assignments(costs):
                if is_live(costs, state, codes) and costs.cost(np.array(codes)) < costs.most:
                    found, least = moved_cost(costs, state, codes)
                    assert found == costs.cost(np.array(codes)) + shift
                    assert least >= 0
