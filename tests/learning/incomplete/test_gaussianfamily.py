"""Regressions of the engine's numbers, and moments about centers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import Dirichlet, Normal
from sepset.cpds.priors.gaussian import NormalGamma
from sepset.errors import NotApplicable, NotClosed
from sepset.learning.incomplete.gaussianfamily import GaussianFamily, moved_moments
from sepset.variables.variable import Discrete, Real

x, y = Real("x"), Real("y")
LINES = [LinearGaussian(x, 1.0, covariance=4.0), LinearGaussian(y, 0.5, coefficients=2.0, covariance=1.0, given=x)]


def test_estimates_do_not_depend_on_the_center():
    rng = np.random.default_rng(0)
    columns = {x: rng.normal(5, 1, 50), y: rng.normal(-3, 1, 50)}
    made = []
    for center in ([0.0, 0.0], [5.0, -3.0]):
        family = GaussianFamily(np.array(center))
        stats = family.complete(LINES[1], columns, np.ones(50))
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
    columns = {d: np.array([0, 0]), x: np.array([2.0, 4.0])}
    found = family.estimate(line, family.complete(line, columns, np.ones(2)), None)
    assert_allclose(found.intercept.ravel(), [3.0, 7.0])
    assert_allclose(found.covariance.ravel(), [1.0, 2.0])
    assert family.score(found, family.nothing(found)) == 0.0


def test_modes_are_where_the_objective_is_largest():
    family, prior = GaussianFamily(np.array([0.0])), NormalGamma(1.0, 2.0, 3.0, 4.0)
    line = LINES[0]
    stats = family.complete(line, {x: np.array([0.5, 2.0, 4.0])}, np.ones(3))
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


def test_certain_relations_are_refused():
    certain = LinearGaussian(y, 0.0, coefficients=1.0, covariance=0.0, given=x)
    with pytest.raises(NotClosed, match="no bound"):
        GaussianFamily(np.zeros(2)).numbers(certain)


def test_the_engine_sees_numbers_relative_to_the_origin():
    """The regression of shifted numbers has the same density, and its moments are about the block's center again."""
    rng = np.random.default_rng(1)
    columns = {x: rng.normal(5, 1, 20), y: rng.normal(-3, 1, 20)}
    family = GaussianFamily(np.array([1.0, 2.0]), 0.0, np.array([5.0, -3.0]))
    (made,) = family.numbers(LINES[1])
    shifted = made.log_densities(np.zeros(20, int), columns[x][:, None] - 5.0, columns[y][:, None] + 3.0)
    assert_allclose(shifted, LINES[1].log_probability(columns), rtol=1e-12)
    z = np.stack([np.ones(20), columns[x] - 5.0, columns[y] + 3.0])
    assert_allclose(family.statistics(LINES[1], [(z @ z.T)[None]]), family.complete(LINES[1], columns, np.ones(20)))
    assert family.engine(LINES[1]) is LINES[1]


def test_moments_about_another_center():
    rng = np.random.default_rng(0)
    rows, old, new = rng.normal(size=(30, 2)), rng.normal(size=2), rng.normal(size=2)
    before, after = (np.column_stack([np.ones(30), rows - c]) for c in (old, new))
    assert_allclose(moved_moments((before.T @ before)[None], old, new)[0], after.T @ after, rtol=1e-9)
