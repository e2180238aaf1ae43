"""Priors on weights against scipy's densities, up to their constants."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import laplace, norm

from sepset.cpds.priors.weights import LaplaceWeights, NormalWeights, WeightPrior
from sepset.errors import ModelError

WEIGHTS = np.array([-1.5, 0.0, 0.25, 3.0])


@pytest.mark.parametrize("scale", [0.1, 1.0, 7.5])
@pytest.mark.parametrize(("kind", "density"), [(NormalWeights, norm), (LaplaceWeights, laplace)])
def test_log_densities_differ_from_scipy_by_a_constant(kind, density, scale):
    prior = kind(scale)
    assert isinstance(prior, WeightPrior)
    expected = density.logpdf(WEIGHTS, scale=scale).sum() - len(WEIGHTS) * density.logpdf(0.0, scale=scale)
    assert prior.log_density(WEIGHTS) == pytest.approx(expected, rel=1e-12)


def test_one_is_smooth_and_one_is_sharp():
    assert (NormalWeights(2.0).precision, NormalWeights(2.0).rate) == (0.25, 0.0)
    assert (LaplaceWeights(0.5).precision, LaplaceWeights(0.5).rate) == (0.0, 2.0)


@pytest.mark.parametrize("kind", [NormalWeights, LaplaceWeights])
@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan, "1", True])
def test_scales_are_positive(kind, scale):
    with pytest.raises(ModelError, match="scale > 0"):
        kind(scale)
