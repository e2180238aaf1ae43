"""Matrix-normal inverse-Wishart priors and special cases, against printed formulas, scipy, quadrature and fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, special, stats

from sepset.cpds.priors.gaussian import ConjugatePrior
from sepset.cpds.priors.precisions import log_det
from sepset.cpds.priors.regression import (
    LinearNormalGamma,
    LinearNormalInverseWishart,
    NormalGamma,
    NormalInverseWishart,
    RegressionPrior,
)
from sepset.data.scatter import Scatter
from sepset.errors import DataError, ModelError
from support import rational_normals
from support.tolerances import CLOSE, STANDARD_ERRORS, printed

X = np.array([1.0, 2.0, 3.0, 4.0])


def test_published_normal_gamma():
    prior = NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)
    assert prior.update(X) == NormalGamma(2.0, 5.0, shape=4.0, rate=6.0)
    assert math.exp(prior.log_marginal_likelihood(X)) == pytest.approx(5.24447e-5, abs=printed(10))
    t = prior.update(X).predictive()
    assert (t.degrees, t.location[0]) == (8.0, 2.0)
    assert t.scale[0] == pytest.approx(1.3416408, abs=printed(7))
    assert math.exp(t.log_density(3.0)) == pytest.approx(0.2130712, abs=printed(7))
    # The normal-inverse-gamma with m=1, V=2, a=2, b=3 on (2, 4, 6).
    posterior = NormalGamma(1.0, 1 / 2.0, shape=2.0, rate=3.0).update([2.0, 4.0, 6.0])
    assert posterior.mean == pytest.approx(3.571429, abs=printed(6))
    assert 1 / posterior.strength == pytest.approx(0.285714, abs=printed(6))
    assert posterior.rate == pytest.approx(8.928571, abs=printed(6))
    assert (posterior.shape, posterior.expected_variance) == (3.5, pytest.approx(3.571429, abs=printed(6)))


def test_large_means_keep_their_digits():
    near, far = (
        NormalGamma(0.0, 1.0, shape=2.0, rate=1.0).update(X),
        NormalGamma(1e9, 1.0, shape=2.0, rate=1.0).update(X + 1e9),
    )
    assert far.rate == pytest.approx(near.rate, rel=CLOSE)
    assert far.mean - 1e9 == pytest.approx(near.mean, abs=1e-6)


SQUARES = np.array([[2.0, 0.5], [0.5, 1.0]])
WISHART = NormalInverseWishart([0.5, -1.0], 1.5, degrees=4.5, scale=SQUARES)
LINE = LinearNormalGamma(
    [0.3, -0.2, 1.0], np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.7]]), shape=2.2, rate=1.4
)


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
    np.testing.assert_allclose(after.scale, SQUARES + products + 1.5 * 3 / 4.5 * np.outer(apart, apart))
    np.testing.assert_allclose(after.mean, (1.5 * WISHART.mean + 3 * mean) / 4.5)
    assert (after.strength, after.degrees) == (4.5, 7.5)
    np.testing.assert_allclose(after.expected_covariance(), after.scale / 4.5)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=8))
def test_one_coordinate_is_the_normal_gamma(x):
    gamma, wishart = NormalGamma(0.3, 1.2, shape=2.0, rate=1.5), NormalInverseWishart(0.3, 1.2, degrees=4.0, scale=3.0)
    line = LinearNormalGamma(0.3, 1.2, shape=2.0, rate=1.5)
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


def test_no_data_change_no_prior():
    assert_close(LINE.update(np.zeros((0, 3))), LINE)
    assert_close(WISHART.update(np.zeros((0, 2))), WISHART)
    assert LINE.log_marginal_likelihood(np.zeros((0, 3))) == pytest.approx(0.0, abs=1e-12)
    assert WISHART.log_marginal_likelihood(np.zeros((0, 2))) == pytest.approx(0.0, abs=1e-12)
    assert isinstance(LINE, ConjugatePrior)
    assert isinstance(WISHART, ConjugatePrior)


def test_what_no_case_takes():
    with pytest.raises(ModelError, match="degrees > 1"):
        NormalInverseWishart([0.0, 0.0], 1.0, degrees=1.0, scale=np.eye(2))
    with pytest.raises(ModelError, match="positive definite"):
        NormalInverseWishart([0.0, 0.0], 1.0, degrees=3.0, scale=np.zeros((2, 2)))
    with pytest.raises(ModelError, match="finite symmetric"):
        LinearNormalGamma([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]], shape=1.0, rate=1.0)
    with pytest.raises(ModelError, match="as many rows"):
        LinearNormalGamma([0.0], np.eye(2), shape=1.0, rate=1.0)
    with pytest.raises(ModelError, match="no mean"):
        NormalInverseWishart([0.0, 0.0], 1.0, degrees=3.0, scale=np.eye(2)).expected_covariance()
    with pytest.raises(DataError, match="2 parents"):
        LINE.predictive([1.0])
    with pytest.raises(DataError, match="3 coordinates"):
        LINE.update(np.zeros((2, 2)))
    assert LinearNormalGamma([0.0], 1.0, shape=1.0, rate=1.0).expected_variance == math.inf
    assert repr(WISHART).startswith("NormalInverseWishart(2 coordinates")
    assert repr(LINE).startswith("LinearNormalGamma(mean=[0.3")


MEAN = np.array([[0.5, -1.0], [0.2, 0.3], [1.0, 0.0]])
PRECISION = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.7]])
SCALE = np.array([[2.0, 0.5], [0.5, 1.0]])
PRIOR = LinearNormalInverseWishart(MEAN, PRECISION, degrees=4.5, scale=SCALE)


def four_columns(num, seed):
    return np.random.default_rng(seed).normal(1.0, 2.0, size=(num, 4))


@given(st.integers(1, 8), st.integers(0, 8), st.integers(0, 2**32 - 1))
def test_evidence_of_vectors_is_a_product_of_predictions(num, cut, seed):
    data = four_columns(num, seed)
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


def fractions(numbers):
    return np.vectorize(Fraction, otypes=[object])(numbers)


def determinant(matrix):
    """The determinant of fractions, by elimination without pivots: leading minors are positive."""
    rows, found = [list(row) for row in matrix], Fraction(1)
    for i, row in enumerate(rows):
        found *= row[i]
        for other in rows[i + 1 :]:
            other[:] = [x - other[i] / row[i] * y for x, y in zip(other, row, strict=True)]
    return found


def exact_evidence(data):
    """The log evidence by its formula, all squares in fractions; the adjugate of a 3 x 3 matrix inverts it."""
    z, y = fractions(np.column_stack([np.ones(len(data)), data[:, :2]])), fractions(data[:, 2:])
    before, mean, scale = fractions(PRECISION), fractions(MEAN), fractions(SCALE)
    after = before + z.T.dot(z)
    minors = [[determinant(np.delete(np.delete(after, i, 0), j, 1)) for j in range(3)] for i in range(3)]
    inverse = np.array([[(-1) ** (i + j) * minors[j][i] for j in range(3)] for i in range(3)]) / determinant(after)
    best = inverse.dot(z.T.dot(y) + before.dot(mean))
    away, moved = y - z.dot(best), best - mean
    squares = scale + away.T.dot(away) + moved.T.dot(before).dot(moved)
    log = [math.log(determinant(matrix)) for matrix in (before, after, scale, squares)]
    degrees = PRIOR.degrees + len(data)
    gamma = special.multigammaln(degrees / 2, 2) - special.multigammaln(PRIOR.degrees / 2, 2)
    return gamma - len(data) * math.log(math.pi) + log[0] - log[1] + PRIOR.degrees / 2 * log[2] - degrees / 2 * log[3]


@pytest.mark.parametrize("gap", [1.0, 1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("seed", [699, *range(10)])
def test_evidence_with_nearly_collinear_parents_meets_exact_fractions(seed, gap):
    data = four_columns(3 + seed % 4, seed)
    if gap < 1.0:
        data[:, 1] = 2.0 * data[:, 0] + gap * data[:, 1]
    assert PRIOR.log_marginal_likelihood(data) == pytest.approx(exact_evidence(data), rel=1e-9, abs=1e-9)


def test_the_update_is_the_printed_one():
    data = four_columns(6, 0)
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
    data = four_columns(num, seed)[:, :3]
    line = LinearNormalGamma(MEAN[:, 0], PRECISION, shape=2.2, rate=1.4)
    same = LinearNormalInverseWishart(MEAN[:, :1], PRECISION, degrees=4.4, scale=2.8)
    assert same.log_marginal_likelihood(data) == pytest.approx(line.log_marginal_likelihood(data), abs=1e-9)
    mine, theirs = same.update(data).predictive([0.3, 2.0]), line.update(data).predictive([0.3, 2.0])
    assert mine.degrees == pytest.approx(theirs.degrees)
    np.testing.assert_allclose([mine.location, mine.scale], [theirs.location, theirs.scale])
    joint = line.update(data).coefficients()
    for row in range(3):
        alone = same.update(data).coefficient(row)
        np.testing.assert_allclose([alone.location[0], alone.scale[0]], [joint.location[row], joint.scale[row]])


def test_every_other_prior_is_a_case():
    data = four_columns(5, 3)
    wishart = NormalInverseWishart([0.5, -1.0], 1.5, degrees=4.5, scale=SCALE)
    gamma = NormalGamma(0.3, 1.2, shape=2.0, rate=1.5)
    for prior, part in ((wishart, data[:, 2:]), (gamma, data[:, 3:])):
        lines, precision = np.atleast_2d(prior.mean), prior.strength
        same = LinearNormalInverseWishart(lines, precision, degrees=prior.degrees, scale=prior.scale)
        assert isinstance(prior, RegressionPrior)
        assert same.log_marginal_likelihood(part) == pytest.approx(prior.log_marginal_likelihood(part))
        mine, theirs = same.update(part).predictive(), prior.update(part).predictive()
        np.testing.assert_allclose(mine.dispersion, theirs.dispersion)
    assert PRIOR.over(3, 2) is PRIOR
    assert PRIOR.over(2, 2) is None
    assert gamma.over(3, 1).mean.tolist() == [0.3, 0.0, 0.0]
    assert gamma.over(1, 2) is None
    assert wishart.over(1, 2) is wishart
    assert wishart.over(2, 2).mean.tolist() == [[0.5, -1.0], [0.0, 0.0]]
    assert wishart.over(1, 3) is None
    assert isinstance(PRIOR, ConjugatePrior)


def test_one_coordinate_of_several_has_its_own_posterior():
    """Marginals of a Wishart: other coordinates have no effect on this one's regression and variance."""
    data = four_columns(7, 4)
    after = PRIOR.update(data)
    for j in range(2):
        own = LinearNormalGamma(MEAN[:, j], PRECISION, shape=0.5 * (4.5 - 1.0), rate=0.5 * SCALE[j, j])
        alone = own.update(np.column_stack([data[:, :2], data[:, 2 + j]]))
        line = alone.coefficients()
        for row in range(3):
            found = after.coefficient(row, j)
            assert found.degrees == pytest.approx(line.degrees)
            np.testing.assert_allclose([found.location[0], found.scale[0]], [line.location[row], line.scale[row]])
        assert after.variance(j) == pytest.approx((alone.shape, alone.rate))


def test_evidence_by_quadrature():
    data = np.array([0.3, -0.4, 1.1])
    prior = LinearNormalInverseWishart([[0.2]], 1.5, degrees=4.0, scale=2.0)
    tau, mean = np.linspace(0, 30, 6001)[1:, None], np.linspace(-6, 6, 1201)
    density = stats.norm.pdf(mean, 0.2, 1 / np.sqrt(1.5 * tau)) * stats.gamma.pdf(tau, 2.0)
    for x in data:
        density = density * stats.norm.pdf(x, mean, 1 / np.sqrt(tau))
    value = integrate.trapezoid(integrate.trapezoid(density, mean), tau[:, 0])
    assert math.exp(prior.log_marginal_likelihood(data)) == pytest.approx(value, rel=1e-4)


def test_draws_have_the_moments():
    prior = LinearNormalInverseWishart(MEAN, PRECISION, degrees=12.0, scale=SCALE)
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
    data = four_columns(9, 5)
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
        mean, precision, degrees, scale = arguments
        with pytest.raises(ModelError, match=why):
            LinearNormalInverseWishart(mean, precision, degrees=degrees, scale=scale)
    with pytest.raises(DataError, match="2 parents; found 1"):
        PRIOR.predictive([1.0])
    with pytest.raises(DataError, match="over 4 coordinates; the data have 2"):
        PRIOR.update(np.zeros((1, 2)))
    with pytest.raises(ModelError, match=r"no mean with 2\.5 degrees"):
        LinearNormalInverseWishart(MEAN, 1.0, degrees=2.5, scale=SCALE).expected_covariance()


def exact_update(u, y, precisions):
    """Precision, mean and added squares of a regression with prior mean zero, in fractions."""
    s, t = (Fraction(float(v)) for v in precisions)
    u, y = [Fraction(float(v)) for v in u], [Fraction(float(v)) for v in y]
    a, b, c = s + len(u), sum(u), t + sum(v * v for v in u)
    p, q = sum(y), sum(v * w for v, w in zip(u, y, strict=True))
    det = a * c - b * b
    mean = [(c * p - b * q) / det, (a * q - b * p) / det]
    return det, mean, sum(v * v for v in y) - mean[0] * p - mean[1] * q


@pytest.mark.parametrize(("center", "spread"), [(0.0, 1.0), (1e6, 1.0), (1.7e9, 1e4), (1e-140, 1e-145), (1e120, 1e119)])
def test_rows_far_from_zero(center, spread):
    """Times in seconds as parents: the precision itself would not even be positive."""
    rng = np.random.default_rng(0)
    u = center + spread * rng.normal(size=30)
    y = 3.0 * (u - center) / spread + rng.normal(size=30)
    scales = np.sqrt(1e-6) * np.array([1.0, spread])
    after = LinearNormalGamma(np.zeros(2), scales**2, shape=1.0, rate=1e-300).update(np.column_stack([u, y]))
    root, mean, squares = after.root, after.lines, after.scale
    det, exact, added = exact_update(u, y, scales**2)
    assert log_det(root) == pytest.approx(math.log(det.numerator) - math.log(det.denominator), rel=1e-6)
    np.testing.assert_allclose(mean[:, 0], [float(v) for v in exact], rtol=1e-6)
    assert squares[0, 0] == pytest.approx(float(added), rel=1e-6)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_updates_are_the_printed_ones(parents, size, num_rows, seed):
    rng = np.random.default_rng(seed)
    base, mean = rng.normal(size=(parents + 3, parents + 1)), rng.normal(size=(parents + 1, size))
    precision = base.T @ base
    u, y = rng.normal(size=(num_rows, parents)), rng.normal(size=(num_rows, size))
    found = LinearNormalInverseWishart(mean, precision, degrees=size + 1.0, scale=np.eye(size)).update(
        np.hstack([u, y])
    )
    root, after, squares = found.root, found.lines, found.scale - np.eye(size)
    z = np.column_stack([np.ones(num_rows), u])
    total = precision + z.T @ z
    expected = np.linalg.solve(total, precision @ mean + z.T @ y)
    np.testing.assert_allclose(root.T @ root, total, rtol=1e-9, atol=1e-9)
    assert (np.diagonal(root) > 0).all()
    assert np.array_equal(root, np.triu(root))
    np.testing.assert_allclose(after, expected, rtol=1e-6, atol=1e-7)
    printed = y.T @ y + mean.T @ precision @ mean - expected.T @ total @ expected
    np.testing.assert_allclose(squares, printed, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["plain", "far", "similar", "tight", "units"])
def test_posteriors_keep_their_digits_whatever_outweighs(kind):
    """Against rational arithmetic; of any units, the prior outweighs one parent and the data another."""
    data = rational_normals.hard_columns(1, kind)
    z = rational_normals.fractions(np.stack([np.ones(30), data["a"], data["b"]], axis=1))
    y = rational_normals.fractions(data["y"])
    weak = Fraction(1e-6)
    prior = LinearNormalInverseWishart(np.zeros((3, 1)), 1e-6 * np.eye(3), degrees=3.0, scale=[[1e-6]])
    precision = z.T @ z + weak * rational_normals.fractions(np.eye(3))
    lines, determinant = rational_normals.solved(precision, (z.T @ y)[:, None])
    left = y - z @ lines[:, 0]
    squares = weak + sum(left * left) + weak * sum(lines[:, 0] ** 2)
    rows = np.stack([data["a"], data["b"], data["y"]], axis=1)
    found = prior.update(rows)
    np.testing.assert_allclose(found.lines[:, 0], lines[:, 0].astype(float), rtol=1e-6)
    assert found.scale[0, 0] == pytest.approx(float(squares), rel=1e-6)
    logs = [math.log(x.numerator) - math.log(x.denominator) for x in (weak, squares, determinant)]
    evidence = math.lgamma(16.5) - math.lgamma(1.5) - 15.0 * math.log(math.pi)
    evidence += 0.5 * (3.0 * logs[0] - 33.0 * logs[1] + 3.0 * logs[0] - logs[2])
    assert prior.log_marginal_likelihood(rows) == pytest.approx(evidence, rel=1e-8)
