"""Every move of costs leaves the cost of every assignment as it is, and the lower bound is one."""

import numpy as np

from sepset.base.threads import NEVER
from sepset.kernels.kernel import kernel
from sepset.kernels.map.costs import FORBIDDEN, HEIGHT, LEVEL, LOWER, UPPER
from sepset.kernels.map.softarcs import project, propagate, pull, renewed
from support.blocks import in_blocks
from support.cost_networks import assignments, consistent, is_live, moved_cost, random_costs

RENEW, PULL, PROJECT, PROPAGATE = range(4)


@kernel(borrows=True)
def moved(network, state, how, at, cancel):
    """Costs move in one way."""
    if how == RENEW:
        return renewed(network, state, cancel)
    if how == PULL:
        return pull(network, state, at)
    return project(network, state, at, -1) if how == PROJECT else propagate(network, state, cancel)


def check(costs, state, original, upper, is_open):
    """Assignments below the upper bound are as they were; all terms are at least zero; the lower bound holds."""
    best = min(original.values())
    if not is_open:
        assert best >= upper
        return
    assert state.numbers[LOWER] <= best
    for codes, cost in original.items():
        if is_live(costs, state, codes) and cost < FORBIDDEN:
            found, least = moved_cost(costs, state, codes)
            assert found == cost
            assert least >= 0
        elif cost < FORBIDDEN:
            assert cost >= upper


@in_blocks("seed", range(60))
def test_the_costs_of_assignments_stay(seed):
    rng = np.random.default_rng(seed)
    costs, _ = random_costs(rng)
    net, state = costs.network, costs.state()
    original = {codes: moved_cost(costs, state, codes)[0] for codes in assignments(costs)}
    finite = [c for c in original.values() if c < FORBIDDEN]
    if rng.random() < 0.5 and finite:
        state.numbers[UPPER] = int(rng.choice(finite)) + int(rng.integers(0, 2))
    upper = int(state.numbers[UPPER])
    for _ in range(6):
        which = rng.integers(5)
        if which == 0:
            is_open = moved(net, state, RENEW, 0, NEVER)
        elif which == 1 and len(net.scope):
            is_open = moved(net, state, PULL, int(rng.integers(len(net.scope))), NEVER)
        elif which == 2 and len(net.places):
            is_open = moved(net, state, PROJECT, int(rng.integers(len(net.places))), NEVER)
        elif which == 3:
            state.numbers[HEIGHT] = 0  # what has moved stays
            is_open = consistent(costs, state, int(rng.integers(0, 25)), NEVER)
        else:
            is_open = moved(net, state, PROPAGATE, 0, NEVER)
        check(costs, state, original, upper, is_open)
        if not is_open:
            break


def test_a_tree_is_solved_by_propagation_alone():
    """Directional arc consistency along an elimination order raises the bound of a forest to its optimum."""
    for seed in range(30):
        rng = np.random.default_rng([9, seed])
        costs, functions = random_costs(rng)
        pairs, parts = list(functions.tables), functions.components()
        if any(len(s) > 2 for s in pairs) or len(pairs) != sum(map(len, parts)) - len(parts):
            continue
        state = costs.state()
        best = min(moved_cost(costs, state, codes)[0] for codes in assignments(costs))
        is_open = consistent(costs, state, 0, NEVER)
        assert not is_open or state.numbers[LOWER] == best


def test_a_full_trail_ends_propagation_and_bounds_hold():
    from sepset.kernels.map.costs import ROOM

    for seed in range(20):
        costs, _ = random_costs(np.random.default_rng([11, seed]))
        state = costs.state()
        original = {codes: moved_cost(costs, state, codes)[0] for codes in assignments(costs)}
        state.numbers[LEVEL], state.numbers[ROOM] = 1, 0
        is_open = moved(costs.network, state, PROPAGATE, 0, NEVER)
        check(costs, state, original, int(state.numbers[UPPER]), is_open)
        assert state.numbers[HEIGHT] <= len(state.trail)
