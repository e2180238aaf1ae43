"""Moments by sums over paths against rational arithmetic, and against elimination."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from support import rational_normals


def network(rng, variables, scale=0.0, zeros=0.0):
    """Regressions on some of the variables before; slopes and noise have sizes within a power of ten."""
    cpds = []
    for place, child in enumerate(variables):
        given = [p for p in variables[:place] if rng.random() < 0.6]
        size, width = child.size, sum(p.size for p in given)
        root = rng.standard_normal((size, size)) + 2 * np.eye(size)
        noise = 0.0 if rng.random() < zeros else 10.0 ** rng.uniform(-scale, scale)
        B = rng.standard_normal((size, width)) * 10.0 ** rng.uniform(-scale, scale, (size, width))
        a = rng.standard_normal(size) * 10.0 ** rng.uniform(-scale, scale)
        cpds.append(ss.LinearGaussian(child, a, coefficients=B, covariance=noise * (root @ root.T), given=given))
    return ss.BayesNet(*cpds)


def check(found, mean, covariance, tolerance):
    """Means relative to them or to their deviations; covariances relative to deviations."""
    deviation = np.sqrt([float(covariance[i, i]) for i in range(len(mean))])
    for i, (x, exact) in enumerate(zip(np.atleast_1d(found.mu), mean, strict=True)):
        assert abs(Fraction(float(x)) - exact) <= tolerance * max(abs(exact), Fraction(float(deviation[i])))
        for j, y in enumerate(found.covariance[i]):
            assert abs(Fraction(float(y)) - covariance[i, j]) <= tolerance * deviation[i] * deviation[j]


@pytest.mark.parametrize("scale", [0.0, 2.0, 30.0])
@pytest.mark.parametrize("method", [ss.CliqueTree(), ss.VariableElimination()])
def test_sums_over_paths_meet_exact_arithmetic(scale, method, monkeypatch):
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    variables = [*(ss.Real(n) for n in "abcde"), ss.Vector("p", 2), ss.Real("y"), ss.Real("z")]
    for seed in range(15):
        net = network(np.random.default_rng(seed), variables, scale, zeros=0.2)
        mean, covariance = rational_normals.moments(net, variables)
        for targets in (["z"], ["y", "c"], ["p", "z"]):
            at = [i for t in targets for i in {"c": [2], "p": [5, 6], "y": [7], "z": [8]}[t]]
            found = ss.query(net, targets, method=method)
            check(found.distribution, mean[at], covariance[np.ix_(at, at)], Fraction(1, 10**7))
            assert found.guarantees["marginals"] is ss.Guarantee.EXACT
            assert found.log_partition == 0.0
            assert found.info["residual"] < 1e-7


def test_slopes_that_cancel_keep_their_digits(monkeypatch):
    """Paths of weight 1e12 that leave 1: floats have four digits left, decimal numbers all."""
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    x, u, v, y = (ss.Real(n) for n in "xuvy")
    big = 1e12
    net = ss.BayesNet(
        ss.LinearGaussian(x, 1.0, covariance=1.0),
        ss.LinearGaussian(u, 0.0, coefficients=[0.1], covariance=0.0, given=x),
        ss.LinearGaussian(v, 0.0, coefficients=[0.3], covariance=0.0, given=x),
        ss.LinearGaussian(y, 0.0, coefficients=[3 * big, -big], covariance=0.0, given=[u, v]),
    )
    weight = 3 * Fraction(big) * Fraction(0.1) - Fraction(big) * Fraction(0.3)
    found = ss.query(net, "y")
    assert found.distribution.mean() == pytest.approx(float(weight), rel=1e-14)
    assert found.distribution.variance() == pytest.approx(float(weight**2), rel=1e-14)
    assert found.info["residual"] < 1e-12


def test_observed_ancestors_and_observed_contexts(monkeypatch):
    d, x, y, z, w = ss.Discrete("d"), *(ss.Real(n) for n in "xyzw")
    net = ss.BayesNet(
        ss.TableCPD(d, [0.3, 0.7]),
        ss.LinearGaussian(w, 1.0, covariance=2.0),
        ss.LinearGaussian(x, 0.5, coefficients=[2.0], covariance=1.0, given=w),
        ss.LinearGaussian(y, [0.0, 1.0], coefficients=[[1.0], [3.0]], covariance=[1.0, 4.0], given=x, by=d),
        ss.LinearGaussian(z, 0.0, coefficients=[1.0, -1.0], covariance=0.5, given=[y, w]),
    )
    given = {"x": 2.0, "d": 1, "w": 1.5}
    swept = ss.query(net, ["z", "y"], given=given)
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    found = ss.query(net, ["z", "y"], given=given)
    # y = 1 + 3 * 2 = 7 with variance 4; z = y - 1.5.
    assert found.distribution.mu.tolist() == [5.5, 7.0]
    assert found.distribution.covariance.tolist() == [[4.5, 4.0], [4.0, 4.0]]
    assert found.log_partition == pytest.approx(swept.log_partition, rel=1e-12)


def test_a_measurement_below_is_not_left_out(monkeypatch):
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 0.0, covariance=1.0),
        ss.LinearGaussian(y, 0.0, coefficients=[1.0], covariance=1.0, given=x),
    )
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    found = ss.query(net, "x", given={"y": 2.0})
    assert (found.distribution.mean(), found.distribution.variance()) == pytest.approx((1.0, 0.5))


def test_wide_networks_are_answered_without_elimination():
    """Three random parents each: an elimination would fill matrices of all 3,000 ancestors."""
    rng = np.random.default_rng(0)
    variables = [ss.Real(f"v{i}") for i in range(3000)]
    mean, weights, cpds = np.zeros(3000), np.zeros((3000, 3000)), []
    for i, child in enumerate(variables):
        above = sorted(set(rng.integers(0, i, min(3, i)).tolist())) if i else []
        slopes = rng.uniform(-0.6, 0.6, len(above))
        mean[i], weights[i] = 0.1 + slopes @ mean[above], slopes @ weights[above]
        weights[i, i] = 1.0
        given = [variables[j] for j in above]
        cpds.append(ss.LinearGaussian(child, 0.1, coefficients=slopes, covariance=1.0, given=given))
    net = ss.BayesNet(cpds)
    found = ss.query(net, ["v2999", "v2500"])
    at = [2999, 2500]
    np.testing.assert_allclose(found.distribution.mu, mean[at], rtol=1e-12)
    np.testing.assert_allclose(found.distribution.covariance, weights[at] @ weights[at].T, rtol=1e-12)
    assert found.info["residual"] < 1e-10
