"""Gaussians whose covariances cost floats their digits, against rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sepset.factors.canonical import MOST, Elimination
from sepset.factors.moments import Gaussian, GaussianMixture
from sepset.factors.studentt import StudentT
from sepset.variables.variable import Real
from support import rational_normals as exact

KINDS = ["any units", "nearly dependent", "both", "far from zero"]


def hard_normal(rng, kind, size=4):
    """A root, a mean and a covariance: units of 1e-30 to 1e30, nearly dependent columns, means of 1e9 deviations."""
    root = rng.normal(size=(size, size))
    if kind in ("nearly dependent", "both"):
        root[-1] = root[:-1].sum(axis=0) + 10.0 ** rng.uniform(-5, -3) * rng.normal(size=size)
    if kind in ("any units", "both"):
        root *= (10.0 ** rng.uniform(-30, 30, size))[:, None]
    covariance = root @ root.T
    away = 1e9 if kind == "far from zero" else 1.0
    return root, away * rng.normal(size=size) * np.sqrt(np.diagonal(covariance)), 0.5 * (covariance + covariance.T)


def log_of(fraction):
    return math.log(fraction.numerator) - math.log(fraction.denominator)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_conditionals_and_densities_keep_their_digits(kind, seed):
    rng = np.random.default_rng([seed, 31])
    root, mean, covariance = hard_normal(rng, kind)
    scope, x = [Real(f"v{i}") for i in range(4)], mean + root @ rng.normal(size=4)
    joint = Gaussian(scope, mean, covariance=covariance)
    for found in ([3], [1, 2, 3], [0, 3]):
        rest = [i for i in range(4) if i not in found]
        m, c, _ = exact.conditioned(exact.fractions(mean), exact.fractions(covariance), found, x[found])
        given = joint.condition({scope[i]: x[i] for i in found})
        deviation = np.sqrt(np.array([float(c[i, i]) for i in rest]))
        wanted = np.array([float(m[i]) for i in rest])
        assert (np.abs(given.mu - wanted) <= 1e-11 * np.maximum(np.abs(wanted), deviation)).all()
        np.testing.assert_allclose(np.sqrt(np.diagonal(given.covariance)), deviation, rtol=1e-10)
    _, _, log_density = exact.conditioned(exact.fractions(mean), exact.fractions(covariance), range(4), x)
    assert joint.log_density(dict(zip(scope, x, strict=True))) == pytest.approx(log_density, rel=1e-10)
    white, determinant = exact.solved(exact.fractions(covariance), exact.fractions(x - mean)[:, None])
    entropy = 0.5 * (log_of(determinant) + 4 * math.log(2 * math.pi * math.e))
    assert joint.entropy() == pytest.approx(entropy, rel=1e-10, abs=1e-10)
    center = exact.fractions(x) - exact.fractions(mean)
    white = exact.solved(exact.fractions(covariance), center[:, None])[0][:, 0]
    square = float(sum(a * b for a, b in zip(center, white, strict=True)))
    log_t = math.lgamma(4.5) - math.lgamma(2.5) - 2 * math.log(5 * math.pi) - 0.5 * log_of(determinant)
    found = StudentT(5.0, mean, dispersion=covariance).log_density(x)
    assert float(found) == pytest.approx(log_t - 4.5 * math.log1p(square / 5.0), rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [1e-8, 1e-4, 1.0])
def test_divergences_of_any_size_keep_their_digits(kind, step):
    rng = np.random.default_rng([KINDS.index(kind), 37])
    root, mean, p = hard_normal(rng, kind, 3)
    moved = root @ (np.eye(3) + step * rng.normal(size=(3, 3)))
    q = moved @ moved.T
    q, shift = 0.5 * (q + q.T), mean + step * root @ rng.normal(size=3)
    apart = exact.fractions(shift) - exact.fractions(mean)
    found, det_q = exact.solved(exact.fractions(q), np.concatenate([exact.fractions(p), apart[:, None]], axis=1))
    ratio = exact.solved(exact.fractions(p), exact.fractions(np.eye(3)))[1] / det_q
    rest = sum(found[i, i] for i in range(3)) - 3 + sum(a * b for a, b in zip(apart, found[:, 3], strict=True))
    with_many = 0.5 * (float(rest - (ratio - 1)) + float(_log_excess(ratio)))
    scope = [Real(f"v{i}") for i in range(3)]
    one, other = Gaussian(scope, mean, covariance=p), Gaussian(scope, shift, covariance=q)
    assert one.kl(other) == pytest.approx(with_many, rel=1e-9)
    assert one.kl(one) == 0.0


def _log_excess(ratio):
    """$r - 1 - log r$ of a fraction, as a series if it is near one."""
    gap = ratio - 1
    if abs(gap) > Fraction(1, 10):
        return float(gap) - log_of(ratio)
    return sum(((-1) ** k * gap**k / k for k in range(2, 20)), Fraction(0))


def test_relations_without_noise_are_kept_or_broken_in_any_units():
    scope = [Real("x"), Real("y"), Real("z")]
    row = np.array([1e-20, 3e20, 1.0])
    line = Gaussian(scope, [0.0, 0.0, 5.0], covariance=np.outer(row, row) + np.diag([0.0, 0.0, 4.0]))
    given = line.condition({"x": 2e-20, "y": 6e20})
    assert given.mean() == pytest.approx(7.0)
    assert given.variance() == pytest.approx(4.0)
    with pytest.raises(Exception, match="break a deterministic relation"):
        line.condition({"x": 2e-20, "y": 7e20})
    drawn = line.sample(4, seed=1)
    np.testing.assert_allclose(drawn["y"], 3e40 * drawn["x"], rtol=1e-6)
    with pytest.raises(Exception, match="eigenvalue"):
        Gaussian(scope[:2], [0.0, 0.0], covariance=[[1e30, 0.0], [0.0, -1.0]])


def test_many_coordinates_are_floats():
    size = MOST + 2
    covariance = 2.0 * np.eye(size) + np.outer(np.ones(size), np.ones(size))
    scope = [Real(f"v{i}") for i in range(size)]
    doubled = np.block([[covariance, covariance[:, :1]], [covariance[:1], covariance[:1, :1]]])  # the last is the first
    joint = Gaussian([*scope, Real("copy")], np.zeros(size + 1), covariance=doubled)
    given = joint.condition({"v0": 1.0, "v1": 2.0})
    m, c, _ = exact.conditioned(exact.fractions(np.zeros(size)), exact.fractions(covariance), [0, 1], [1.0, 2.0])
    np.testing.assert_allclose(given.marginal(scope[2:]).mu, m[2:].astype(float), rtol=1e-9)
    np.testing.assert_allclose(given.marginal(scope[2:]).covariance, c[2:, 2:].astype(float), rtol=1e-9)
    assert given.marginal(["copy"]).mean() == pytest.approx(1.0)
    assert Elimination.of(covariance, np.ones(size), np.zeros(size), 1).pivots == [3.0]


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_quantiles_of_mixtures_in_any_units(unit):
    x = Real("x")
    mixture = GaussianMixture(x, [0.4, 0.6], means=[0.0, 3.0 * unit], covariances=[unit**2, 4.0 * unit**2])
    low, high = mixture.interval(0.9)

    def below(place):
        parts = ((0.4, 0.0, 1.0), (0.6, 3.0, 2.0))
        return sum(w * 0.5 * math.erfc((m - place) / (s * math.sqrt(2.0))) for w, m, s in parts)

    assert below(low / unit) == pytest.approx(0.05, rel=1e-12)
    assert below(high / unit) == pytest.approx(0.95, rel=1e-12)
