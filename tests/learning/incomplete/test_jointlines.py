"""Missing numbers of many rows at once, held to dense normal distributions row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import sepset as ss
from sepset.learning.incomplete import jointlines as module
from sepset.learning.incomplete.jointlines import JointLines

D, E = ss.Discrete("d", 2), ss.Discrete("e", 3)
X, Y, Z = ss.Real("x"), ss.Real("y"), ss.Real("z")


def random_lines(rng):
    """x given d, y given x, and z given x, y and both states."""
    return [
        ss.LinearGaussian(X, rng.normal(size=2), covariance=rng.random(2) + 0.2, by=D),
        ss.LinearGaussian(Y, rng.normal(), coefficients=rng.normal(), covariance=0.5, given=X),
        ss.LinearGaussian(
            Z,
            rng.normal(size=(2, 3)),
            coefficients=rng.normal(size=(2, 3, 1, 2)),
            covariance=rng.random((2, 3)) + 0.1,
            given=(X, Y),
            by=(D, E),
        ),
    ]


def dense(lines, d, e):
    """The mean and covariance of (x, y, z), one line after the other."""
    a, b, c = lines
    mean, sigma = np.zeros(3), np.zeros((3, 3))
    mean[0], sigma[0, 0] = a.intercept[d, 0], a.covariance[d, 0, 0]
    slopes = [b.coefficients[0, 0], c.coefficients.reshape(2, 3, 2)[d, e]]
    starts = [b.intercept[0, 0], c.intercept.reshape(2, 3)[d, e]]
    noises = [b.covariance[0, 0, 0], c.covariance.reshape(2, 3)[d, e]]
    for i, (slope, start, noise) in enumerate(zip(slopes, starts, noises, strict=True), start=1):
        mean[i] = start + slope @ mean[:i]
        sigma[i, :i] = sigma[:i, i] = sigma[:i, :i] @ slope
        sigma[i, i] = noise + slope @ sigma[:i, :i] @ slope
    return mean, sigma


def patterns_of(values):
    return np.unique(np.isnan(values), axis=0, return_inverse=True)[1].reshape(-1)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2**20]))
@settings(max_examples=40, deadline=None)
def test_rows_are_conditioned_one_by_one(seed, block):
    rng = np.random.default_rng(seed)
    lines = random_lines(rng)
    values = rng.normal(size=(12, 3))
    values[rng.random(values.shape) < 0.4] = np.nan
    columns = {D: rng.integers(2, size=12), E: rng.integers(3, size=12)} | dict(zip((X, Y, Z), values.T, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        found = JointLines.of(lines).completed(columns, patterns_of(values))
    for row in range(12):
        mean, sigma = dense(lines, columns[D][row], columns[E][row])
        m, o = (np.flatnonzero(np.isnan(values[row]) == flag) for flag in (True, False))
        gain = sigma[np.ix_(m, o)] @ np.linalg.inv(sigma[np.ix_(o, o)])
        expected = values[row].copy()
        expected[m] = mean[m] + gain @ (values[row, o] - mean[o])
        inner = sigma[np.ix_(m, m)] - gain @ sigma[np.ix_(o, m)]
        np.testing.assert_allclose([found.columns[v][row] for v in (X, Y, Z)], expected, atol=1e-9)
        covariance = np.zeros((3, 3))
        covariance[np.ix_(m, m)] = inner
        np.testing.assert_allclose(found.covariances[found.group[row]], covariance, atol=1e-9)
        log = stats.multivariate_normal(mean[o], sigma[np.ix_(o, o)]).logpdf(values[row, o]) if len(o) else 0.0
        assert found.log_density[row] == pytest.approx(log, abs=1e-8)
        peak = stats.multivariate_normal(np.zeros(len(m)), inner).logpdf(np.zeros(len(m))) if len(m) else 0.0
        assert found.log_peak[row] == pytest.approx(peak, abs=1e-8)


def test_equal_rows_share_a_covariance():
    lines = random_lines(np.random.default_rng(0))
    values = np.array([[1.0, np.nan, 2.0], [3.0, np.nan, 4.0], [np.nan, 1.0, 1.0]])
    columns = {D: np.array([0, 0, 1]), E: np.array([2, 2, 0])} | dict(zip((X, Y, Z), values.T, strict=True))
    found = JointLines.of(lines).completed(columns, patterns_of(values))
    assert found.group[0] == found.group[1] != found.group[2]
    assert found.covariances.shape == (2, 3, 3)


def test_large_means_keep_their_digits():
    near = [
        ss.LinearGaussian(X, 1.0, covariance=1.0),
        ss.LinearGaussian(Y, 0.0, coefficients=1.0, covariance=0.5, given=X),
    ]
    far = [ss.LinearGaussian(X, 1e8 + 1.0, covariance=1.0), near[1]]
    rows = {X: np.array([np.nan, 2.0]), Y: np.array([1.5, np.nan])}
    shifted = {v: column + 1e8 for v, column in rows.items()}
    one, other = (JointLines.of(lines).completed(c, np.arange(2)) for lines, c in ((near, rows), (far, shifted)))
    np.testing.assert_allclose(other.columns[X] - 1e8, one.columns[X], atol=1e-6)
    np.testing.assert_allclose(other.log_density, one.log_density, atol=1e-6)


def test_lines_that_leave_nothing_over_have_no_precision():
    certain = ss.LinearGaussian(Y, 0.0, coefficients=1.0, covariance=0.0, given=X)
    assert JointLines.of([ss.LinearGaussian(X, covariance=1.0), certain]) is None
