"""Expectations of missing numbers, and moments about centers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.gaussian import NormalGamma
from sepset.cpds.priors.weights import Normal
from sepset.errors import NotApplicable, NotClosed
from sepset.learning.incomplete.gaussianfamily import GaussianFamily, conditional_numbers
from sepset.variables.variable import Discrete, Real

x, y = Real("x"), Real("y")
LINES = [LinearGaussian(x, 1.0, covariance=4.0), LinearGaussian(y, 0.5, coefficients=2.0, covariance=1.0, given=x)]


def test_a_missing_parent_is_regressed_on_its_child():
    numbers = conditional_numbers(LINES, {x: np.array([np.nan]), y: np.array([6.5])}, (x,), 1)
    # By hand: Var y = 17, Cov = 8, E y = 2.5.
    assert_allclose(numbers.columns[x], 1.0 + 8 / 17 * 4.0)
    assert_allclose(numbers.covariance((x, y))[0], [[4 - 64 / 17, 0], [0, 0]], atol=1e-12)
    assert_allclose(numbers.log_density, -0.5 * (np.log(2 * np.pi * 17) + 16 / 17))
    assert_allclose(numbers.log_peak, -0.5 * np.log(2 * np.pi * (4 - 64 / 17)))
    assert not numbers.certain().covariances.any()


def test_nothing_found_leaves_the_prior():
    numbers = conditional_numbers(LINES, {x: np.array([np.nan]), y: np.array([np.nan])}, (x, y), 1)
    assert_allclose([numbers.columns[x][0], numbers.columns[y][0]], [1.0, 2.5])
    assert_allclose(numbers.covariance((x, y))[0], [[4, 8], [8, 17]])
    assert numbers.log_density.tolist() == [0.0]


def test_estimates_do_not_depend_on_the_center():
    rng = np.random.default_rng(0)
    columns = {x: rng.normal(5, 1, 50), y: rng.normal(-3, 1, 50)}
    numbers = conditional_numbers(LINES, columns, (), 50)
    made = []
    for center in ([0.0, 0.0], [5.0, -3.0]):
        family = GaussianFamily(np.array(center))
        stats = family.expected(LINES[1], numbers, np.ones(50))
        made.append(family.estimate(LINES[1], stats, None))
        logs = made[-1].log_probability(columns)
        assert_allclose(family.score(made[-1], stats), logs.sum(), rtol=1e-9)
    assert_allclose(made[0].intercept, made[1].intercept, rtol=1e-9)
    slope, intercept = np.polyfit(columns[x], columns[y], 1)
    assert_allclose([made[1].coefficients.item(), made[1].intercept.item()], [slope, intercept], rtol=1e-8)


def test_contexts_without_mass_keep_their_line():
    d = Discrete("d")
    line = LinearGaussian(x, [1.0, 7.0], covariance=[1.0, 2.0], by=d)
    family = GaussianFamily(np.array([3.0]))
    numbers = conditional_numbers([line], {d: np.array([0, 0]), x: np.array([2.0, 4.0])}, (), 2)
    found = family.estimate(line, family.expected(line, numbers, np.ones(2)), None)
    assert_allclose(found.intercept.ravel(), [3.0, 7.0])
    assert_allclose(found.covariance.ravel(), [1.0, 2.0])
    assert family.score(found, family.nothing(found)) == 0.0


def test_modes_are_where_the_objective_is_largest():
    family, prior = GaussianFamily(np.array([0.0])), NormalGamma(1.0, 2.0, 3.0, 4.0)
    line = LINES[0]
    numbers = conditional_numbers([line], {x: np.array([0.5, 2.0, 4.0])}, (), 3)
    stats = family.expected(line, numbers, np.ones(3))
    for is_theta in (False, True):
        alpha = family.alpha([line], prior, is_theta)
        best = family.estimate(line, stats, alpha)
        top = family.score(best, stats) + family.log_prior(best, alpha)
        for da, dv in ((0.05, 1), (-0.05, 1), (0, 1.1), (0, 0.9)):
            other = line.with_parameters(best.intercept + da, best.coefficients, best.covariance * dv)
            assert family.score(other, stats) + family.log_prior(other, alpha) < top


def test_priors_on_coefficients_and_others():
    family = GaussianFamily(np.zeros(2))
    assert family.log_prior(LINES[1], family.alpha([LINES[1]], Normal(1.0), False)) == -2.0
    assert family.log_prior(LINES[1], None) == 0.0
    with pytest.raises(NotApplicable):
        family.alpha([LINES[1]], Dirichlet(1.0), False)


def test_certain_relations_are_refused_where_they_cannot_be_inverted():
    z = Real("z")
    lines = [
        LINES[0],
        LinearGaussian(y, 0.0, coefficients=1.0, covariance=0.0, given=x),
        LinearGaussian(z, covariance=1.0),
    ]
    with pytest.raises(NotClosed, match="no bound"):
        conditional_numbers(lines, {x: np.array([1.0]), y: np.array([1.0]), z: np.array([np.nan])}, (z,), 1)
