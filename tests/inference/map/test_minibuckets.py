"""The bounds of partial assignments are never below the best completion, and are its value if no bucket is divided."""

import itertools

import numpy as np
import pytest

from sepset.inference.map.minibuckets import MiniBuckets
from sepset.inference.wiring import Wiring
from sepset.kernels.map.branching import branch_values
from support.blocks import in_blocks
from support.wired import best_value, random_problem


@in_blocks("seed", range(40))
def test_bounds_of_partial_assignments_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng)).consistent
    messages = rng.normal(size=int(wiring.wires.messages[-1]))
    made = MiniBuckets.of(wiring, messages, entries=int(rng.choice([1, 4, 10**6])))
    best = best_value(wiring)
    assert made.root >= best - 1e-9
    if made.is_exact:
        assert made.root == pytest.approx(best, abs=1e-9)
    if best == -np.inf:
        return
    ordered = [int(c) for c in made.buckets.cards]
    values = {}
    for codes in itertools.product(*map(range, ordered)):
        placed = np.empty(len(codes), np.int64)
        placed[made.order] = codes
        values[codes] = wiring.log_value(placed)
    path, bound, room = np.zeros(len(ordered), np.int64), made.root, np.zeros(int(made.buckets.states[-1]))
    for d in range(len(ordered)):
        branch_values(made.buckets, d, path, bound, room)
        for x, found in enumerate(room[made.buckets.states[d] : made.buckets.states[d + 1]]):
            start = (*path[:d].tolist(), x)
            completed = max(v for codes, v in values.items() if codes[: d + 1] == start)
            assert found >= completed - 1e-9
            if made.is_exact or d == len(ordered) - 1:
                assert found == pytest.approx(completed, abs=1e-9)
        path[d] = int(np.argmax(room[made.buckets.states[d] : made.buckets.states[d + 1]]))
        bound = room[made.buckets.states[d] + path[d]]
        if bound == -np.inf:
            return
