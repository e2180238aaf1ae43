"""Results with hidden variables."""

from __future__ import annotations

from itertools import islice

import pytest

import sepset as ss
from sepset.errors import NotApplicable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.hidden.learnedhidden import fresh_names, observed_bic, rows_with
from sepset.learning.structure.learned import StructureTask

ROWS = {"H1": [0, 1, 1, 0, 1], "b": [1, 1, 0, 0, 1]}


def test_names_that_are_taken_are_left_out() -> None:
    assert list(islice(fresh_names(Columns.of(ROWS), ["H3"]), 3)) == ["H2", "H4", "H5"]


def test_the_penalty_of_the_score_is_kept() -> None:
    found = observed_bic(StructureTask(Columns.of(ROWS), ss.BIC(penalty=2.0)), "X()")
    assert found == ss.structure.ObservedBIC("parameters", 2.0)
    with pytest.raises(NotApplicable, match="compares"):
        observed_bic(StructureTask(Columns.of(ROWS), ss.K2()), "X()")


def test_rows_get_a_column_for_what_is_hidden() -> None:
    net = ss.classify.latent_class([ss.Discrete("H1"), ss.Discrete("b")], 2)
    task = rows_with(StructureTask(Columns.of(ROWS), ss.BIC()), net)
    assert task.hidden == ("class",)
    assert task.total == 5


def test_columns_without_cells_are_refused() -> None:
    for method in (ss.structure.FindHidden(), ss.structure.LatentTree()):
        with pytest.raises(NotApplicable, match="by itself"):
            ss.learn_structure(ROWS, method=method, variables=[ss.Discrete("h")])


def test_interventions_are_refused() -> None:
    for method in (ss.structure.FindHidden(), ss.structure.LatentTree()):
        with pytest.raises(NotApplicable, match="interventions"):
            ss.learn_structure(ROWS, method=method, interventions={"b": [True, False, False, False, False]})
