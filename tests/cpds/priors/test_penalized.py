"""Penalized regressions against their optimality conditions and their limits; almost perfect ones against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sepset.api.learning import fit
from sepset.base.leastsquares import least_squares
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.penalized import penalized, residual_shares, smallest_variances
from sepset.cpds.priors.weights import LaplaceWeights, NormalWeights
from sepset.data.scatter import Scatter
from sepset.errors import DataError, NotApplicable
from sepset.graphs.graph import DAG
from sepset.learning.estimation.estimators import MLE
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real


def scatter(seed, num=40, parents=4):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(num, parents)) * rng.uniform(0.5, 3, size=parents)
    y = u @ rng.normal(size=parents) + rng.normal(size=num)
    return Scatter.of(np.column_stack([u, y]))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [0.05, 0.5, 5.0])
def test_ridge_is_stationary(seed, scale):
    s = scatter(seed)
    (line,) = penalized([s], NormalWeights(scale))
    beta, variance = line.slope[0], line.residual[0, 0] / s.count
    gradient = (s.products[:-1, -1] - s.products[:-1, :-1] @ beta) / variance - beta / scale**2
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6 * np.abs(s.products).max())
    rss = s.products[-1, -1] - 2 * s.products[:-1, -1] @ beta + beta @ s.products[:-1, :-1] @ beta
    assert line.residual[0, 0] == pytest.approx(rss)
    assert line.intercept[0] == pytest.approx(s.mean[-1] - beta @ s.mean[:-1])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [0.02, 0.1, 1.0])
def test_lasso_meets_the_subgradient_conditions(seed, scale):
    s = scatter(seed)
    (line,) = penalized([s], LaplaceWeights(scale))
    beta, variance = line.slope[0], line.residual[0, 0] / s.count
    pull = (s.products[:-1, -1] - s.products[:-1, :-1] @ beta) / variance
    at_zero = beta == 0
    assert (np.abs(pull[at_zero]) <= 1 / scale + 1e-6).all()
    np.testing.assert_allclose(pull[~at_zero], np.sign(beta[~at_zero]) / scale, rtol=1e-6)


def test_limits():
    s = scatter(7)
    plain = least_squares(s.mean, s.products)
    for prior in (NormalWeights(1e6), LaplaceWeights(1e9)):
        np.testing.assert_allclose(penalized([s], prior)[0].slope, plain.slope, rtol=1e-6)
    np.testing.assert_allclose(penalized([s], NormalWeights(1e-6))[0].slope, 0.0, atol=1e-6)
    assert penalized([s], LaplaceWeights(1e-6))[0].slope.tolist() == [[0.0] * 4]
    (alone,) = penalized([Scatter.of([[1.0], [2.0]])], LaplaceWeights(1.0))
    assert (alone.intercept.tolist(), alone.residual.tolist()) == ([1.5], [[0.5]])


def test_constant_parents_have_no_effect():
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.full(20, 3.0), rng.normal(size=20), rng.normal(size=20)])
    assert penalized([Scatter.of(rows)], LaplaceWeights(1.0))[0].slope[0, 0] == 0.0
    assert penalized([Scatter.of(rows)], NormalWeights(1.0))[0].slope[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_vectors_are_refused():
    with pytest.raises(NotApplicable, match="one dimension"):
        penalized([scatter(0)], NormalWeights(1.0), 2)


A, U, V, Y = Discrete("a"), Real("u"), Real("v"), Real("y")


def exact_line(u, y, weights=None):
    """Intercept, slope and mean squared residual, in fractions."""
    w = [Fraction(1)] * len(u) if weights is None else [Fraction(float(x)) for x in weights]
    u, y = ([Fraction(float(x)) for x in column] for column in (u, y))
    total = sum(w)
    mu, my = (sum(a * b for a, b in zip(w, c, strict=True)) / total for c in (u, y))
    rows = list(zip(w, u, y, strict=True))
    slope = sum(a * (b - mu) * (c - my) for a, b, c in rows) / sum(a * (b - mu) ** 2 for a, b, _ in rows)
    left = sum(a * (c - my - slope * (b - mu)) ** 2 for a, b, c in rows) / total
    return float(my - slope * mu), float(slope), float(left)


@pytest.mark.parametrize("share", [1e-7, 1e-10, 1e-13, 1e-16, 1e-20])
@pytest.mark.parametrize("center", [0.0, 1e3])
def test_variances_keep_their_digits(share, center):
    rng = np.random.default_rng(0)
    u = center + rng.normal(size=60)
    y = 2.5 * u - 1.0 + np.sqrt(share) * 2.5 * rng.normal(size=60)
    intercept, slope, left = exact_line(u, y)
    found = fit(DAG.parse("u -> y"), {"u": u, "y": y}).model.cpd("y")
    noise = 1e-16 * (1.0 + center) / np.sqrt(share)
    assert found.covariance[0, 0, 0] == pytest.approx(left, rel=1e-9 + 10 * noise)
    assert found.coefficients[0, 0, 0] == pytest.approx(slope, rel=1e-12)
    assert found.intercept[0, 0] == pytest.approx(intercept, rel=1e-9, abs=1e-9)


def test_weights_contexts_and_tied_lines():
    rng = np.random.default_rng(1)
    num = 80
    a, u, v = rng.integers(2, size=num), rng.normal(5.0, 1.0, num), rng.normal(size=num)
    weights = rng.integers(1, 4, size=num).astype(float)

    def child(parent):
        return np.where(a == 1, 3.0, -2.0) * parent + 1e-7 * rng.normal(size=num)

    lines = [
        LinearGaussian(z, coefficients=[0.0, 0.0], covariance=[1.0, 1.0], given=p, by=A, block="line")
        for z, p in ((Y, U), (Real("z"), V))
    ]
    plain = LinearGaussian(U, covariance=1.0), LinearGaussian(V, covariance=1.0)
    template = fit(DAG.parse("a"), {"a": a}, MLE()).model.cpd("a")
    net = BayesNet(template, *plain, *lines)
    data = {"a": a, "u": u, "v": v, "y": child(u), "z": child(v)}
    found = fit(net, data, MLE(), weights=weights).model
    for e in range(2):
        at = a == e
        both = [np.concatenate([data[p][at], data[q][at]]) for p, q in (("u", "v"), ("y", "z"))]
        intercept, slope, left = exact_line(*both, np.concatenate([weights[at], weights[at]]))
        for name in "yz":
            cpd = found.cpd(name)
            assert cpd.covariance[e, 0, 0] == pytest.approx(left, rel=1e-7)
            assert cpd.coefficients[e, 0, 0] == pytest.approx(slope, rel=1e-13)
            assert cpd.intercept[e, 0] == pytest.approx(intercept, abs=1e-12)


def test_a_perfect_fit_is_still_refused():
    rng = np.random.default_rng(2)
    u = rng.normal(1e4, 300.0, size=500)
    for y in (2.0 * u, 0.1 * u + 0.3, np.pi * u - 1e5, u / 3.0):
        with pytest.raises(DataError, match="variance is zero"):
            fit(DAG.parse("u -> y"), {"u": u, "y": y})
    v = rng.normal(size=500)
    with pytest.raises(DataError, match="variance is zero"):
        fit(DAG.parse("u -> y; v -> y"), {"u": u, "v": v, "y": 0.7 * u - 1.3 * v + 0.1})
    assert fit(DAG.parse("u -> y"), {"u": u, "y": 2.0 * u}, MLE(min_variance=1e-3)).model.cpd("y").covariance[
        0, 0, 0
    ] == pytest.approx(1e-3)


def test_rows_elsewhere_say_how_much_is_known(tmp_path):
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(3)
    u = rng.normal(size=200)
    y = u + 1e-5 * rng.normal(size=200)
    frame = pl.DataFrame({"u": u, "y": y})
    lazy, eager = (fit(DAG.parse("u -> y"), rows) for rows in (frame.lazy(), frame))
    assert "its relative error is about" in str(lazy.info["variance"]["y"])
    assert "variance" not in eager.info
    exact = exact_line(u, y)[2]
    assert eager.model.cpd("y").covariance[0, 0, 0] == pytest.approx(exact, rel=1e-9)
    assert lazy.model.cpd("y").covariance[0, 0, 0] == pytest.approx(exact, rel=1e-3)


def test_shares_and_limits():
    line = LinearGaussian(Y, coefficients=[0.0, 1.0], covariance=[0.25, 1.0], given=U, by=A)
    rows = {A: np.zeros(4, np.int64), U: np.arange(4.0), Y: np.array([0.0, 2.0, 2.0, 0.0])}
    stats = line.scatters(rows)
    assert residual_shares(line.covariance, stats).tolist() == [0.25, 1.0]
    assert not line.parameters.is_tight(stats)
    assert (smallest_variances(line.coefficients, stats) < 1e-28).all()
    plain = line.from_statistics(stats, unseen="keep")
    again = plain.parameters.refined([plain], stats, rows, None)
    np.testing.assert_allclose(again.covariance[0], [[1.0]])
    assert again.covariance[1, 0, 0] == 1.0
