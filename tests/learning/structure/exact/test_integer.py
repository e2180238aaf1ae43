"""The integer program against dynamic programming, and what it says when it is ended."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.errors import NotApplicable
from sepset.inference.iterate import Until
from sepset.inference.result import Status
from sepset.learning.structure.exact.dynamic import best_dag, dense_scores
from sepset.learning.structure.exact.integer import integer_program
from sepset.learning.structure.exact.scoretable import ScoreTable
from support.score_tables import random_table


@pytest.mark.parametrize("tied", [False, True])
def test_equals_dynamic_programming(tied):
    rng = np.random.default_rng(12)
    for size in [1, 2, 3, 4] * 3 + [6, 8]:
        table = random_table(rng, size, tied=tied)
        found = integer_program(table, rng=rng)
        assert found.score == pytest.approx(best_dag(dense_scores(table)).score, abs=1e-8)
        assert table.score_of(found.parents) == pytest.approx(found.score, abs=1e-8)
        assert found.is_proved


def test_ended_with_a_bound():
    table = random_table(np.random.default_rng(3), 9)
    found = integer_program(table, until=Until(steps=1, tolerance=None))
    best = best_dag(dense_scores(table)).score
    assert found.score <= best + 1e-9
    assert best <= found.bound + 1e-9
    assert found.is_proved or found.status is Status.STEP_LIMIT


def test_no_dag_is_allowed():
    table = ScoreTable.from_scores({"a": {("b",): 0.0}, "b": {("a",): 0.0}})
    with pytest.raises(NotApplicable, match="no DAG is allowed"):
        integer_program(table)
