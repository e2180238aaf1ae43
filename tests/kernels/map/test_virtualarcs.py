"""Virtual arc consistency leaves the cost of every assignment as it is, and never lowers the bound of simpler kinds."""

import numpy as np

from sepset.base.threads import NEVER
from sepset.kernels.map.costs import FORBIDDEN, LOWER, UPPER
from sepset.kernels.map.virtualarcs import contradiction, move, rise, trace, virtually_consistent
from support.blocks import in_blocks
from support.cost_networks import assignments, consistent, is_live, moved_cost, random_costs


def closed(costs, sweeps=0):
    """The state after existential directional arc consistency, and whether something is left."""
    state = costs.state()
    return state, consistent(costs, state, sweeps, NEVER)


def check(costs, state, original, upper):
    assert state.numbers[LOWER] <= min(original.values())
    for codes, cost in original.items():
        if is_live(costs, state, codes) and cost < FORBIDDEN:
            found, least = moved_cost(costs, state, codes)
            assert found == cost
            assert least >= 0
        elif cost < FORBIDDEN:
            assert cost >= upper


@in_blocks("seed", range(40))
def test_costs_stay_and_the_bound_is_never_below_that_of_simpler_consistency(seed):
    rng = np.random.default_rng(seed)
    costs, _ = random_costs(rng)
    state, is_open = closed(costs)
    original = {codes: moved_cost(costs, costs.state(), codes)[0] for codes in assignments(costs)}
    if not is_open:
        return
    before = int(state.numbers[LOWER])
    is_open = virtually_consistent(costs.network, state, costs.virtual(), int(rng.integers(0, 60)), NEVER)
    if not is_open:
        assert min(original.values()) >= costs.most
        return
    assert state.numbers[LOWER] >= before
    check(costs, state, original, costs.most)


def test_contradictions_raise_bounds_that_simpler_consistency_leaves():
    raised = proved = 0
    for seed in range(60):
        costs, _ = random_costs(np.random.default_rng([5, seed]))
        state, is_open = closed(costs)
        best = min(moved_cost(costs, costs.state(), codes)[0] for codes in assignments(costs))
        before = int(state.numbers[LOWER])
        if not is_open or best >= costs.most:
            continue
        assert virtually_consistent(costs.network, state, costs.virtual(), 300, NEVER)
        raised += int(state.numbers[LOWER]) > before
        proved += before < best == int(state.numbers[LOWER])
    assert raised > 5
    assert proved > 0


@in_blocks("seed", range(20))
def test_one_contradiction_raises_the_bound_by_its_moves(seed):
    costs, _ = random_costs(np.random.default_rng([6, seed]))
    state, is_open = closed(costs)
    original = {codes: moved_cost(costs, costs.state(), codes)[0] for codes in assignments(costs)}
    room, before = costs.virtual(), int(state.numbers[LOWER])
    wiped = contradiction(costs.network, state, room, 1, NEVER) if is_open else -1
    if wiped < 0 or not trace(costs.network, state, room, wiped, 1):
        return
    times = min(rise(costs.network, state, room, wiped), int(state.numbers[UPPER]) - before)
    assert times >= 1
    move(costs.network, state, room, wiped, times)
    assert state.numbers[LOWER] == before + times
    check(costs, state, original, costs.most)


def test_a_forbidden_network_is_found_out():
    for seed in range(60):
        costs, _ = random_costs(np.random.default_rng([7, seed]))
        state, is_open = closed(costs)
        best = min(moved_cost(costs, costs.state(), codes)[0] for codes in assignments(costs))
        if is_open and best >= FORBIDDEN:
            virtually_consistent(costs.network, state, costs.virtual(), 300, NEVER)
            assert state.numbers[LOWER] <= best
