"""Checks of arguments, settings, row weights and hyperparameters: one type of error, which names what was found."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.base.checks import (
    check_finite,
    check_positive,
    finite_array,
    fraction,
    generator,
    number,
    one_of,
    row_weights,
    whole,
)
from sepset.cpds.priors.dirichlet import BDeu, ContextStrength, Dirichlet, DirichletMixture
from sepset.cpds.priors.regression import (
    LinearNormalGamma,
    LinearNormalInverseWishart,
    NormalGamma,
    NormalInverseWishart,
)
from sepset.cpds.priors.weights import LaplaceWeights, NormalWeights
from sepset.errors import ArgumentError, DataError, ModelError


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "3", None, True, [1.0], np.ones(2), 1j])
def test_a_hyperparameter_is_one_finite_number_above_zero(value):
    for make in (
        BDeu,
        NormalWeights,
        LaplaceWeights,
        ContextStrength,
        lambda v: NormalGamma(0.0, v, shape=1.0, rate=1.0),
    ):
        with pytest.raises(ModelError, match=r"needs a finite \w+ > 0; found"):
            make(value)
    with pytest.raises(ModelError, match="It needs a finite size > 0"):
        check_positive("It", size=value)


def test_numbers_of_any_kind_are_numbers():
    check_positive("It", size=np.float32(2.0), other=np.int64(3), last=5)
    check_finite("It", mean=np.float64(-1.0))
    assert BDeu(np.int64(4)).sample_size == 4


@pytest.mark.parametrize("value", ["a", None, [], np.nan, [1.0, np.inf], [[1.0], [1.0, 2.0]], object()])
def test_arrays_hold_finite_numbers(value):
    for make in (
        Dirichlet,
        lambda v: LinearNormalGamma(v, 1.0, shape=1.0, rate=1.0),
        lambda v: NormalInverseWishart(v, 1.0, degrees=3.0, scale=1.0),
        lambda v: LinearNormalInverseWishart(v, 1.0, degrees=3.0, scale=1.0),
        lambda v: LinearNormalGamma([0.0], v, shape=1.0, rate=1.0),
        lambda v: finite_array("It", "values", v),
    ):
        with pytest.raises(ModelError, match=r"needs (finite|numbers)"):
            make(value)


def test_other_shapes_and_kinds():
    with pytest.raises(ModelError, match="needs a finite mean; found 'a'"):
        NormalGamma("a", 1.0, shape=1.0, rate=1.0)
    with pytest.raises(ModelError, match="finite mean"):
        NormalGamma([0.0, 1.0], 1.0, shape=1.0, rate=1.0)
    with pytest.raises(ModelError, match="sum to one"):
        ContextStrength(1.0, 0.5)
    with pytest.raises(ModelError, match="needs numbers as weights"):
        DirichletMixture(["a"], [1.0])
    with pytest.raises(ModelError, match="scale of shape"):
        NormalInverseWishart([0.0, 0.0], 1.0, degrees=4.0, scale=[[1.0]])


@pytest.mark.parametrize("value", [0, -1, 1.0, 2.5, np.nan, "3", None, True, [1], np.ones(2), 1j])
def test_whole_numbers(value):
    with pytest.raises(ArgumentError, match=r"^folds= is a whole number of at least 1, or None; found") as error:
        whole("folds", value, least=1, otherwise="None")
    assert repr(value) in str(error.value)
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, TypeError)
    with pytest.raises(ModelError, match=r"^The size of x is a whole number"):
        whole("The size of x", value, least=1, error=ModelError)


def test_whole_numbers_come_back_as_ints():
    found = [whole("n", value) for value in (0, np.int8(3), np.uint64(7))]
    assert found == [0, 3, 7]
    assert {type(value) for value in found} == {int}


@pytest.mark.parametrize("value", [-1, -1e-9, np.nan, np.inf, "3", None, True, [1.0], 1j])
def test_numbers_in_a_range(value):
    with pytest.raises(ArgumentError, match=r"^rate= is a finite number >= 0; found"):
        number("rate", value, least=0)
    with pytest.raises(ArgumentError, match=r"^rate= is a finite number > 0, or 'auto'; found"):
        number("rate", value, above=0, otherwise="'auto'")


def test_numbers_at_the_ends_of_a_range():
    assert number("rate", 0, least=0) == 0.0
    assert number("rate", np.float32(0.5), above=0) == 0.5
    assert number("seconds", np.inf, least=0, finite=False) == np.inf
    with pytest.raises(ArgumentError, match="rate= is a finite number > 0; found 0"):
        number("rate", 0, above=0)
    with pytest.raises(ArgumentError, match="seconds= is a number >= 0; found nan"):
        number("seconds", np.nan, least=0, finite=False)


@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan, np.inf, "0.5", None, True, [0.5]])
def test_fractions(value):
    with pytest.raises(ArgumentError, match=r"^level= is a number between 0 and 1; found"):
        fraction("level", value)
    with pytest.raises(ArgumentError, match=r"^level= is a number from 0 to 1; found"):
        fraction("level", value, ends=True)


@pytest.mark.parametrize("end", [0, 1, 0.0, 1.0])
def test_fractions_with_and_without_their_ends(end):
    assert fraction("share", end, ends=True) == end
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        fraction("share", end)
    assert fraction("share", np.float64(0.25)) == 0.25


@pytest.mark.parametrize("level", [-0.5, 95, np.nan, "0.95"])
def test_levels_of_intervals(level):
    x = ss.Real("x")
    mixture = ss.GaussianMixture(x, [0.5, 0.5], means=[0.0, 1.0], covariances=[1.0, 1.0])
    for shown in (
        ss.Gaussian(x, 0.0, covariance=1.0),
        mixture,
        ss.factors.StudentT(3.0, 0.0, dispersion=1.0),
        ss.Table(ss.Discrete("n", 3), [1, 2, 3]),
    ):
        with pytest.raises(ArgumentError, match="level= is a number"):
            shown.interval(level)


@pytest.mark.parametrize("value", ["Map", "maps", None, 1, True, ["map"], np.array(["map"])])
def test_words_among_several(value):
    with pytest.raises(ArgumentError, match=r"^kind= is 'map', 'mean' or 'draw'; found"):
        one_of("kind", value, ("map", "mean", "draw"))
    with pytest.raises(ArgumentError, match=r"^start= is 'auto', 'data' or a network; found"):
        one_of("start", value, ("auto", "data"), otherwise="a network")


def test_the_nearest_word_is_suggested():
    assert one_of("kind", "mean", ("map", "mean")) == "mean"
    assert one_of("kind", np.str_("mean"), {"map": 1, "mean": 2}) == "mean"
    with pytest.raises(ArgumentError, match=r"found 'maen'. Did you mean 'mean'\?"):
        one_of("kind", "maen", ("map", "mean"))


@pytest.mark.parametrize("seed", [-1, "x", 1.5, [1, -2]])
def test_bad_seeds_are_named(seed):
    with pytest.raises(ArgumentError, match="seed= is a whole number of at least 0") as error:
        generator(seed)
    assert repr(seed) in str(error.value)


def test_seeds_are_numpys():
    assert generator(7).random() == np.random.default_rng(7).random()
    assert generator(np.int64(7)).random() == np.random.default_rng(7).random()
    own = np.random.default_rng(3)
    assert generator(own) is own


PRIORS = [
    ss.priors.NormalMean(0.0, 1.0, noise=1.0),
    ss.priors.GammaPrecision(2.0, 1.0, mean=0.0),
    ss.priors.NormalGamma(0.0, 1.0, shape=2.0, rate=1.0),
    ss.priors.NormalInverseWishart([0.0, 0.0], 1.0, degrees=4.0, scale=np.eye(2)),
    ss.priors.LinearNormalGamma([0.0, 1.0], np.eye(2), shape=2.0, rate=1.0),
    ss.priors.LinearNormalInverseWishart(np.zeros((2, 2)), np.eye(2), degrees=4.0, scale=np.eye(2)),
    ss.factors.StudentT(3.0, 0.0, dispersion=1.0),
]


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: type(p).__name__)
def test_distributions_of_parameters_say_what_is_wrong(prior):
    with pytest.raises(ArgumentError, match="found -1"):
        prior.sample(-1)
    with pytest.raises(ArgumentError, match="seed= is a whole number"):
        prior.sample(2, -3)
    with pytest.raises(ArgumentError, match="seed= is a whole number"):
        prior.sample(2, "x")


@pytest.mark.parametrize(
    "prior", [p for p in PRIORS if isinstance(p, ss.priors.LinearNormalGamma | ss.priors.LinearNormalInverseWishart)]
)
def test_predictions_need_numbers(prior):
    for wrong in ("a", ["a"], [None], np.nan):
        with pytest.raises(DataError, match="parents"):
            prior.predictive(wrong)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2], "row 1 has -2"),
        ([np.nan, 1], "row 0 has nan"),
        ([1, np.inf], "row 1 has"),
        ([1], r"shape \(1,\) for 2 rows"),
        ([[1, 2]], "shape"),
        (["a", "b"], "numbers, one per row"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(DataError, match=message):
        row_weights(weights, 2)


def test_weights_are_copied_and_locked():
    given = np.array([1.0, 2.0])
    kept = row_weights(given, 2)
    given[0] = 7
    assert kept.tolist() == [1, 2]
    assert not kept.flags.writeable


def test_weights_add_up_to_a_float():
    with pytest.raises(DataError, match="more than a float holds"):
        row_weights([1e308, 1e308], 2)


def test_bad_weights_name_what_they_were_given_to():
    with pytest.raises(DataError, match=r"^'it': Weights are finite and not negative; row 1 has -1"):
        row_weights([1, -1], 2, "it")
