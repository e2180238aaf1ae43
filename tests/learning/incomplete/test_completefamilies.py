"""Regressions without missing cells have the digits of MLE; the others against one step in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sepset as ss
from sepset.learning.incomplete.completefamilies import CompleteFamily

X, Y, Z, W = (ss.Real(name) for name in "xyzw")
CHAIN = ss.BayesNet(
    ss.LinearGaussian(X, 0.0, covariance=1.0),
    ss.LinearGaussian(Y, 0.0, coefficients=[0.0], covariance=1.0, given=X),
    ss.LinearGaussian(Z, 0.0, coefficients=[0.0, 0.0], covariance=1.0, given=[X, Y]),
)


def columns(near, offset, noise=1.0, seed=0, num_rows=40):
    """Two similar columns, and one that depends on their difference."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=num_rows) + offset
    y = x + near * rng.normal(size=num_rows)
    return {"x": x, "y": y, "z": x - 0.5 * y + noise * rng.normal(size=num_rows)}


@pytest.mark.parametrize("method", [ss.EM(), ss.HardEM(), ss.learning.IncrementalEM(parts=2)], ids=str)
@pytest.mark.parametrize(("near", "offset"), [(1.0, 0.0), (1e-6, 0.0), (1e-8, 0.0), (1e-4, 1e9)])
def test_complete_rows_have_the_parameters_of_mle(method, near, offset):
    rows = columns(near, offset)
    found, right = ss.fit(CHAIN, rows, method), ss.fit(CHAIN, rows, ss.MLE())
    for name in "xyz":
        for own, other in zip(*(one.model.cpd(name).parameters.arrays.values() for one in (found, right)), strict=True):
            np.testing.assert_array_equal(own, other)
    assert found.guarantees["parameters"] is ss.Guarantee.STATIONARY
    assert "relative_error" not in found.info


def test_families_without_gaps_keep_their_digits_next_to_gaps():
    """A column with missing cells that nothing else depends on; weights, and a context without rows."""
    a = ss.Discrete("a", 3)
    rng = np.random.default_rng(3)
    rows = columns(1e-7, 0.0) | {
        "a": np.arange(40) % 2,
        "w": np.where(rng.random(40) < 0.3, np.nan, rng.normal(size=40)),
    }
    by = ss.LinearGaussian(Y, [0.0] * 3, coefficients=[[[0.0]]] * 3, covariance=[1.0] * 3, given=X, by=a)
    parts = ss.TableCPD(a, [0.5, 0.25, 0.25]), ss.LinearGaussian(X, 0.0, covariance=1.0), by
    net = ss.BayesNet(*parts, ss.LinearGaussian(W, 0.0, coefficients=[0.0], covariance=1.0, given=X))
    weights = rng.uniform(0.5, 2.0, 40)
    found = ss.fit(net, rows, ss.EM(start=net), weights=weights)
    right = ss.fit(ss.BayesNet(*parts), {k: rows[k] for k in "axy"}, ss.MLE(unseen="keep"), weights=weights)
    for own, other in zip(*(one.model.cpd("y").parameters.arrays.values() for one in (found, right)), strict=True):
        np.testing.assert_array_equal(own, other)


def test_priors():
    rows, prior = columns(1e-6, 0.0), ss.priors.NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)
    found, right = ss.fit(CHAIN, rows, ss.EM(prior)), ss.fit(CHAIN, rows, ss.PosteriorMode(prior))
    np.testing.assert_array_equal(found.model.cpd("z").coefficients, right.model.cpd("z").coefficients)


def test_a_child_that_is_fitted_exactly_is_refused():
    rows = columns(1.0, 0.0)
    with pytest.raises(ss.errors.NotClosed, match=r"LinearGaussian\(y \| x\) fits some rows exactly"):
        ss.fit(CHAIN, rows | {"y": 2.0 * rows["x"]}, ss.EM())


def test_which_families_are_complete():
    rows = {X: np.array([1.0, 2.0, 4.0]), Y: np.array([1.0, np.nan, 2.0])}
    assert CompleteFamily.of(CHAIN.cpd("x"), rows, None).statistics.counts.tolist() == [3.0]
    assert CompleteFamily.of(CHAIN.cpd("y"), rows, None) is None
    assert CompleteFamily.of(CHAIN.cpd("x"), {}, None) is None
    assert CompleteFamily.of(CHAIN.cpd("x"), {X: np.zeros(0)}, None) is None
    coin = ss.TableCPD(ss.Discrete("coin"), [0.5, 0.5])
    assert CompleteFamily.of(coin, {coin.child: np.array([0, 1])}, None) is None


def solved(matrix, right):
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        for j in range(len(rows)):
            if i != j:
                share = rows[j][i] / rows[i][i]
                rows[j] = [x - share * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def one_step(rows, start):
    """One step of EM in fractions, where some `y` are missing: the coefficients and the variance of each column."""
    (a, b, c), (d, e, f, g) = start
    completed = []
    for x, y, z in rows:
        spread = Fraction(0)
        if y is None:
            gain = c * f / (f * f * c + g)
            y, spread = a + b * x + gain * (z - d - e * x - f * (a + b * x)), c - gain * f * c
        completed.append(((Fraction(1), x, y, z), spread))

    def product(i, j):
        return sum(row[i] * row[j] + (spread if i == j == 2 else 0) for row, spread in completed)

    found = {}
    for child in (2, 3):
        lines = solved(
            [[product(i, j) for j in range(child)] for i in range(child)], [product(i, child) for i in range(child)]
        )
        away = [*(-line for line in lines), Fraction(1)]
        squares = sum(away[i] * away[j] * product(i, j) for i in range(child + 1) for j in range(child + 1))
        found["xyz"[child - 1]] = lines[1:], squares / len(rows)
    return found


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("near", [1.0, 1e-2, 1e-4, 1e-5])
@pytest.mark.parametrize("noise", [1.0, 1e-3])
def test_a_step_from_incomplete_rows_is_right_or_says_how_far_it_may_be_off(near, offset, noise):
    rows = columns(near, offset, noise, seed=5, num_rows=14)
    missing = np.arange(14) % 4 == 0
    start = (0.0, 1.0, near**2), (0.125, 1.0, -0.5, noise**2)
    net = ss.BayesNet(
        ss.LinearGaussian(X, float(rows["x"].mean()), covariance=1.0),
        ss.LinearGaussian(Y, start[0][0], coefficients=[start[0][1]], covariance=start[0][2], given=X),
        ss.LinearGaussian(Z, start[1][0], coefficients=list(start[1][1:3]), covariance=start[1][3], given=[X, Y]),
    )
    found = ss.fit(net, rows | {"y": np.where(missing, np.nan, rows["y"])}, ss.EM(start=net), until=1)
    listed = zip(*(rows[name].tolist() for name in "xyz"), missing.tolist(), strict=True)
    exact = [(Fraction(x), None if gap else Fraction(y), Fraction(z)) for x, y, z, gap in listed]
    right = one_step(exact, [[Fraction(value) for value in part] for part in start])
    lost = found.info.get("relative_error", {})
    assert (found.guarantees["parameters"] is ss.Guarantee.ESTIMATE) == bool(lost)
    for name, (lines, variance) in right.items():
        cpd, allowed = found.model.cpd(name), max(1e-6, 10 * lost.get(name, 0.0))
        size = max(abs(float(line)) for line in lines)
        np.testing.assert_allclose(
            cpd.coefficients.ravel(), [float(line) for line in lines], atol=allowed * size, rtol=0
        )
        assert float(cpd.covariance.item()) == pytest.approx(float(variance), rel=allowed)


def test_lost_digits_have_a_note():
    rows = columns(1e-5, 0.0, 1e-3, seed=5, num_rows=14)
    rows["y"][::4] = np.nan
    found = ss.fit(CHAIN, rows, ss.EM(), until=2)
    assert found.guarantees["parameters"] is ss.Guarantee.ESTIMATE
    assert any("z may be off by" in note for note in found.notes)
    assert found.info["relative_error"]["z"] > 1e-6
