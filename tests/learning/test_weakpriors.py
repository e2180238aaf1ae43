"""Weak priors read from columns."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.weakpriors import PSEUDO_ROWS, weak_line_priors


def test_one_row_of_the_column_beside_its_rows():
    """The mode of the precision from M rows and the prior: like M rows and one more with the column's variance."""
    x = np.random.default_rng(0).normal(5.0, 2.0, 400)
    prior = weak_line_priors(ss.Dataset({"x": x, "k": ["a", "b"] * 200}))
    assert set(prior) == {"x"}
    assert prior["x"].mean == pytest.approx(x.mean())
    assert 2 * prior["x"].rate / PSEUDO_ROWS == pytest.approx(x.var())
    found = ss.fit(ss.DAG.parse("x"), {"x": x}, ss.Bayes(prior)).model.cpd("x")
    assert found.covariance[0, 0, 0] == pytest.approx(x.var(), rel=0.01)


def test_missing_cells_and_weights():
    plain = weak_line_priors(ss.Dataset({"x": [1.0, 2.5, 2.5]}))["x"]
    holes = weak_line_priors(ss.Dataset({"x": [1.0, None, 2.5, 9.5]}, weights=[1.0, 7.0, 2.0, 0.0]))["x"]
    assert holes == plain


def test_constant_columns_keep_a_variance():
    assert weak_line_priors(ss.Dataset({"x": [1.5, 1.5]}))["x"].rate > 0
    assert weak_line_priors(ss.Dataset({"x": [0.0, 0.0]}, [ss.Real("x")]))["x"].rate > 0


def test_nothing_has_no_scale():
    with pytest.raises(ss.DataError, match="'x' has no value that counts"):
        weak_line_priors(ss.Dataset({"x": [None, None]}, [ss.Real("x")]))
