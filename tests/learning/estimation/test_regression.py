"""Posteriors of lines against quadrature, scipy and draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.gaussian import NormalGamma
from sepset.cpds.priors.multivariate import LinearNormalGamma, NormalInverseWishart
from sepset.errors import ModelError, NotApplicable, ScopeError
from sepset.learning.estimation.linepriors import conjugate_for
from sepset.learning.estimation.regression import Lines
from sepset.variables.variable import Discrete, Real, Vector
from support.tolerances import STANDARD_ERRORS

A, U, Z, W = Discrete("a"), Real("u"), Real("z"), Real("w")
LINE = LinearGaussian(Z, coefficients=np.zeros((2, 1, 1)), covariance=[1.0, 1.0], given=U, by=A)
PRIOR = LinearNormalGamma([0.5, -0.5], [1.0, 2.0], 2.5, 1.5)


def rows(rng, num=15):
    a, u = rng.integers(2, size=num), rng.normal(size=num)
    return {A: a, U: u, Z: 1.0 + u * (1 - 2 * a) + rng.normal(size=num)}


def by_hand(u, z):
    """The update of the spec's table, written out."""
    design = np.column_stack([np.ones(len(u)), u])
    precision = PRIOR.precision + design.T @ design
    mean = np.linalg.solve(precision, PRIOR.precision @ PRIOR.mean + design.T @ z)
    rate = PRIOR.rate + 0.5 * (z @ z + PRIOR.mean @ PRIOR.precision @ PRIOR.mean - mean @ precision @ mean)
    return mean, precision, PRIOR.shape + 0.5 * len(u), rate


def test_each_context_has_its_posterior():
    data = rows(np.random.default_rng(0))
    post = Lines.of([LINE], PRIOR, LINE.statistics(data))
    for e in (0, 1):
        at = data[A] == e
        mean, precision, shape, rate = by_hand(data[U][at], data[Z][at])
        found = post.contexts[e]
        np.testing.assert_allclose(found.mean, mean)
        np.testing.assert_allclose(found.precision, precision)
        assert (found.shape, found.rate) == pytest.approx((shape, rate))
    (cpd,) = post.mean_cpds()
    mean, _, shape, rate = by_hand(data[U][data[A] == 1], data[Z][data[A] == 1])
    assert [cpd.intercept[1, 0], cpd.coefficients[1, 0, 0]] == pytest.approx(mean)
    assert cpd.covariance[1, 0, 0] == pytest.approx(rate / (shape - 1))


def test_marginals_of_parameters():
    data = rows(np.random.default_rng(1))
    post = Lines.of([LINE], PRIOR, LINE.scatters(data))
    mean, precision, shape, rate = by_hand(data[U][data[A] == 0], data[Z][data[A] == 0])
    scale = np.sqrt(np.diagonal(np.linalg.inv(precision)) * rate / shape)
    for place, name in enumerate(("intercept", "u")):
        t = stats.t(2 * shape, mean[place], scale[place])
        assert post.tail(name, 0.3, {"a": 0}) == pytest.approx(t.sf(0.3))
        np.testing.assert_allclose(post.interval(name, 0.9, {A: 0}), t.interval(0.9))
    variance = stats.invgamma(shape, scale=rate)
    assert post.tail("variance", 0.7, {"a": 0}) == pytest.approx(variance.sf(0.7))
    np.testing.assert_allclose(post.moments("variance", {"a": 0}), [variance.mean(), variance.std()])


def test_evidence_by_quadrature():
    """Only an intercept: the evidence is a double integral."""
    data = np.array([0.3, -0.4, 1.1])
    cpd = LinearGaussian(Z, covariance=1.0)
    prior = NormalGamma(0.2, 1.5, 2.0, 1.0)
    post = Lines.of([cpd], prior, cpd.statistics({Z: data}))

    tau = np.linspace(0, 30, 6001)[1:, None]
    mean = np.linspace(-6, 6, 1201)
    density = stats.norm.pdf(mean, 0.2, 1 / np.sqrt(1.5 * tau)) * stats.gamma.pdf(tau, 2.0)
    for x in data:
        density = density * stats.norm.pdf(x, mean, 1 / np.sqrt(tau))
    value = integrate.trapezoid(integrate.trapezoid(density, mean), tau[:, 0])
    assert math.exp(post.log_marginal_likelihood()) == pytest.approx(value, rel=1e-4)


def test_one_row_is_student_t_and_more_gain_the_evidence():
    rng = np.random.default_rng(2)
    data, more = rows(rng), rows(rng, 4)
    post = Lines.of([LINE], PRIOR, LINE.scatters(data))
    both = post.updated(LINE.scatters(more))
    gain = both.log_marginal_likelihood() - post.log_marginal_likelihood()
    assert post.log_gain(LINE.scatters(more)) == pytest.approx(gain)
    for row in range(4):
        one = {v: c[row : row + 1] for v, c in more.items()}
        alone = post.updated(LINE.scatters(one)).log_marginal_likelihood() - post.log_marginal_likelihood()
        assert post.log_predictive(one)[0] == pytest.approx(alone)


def test_a_row_that_uses_a_line_twice():
    first = LinearGaussian(Z, coefficients=0.0, covariance=1.0, given=U, block="line")
    second = LinearGaussian(W, coefficients=0.0, covariance=1.0, given=U, block="line")
    rng = np.random.default_rng(3)
    data = {U: rng.normal(size=6), Z: rng.normal(size=6), W: rng.normal(size=6)}
    total = first.scatters(data) + second.scatters(data)
    post = Lines.of([first, second], PRIOR, total)
    new = {U: np.array([0.4]), Z: np.array([0.2]), W: np.array([-1.0])}
    both = post.updated(first.scatters(new) + second.scatters(new))
    expected = both.log_marginal_likelihood() - post.log_marginal_likelihood()
    assert post.log_predictive(new)[0] == pytest.approx(expected)
    alone = Lines.of([first], PRIOR, total).log_predictive(new)[0] + Lines.of([second], PRIOR, total).log_predictive(
        new
    )
    assert abs(expected - alone[0]) > 1e-3


def test_rows_that_share_lines_in_some_contexts():
    """Three tied lines with two contexts each: every row is the ratio of two evidences, whichever contexts meet."""
    rng = np.random.default_rng(8)
    children, states = [Real(n) for n in "xyz"], [Discrete(n) for n in "abc"]
    cpds = [
        LinearGaussian(x, coefficients=np.zeros(2), covariance=np.ones(2), given=U, by=a, block="line")
        for x, a in zip(children, states, strict=True)
    ]
    num = 40
    data = {U: rng.normal(size=num)} | {a: rng.integers(2, size=num) for a in states}
    data |= {x: rng.normal(size=num) for x in children}
    seen = {v: column[:5] for v, column in data.items()}
    post = Lines.of(cpds, PRIOR, cpds[0].scatters(seen) + cpds[1].scatters(seen) + cpds[2].scatters(seen))
    before = post.log_marginal_likelihood()
    found = post.log_predictive(data)
    for row in range(num):
        one = {v: column[row : row + 1] for v, column in data.items()}
        after = post
        for cpd in cpds:
            after = after.updated(cpd.scatters(one))
        assert found[row] == pytest.approx(after.log_marginal_likelihood() - before, abs=1e-9)


def test_rows_that_share_a_covariance():
    rng = np.random.default_rng(9)
    children = [Vector("p", 2), Vector("q", 2)]
    cpds = [LinearGaussian(p, covariance=np.eye(2), block="point") for p in children]
    data = {p: rng.normal(size=(7, 2)) for p in children}
    post = Lines.of(cpds, NormalInverseWishart([0, 0], 0.5, 4, np.eye(2)), cpds[0].scatters(data))
    found = post.log_predictive(data)
    for row in range(7):
        one = {v: column[row : row + 1] for v, column in data.items()}
        both = post.updated(cpds[0].scatters(one)).updated(cpds[1].scatters(one))
        assert found[row] == pytest.approx(both.log_marginal_likelihood() - post.log_marginal_likelihood(), abs=1e-9)


def test_draws_have_the_moments():
    data = rows(np.random.default_rng(4), 30)
    post = Lines.of([LINE], PRIOR, LINE.scatters(data))
    rng = np.random.default_rng(0)
    drawn = [post.sampled_cpds(rng)[0] for _ in range(2000)]
    slopes = np.array([cpd.coefficients[1, 0, 0] for cpd in drawn])
    mean, deviation = post.moments("u", {"a": 1})
    assert abs(slopes.mean() - mean) <= STANDARD_ERRORS * deviation / math.sqrt(2000)
    variances = np.array([cpd.covariance[1, 0, 0] for cpd in drawn])
    mean, deviation = post.moments("variance", {"a": 1})
    assert abs(variances.mean() - mean) <= STANDARD_ERRORS * deviation / math.sqrt(2000)


def test_vectors_take_normal_inverse_wishart():
    p = Vector("p", 2)
    cpd = LinearGaussian(p, covariance=np.eye(2))
    prior = NormalInverseWishart([0.0, 1.0], 2.0, 6.0, np.eye(2))
    data = {p: np.random.default_rng(5).normal(size=(7, 2))}
    post = Lines.of([cpd], prior, cpd.statistics(data))
    after = prior.update(data[p])
    np.testing.assert_allclose(post.mean_cpds()[0].covariance[0], after.expected_covariance())
    assert post.log_predictive({p: np.array([[0.5, 0.5]])})[0] == pytest.approx(
        float(np.ravel(after.predictive().log_density([[0.5, 0.5]]))[0])
    )
    assert post.sampled_cpds(np.random.default_rng(0))[0].covariance.shape == (1, 2, 2)
    k = after.degrees - 1
    t = stats.t(k, after.mean[1], np.sqrt(after.scale[1, 1] / (k * after.strength)))
    np.testing.assert_allclose(post.interval("intercept[1]", 0.9, {}), t.interval(0.9))
    with pytest.raises(ScopeError, match=r"no parameter 'intercept': 'intercept\[0\]', 'intercept\[1\]'"):
        post.tail("intercept", 0.0, {})
    with pytest.raises(NotApplicable, match="NormalInverseWishart over 2"):
        conjugate_for(cpd, NormalGamma(0, 1, 2, 1))


def test_priors_must_fit():
    with pytest.raises(NotApplicable, match="NormalGamma, or LinearNormalGamma over 2 coefficients"):
        conjugate_for(LINE, Dirichlet(1))
    with pytest.raises(NotApplicable, match="over 2 coefficients"):
        conjugate_for(LINE, LinearNormalGamma([0.0], 1.0, 2.0, 1.0))
    lone = LinearGaussian(Z, covariance=1.0)
    short = Lines.of([lone], NormalGamma(0.0, 1.0, 0.5, 1.0), np.zeros((1, 2, 2)))
    with pytest.raises(ModelError, match="no mean"):
        short.mean_cpds()


def test_questions_that_make_no_sense():
    post = Lines.of([LINE], PRIOR, np.zeros((2, 3, 3)))
    with pytest.raises(ScopeError, match=r"no parameter 'interccept'.*Did you mean 'intercept'"):
        post.tail("interccept", 0.0, {"a": 0})
    with pytest.raises(ScopeError, match="'a' is missing"):
        post.tail("u", 0.0, {})
    with pytest.raises(ScopeError, match="no discrete parent 'u'"):
        post.tail("u", 0.0, {"a": 0, "u": 1})
    assert repr(post) == "Lines(z: 2 contexts, 0 rows)"
