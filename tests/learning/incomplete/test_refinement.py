"""Lines that fit almost perfectly, against least squares in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.errors import DataError
from sepset.graphs.graph import DAG
from sepset.learning.estimation.estimators import MLE
from sepset.learning.fit import fit
from sepset.learning.incomplete.refinement import is_tight, refined, shares, smallest_variances
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real

A, U, V, Y = Discrete("a"), Real("u"), Real("v"), Real("y")


def exact_line(u, y, weights=None):
    """Intercept, slope and mean square of what is left, in fractions."""
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
    assert "known to about" in str(lazy.info["variance of y"])
    assert "variance of y" not in eager.info
    exact = exact_line(u, y)[2]
    assert eager.model.cpd("y").covariance[0, 0, 0] == pytest.approx(exact, rel=1e-9)
    assert lazy.model.cpd("y").covariance[0, 0, 0] == pytest.approx(exact, rel=1e-3)


def test_shares_and_limits():
    line = LinearGaussian(Y, coefficients=[0.0, 1.0], covariance=[0.25, 1.0], given=U, by=A)
    rows = {A: np.zeros(4, np.int64), U: np.arange(4.0), Y: np.array([0.0, 2.0, 2.0, 0.0])}
    stats = line.scatters(rows)
    assert shares(line, stats).tolist() == [0.25, 1.0]
    assert not is_tight(line, stats)
    assert (smallest_variances(line, stats) < 1e-28).all()
    again = refined((line.from_statistics(stats, unseen="keep"),), stats, rows, None)[0]
    np.testing.assert_allclose(again.covariance[0], [[1.0]])
    assert again.covariance[1, 0, 0] == 1.0
