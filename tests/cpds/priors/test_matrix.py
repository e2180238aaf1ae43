"""The matrix-normal inverse-Wishart prior against its special cases, scipy and quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, stats

from sepset.cpds.priors.gaussian import ConjugatePrior, NormalGamma
from sepset.cpds.priors.matrix import LinearNormalInverseWishart
from sepset.cpds.priors.multivariate import LinearNormalGamma, NormalInverseWishart
from sepset.data.scatter import Scatter
from sepset.errors import DataError, ModelError
from support.tolerances import STANDARD_ERRORS

MEAN = np.array([[0.5, -1.0], [0.2, 0.3], [1.0, 0.0]])
PRECISION = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.7]])
SCALE = np.array([[2.0, 0.5], [0.5, 1.0]])
PRIOR = LinearNormalInverseWishart(MEAN, PRECISION, 4.5, SCALE)


def rows(num, seed):
    return np.random.default_rng(seed).normal(1.0, 2.0, size=(num, 4))


@given(st.integers(1, 8), st.integers(0, 8), st.integers(0, 2**32 - 1))
def test_evidence_is_a_product_of_predictions(num, cut, seed):
    data = rows(num, seed)
    sequential, logs = PRIOR, 0.0
    for row in data:
        t = sequential.predictive(row[:2])
        logs += stats.multivariate_t(t.location, t.dispersion, df=t.degrees).logpdf(row[2:])
        sequential = sequential.update(row[None])
    assert PRIOR.log_marginal_likelihood(data) == pytest.approx(logs, rel=1e-9, abs=1e-9)
    for other in (PRIOR.update(data), PRIOR.update(data[:cut]).update(Scatter.of(data[cut:]))):
        assert other.degrees == sequential.degrees
        for name in ("mean", "precision", "scale", "root"):
            np.testing.assert_allclose(getattr(other, name), getattr(sequential, name), rtol=1e-7, atol=1e-9)


def test_the_update_is_the_printed_one():
    data = rows(6, 0)
    z, y = np.column_stack([np.ones(6), data[:, :2]]), data[:, 2:]
    precision = PRECISION + z.T @ z
    mean = np.linalg.solve(precision, PRECISION @ MEAN + z.T @ y)
    away, moved = y - z @ mean, mean - MEAN
    found = PRIOR.update(data)
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.precision, precision)
    np.testing.assert_allclose(found.scale, SCALE + away.T @ away + moved.T @ PRECISION @ moved)
    np.testing.assert_allclose(found.expected_covariance(), found.scale / (10.5 - 3.0))
    assert found.degrees == 10.5
    assert PRIOR.update(np.zeros((0, 4))) is PRIOR


@given(st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_one_coordinate_is_the_normal_gamma_of_a_line(num, seed):
    data = rows(num, seed)[:, :3]
    line = LinearNormalGamma(MEAN[:, 0], PRECISION, 2.2, 1.4)
    same = LinearNormalInverseWishart(MEAN[:, :1], PRECISION, 4.4, 2.8)
    assert same.log_marginal_likelihood(data) == pytest.approx(line.log_marginal_likelihood(data), abs=1e-9)
    mine, theirs = same.update(data).predictive([0.3, 2.0]), line.update(data).predictive([0.3, 2.0])
    assert mine.degrees == pytest.approx(theirs.degrees)
    np.testing.assert_allclose([mine.location, mine.scale], [theirs.location, theirs.scale])
    joint = line.update(data).coefficients()
    for row in range(3):
        alone = same.update(data).coefficient(row)
        np.testing.assert_allclose([alone.location[0], alone.scale[0]], [joint.location[row], joint.scale[row]])


def test_every_other_prior_is_a_case():
    data = rows(5, 3)
    wishart = NormalInverseWishart([0.5, -1.0], 1.5, 4.5, SCALE)
    gamma = NormalGamma(0.3, 1.2, 2.0, 1.5)
    for prior, part in ((wishart, data[:, 2:]), (gamma, data[:, 3:])):
        same = LinearNormalInverseWishart.of(prior)
        assert same.log_marginal_likelihood(part) == pytest.approx(prior.log_marginal_likelihood(part))
        mine, theirs = same.update(part).predictive(), prior.update(part).predictive()
        np.testing.assert_allclose(mine.dispersion, theirs.dispersion)
    assert LinearNormalInverseWishart.of(PRIOR) is PRIOR
    assert isinstance(PRIOR, ConjugatePrior)


def test_one_coordinate_of_several_has_its_own_posterior():
    """Marginals of a Wishart: what other coordinates did says nothing of this one's line and variance."""
    data = rows(7, 4)
    after = PRIOR.update(data)
    for j in range(2):
        own = LinearNormalGamma(MEAN[:, j], PRECISION, 0.5 * (4.5 - 1.0), 0.5 * SCALE[j, j])
        alone = own.update(np.column_stack([data[:, :2], data[:, 2 + j]]))
        line = alone.coefficients()
        for row in range(3):
            found = after.coefficient(row, j)
            assert found.degrees == pytest.approx(line.degrees)
            np.testing.assert_allclose([found.location[0], found.scale[0]], [line.location[row], line.scale[row]])
        assert after.variance(j) == pytest.approx((alone.shape, alone.rate))


def test_evidence_by_quadrature():
    data = np.array([0.3, -0.4, 1.1])
    prior = LinearNormalInverseWishart([[0.2]], 1.5, 4.0, 2.0)
    tau, mean = np.linspace(0, 30, 6001)[1:, None], np.linspace(-6, 6, 1201)
    density = stats.norm.pdf(mean, 0.2, 1 / np.sqrt(1.5 * tau)) * stats.gamma.pdf(tau, 2.0)
    for x in data:
        density = density * stats.norm.pdf(x, mean, 1 / np.sqrt(tau))
    value = integrate.trapezoid(integrate.trapezoid(density, mean), tau[:, 0])
    assert math.exp(prior.log_marginal_likelihood(data)) == pytest.approx(value, rel=1e-4)


def test_draws_have_the_moments():
    prior = LinearNormalInverseWishart(MEAN, PRECISION, 12.0, SCALE)
    lines, covariances = prior.sample(4000, 0)
    spread = np.kron(np.linalg.inv(PRECISION), SCALE / 9.0)
    flat = lines.reshape(4000, -1)
    errors = np.abs(flat.mean(axis=0) - MEAN.reshape(-1)) / np.sqrt(np.diagonal(spread) / 4000)
    assert errors.max() <= STANDARD_ERRORS
    np.testing.assert_allclose(np.cov(flat.T), spread, atol=0.12 * np.abs(spread).max())
    np.testing.assert_allclose(covariances.mean(axis=0), SCALE / 9.0, atol=0.02)
    theirs = stats.invwishart(12.0, SCALE)
    np.testing.assert_allclose(covariances.var(axis=0), theirs.var(), rtol=0.3)


def test_flat_rows_are_least_squares():
    data = rows(9, 5)
    after = LinearNormalInverseWishart.flat(3, 2).update(data)
    z = np.column_stack([np.ones(9), data[:, :2]])
    line, residue = np.linalg.lstsq(z, data[:, 2:])[:2]
    np.testing.assert_allclose(after.mean, line)
    np.testing.assert_allclose(np.diagonal(after.scale), residue)
    assert after.degrees == 6.0


def test_what_is_no_prior_is_refused():
    for arguments, why in (
        ((MEAN[0], PRECISION, 4.5, SCALE), "coefficients by coordinates"),
        ((MEAN * np.nan, PRECISION, 4.5, SCALE), "finite mean"),
        ((MEAN, PRECISION[:2], 4.5, SCALE), "3 coefficients need as many rows"),
        ((MEAN, PRECISION, 1.0, SCALE), "degrees > 1"),
        ((MEAN, PRECISION, np.nan, SCALE), "finite degrees"),
        ((MEAN, PRECISION, 4.5, np.eye(3)), r"scale of shape \(2, 2\)"),
        ((MEAN, PRECISION, 4.5, -SCALE), "positive definite"),
        ((MEAN, -1.0, 4.5, SCALE), "positive definite"),
    ):
        with pytest.raises(ModelError, match=why):
            LinearNormalInverseWishart(*arguments)
    with pytest.raises(DataError, match="2 parents; found 1"):
        PRIOR.predictive([1.0])
    with pytest.raises(DataError, match="about 4 coordinates; the data have 2"):
        PRIOR.update(np.zeros((1, 2)))
    with pytest.raises(ModelError, match=r"no mean with 2\.5 degrees"):
        LinearNormalInverseWishart(MEAN, 1.0, 2.5, SCALE).expected_covariance()
