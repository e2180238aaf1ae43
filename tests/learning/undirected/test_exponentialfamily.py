"""Moment matching: expected statistics are those of the data, and no other parameters are more likely."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import digamma

from sepset.errors import ArgumentError, DataError, ModelError, NotApplicable
from sepset.learning.undirected.exponentialfamily import ExponentialFamily


def log_likelihood(tau, base, theta, counts):
    """Written out, outcome by outcome."""
    weights = [
        b * math.exp(sum(t * c for t, c in zip(row, theta, strict=True))) for row, b in zip(tau, base, strict=True)
    ]
    return sum(m * math.log(w / sum(weights)) for m, w in zip(counts, weights, strict=True))


@given(st.integers(2, 8), st.integers(1, 4), st.integers(0, 10_000))
@settings(max_examples=60)
def test_moments_match_and_nothing_is_more_likely(num, size, seed):
    rng = np.random.default_rng(seed)
    tau, base = rng.normal(size=(num, size)), rng.uniform(0.2, 3.0, num)
    counts = rng.integers(1, 20, size=num)
    family = ExponentialFamily(tau, base)
    theta = family.fit(counts)
    np.testing.assert_allclose(family.expected(theta), counts @ tau / counts.sum(), atol=1e-10)
    np.testing.assert_allclose(
        family.probabilities(family.match(counts @ tau / counts.sum())), family.probabilities(theta), atol=1e-7
    )
    best = log_likelihood(tau, base, theta, counts)
    for _ in range(10):
        assert log_likelihood(tau, base, theta + rng.normal(0, 0.3, size), counts) <= best + 1e-9


def test_multinomials_are_frequencies_even_where_statistics_depend_on_each_other():
    """One indicator an outcome is one too many: the distribution is unique, the parameters are those of least norm."""
    family = ExponentialFamily(np.eye(4))
    counts = np.array([1.0, 2.0, 5.0, 2.0])
    theta = family.fit(counts)
    np.testing.assert_allclose(family.probabilities(theta), counts / 10)
    np.testing.assert_allclose(theta, np.log(counts / 10) - np.log(counts / 10).mean(), atol=1e-9)


def test_rare_outcomes_are_inside():
    family = ExponentialFamily([[0.0], [1.0]])
    theta = family.fit([1e12, 1.0])
    assert theta[0] == pytest.approx(-math.log(1e12), rel=1e-9)


def test_an_ising_pair_has_the_moments():
    states = np.array(list(itertools.product((-1, 1), repeat=3)), dtype=float)
    tau = np.column_stack([states, states[:, 0] * states[:, 1], states[:, 1] * states[:, 2]])
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, size=8)
    counts[5] = 0
    family = ExponentialFamily(tau)
    theta = family.fit(counts)
    np.testing.assert_allclose(family.expected(theta), counts @ tau / counts.sum(), atol=1e-10)
    p = family.probabilities(theta).reshape(2, 2, 2)
    for b in range(2):  # the ends are independent given the middle, since no statistic joins them
        part = p[:, b] / p[:, b].sum()
        np.testing.assert_allclose(part, np.outer(part.sum(axis=1), part.sum(axis=0)), atol=1e-12)


def test_the_gradient_of_the_log_partition_function_is_the_expectation():
    rng = np.random.default_rng(1)
    family, theta = ExponentialFamily(rng.normal(size=(5, 2))), rng.normal(size=2)
    for i in range(2):
        step = 1e-6 * np.eye(2)[i]
        slope = (family.log_partition(theta + step) - family.log_partition(theta - step)) / 2e-6
        assert slope == pytest.approx(family.expected(theta)[i], abs=1e-8)


def test_the_border_is_refused():
    coin = ExponentialFamily([[0.0], [1.0]])
    with pytest.raises(NotApplicable, match="no room for outcomes 1"):
        coin.fit([3, 0])
    for border in (0.0, 1.0):
        with pytest.raises(NotApplicable, match="border"):
            coin.match([border])
    for outside in (-0.1, 1.1):
        with pytest.raises(DataError, match="No distribution"):
            coin.match([outside])
    square = ExponentialFamily(np.array(list(itertools.product((0, 1), repeat=2)), dtype=float))
    assert np.isfinite(square.fit([1, 0, 0, 1])).all()  # the diagonal passes through the middle
    with pytest.raises(NotApplicable, match="no room for outcomes 0, 2"):
        square.fit([0, 1, 0, 1])


def test_constant_statistics_say_nothing():
    family = ExponentialFamily(np.ones((3, 1)))
    assert family.fit([1, 0, 0]).tolist() == [0.0]
    assert ExponentialFamily(np.zeros((1, 2))).fit([4]).tolist() == [0.0, 0.0]
    assert ExponentialFamily(np.zeros((2, 0))).fit([4, 0]).tolist() == []


def test_what_is_refused():
    for tau in ([], [1.0], [[math.nan]]):
        with pytest.raises(ModelError, match="Statistics"):
            ExponentialFamily(tau)
    with pytest.raises(ModelError, match="base"):
        ExponentialFamily([[0.0], [1.0]], [1.0, 0.0])
    coin = ExponentialFamily([[0.0], [1.0]])
    assert repr(coin) == "ExponentialFamily(2 outcomes, 1 statistics)"
    for counts in ([1], [1, -1], [1, math.inf]):
        with pytest.raises(DataError, match="Counts"):
            coin.fit(counts)
    with pytest.raises(DataError, match="no rows"):
        coin.fit([0, 0])
    with pytest.raises(DataError, match="moments"):
        coin.match([0.1, 0.2])
    with pytest.raises(DataError, match="parameters"):
        coin.expected([0.1, 0.2])


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (3.0, 0.25), (-40.0, 9.0)])
def test_the_normal_family_on_the_whole_line(mean, variance):
    family = ExponentialFamily(lambda x: np.stack([x, x * x], axis=-1), support=(-np.inf, np.inf))
    found = family.match([mean, variance + mean**2])
    np.testing.assert_allclose(found, [mean / variance, -0.5 / variance], rtol=1e-6, atol=1e-8)
    assert family.log_partition(found) == pytest.approx(
        0.5 * np.log(2.0 * np.pi * variance) + 0.5 * mean**2 / variance, rel=1e-8
    )


def test_the_beta_family_on_an_interval():
    """E[log x] and E[log(1 - x)] of Beta(2.5, 0.8) are differences of digamma functions."""
    family = ExponentialFamily(lambda x: np.stack([np.log(x), np.log1p(-x)], axis=-1), support=(0.0, 1.0))
    moments = [digamma(2.5) - digamma(3.3), digamma(0.8) - digamma(3.3)]
    np.testing.assert_allclose(family.match(moments), [1.5, -0.2], atol=1e-5)


def test_what_an_interval_refuses():
    def numbers(x):
        return x[:, None]

    with pytest.raises(ArgumentError, match="support="):
        ExponentialFamily(numbers)
    with pytest.raises(ArgumentError, match="support="):
        ExponentialFamily([[0.0], [1.0]], support=(0.0, 1.0))
    with pytest.raises(NotApplicable, match="moments"):
        ExponentialFamily(numbers, support=(0.0, np.inf)).match([-1.0])
    with pytest.raises(NotApplicable, match="match"):
        ExponentialFamily(numbers, support=(0.0, np.inf)).fit([1.0])
