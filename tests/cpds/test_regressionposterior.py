"""Posteriors of regressions against quadrature, scipy and draws; which priors they take, and imaginary rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from sepset.api.learning import fit
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import K2, Dirichlet
from sepset.cpds.priors.regression import (
    LinearNormalGamma,
    LinearNormalInverseWishart,
    NormalGamma,
    NormalInverseWishart,
)
from sepset.cpds.regressionposterior import imagined
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, NotApplicable, ScopeError
from sepset.learning.estimation.estimators import MLE, Bayes, PosteriorMode
from sepset.learning.estimation.networkpriors import ImaginaryData
from sepset.learning.incomplete.em import EM
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real, Vector
from support.tolerances import STANDARD_ERRORS

A, U, Z, W = Discrete("a"), Real("u"), Real("z"), Real("w")
LINE = LinearGaussian(Z, coefficients=np.zeros((2, 1, 1)), covariance=[1.0, 1.0], given=U, by=A)
PRIOR = LinearNormalGamma([0.5, -0.5], [1.0, 2.0], shape=2.5, rate=1.5)


def posterior(cpds, prior, stats):
    return cpds[0].parameters.posterior(prior, cpds, cpds[0].centered(stats))


def conjugate(cpd, prior):
    return cpd.parameters.conjugate(prior)


def rows(rng, num=15):
    a, u = rng.integers(2, size=num), rng.normal(size=num)
    return {A: a, U: u, Z: 1.0 + u * (1 - 2 * a) + rng.normal(size=num)}


def by_hand(u, z):
    """The update of the table of conjugate priors, written out."""
    design = np.column_stack([np.ones(len(u)), u])
    precision = PRIOR.precision + design.T @ design
    mean = np.linalg.solve(precision, PRIOR.precision @ PRIOR.mean + design.T @ z)
    rate = PRIOR.rate + 0.5 * (z @ z + PRIOR.mean @ PRIOR.precision @ PRIOR.mean - mean @ precision @ mean)
    return mean, precision, PRIOR.shape + 0.5 * len(u), rate


def test_each_context_has_its_posterior():
    data = rows(np.random.default_rng(0))
    post = posterior([LINE], PRIOR, LINE.statistics(data))
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
    post = posterior([LINE], PRIOR, LINE.scatters(data))
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
    prior = NormalGamma(0.2, 1.5, shape=2.0, rate=1.0)
    post = posterior([cpd], prior, cpd.statistics({Z: data}))

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
    post = posterior([LINE], PRIOR, LINE.scatters(data))
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
    post = posterior([first, second], PRIOR, total)
    new = {U: np.array([0.4]), Z: np.array([0.2]), W: np.array([-1.0])}
    both = post.updated(first.scatters(new) + second.scatters(new))
    expected = both.log_marginal_likelihood() - post.log_marginal_likelihood()
    assert post.log_predictive(new)[0] == pytest.approx(expected)
    alone = posterior([first], PRIOR, total).log_predictive(new)[0] + posterior([second], PRIOR, total).log_predictive(
        new
    )
    assert abs(expected - alone[0]) > 1e-3


def test_rows_that_share_lines_in_some_contexts():
    """Three tied regressions with two contexts each: every row is a ratio of two evidences, whatever its contexts."""
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
    post = posterior(cpds, PRIOR, cpds[0].scatters(seen) + cpds[1].scatters(seen) + cpds[2].scatters(seen))
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
    post = posterior(cpds, NormalInverseWishart([0, 0], 0.5, degrees=4, scale=np.eye(2)), cpds[0].scatters(data))
    found = post.log_predictive(data)
    for row in range(7):
        one = {v: column[row : row + 1] for v, column in data.items()}
        both = post.updated(cpds[0].scatters(one)).updated(cpds[1].scatters(one))
        assert found[row] == pytest.approx(both.log_marginal_likelihood() - post.log_marginal_likelihood(), abs=1e-9)


def test_draws_have_the_moments():
    data = rows(np.random.default_rng(4), 30)
    post = posterior([LINE], PRIOR, LINE.scatters(data))
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
    prior = NormalInverseWishart([0.0, 1.0], 2.0, degrees=6.0, scale=np.eye(2))
    data = {p: np.random.default_rng(5).normal(size=(7, 2))}
    post = posterior([cpd], prior, cpd.statistics(data))
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
        conjugate(cpd, NormalGamma(0, 1, shape=2, rate=1))


def test_priors_must_fit():
    with pytest.raises(NotApplicable, match="NormalGamma, or LinearNormalGamma over 2 coefficients"):
        conjugate(LINE, Dirichlet(1))
    with pytest.raises(NotApplicable, match="over 2 coefficients"):
        conjugate(LINE, LinearNormalGamma([0.0], 1.0, shape=2.0, rate=1.0))
    lone = LinearGaussian(Z, covariance=1.0)
    short = posterior([lone], NormalGamma(0.0, 1.0, shape=0.5, rate=1.0), np.zeros((1, 2, 2)))
    with pytest.raises(ModelError, match="no mean"):
        short.mean_cpds()


def test_questions_that_make_no_sense():
    post = posterior([LINE], PRIOR, np.zeros((2, 3, 3)))
    with pytest.raises(ScopeError, match=r"no parameter 'interccept'.*Did you mean 'intercept'"):
        post.tail("interccept", 0.0, {"a": 0})
    with pytest.raises(ScopeError, match="'a' is missing"):
        post.tail("u", 0.0, {})
    with pytest.raises(ScopeError, match="no discrete parent 'u'"):
        post.tail("u", 0.0, {"a": 0, "u": 1})
    assert repr(post) == "RegressionPosterior(z: 2 contexts, 0 rows)"


Y, P, Q = Real("y"), Vector("p", 2), Vector("q", 3)
SINGLE = LinearGaussian(Y, coefficients=0.0, covariance=1.0, given=U)
PLANE = LinearGaussian(P, coefficients=np.zeros((2, 4)), covariance=np.eye(2), given=(U, Q))


def test_which_priors_fit():
    line = conjugate(SINGLE, NormalGamma(5.0, 1.5, shape=2.0, rate=1.0))
    assert line.mean.tolist() == [5.0, 0.0]
    np.testing.assert_allclose(line.precision, np.diag([1.5, 1.5]))
    wide = conjugate(PLANE, NormalInverseWishart([1.0, 2.0], 1.5, degrees=4.0, scale=np.eye(2)))
    assert wide.mean.tolist() == [[1.0, 2.0], *[[0.0, 0.0]] * 4]
    assert conjugate(PLANE, wide) is wide
    one = LinearNormalInverseWishart(np.zeros((2, 1)), 1.0, degrees=3.0, scale=1.0)
    assert conjugate(SINGLE, one) is one
    assert SINGLE.parameters.takes(NormalGamma(0, 1, shape=1, rate=1))
    assert PLANE.parameters.takes(wide)
    assert not SINGLE.parameters.takes(Dirichlet(1))
    for cpd, prior, why in (
        (SINGLE, Dirichlet(1), "NormalGamma, or LinearNormalGamma over 2 coefficients, or ImaginaryData"),
        (SINGLE, LinearNormalGamma([0.0], 1.0, shape=2.0, rate=1.0), "over 2 coefficients"),
        (PLANE, NormalGamma(0, 1, shape=2, rate=1), "LinearNormalInverseWishart over 5 coefficients"),
        (PLANE, one, "NormalInverseWishart over 2 coordinates"),
        (PLANE, NormalInverseWishart(np.zeros(3), 1.0, degrees=4.0, scale=np.eye(3)), "over 2 coordinates"),
    ):
        with pytest.raises(NotApplicable, match=why):
            conjugate(cpd, prior)


def test_imaginary_rows_are_the_textbook_reference_posterior():
    """Flat in the coefficients and in log variance: Student t with M - p degrees about least squares."""
    rng = np.random.default_rng(0)
    u, y = rng.normal(3.0, 2.0, size=12), rng.normal(size=12)
    (found,) = imagined(SINGLE, SINGLE.scatters({U: u, Y: y}))
    fit = stats.linregress(u, y)
    slope = found.coefficients()
    assert slope.degrees == pytest.approx(10.0)
    assert (slope.location[1], slope.scale[1]) == pytest.approx((fit.slope, fit.stderr))
    assert (slope.location[0], slope.scale[0]) == pytest.approx((fit.intercept, fit.intercept_stderr))
    made = SINGLE.parameters.from_lines([(found.lines, found.mode_covariance(is_theta=False))])
    assert made.covariance[0, 0, 0] == pytest.approx(((y - fit.intercept - fit.slope * u) ** 2).mean())


def test_each_context_has_its_own_rows():
    cpd = LinearGaussian(Y, covariance=[1.0, 1.0], by=A)
    data = {A: np.array([0, 0, 0, 1, 1, 1, 1]), Y: np.array([1.0, 2.0, 3.0, 5.0, 7.0, 9.0, 9.0])}
    low, high = imagined(cpd, cpd.scatters(data))
    assert (low.mean[0], low.shape, low.rate) == pytest.approx((2.0, 1.0, 1.0))
    assert (high.mean[0], high.shape, high.rate) == pytest.approx((7.5, 1.5, 5.5))


def test_vectors_are_columns_with_one_covariance():
    rng = np.random.default_rng(1)
    data = {U: rng.normal(size=11), Q: rng.normal(size=(11, 3)), P: rng.normal(size=(11, 2))}
    (found,) = imagined(PLANE, PLANE.scatters(data))
    z = np.column_stack([np.ones(11), data[U], data[Q]])
    line = np.linalg.lstsq(z, data[P])[0]
    away = data[P] - z @ line
    np.testing.assert_allclose(found.mean, line)
    np.testing.assert_allclose(found.scale, away.T @ away)
    assert found.degrees == 6.0


def test_rows_that_make_no_prior_are_refused():
    for columns in (
        {U: [1.0, 2.0], Y: [1.0, 3.0]},
        {U: [1.0, 1.0, 1.0, 1.0], Y: [1.0, 3.0, 2.0, 0.0]},
        {U: [1.0, 2.0, 3.0, 4.0], Y: [2.0, 4.0, 6.0, 8.0]},
        {U: [1.0, 2.0, 3.0, 4.0], Y: [2.0, 2.0, 2.0, 2.0]},
        {U: [], Y: []},
    ):
        rows = {v: np.array(column, dtype=np.float64) for v, column in columns.items()}
        with pytest.raises(ModelError, match=r"give no prior of a regression.*NormalGamma.*PosteriorMode"):
            imagined(SINGLE, SINGLE.scatters(rows))
    by = LinearGaussian(Y, covariance=[1.0, 1.0], by=A)
    with pytest.raises(ModelError, match="0 imaginary rows where a=1"):
        imagined(by, by.scatters({A: np.zeros(4, np.int64), Y: np.arange(4.0)}))
    for child in ([[1.0, 2.0], [3.0, 6.0], [4.0, 8.0], [0.0, 0.0]], np.eye(2)):
        lone = LinearGaussian(P, covariance=np.eye(2))
        with pytest.raises(ModelError, match="no prior of a regression"):
            imagined(lone, lone.scatters({P: np.array(child)}))


def test_a_vector_with_real_parents():
    """Intervals, predictions, evidence and draws of a vector child, by the chain rule and by its coordinates."""
    rng = np.random.default_rng(2)
    prior = LinearNormalInverseWishart(
        rng.normal(size=(5, 2)), [1.0, 2.0, 0.5, 0.5, 0.5], degrees=5.0, scale=[[2.0, 0.3], [0.3, 1.0]]
    )
    data = {U: rng.normal(size=9), Q: rng.normal(size=(9, 3)), P: rng.normal(size=(9, 2))}
    post = posterior([PLANE], prior, PLANE.scatters(data))
    part, total = posterior([PLANE], prior, PLANE.scatters({v: c[:0] for v, c in data.items()})), 0.0
    for row in range(9):
        one = {v: c[row : row + 1] for v, c in data.items()}
        total += part.log_predictive(one)[0]
        part = part.updated(PLANE.scatters(one))
    assert post.log_marginal_likelihood() == pytest.approx(total)
    (cpd,) = post.mean_cpds()
    (after,) = post.contexts
    np.testing.assert_allclose(cpd.coefficients[0], after.mean[1:].T)
    np.testing.assert_allclose(cpd.covariance[0], after.scale / (14.0 - 3.0))
    low, high = post.interval("q[1, 2]", 0.9, {})
    t = after.coefficient(4, 1)
    assert (low, high) == pytest.approx(stats.t(t.degrees, t.location[0], t.scale[0]).interval(0.9))
    names = [name for _, name, _ in post.names()]
    assert names[:4] == ["intercept[0]", "intercept[1]", "u[0]", "u[1]"]
    assert names[-1] == "variance[1]"
    assert len(names) == 12
    drawn = np.array([post.sampled_cpds(rng)[0].coefficients[0, 1, 3] for _ in range(500)])
    assert ((low < drawn) & (drawn < high)).mean() == pytest.approx(0.9, abs=0.06)
    mode = PLANE.parameters.from_lines([(after.lines, after.mode_covariance(is_theta=True))])
    best = post.log_density(mode, "theta")
    for _ in range(20):
        moved = mode.with_parameters(
            mode.intercept + 0.05 * rng.normal(size=(1, 2)),
            mode.coefficients + 0.05 * rng.normal(size=(1, 2, 4)),
            covariance=mode.covariance * np.exp(0.1 * rng.normal()),
        )
        assert post.log_density(moved, "theta") < best


def test_vectors_among_all_verbs():
    d = Discrete("d")
    net = BayesNet(
        TableCPD(d, [0.5, 0.5]),
        LinearGaussian(U, covariance=1.0),
        LinearGaussian(P, coefficients=np.zeros((2, 2, 1)), covariance=np.stack([np.eye(2)] * 2), given=U, by=d),
    )
    rng = np.random.default_rng(3)
    data = {"d": rng.integers(2, size=40), "u": rng.normal(size=40), "p": rng.normal(size=(40, 2))}
    wishart = NormalInverseWishart([0.0, 0.0], 1.0, degrees=5.0, scale=np.eye(2))
    found = fit(net, data, Bayes([K2(), NormalGamma(0.0, 1.0, shape=2.0, rate=1.0), wishart])).posterior
    after = found.block("p").contexts[1]
    assert after.degrees == 5.0 + data["d"].sum()
    frame = found.to_frame()
    row = frame[(frame["given"] == "d=1") & (frame["parameter"] == "u[1]")].iloc[0]
    assert row["mean"] == pytest.approx(after.mean[1, 1])
    assert "normal-inverse-Wishart" in found._repr_html_()
    total, part = (
        0.0,
        fit(net, {n: c[:0] for n, c in data.items()}, Bayes([K2(), NormalGamma(0, 1, shape=2, rate=1), wishart])),
    )
    posterior = part.posterior
    for i in range(6):
        one = {n: c[i : i + 1] for n, c in data.items()}
        total += posterior.log_predictive(one)[0]
        posterior = posterior.update(one)
    assert posterior.log_marginal_likelihood == pytest.approx(total)
    rows = ImaginaryData(data)
    twice = {n: np.concatenate([c, c]) for n, c in data.items()}
    plain = fit(net, twice, MLE()).model.cpd("p")
    np.testing.assert_allclose(fit(net, data, PosteriorMode(rows)).model.cpd("p").covariance, plain.covariance)
    assert fit(net, data, Bayes(rows)).posterior.block("p").contexts[0].degrees == 2 * (40 - data["d"].sum()) - 2
    with pytest.raises(NotApplicable, match="EM learns states and numbers"):
        fit(net, data, EM())
