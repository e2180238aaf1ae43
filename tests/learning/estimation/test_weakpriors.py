"""Weak priors read from columns."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.estimation.weakpriors import PSEUDO_ROWS, weak_line_priors


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
    with pytest.raises(ss.errors.DataError, match="'x' has no value that counts"):
        weak_line_priors(ss.Dataset({"x": [None, None]}, [ss.Real("x")]))


@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1.0, 1e9, 1e100])
def test_units_do_not_matter(scale):
    x = np.random.default_rng(0).normal(3.0, 2.0, size=50)
    one, other = (weak_line_priors(ss.Dataset({"x": k * x}))["x"] for k in (1.0, scale))
    assert other.mean == pytest.approx(scale * one.mean)
    assert other.rate == pytest.approx(scale**2 * one.rate)


def test_far_from_zero_the_spread_counts_and_not_the_mean():
    times = 1.7e9 + 100.0 * np.random.default_rng(1).normal(size=400)
    assert weak_line_priors(ss.Dataset({"t": times}))["t"].rate == pytest.approx(0.5 * times.var(), rel=1e-6)


def test_numbers_beyond_squares_are_refused():
    for bad, why in ((1e200, "Rescale"), (1e-200, "Rescale"), (np.inf, "finite numbers")):
        with pytest.raises(ss.errors.DataError, match=why):
            weak_line_priors(ss.Dataset({"x": [bad, 0.5 * bad]}))
