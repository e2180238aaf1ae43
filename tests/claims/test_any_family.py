"""Maximum likelihood for families that a user writes down: a density or its statistics, over any outcomes.

The built-in forms have their own ways. For anything else the likelihood is a function to be climbed, and an exponential
family is fitted by matching moments, on a half-line as on four outcomes. Expected values come from scipy.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import digamma
from scipy.stats import gamma

import sepset as ss

POINTS = gamma.rvs(2.5, scale=1.4, size=300, random_state=1)


def best_gamma(points):
    """Shape and scale by the likelihood equations: log k - digamma(k) = log(mean) - mean(log)."""
    gap = np.log(points.mean()) - np.log(points).mean()
    shape = brentq(lambda k: np.log(k) - digamma(k) - gap, 1e-3, 1e3)
    return shape, points.mean() / shape


def test_a_user_defined_density_is_fitted():
    """A gamma density in the logarithms of its shape and scale."""

    def log_density(theta, x):
        return gamma.logpdf(x, np.exp(theta[0]), scale=np.exp(theta[1]))

    found = ss.maximum_likelihood(log_density, POINTS, start=[0.0, 0.0])
    assert np.exp(found.parameters).tolist() == pytest.approx(best_gamma(POINTS), rel=1e-4)
    assert found.log_likelihood == pytest.approx(log_density(np.log(best_gamma(POINTS)), POINTS).sum(), abs=1e-6)


def test_moments_are_matched_on_a_half_line():
    """The statistics log x and x on the positive numbers are the gamma family: (shape - 1, -1 / scale)."""
    family = ss.learning.ExponentialFamily(lambda x: np.stack([np.log(x), x], axis=-1), support=(0.0, np.inf))
    shape, scale = best_gamma(POINTS)
    found = family.match([np.log(POINTS).mean(), POINTS.mean()])
    assert found.tolist() == pytest.approx([shape - 1.0, -1.0 / scale], rel=1e-4)


def test_moments_are_matched_over_finitely_many_outcomes():
    """Three faces with the value as statistic: p proportional to exp(theta x), at a mean of 1.3."""
    family = ss.learning.ExponentialFamily([[0.0], [1.0], [2.0]])

    def mean(theta):
        weights = np.exp(theta * np.arange(3))
        return weights @ np.arange(3) / weights.sum()

    expected = brentq(lambda theta: mean(theta) - 1.3, -10.0, 10.0)
    assert family.match([1.3]).tolist() == pytest.approx([expected], abs=1e-8)


@pytest.mark.parametrize("counts", [[0, 0, 5], [4, 0, 0]])
def test_moments_on_the_border_have_no_finite_parameters(counts):
    """The likelihood grows without bound, and that is said."""
    with pytest.raises(ss.errors.NotApplicable, match="border"):
        ss.learning.ExponentialFamily([[0.0], [1.0], [2.0]]).fit(counts)
