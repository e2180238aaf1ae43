"""Correlations of weighted rows, and the columns that have none."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.errors import DataError, NotApplicable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.undirected.correlations import Correlations

X = np.random.default_rng(0).normal(size=(2, 30))
ROWS = {"a": X[0] + 3.0, "b": 50.0 * (X[0] + X[1])}


def test_correlations_of_weighted_rows():
    weights = np.random.default_rng(1).integers(1, 4, 30)
    known = Correlations.of(Columns.of(ROWS, weights=weights), is_scaled=True, method="It")
    again = np.corrcoef(np.repeat(ROWS["a"], weights), np.repeat(ROWS["b"], weights))
    np.testing.assert_allclose(known.matrix, again, atol=1e-12)
    assert known.total == weights.sum()


def test_covariances_in_their_own_units():
    known = Correlations.of(Columns.of(ROWS), is_scaled=False, method="It")
    np.testing.assert_allclose(known.matrix, np.cov([ROWS["a"], ROWS["b"]], bias=True))
    assert known.scales.tolist() == [1.0, 1.0]


def test_other_rows_about_these_means():
    known = Correlations.of(Columns.of(ROWS), is_scaled=True, method="It")
    np.testing.assert_allclose(known.about(Columns.of(ROWS)), known.matrix, atol=1e-12)


@pytest.mark.parametrize("method", [ss.GraphicalLasso(), ss.structure.NeighborhoodSelection()], ids=repr)
def test_collinear_columns_are_refused_by_name(method):
    for other in (X[0], 2.0 - 3.0 * X[0]):
        with pytest.raises(DataError, match="'a' is a linear function of 'c'"):
            ss.learn_structure(ROWS | {"c": other}, method=method)


def test_columns_without_correlations():
    with pytest.raises(NotApplicable, match="'c' is discrete"):
        Correlations.of(Columns.of(ROWS | {"c": ["x", "y"] * 15}), is_scaled=True, method="It")
    with pytest.raises(DataError, match="'c' is constant"):
        Correlations.of(Columns.of(ROWS | {"c": np.full(30, 0.1)}), is_scaled=True, method="It")
    with pytest.raises(DataError, match="finite"):
        Correlations.of(Columns.of(ROWS | {"c": np.linspace(-1e200, 1e200, 30)}), is_scaled=True, method="It")
