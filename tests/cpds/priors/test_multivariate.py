from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from sepset.cpds.priors.gaussian import ConjugatePrior, NormalGamma
from sepset.cpds.priors.multivariate import LinearNormalGamma, NormalInverseWishart
from sepset.data.scatter import Scatter
from sepset.errors import DataError, ModelError
from support.tolerances import STANDARD_ERRORS

SCALE = np.array([[2.0, 0.5], [0.5, 1.0]])
WISHART = NormalInverseWishart([0.5, -1.0], 1.5, 4.5, SCALE)
LINE = LinearNormalGamma([0.3, -0.2, 1.0], np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.7]]), 2.2, 1.4)


def assert_close(first, second, rtol=1e-8):
    for name in type(first).__dataclass_fields__:
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=rtol, atol=1e-9)


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_wishart_batch_is_sequential_and_evidence_is_a_product_of_predictions(num_rows, cut, seed):
    x = np.random.default_rng(seed).normal(1.0, 3.0, size=(num_rows, 2))
    sequential, logs = WISHART, 0.0
    for row in x:
        t = sequential.predictive()
        logs += stats.multivariate_t(t.location, t.dispersion, df=t.degrees).logpdf(row)
        sequential = sequential.update(row[None])
    assert_close(WISHART.update(x), sequential)
    assert_close(WISHART.update(x[:cut]).update(Scatter.of(x[cut:])), sequential)
    assert WISHART.log_marginal_likelihood(x) == pytest.approx(logs, rel=1e-9, abs=1e-9)


def test_wishart_update_is_the_printed_one():
    x = np.array([[1.0, 2.0], [3.0, 1.0], [0.0, 4.0]])
    after, mean = WISHART.update(x), x.mean(axis=0)
    products = (x - mean).T @ (x - mean)
    apart = mean - WISHART.mean
    np.testing.assert_allclose(after.scale, SCALE + products + 1.5 * 3 / 4.5 * np.outer(apart, apart))
    np.testing.assert_allclose(after.mean, (1.5 * WISHART.mean + 3 * mean) / 4.5)
    assert (after.strength, after.degrees) == (4.5, 7.5)
    np.testing.assert_allclose(after.expected_covariance(), after.scale / 4.5)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=8))
def test_one_coordinate_is_the_normal_gamma(x):
    gamma, wishart = NormalGamma(0.3, 1.2, 2.0, 1.5), NormalInverseWishart(0.3, 1.2, 4.0, 3.0)
    line = LinearNormalGamma(0.3, 1.2, 2.0, 1.5)
    for other in (wishart, line):
        assert other.log_marginal_likelihood(x) == pytest.approx(gamma.log_marginal_likelihood(x), rel=1e-9, abs=1e-9)
        mine, theirs = gamma.update(x).predictive(), other.update(x).predictive()
        assert theirs.degrees == mine.degrees
        np.testing.assert_allclose(theirs.location, mine.location, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(theirs.dispersion, mine.dispersion, rtol=1e-9)


def test_wishart_draws_average_to_the_prediction():
    count = 20_000
    means, covariances = WISHART.update([[1.0, 0.0], [2.0, -1.0], [0.0, 0.5]]).sample(count, seed=0)
    t = WISHART.update([[1.0, 0.0], [2.0, -1.0], [0.0, 0.5]]).predictive()
    for x in ([0.0, 0.0], [1.0, -1.0]):
        inverse = np.linalg.inv(covariances)
        apart = x - means
        squares = np.einsum("ni,nij,nj->n", apart, inverse, apart)
        mixed = np.exp(-0.5 * squares) / (2 * np.pi * np.sqrt(np.linalg.det(covariances)))
        assert abs(mixed.mean() - math.exp(t.log_density(x))) < STANDARD_ERRORS * mixed.std() / math.sqrt(count)


def regressors(num_rows, seed, size=2):
    rng = np.random.default_rng(seed)
    u = rng.normal(0.5, 1.5, size=(num_rows, size))
    return u, 0.4 + u @ rng.normal(size=size) + rng.normal(size=num_rows)


@given(st.integers(1, 10), st.integers(0, 2**32 - 1))
def test_line_update_is_the_printed_one(num_rows, seed):
    u, x = regressors(num_rows, seed)
    Z = np.concatenate([np.ones((num_rows, 1)), u], axis=1)
    after = LINE.update(np.concatenate([u, x[:, None]], axis=1))
    precision = LINE.precision + Z.T @ Z
    mean = np.linalg.solve(precision, LINE.precision @ LINE.mean + Z.T @ x)
    rate = LINE.rate + 0.5 * (x @ x + LINE.mean @ LINE.precision @ LINE.mean - mean @ precision @ mean)
    np.testing.assert_allclose(after.precision, precision, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(after.mean, mean, rtol=1e-7, atol=1e-8)
    assert after.rate == pytest.approx(rate, rel=1e-7)
    assert after.shape == LINE.shape + num_rows / 2


@given(st.integers(1, 8), st.integers(0, 8), st.integers(0, 2**32 - 1))
def test_line_evidence_is_a_joint_student_t(num_rows, cut, seed):
    u, x = regressors(num_rows, seed)
    rows = np.concatenate([u, x[:, None]], axis=1)
    Z = np.concatenate([np.ones((num_rows, 1)), u], axis=1)
    dispersion = LINE.rate / LINE.shape * (np.eye(num_rows) + Z @ np.linalg.inv(LINE.precision) @ Z.T)
    joint = stats.multivariate_t(Z @ LINE.mean, dispersion, df=2 * LINE.shape).logpdf(x)
    assert LINE.log_marginal_likelihood(rows) == pytest.approx(float(joint), rel=1e-8, abs=1e-8)
    sequential, logs = LINE, 0.0
    for row in rows:
        logs += float(sequential.predictive(row[:2]).log_density(row[2]))
        sequential = sequential.update(row[None])
    assert logs == pytest.approx(float(joint), rel=1e-8, abs=1e-8)
    assert_close(LINE.update(rows), sequential, 1e-6)
    assert_close(LINE.update(rows[:cut]).update(Scatter.of(rows[cut:])), sequential, 1e-6)


def test_collinear_parents_are_no_trouble_with_a_prior():
    u = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    after = LINE.update(np.concatenate([u, u[:, :1]], axis=1))
    Z = np.concatenate([np.ones((3, 1)), u], axis=1)
    mean = np.linalg.solve(LINE.precision + Z.T @ Z, LINE.precision @ LINE.mean + Z.T @ u[:, 0])
    np.testing.assert_allclose(after.mean, mean, rtol=1e-9)


def test_line_marginal_and_draws():
    u, x = regressors(6, 3)
    after, count = LINE.update(np.concatenate([u, x[:, None]], axis=1)), 30_000
    lines, precisions = after.sample(count, seed=0)
    t = after.predictive([0.5, -1.0])
    mixed = stats.norm.pdf(0.7, lines @ [1.0, 0.5, -1.0], precisions**-0.5)
    assert abs(mixed.mean() - math.exp(t.log_density(0.7))) < STANDARD_ERRORS * mixed.std() / math.sqrt(count)
    low, high = after.coefficients().interval(0.5)
    inside = ((lines > low) & (lines < high)).mean(axis=0)
    assert (np.abs(inside - 0.5) < STANDARD_ERRORS * 0.5 / math.sqrt(count)).all()
    assert after.expected_precision == pytest.approx(after.shape / after.rate)
    assert after.expected_variance == pytest.approx(after.rate / (after.shape - 1))


def test_no_data_change_nothing():
    assert_close(LINE.update(np.zeros((0, 3))), LINE)
    assert_close(WISHART.update(np.zeros((0, 2))), WISHART)
    assert LINE.log_marginal_likelihood(np.zeros((0, 3))) == pytest.approx(0.0, abs=1e-12)
    assert WISHART.log_marginal_likelihood(np.zeros((0, 2))) == pytest.approx(0.0, abs=1e-12)
    assert isinstance(LINE, ConjugatePrior)
    assert isinstance(WISHART, ConjugatePrior)


def test_what_is_refused():
    with pytest.raises(ModelError, match="degrees > 1"):
        NormalInverseWishart([0.0, 0.0], 1.0, 1.0, np.eye(2))
    with pytest.raises(ModelError, match="positive definite"):
        NormalInverseWishart([0.0, 0.0], 1.0, 3.0, np.zeros((2, 2)))
    with pytest.raises(ModelError, match="finite symmetric"):
        LinearNormalGamma([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]], 1.0, 1.0)
    with pytest.raises(ModelError, match="as many rows"):
        LinearNormalGamma([0.0], np.eye(2), 1.0, 1.0)
    with pytest.raises(ModelError, match="no mean"):
        NormalInverseWishart([0.0, 0.0], 1.0, 3.0, np.eye(2)).expected_covariance()
    with pytest.raises(DataError, match="2 parents"):
        LINE.predictive([1.0])
    with pytest.raises(DataError, match="3 coordinates"):
        LINE.update(np.zeros((2, 2)))
    assert LinearNormalGamma([0.0], 1.0, 1.0, 1.0).expected_variance == math.inf
    assert repr(WISHART).startswith("NormalInverseWishart(2 coordinates")
    assert repr(LINE).startswith("LinearNormalGamma(mean=[0.3")
