"""Averaged predictions against ratios of evidences."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.errors import NotApplicable, ScopeError
from sepset.learning.structure.averaging.exhaustive import BestStructures, Exhaustive
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.scores.likelihood import BIC
from support.score_tables import COUNTS_22, ROW_22

THREE = Columns.of(ROW_22, weights=COUNTS_22)


@pytest.mark.parametrize("score", [BDeu(1.0), K2()], ids=repr)
def test_predictions_against_the_evidence(score):
    found = Exhaustive().average(StructureTask(THREE, score))
    for target in "abc":
        others = [n for n in "abc" if n != target]
        rows = {n: [0, 1, 1] if n == others[0] else [1, 1, 0] for n in others}
        predicted = found.predict(target, rows)
        for i in range(3):
            logs = [found.log_predictive({target: [y], **{n: [rows[n][i]] for n in others}}) for y in (0, 1)]
            shares = np.exp(logs) / np.exp(logs).sum()
            assert predicted[i] == pytest.approx(shares, abs=1e-9)


def test_without_a_prior_and_without_evidence():
    found = BestStructures(3).average(StructureTask(THREE, BIC()))
    assert found.predict("a", {"b": [0], "c": [1]}).sum() == pytest.approx(1.0)
    with pytest.raises(NotApplicable, match="does not know the evidence"):
        found.log_predictive(ROW_22)
    with pytest.raises(ScopeError, match="no column 'd'"):
        found.predict("d", {"b": [0], "c": [1]})


def test_further_rows_join_rows_with_interventions_and_missing_cells():
    old, new = {"a": [0, 1, 1, 0, 1], "b": [0, 1, None, 0, 1]}, {"a": [1, 0], "b": [1, 1]}
    marked = {"a": [True, False, False, True, False]}
    both = {n: old[n] + new[n] for n in old}

    def average(rows, a):
        columns = Columns.of(rows, interventions={"a": a}, missing="available")
        return Exhaustive().average(StructureTask(columns, K2()))

    found, joined = average(old, marked["a"]), average(both, [*marked["a"], False, False])
    assert found.log_predictive(new) == pytest.approx(joined.log_evidence - found.log_evidence, rel=1e-12)
