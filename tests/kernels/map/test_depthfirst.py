"""Depth-first search below a path of decisions, with open nodes that cover what it has left."""

import numpy as np

from sepset.base.threads import NEVER
from sepset.inference.map.consistency.part import Part
from sepset.kernels.map.costs import FORBIDDEN
from sepset.kernels.map.depthfirst import depth_first
from support.blocks import in_blocks
from support.cost_networks import assignments, random_costs


def agrees(costs, path, codes):
    """Whether an assignment is below a path of decisions."""
    states = costs.network.states
    for decision in path:
        i = int(costs.network.variable[decision // 2])
        if (states[i] + codes[i] == decision // 2) == bool(decision % 2):
            return False
    return True


@in_blocks("seed", range(25))
def test_what_is_left_open_covers_everything_better(seed):
    rng = np.random.default_rng(seed)
    costs, _ = random_costs(rng)
    n = len(costs.variables)
    part = Part(costs, 1, np.zeros(n, np.int64), 0)
    wanted = {codes: costs.cost(np.array(codes)) for codes in assignments(costs)}
    if not part.is_open:
        assert min(wanted.values()) >= part.search.best[0]
        return
    depth = depth_first(costs.network, part.state, part.search, np.zeros(0, np.int64), int(rng.integers(0, 3)), NEVER)
    nodes, best = part._opened(np.zeros(0, np.int64), int(part.search.lowers[-1]), depth), int(part.search.best[0])
    assert best >= costs.most or wanted[tuple(part.search.found.tolist())] == best
    for codes, cost in wanted.items():
        if cost < min(best, FORBIDDEN):
            assert sum(agrees(costs, path, codes) for _, _, path in nodes) == 1
            assert min(bound for bound, _, path in nodes if agrees(costs, path, codes)) <= cost
