"""Scores of assignments with the rest summed out, and of all their neighbors."""

import numpy as np
import pytest

import sepset as ss
from sepset.errors import TooLarge
from sepset.inference.map.marginal.scores import Scores
from support.marginal import random_question, scored


@pytest.mark.parametrize("seed", range(60))
def test_scores_of_all_neighbors_are_sums(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    problem, evidence, over = random_question(rng)
    expected = scored(problem, evidence, over)
    scores = Scores(ss.CliqueTree().prepare(problem), evidence, over)
    for codes, value in expected.items():
        assert scores.value(codes) == pytest.approx(value, abs=1e-9)
    best = max(expected, key=expected.get)
    if expected[best] == -np.inf:
        return
    for _ in range(2):
        for i, found in enumerate(scores.neighbors(np.array(best, np.int64), expected[best])):
            row = [expected[(*best[:i], x, *best[i + 1 :])] for x in range(len(found))]
            np.testing.assert_allclose(found, row, atol=1e-9)
        monkeypatch.setattr(Scores, "_by_derivatives", _refuse)  # then by one query per variable


def _refuse(*_):
    raise TooLarge("too large")
