"""EM for the normal distribution against direct maximization of the likelihood and against moments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

import sepset as ss
from sepset.learning.missing.gaussian import incomplete_gaussian, pattern_moments
from support.tolerances import CLOSE


def log_likelihood(values, mean, covariance):
    total = 0.0
    for row in values:
        seen = ~np.isnan(row)
        if seen.any():
            total += multivariate_normal.logpdf(row[seen], mean[seen], covariance[np.ix_(seen, seen)])
    return total


def holes(rng, num_rows, size, share):
    mixing = rng.standard_normal((size, size)) + 2 * np.eye(size)
    values = rng.standard_normal((num_rows, size)) @ mixing.T + rng.standard_normal(size) * 10
    values[rng.random(values.shape) < share] = np.nan
    return values


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_no_nearby_parameters_are_more_likely(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 4))
    values = holes(rng, 40, size, 0.2)
    found = incomplete_gaussian(pattern_moments(values), size)
    assert found.converged
    best = log_likelihood(values, found.mean, found.covariance)
    for _ in range(10):
        mean = found.mean + 1e-3 * rng.standard_normal(size)
        root = 1e-3 * rng.standard_normal((size, size))
        covariance = found.covariance + root @ root.T
        assert log_likelihood(values, mean, covariance) <= best + 1e-9
        assert log_likelihood(values, found.mean, (1 + 1e-3 * rng.standard_normal()) * found.covariance) <= best + 1e-9


def test_complete_rows_give_sample_moments():
    rng = np.random.default_rng(0)
    values = holes(rng, 50, 3, 0.0)
    found = incomplete_gaussian(pattern_moments(values), 3)
    assert found.mean == pytest.approx(values.mean(axis=0), rel=CLOSE)
    assert found.covariance == pytest.approx(np.cov(values.T, bias=True), rel=CLOSE)


def test_weights_are_copies():
    rng = np.random.default_rng(1)
    values = holes(rng, 20, 2, 0.3)
    copies = rng.integers(0, 4, 20)
    weighted = incomplete_gaussian(pattern_moments(values, copies.astype(float)), 2)
    repeated = incomplete_gaussian(pattern_moments(np.repeat(values, copies, axis=0)), 2)
    assert weighted.covariance == pytest.approx(repeated.covariance, rel=1e-7)


def test_a_monotone_column_is_its_regression():
    """With y missing for some x the estimate is the regression of y on x, carried to the mean of all x."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal(30)
    y = 2 * x + rng.standard_normal(30)
    y[20:] = np.nan
    found = incomplete_gaussian(pattern_moments(np.stack([x, y], axis=1)), 2)
    slope, intercept = np.polyfit(x[:20], y[:20], 1)
    assert found.mean[1] == pytest.approx(intercept + slope * x.mean(), rel=1e-7)
    assert found.covariance[0, 1] == pytest.approx(slope * x.var(), rel=1e-7)


def test_dependent_columns_are_refused():
    x = np.arange(10.0)
    with pytest.raises(ss.errors.DataError, match="linear functions"):
        incomplete_gaussian(pattern_moments(np.stack([x, 2 * x, np.where(x < 5, np.nan, x**2)], axis=1)), 3)


def step_by_rows(values, weights, mu, sigma):
    """EM for one step, row by row, with the conditional normal from its textbook formula."""
    total, first, second = 0.0, np.zeros(len(mu)), np.zeros(sigma.shape)
    for row, weight in zip(values, weights, strict=True):
        seen, hidden = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        if not len(seen):
            continue
        slope = sigma[np.ix_(hidden, seen)] @ np.linalg.inv(sigma[np.ix_(seen, seen)])
        full = row.copy()
        full[hidden] = mu[hidden] + slope @ (row[seen] - mu[seen])
        spread = np.zeros(sigma.shape)
        spread[np.ix_(hidden, hidden)] = sigma[np.ix_(hidden, hidden)] - slope @ sigma[np.ix_(seen, hidden)]
        total += weight
        first += weight * full
        second += weight * (np.outer(full, full) + spread)
    mean = first / total
    return mean, second / total - np.outer(mean, mean)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_the_estimate_is_a_fixed_point_of_the_step_over_every_row(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5))
    values = holes(rng, 60, size, 0.2)
    weights = rng.uniform(0.5, 2.0, len(values))
    found = incomplete_gaussian(pattern_moments(values, weights), size)
    mean, covariance = step_by_rows(values, weights, found.mean, found.covariance)
    spread = np.sqrt(np.diag(covariance))
    assert_allclose((mean - found.mean) / spread, 0.0, atol=1e-8)
    assert_allclose((covariance - found.covariance) / np.outer(spread, spread), 0.0, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_one_step_is_that_of_every_row(seed):
    """From the start, zero means and no correlation of scaled columns."""
    rng = np.random.default_rng(seed)
    values = holes(rng, 25, 3, 0.4)
    center, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    found = incomplete_gaussian(pattern_moments(values), 3, steps=1)
    mean, covariance = step_by_rows((values - center) / spread, np.ones(25), np.zeros(3), np.eye(3))
    assert not found.converged
    assert_allclose(found.mean, center + spread * mean, rtol=1e-9)
    assert_allclose(found.covariance, covariance * np.outer(spread, spread), rtol=1e-9)


def test_nearly_dependent_columns():
    """A column and its noisy copy: the regressions are those of the rows that have both."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(60)
    y = x + 1e-3 * rng.standard_normal(60)
    y[40:] = np.nan
    found = incomplete_gaussian(pattern_moments(np.stack([x, y], axis=1)), 2, tolerance=1e-13)
    slope, intercept = np.polyfit(x[:40], y[:40], 1)
    assert found.mean[1] == pytest.approx(intercept + slope * x.mean(), rel=1e-7, abs=1e-9)
    rest = found.covariance[1, 1] - found.covariance[0, 1] ** 2 / found.covariance[0, 0]
    assert rest == pytest.approx(np.var(y[:40] - slope * x[:40] - intercept), rel=1e-5)
