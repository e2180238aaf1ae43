"""Joint priors of regressions that share a covariance: with one context they are the priors of one regression."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_t

from sepset.cpds.priors.gaussian import GammaPrecision
from sepset.cpds.priors.regression import LinearNormalGamma, NormalGamma
from sepset.cpds.priors.sharedcovariance import shared_prior
from sepset.data.scatter import Scatters

ROWS = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.5], [4.0, 4.0]])


def test_one_context_is_one_regression():
    prior, one = LinearNormalGamma([0.5, 1.0], [2.0, 1.0], shape=3.0, rate=1.5), np.zeros(4, np.int64)
    seen = Scatters.of(ROWS, one, 1)
    joint, alone = shared_prior([prior]), prior.update(ROWS)
    assert joint.log_marginal_likelihood(seen) == pytest.approx(prior.log_marginal_likelihood(ROWS))
    (after,) = joint.update(seen).contexts
    np.testing.assert_allclose(after.lines, alone.lines)
    np.testing.assert_allclose(after.scale, alone.scale)
    for is_theta in (True, False):
        ((lines, covariance),) = joint.update(seen).modes(is_theta=is_theta)
        np.testing.assert_allclose(covariance, alone.mode_covariance(is_theta=is_theta))
        found = joint.log_density(lines[None], covariance, is_theta=is_theta)
        assert found == pytest.approx(prior.log_density(lines, covariance, is_theta=is_theta))
    u, y = ROWS[:, None, :1], ROWS[:, None, 1:]
    np.testing.assert_allclose(joint.log_predictives(one[:, None], u, y), prior.log_predictives(u, y))


@pytest.mark.parametrize("places", [[0, 0, 1, 2], [2, 2, 2, 2], [0, 1, 0, 1]])
def test_evidence_is_one_student_t(places):
    """Means that share a variance make observations of one context more alike."""
    joint = shared_prior([NormalGamma(0.5, 2.0, shape=3.0, rate=1.5)] * 3)
    at, x = np.array(places), ROWS[:, 1]
    spread = np.eye(4) + (at[:, None] == at) / 2.0
    expected = multivariate_t(np.full(4, 0.5), 0.5 * spread, df=6.0).logpdf(x)
    assert joint.log_marginal_likelihood(Scatters.of(x[:, None], at, 3)) == pytest.approx(expected)
    found = joint.log_predictives(at[None], np.zeros((1, 4, 0)), x[None, :, None])
    assert found[0] == pytest.approx(expected)


def test_a_known_mean():
    joint = shared_prior([GammaPrecision(2.0, 1.0, mean=1.0)] * 2)
    x, at = ROWS[:, 1], np.array([0, 1, 1, 0])
    expected = multivariate_t(np.ones(4), 0.5 * np.eye(4), df=4.0).logpdf(x)
    assert joint.log_marginal_likelihood(Scatters.of(x[:, None], at, 2)) == pytest.approx(expected)
    lines = np.array([[[1.0]], [[2.0]]])
    assert joint.log_density(lines, np.eye(1), is_theta=True) == -np.inf
