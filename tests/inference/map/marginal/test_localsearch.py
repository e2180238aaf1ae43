"""Local search over scores: neighbors, tabu states, starts."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import AssignmentTask
from sepset.inference.map.marginal.localsearch import LocalSearch, SearchedCodec, first_codes
from sepset.inference.map.marginal.scores import Scores
from support.blocks import in_blocks
from support.marginal import random_question, scored


@in_blocks("seed", range(50))
def test_no_change_of_one_state_is_better(seed):
    rng = np.random.default_rng(seed)
    problem, evidence, over = random_question(rng)
    expected = scored(problem, evidence, over)
    if max(expected.values()) == -np.inf:
        return
    scores = Scores(ss.CliqueTree().prepare(problem), evidence, over)
    first = first_codes(scores)
    assert expected[tuple(first.tolist())] > -np.inf
    search, task = LocalSearch(scores, first, 5), AssignmentTask(problem, evidence, over=over)
    state, is_done, last = search.init(task, rng), False, -np.inf
    while not is_done:
        state, info = search.step(task, state, rng)
        is_done = info.is_done
        assert state.best_value >= last
        last = state.best_value
        assert state.value == pytest.approx(expected[tuple(state.codes.tolist())], abs=1e-9)
    best = state.best.tolist()
    for i in range(len(over)):
        for x in range(int(scores.cards[i])):
            assert expected[(*best[:i], x, *best[i + 1 :])] <= state.best_value + 1e-9
    back = SearchedCodec().unpack(SearchedCodec().pack(state))
    assert back.best_value == state.best_value
    np.testing.assert_array_equal(back.free_at, state.free_at)
