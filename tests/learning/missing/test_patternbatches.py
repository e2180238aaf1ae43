"""Steps over many patterns at once, against the conditional moments of each row by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from sepset.learning.missing import patternbatches
from sepset.learning.missing.gaussian import incomplete_gaussian, pattern_moments
from sepset.learning.missing.patternbatches import batched_step, batches, precision


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


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 40, patternbatches.LARGEST]))
@settings(max_examples=60, deadline=None)
def test_a_step_is_that_of_every_row(seed, largest):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 6))
    values = rng.standard_normal((int(rng.integers(1, 30)), size))
    values[rng.random(values.shape) < rng.choice([0.0, 0.3, 0.8])] = np.nan
    values[0] = np.where(np.isnan(values[0]), 1.0, values[0])
    weights = rng.uniform(0.5, 2.0, len(values))
    root = rng.standard_normal((size, size)) + 2 * np.eye(size)
    mu, sigma = rng.standard_normal(size), root @ root.T + 0.1 * np.eye(size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patternbatches, "LARGEST", largest)
        parts = batches(pattern_moments(values, weights), size)
    mean, covariance = batched_step(parts, mu, np.linalg.inv(sigma))
    wanted = step_by_rows(values, weights, mu, sigma)
    assert_allclose(mean, wanted[0], rtol=1e-9, atol=1e-10)
    assert_allclose(covariance, wanted[1], rtol=1e-9, atol=1e-10)


def test_inverses_without_digits_are_not_used():
    close = np.array([[1.0, 1.0 - 1e-8], [1.0 - 1e-8, 1.0]])
    assert precision(close) is None
    assert precision(np.ones((2, 2))) is None
    assert_allclose(precision(np.diag([4.0, 0.25])), np.diag([0.25, 4.0]))


def test_nearly_dependent_columns_are_taken_pattern_by_pattern(monkeypatch):
    """Both ways to step end at the same estimate."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 4))
    values[rng.random(values.shape) < 0.15] = np.nan
    parts = pattern_moments(values)
    found = incomplete_gaussian(parts, 4)
    monkeypatch.setattr("sepset.learning.missing.gaussian.precision", lambda sigma: None)
    other = incomplete_gaussian(parts, 4)
    assert_allclose(found.mean, other.mean, rtol=1e-9, atol=1e-12)
    assert_allclose(found.covariance, other.covariance, rtol=1e-9)
