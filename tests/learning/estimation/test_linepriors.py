"""Which conjugate prior a line takes, and what imaginary rows make of one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import K2, Dirichlet
from sepset.cpds.priors.gaussian import NormalGamma
from sepset.cpds.priors.matrix import LinearNormalInverseWishart
from sepset.cpds.priors.multivariate import LinearNormalGamma, NormalInverseWishart
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, NotApplicable
from sepset.learning.estimation.estimators import MAP, MLE, Bayes
from sepset.learning.estimation.linepriors import conjugate_for, imagined, is_conjugate, posterior_of
from sepset.learning.estimation.networkpriors import ImaginaryData
from sepset.learning.estimation.regression import Lines, mode_of
from sepset.learning.fit import fit
from sepset.learning.incomplete.em import EM
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real, Vector

A, U, Y, P, Q = Discrete("a"), Real("u"), Real("y"), Vector("p", 2), Vector("q", 3)
LINE = LinearGaussian(Y, coefficients=0.0, covariance=1.0, given=U)
PLANE = LinearGaussian(P, coefficients=np.zeros((2, 4)), covariance=np.eye(2), given=(U, Q))


def test_which_priors_fit():
    line = conjugate_for(LINE, NormalGamma(5.0, 1.5, 2.0, 1.0))
    assert line.mean.tolist() == [5.0, 0.0]
    np.testing.assert_allclose(line.precision, np.diag([1.5, 1.5]))
    wide = conjugate_for(PLANE, NormalInverseWishart([1.0, 2.0], 1.5, 4.0, np.eye(2)))
    assert wide.mean.tolist() == [[1.0, 2.0], *[[0.0, 0.0]] * 4]
    assert conjugate_for(PLANE, wide) is wide
    one = LinearNormalInverseWishart(np.zeros((2, 1)), 1.0, 3.0, 1.0)
    assert conjugate_for(LINE, one) is one
    assert all(map(is_conjugate, (wide, NormalGamma(0, 1, 1, 1))))
    assert not is_conjugate(Dirichlet(1))
    for cpd, prior, why in (
        (LINE, Dirichlet(1), "NormalGamma, or LinearNormalGamma over 2 coefficients, or ImaginaryData"),
        (LINE, LinearNormalGamma([0.0], 1.0, 2.0, 1.0), "over 2 coefficients"),
        (PLANE, NormalGamma(0, 1, 2, 1), "LinearNormalInverseWishart over 5 coefficients"),
        (PLANE, one, "NormalInverseWishart over 2 coordinates"),
        (PLANE, NormalInverseWishart(np.zeros(3), 1.0, 4.0, np.eye(3)), "over 2 coordinates"),
    ):
        with pytest.raises(NotApplicable, match=why):
            conjugate_for(cpd, prior)


def test_imaginary_rows_are_the_textbook_reference_posterior():
    """Flat in the line and in log variance: Student t with M - p degrees about least squares."""
    rng = np.random.default_rng(0)
    u, y = rng.normal(3.0, 2.0, size=12), rng.normal(size=12)
    (found,) = imagined(LINE, LINE.scatters({U: u, Y: y}))
    fit = stats.linregress(u, y)
    slope = found.coefficients()
    assert slope.degrees == pytest.approx(10.0)
    assert (slope.location[1], slope.scale[1]) == pytest.approx((fit.slope, fit.stderr))
    assert (slope.location[0], slope.scale[0]) == pytest.approx((fit.intercept, fit.intercept_stderr))
    made = mode_of(LINE, [found], "softmax")
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
        with pytest.raises(ModelError, match=r"make no prior of a line.*NormalGamma.*MAP"):
            imagined(LINE, LINE.scatters(rows))
    by = LinearGaussian(Y, covariance=[1.0, 1.0], by=A)
    with pytest.raises(ModelError, match="0 imaginary rows where a=1"):
        imagined(by, by.scatters({A: np.zeros(4, np.int64), Y: np.arange(4.0)}))
    for child in ([[1.0, 2.0], [3.0, 6.0], [4.0, 8.0], [0.0, 0.0]], np.eye(2)):
        lone = LinearGaussian(P, covariance=np.eye(2))
        with pytest.raises(ModelError, match="no prior of a line"):
            imagined(lone, lone.scatters({P: np.array(child)}))


def test_a_vector_with_real_parents():
    """Intervals, predictions, evidence and draws of a plane, by the chain rule and by its coordinates."""
    rng = np.random.default_rng(2)
    prior = LinearNormalInverseWishart(
        rng.normal(size=(5, 2)), [1.0, 2.0, 0.5, 0.5, 0.5], 5.0, [[2.0, 0.3], [0.3, 1.0]]
    )
    data = {U: rng.normal(size=9), Q: rng.normal(size=(9, 3)), P: rng.normal(size=(9, 2))}
    post = Lines.of([PLANE], prior, PLANE.scatters(data))
    part, total = Lines.of([PLANE], prior, PLANE.scatters({v: c[:0] for v, c in data.items()})), 0.0
    for row in range(9):
        one = {v: c[row : row + 1] for v, c in data.items()}
        total += part.log_predictive(one)[0]
        part = part.updated(PLANE.scatters(one))
    assert post.log_marginal_likelihood() == pytest.approx(total)
    (cpd,) = post.mean_cpds()
    (after,) = posterior_of(PLANE, prior, PLANE.scatters(data))
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
    mode = mode_of(PLANE, [after], "theta")
    best = post.log_density(mode, "theta")
    for _ in range(20):
        moved = mode.with_parameters(
            mode.intercept + 0.05 * rng.normal(size=(1, 2)),
            mode.coefficients + 0.05 * rng.normal(size=(1, 2, 4)),
            mode.covariance * np.exp(0.1 * rng.normal()),
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
    wishart = NormalInverseWishart([0.0, 0.0], 1.0, 5.0, np.eye(2))
    found = fit(net, data, Bayes([K2(), NormalGamma(0.0, 1.0, 2.0, 1.0), wishart])).posterior
    after = found.block("p").contexts[1]
    assert after.degrees == 5.0 + data["d"].sum()
    frame = found.to_frame()
    row = frame[(frame["given"] == "d=1") & (frame["parameter"] == "u[1]")].iloc[0]
    assert row["mean"] == pytest.approx(after.mean[1, 1])
    assert "normal-inverse-Wishart" in found._repr_html_()
    total, part = 0.0, fit(net, {n: c[:0] for n, c in data.items()}, Bayes([K2(), NormalGamma(0, 1, 2, 1), wishart]))
    posterior = part.posterior
    for i in range(6):
        one = {n: c[i : i + 1] for n, c in data.items()}
        total += posterior.log_predictive(one)[0]
        posterior = posterior.update(one)
    assert posterior.log_marginal_likelihood == pytest.approx(total)
    rows = ImaginaryData(data)
    twice = {n: np.concatenate([c, c]) for n, c in data.items()}
    plain = fit(net, twice, MLE()).model.cpd("p")
    np.testing.assert_allclose(fit(net, data, MAP(rows)).model.cpd("p").covariance, plain.covariance)
    assert fit(net, data, Bayes(rows)).posterior.block("p").contexts[0].degrees == 2 * (40 - data["d"].sum()) - 2
    with pytest.raises(NotApplicable, match="EM learns states and numbers"):
        fit(net, data, EM())
