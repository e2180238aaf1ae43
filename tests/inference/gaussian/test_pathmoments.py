"""Sums of independent noises given others, against rational arithmetic."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from sepset.inference.gaussian.pathmoments import DecimalSums, NoiseSums
from support import rational_normals


def exact(weights, variance, own, center, found):
    """Moments of the last numbers given the first ones, without rounding."""
    num = len(own)
    W, c = rational_normals.fractions(weights), rational_normals.fractions(variance)
    covariance = W.T @ (c[:, None] * W)
    for i in range(num):
        covariance[i, i] += Fraction(float(own[i]))
    return rational_normals.conditioned(rational_normals.fractions(center), covariance, range(num), found)


def sums(rng, num_found, num_asked, num_noises, scale=0.0):
    size = num_found + num_asked
    weights = rng.standard_normal((num_noises, size)) * 10.0 ** rng.uniform(-scale, scale, (num_noises, size))
    variance, own = rng.uniform(0.1, 2.0, num_noises), 10.0 ** rng.uniform(-scale, scale, num_found)
    center, found = rng.standard_normal(size), rng.standard_normal(num_found)
    terms = np.abs(center) + np.concatenate([np.abs(found), np.zeros(num_asked)])
    rounding = 1e-16 * np.sqrt((weights**2 * variance[:, None]).sum(axis=0))
    return NoiseSums(weights, variance, own, center, found, terms, rounding, 1e-16 * terms)


@pytest.mark.parametrize("num_noises", [2, 7, 3000])
@pytest.mark.parametrize("num_found", [0, 1, 4])
def test_moments_of_sums_of_noises(num_noises, num_found):
    for seed in range(3):
        made = sums(np.random.default_rng(seed), num_found, 3, num_noises)
        mean, covariance, log_density = exact(made.weights, made.variance, made.own, made.center, made.found)
        found = made.moments
        np.testing.assert_allclose(found.mean, mean[num_found:].astype(float), rtol=1e-9, atol=1e-12)
        theirs = covariance[num_found:, num_found:].astype(float)
        np.testing.assert_allclose(found.covariance, theirs, rtol=1e-9, atol=1e-12)
        assert found.log_density == pytest.approx(log_density, rel=1e-10, abs=1e-12)
        assert found.error < 1e-9


@pytest.mark.parametrize("scale", [1.0, 3.0, 6.0])
def test_errors_are_within_their_bound(scale):
    for seed in range(20):
        made = sums(np.random.default_rng(seed), 3, 2, 6, scale)
        mean, covariance, log_density = exact(made.weights, made.variance, made.own, made.center, made.found)
        found = made.moments
        bound = found.error + 1e-15
        for i, x in enumerate(found.mean):
            deviation = math.sqrt(covariance[3 + i, 3 + i])
            assert abs(Fraction(float(x)) - mean[3 + i]) <= bound * max(abs(float(mean[3 + i])), deviation)
            apart = abs(Fraction(float(found.covariance[i, i])) - covariance[3 + i, 3 + i])
            assert apart <= bound * covariance[3 + i, 3 + i]
        assert abs(found.log_density - log_density) <= bound * max(1.0, abs(log_density))


def test_a_number_without_noise_is_right_or_wrong():
    nothing = np.zeros(2)
    weights, variance = np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([1.0, 3.0])
    for value, log_density in ((5.0, 0.0), (5.1, -np.inf)):
        made = NoiseSums(weights, variance, nothing[:1], np.array([5.0, 0.5]), np.array([value]),
                         np.array([10.0, 0.5]), nothing, nothing)  # fmt: skip
        assert made.moments.log_density == log_density
        assert made.moments.exact == 1
    assert made.moments.error == 0.0


def test_decimal_numbers_meet_exact_arithmetic():
    for seed in range(10):
        made = sums(np.random.default_rng(seed), 3, 2, 5, 12.0)
        mean, covariance, log_density = exact(made.weights, made.variance, made.own, made.center, made.found)
        with localcontext(Context(prec=120)):
            variance = [*map(Decimal, made.variance.tolist()), *map(Decimal, made.own.tolist())]
            columns = [dict(enumerate(map(Decimal, column))) for column in made.weights.T.tolist()]
            for i in range(3):
                columns[i][5 + i] = Decimal(1)
            apart = [Decimal(x) - Decimal(m) for x, m in zip(made.found.tolist(), made.center.tolist(), strict=False)]
            apart += map(Decimal, made.center[3:].tolist())
            terms = [Decimal(1)] * 5
            means, covariances, log, certain = DecimalSums(columns, variance, apart, terms, 120).given(3)
        assert [float(x) for x in means] == pytest.approx(mean[3:].astype(float).tolist(), rel=1e-12)
        theirs = covariance[3:, 3:].astype(float).ravel().tolist()
        assert [float(x) for x in covariances] == pytest.approx(theirs, rel=1e-12)
        assert log == pytest.approx(log_density, rel=1e-12)
        assert certain == 0


def test_a_column_that_depends_on_others_has_no_size():
    with localcontext(Context(prec=60)):
        third = Decimal(1) / 3
        columns = [{0: Decimal(1), 1: third}, {0: Decimal(7), 1: 7 * third}, {0: Decimal(1)}]
        apart, terms = [Decimal(2), Decimal(14), Decimal(0)], [Decimal(2), Decimal(14), Decimal(0)]
        sums = DecimalSums(columns, [Decimal(1), Decimal(1)], apart, terms, 60)
        means, covariances, log, certain = sums.given(2)
    assert certain == 1
    assert sums.has_cancelled
    assert float(means[0]) == pytest.approx(1.8)  # a unit of noise of variance 1 beside one of 1/9
    assert float(covariances[0]) == pytest.approx(0.1)
    assert log == pytest.approx(-0.5 * (math.log(2 * math.pi * 10 / 9) + 3.6))
