"""Columns are checked before they are counted."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.counts import check_unseen, checked_counts, checked_weights, column, count, estimate, joint_codes
from sepset.cpds.priors.dirichlet import Dirichlet, Normal
from sepset.errors import ArgumentError, DataError, NotApplicable
from sepset.variables.variable import Discrete

A, B = Discrete("a", 2), Discrete("b", 3)


def test_joint_codes_are_in_c_order():
    rows = {A: np.array([0, 1, 1]), B: np.array([2, 0, 2], dtype=np.int8)}
    assert joint_codes(rows, (A, B), 3, "me").tolist() == [2, 3, 5]
    assert joint_codes(rows, (B, A), 3, "me").tolist() == [4, 1, 5]
    assert joint_codes({}, (), 2, "me").tolist() == [0, 0]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.array([0, -1, -1]), "2 of 3 are missing for a"),
        (np.array([0, 2, 1]), "codes 0 to 1; found 2"),
        (np.array([0, -7, 1]), "codes 0 to 1; found -7"),
        (np.array([0.0, 1.0, 1.0]), "integer codes for a; found float64"),
        (np.array([0, 1]), r"3 codes for a; found the shape \(2,\)"),
    ],
)
def test_bad_columns_are_refused(codes, message):
    with pytest.raises(DataError, match=message):
        column({A: codes}, A, 3, "me")


def test_absent_columns_are_refused():
    with pytest.raises(DataError, match="codes for a; found b"):
        column({B: np.array([0])}, A, 1, "me")


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(DataError, match=r"^'me': Weights are (numbers, one per row|finite)"):
        checked_weights(weights, 2, "me")


@pytest.mark.parametrize("counts", [[1.0], [1.0, -1.0], [1.0, np.inf]])
def test_bad_counts_are_refused(counts):
    with pytest.raises(DataError, match="counts"):
        checked_counts(counts, 2, "me")


def test_counts_may_be_weighted():
    assert count(np.array([1, 1, 0]), 3, np.array([0.5, 0.25, 2.0])).tolist() == [2.0, 0.75, 0.0]
    assert count(np.zeros(0, np.int64), 2).tolist() == [0.0, 0.0]


def test_estimates_are_ratios_of_counts():
    counts = np.array([[3.0, 1.0], [0.0, 0.0]])
    assert estimate(counts, None, "uniform", "me", str).tolist() == [[0.75, 0.25], [0.5, 0.5]]
    assert estimate(counts, Dirichlet([1, 3]), "raise", "me", str).tolist() == [[0.5, 0.5], [0.25, 0.75]]
    with pytest.raises(DataError, match="1 of 2 contexts never occur in the data: row 1"):
        estimate(counts, None, "raise", "me", lambda place: f"row {place}")


def test_other_priors_and_policies_are_refused():
    with pytest.raises(NotApplicable, match="Dirichlet"):
        estimate(np.ones((1, 2)), Normal(1.0), "uniform", "me", str)
    with pytest.raises(ArgumentError, match="'uniform' or 'raise'; found 'zero'"):
        check_unseen("zero")
