"""Branch and bound with bounds that exchange sums and maxima."""

import numpy as np
import pytest

from sepset.inference.assignment import AssignmentTask
from sepset.inference.map.marginal.bounds import MixedElimination
from sepset.inference.map.marginal.branching import BranchedSums, OpenCodec
from support.blocks import in_blocks
from support.marginal import random_question, scored


@pytest.mark.parametrize("entries", [1, 64])
@in_blocks("seed", range(60))
def test_the_best_score_by_enumeration(seed, entries):
    rng = np.random.default_rng([seed, entries])
    problem, evidence, over = random_question(rng)
    expected = scored(problem, evidence, over)
    best = max(expected.values())
    if best == -np.inf:
        return
    some = list(expected)[int(rng.integers(len(expected)))]
    first = np.array(some, np.int64), expected[some]
    search = BranchedSums(MixedElimination.of(problem, evidence, over, entries), over, first)
    task = AssignmentTask(problem, evidence, over=over)
    state, is_done = search.init(task, rng), False
    while not is_done:
        state, info = search.step(task, state, rng)
        is_done = info.is_done
        assert state.bound >= best - 1e-9  # whenever it is stopped
        state = OpenCodec().unpack(OpenCodec().pack(state))
    assert state.value == pytest.approx(best, abs=1e-9)
    assert expected[tuple(search.codes(state).tolist())] == pytest.approx(best, abs=1e-9)
