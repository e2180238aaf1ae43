"""Seeds and numbers of draws: what is wrong is said plainly, what numpy takes is taken."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.factors.draws import generator, num_draws


@pytest.mark.parametrize("seed", [-1, "x", 1.5, [1, -2]])
def test_bad_seeds_are_named(seed):
    with pytest.raises(ss.NotApplicable, match="seed= is a whole number of at least zero") as error:
        generator(seed)
    assert repr(seed) in str(error.value)


def test_seeds_are_numpys():
    assert generator(7).random() == np.random.default_rng(7).random()
    assert generator(np.int64(7)).random() == np.random.default_rng(7).random()
    own = np.random.default_rng(3)
    assert generator(own) is own


def test_numbers_of_draws():
    assert num_draws(0) == 0
    assert num_draws(np.int32(4)) == 4
    for wrong in (-1, 2.0, "3", True, None):
        with pytest.raises(ss.NotApplicable, match="number of draws is a whole number"):
            num_draws(wrong)


PRIORS = [
    ss.NormalMean(0.0, 1.0, 1.0),
    ss.GammaPrecision(2.0, 1.0, 0.0),
    ss.NormalGamma(0.0, 1.0, 2.0, 1.0),
    ss.NormalInverseWishart([0.0, 0.0], 1.0, 4.0, np.eye(2)),
    ss.LinearNormalGamma([0.0, 1.0], np.eye(2), 2.0, 1.0),
    ss.LinearNormalInverseWishart(np.zeros((2, 2)), np.eye(2), 4.0, np.eye(2)),
    ss.StudentT(3.0, 0.0, 1.0),
]


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: type(p).__name__)
def test_distributions_of_parameters_say_what_is_wrong(prior):
    with pytest.raises(ss.NotApplicable, match="found -1"):
        prior.sample(-1)
    with pytest.raises(ss.NotApplicable, match="seed= is a whole number"):
        prior.sample(2, -3)
    with pytest.raises(ss.NotApplicable, match="seed= is a whole number"):
        prior.sample(2, "x")


@pytest.mark.parametrize(
    "prior", [p for p in PRIORS if isinstance(p, ss.LinearNormalGamma | ss.LinearNormalInverseWishart)]
)
def test_predictions_need_numbers(prior):
    for wrong in ("a", ["a"], [None], np.nan):
        with pytest.raises(ss.DataError, match="parents"):
            prior.predictive(wrong)
