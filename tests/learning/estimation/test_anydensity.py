"""Maximum likelihood of densities that a user writes down: closed forms, weights, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from sepset.errors import ArgumentError, DataError
from sepset.inference.result import Status
from sepset.learning.estimation.anydensity import maximum_likelihood

POINTS = np.array([0.3, 1.9, 2.2, -0.7, 5.1])


def normal(theta, x):
    return norm.logpdf(x, theta[0], np.exp(theta[1]))


def test_a_normal_density_has_its_closed_form():
    found = maximum_likelihood(normal, POINTS, start=[0.0, 0.0])
    assert found.parameters[0] == pytest.approx(POINTS.mean(), abs=1e-6)
    assert np.exp(found.parameters[1]) == pytest.approx(POINTS.std(), abs=1e-6)
    assert found.log_likelihood == pytest.approx(norm.logpdf(POINTS, POINTS.mean(), POINTS.std()).sum(), abs=1e-9)
    assert found.status is Status.CONVERGED


def test_weights_are_copies():
    found = maximum_likelihood(normal, POINTS, start=[0.0, 0.0], weights=[2, 1, 1, 1, 1])
    copied = maximum_likelihood(normal, np.append(POINTS, POINTS[0]), start=[0.0, 0.0])
    np.testing.assert_allclose(found.parameters, copied.parameters, atol=1e-6)
    assert found.log_likelihood == pytest.approx(copied.log_likelihood, abs=1e-9)


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="finite numbers"):
        maximum_likelihood(normal, POINTS, start=[])
    with pytest.raises(DataError, match="Begin elsewhere"):
        maximum_likelihood(lambda theta, x: np.log(x - theta[0]), POINTS, start=[1.0])
