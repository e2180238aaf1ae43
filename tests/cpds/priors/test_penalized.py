"""Penalized regressions against their optimality conditions and their limits; almost perfect ones against fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from sepset.api.learning import fit
from sepset.base.numerics.leastsquares import least_squares
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.penalized import lasso, penalized, residual_shares, smallest_variances
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


def solved(matrix, right):
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        for j in range(len(rows)):
            if i != j:
                share = rows[j][i] / rows[i][i]
                rows[j] = [x - share * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def by_signs(rows, penalty):
    """The lasso in fractions, by trying all signs: its coefficients and their residual squares."""
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    apart = [[x - mean for x, mean in zip(row, means, strict=True)] for row in rows]
    size = len(means) - 1
    products = [[sum(row[i] * row[j] for row in apart) for j in range(size + 1)] for i in range(size + 1)]
    for signs in itertools.product((0, 1, -1), repeat=size):
        active = [i for i in range(size) if signs[i]]
        right = [products[i][size] - penalty * signs[i] for i in active]
        found = solved([[products[i][j] for j in active] for i in active], right)
        beta = [Fraction(0)] * size
        for i, value in zip(active, found, strict=True):
            beta[i] = value
        pulls = [products[i][size] - sum(products[i][j] * beta[j] for j in range(size)) for i in range(size)]
        if all(b * s > 0 if s else abs(p) <= penalty for b, s, p in zip(beta, signs, pulls, strict=True)):
            left = [row[size] - sum(b * x for b, x in zip(beta, row, strict=False)) for row in apart]
            return beta, sum(x * x for x in left)
    raise AssertionError("no signs are optimal")


@pytest.mark.parametrize("seed", range(12))
def test_lasso_of_nearly_dependent_columns_in_any_units(seed):
    """Against fractions at the variance that was found; coordinate descent would take millions of turns."""
    rng = np.random.default_rng([seed, 17])
    x, near = rng.normal(size=(15, 4)), 10.0 ** -rng.integers(1, 8)
    x[:, 1] = x[:, 0] + near * x[:, 1]
    x[:, 3] += x[:, :3] @ rng.normal(size=3)
    x[:, :3] *= 10.0 ** rng.integers(-3, 4, 3)
    rate = 10.0 ** rng.uniform(-4, 1.5)
    (line,) = penalized([Scatter.of(x)], LaplaceWeights(1.0 / rate))
    penalty = Fraction(LaplaceWeights(1.0 / rate).rate) * Fraction(float(line.residual[0, 0])) / 15
    beta, squares = by_signs([[Fraction(value) for value in row] for row in x.tolist()], penalty)
    unit = x[:, :3].std(axis=0)
    right = np.array([float(b) for b in beta]) * unit
    np.testing.assert_allclose(line.slope[0] * unit, right, atol=1e-8 * np.abs(right).max(), rtol=0)
    assert line.residual[0, 0] == pytest.approx(float(squares), rel=1e-9)


def test_lasso_of_equal_and_of_no_columns():
    """Equal columns share no more than one coefficient would have."""
    (line,) = penalized([Scatter.of([[0, 0, 1], [1, 1, 3], [2, 2, 2], [3, 3, 5]])], LaplaceWeights(1.0))
    (alone,) = penalized([Scatter.of([[0, 1], [1, 3], [2, 2], [3, 5]])], LaplaceWeights(1.0))
    assert line.slope.sum() == pytest.approx(alone.slope.sum(), rel=1e-12)
    assert lasso(np.zeros((3, 0)), np.ones(3), np.zeros(0)).shape == (0,)
    assert lasso(np.zeros((3, 2)), np.ones(3), np.ones(2)).tolist() == [0.0, 0.0]


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
