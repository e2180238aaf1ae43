"""Splits and folds: sizes, disjointness, strata."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.data.dataset import Dataset
from sepset.data.partition import dealt, fold_numbers, in_first_part
from sepset.errors import ArgumentError, DataError
from sepset.variables.variable import Discrete

strata_lists = st.lists(st.integers(0, 3), min_size=4, max_size=60)


@given(strata_lists, st.integers(0, 5), st.floats(0.3, 0.7))
def test_a_split_takes_its_share_of_every_stratum(strata, seed, fraction):
    strata = np.array(strata)
    places = dealt(len(strata), np.random.default_rng(seed), strata)
    assert sorted(places.tolist()) == list(range(len(strata)))
    first = in_first_part(places, fraction)
    assert first.sum() == int(np.floor(fraction * len(strata) + 0.5))
    for stratum in set(strata.tolist()):
        assert abs(first[strata == stratum].sum() - fraction * (strata == stratum).sum()) <= 1


@given(strata_lists, st.integers(0, 5), st.integers(2, 4))
def test_folds_are_even_in_every_stratum(strata, seed, count):
    strata = np.array(strata)
    numbers = fold_numbers(dealt(len(strata), np.random.default_rng(seed), strata), count)
    for rows in (np.ones(len(strata), bool), *(strata == stratum for stratum in set(strata.tolist()))):
        sizes = np.bincount(numbers[rows], minlength=count)
        assert sizes.max() - sizes.min() <= 1


@pytest.fixture
def rows():
    coin = Discrete("coin", ("head", "tail"))
    codes = np.arange(100) % 4 == 0
    return Dataset.from_codes([coin, Discrete("id", 100)], {"coin": codes.astype(int), "id": np.arange(100)})


def test_split(rows):
    weighted = rows.with_weights(np.arange(100))
    train, test = weighted.split(0.75, seed=3)
    assert (len(train), len(test)) == (75, 25)
    assert sorted([*train.codes("id"), *test.codes("id")]) == list(range(100))
    assert train.codes("id").tolist() == sorted(train.codes("id").tolist())
    np.testing.assert_array_equal(train.weights, train.codes("id"))
    again, _ = weighted.split(0.75, seed=np.random.default_rng(3))
    assert again.equals(train)
    other, _ = weighted.split(0.75, seed=4)
    assert not other.equals(train)


def test_stratified_split_and_folds(rows):
    train, test = rows.split(0.8, stratify="coin")
    assert ((train.codes("coin") == 1).sum(), (test.codes("coin") == 1).sum()) == (20, 5)
    seen = []
    for train, test in rows.folds(5, stratify=["coin"], seed=1):
        assert (len(train), len(test), (test.codes("coin") == 1).sum()) == (80, 20, 5)
        assert not set(train.codes("id").tolist()) & set(test.codes("id").tolist())
        seen += test.codes("id").tolist()
    assert sorted(seen) == list(range(100))


def test_leave_one_out(rows):
    assert [len(test) for _, test in rows.head(4).folds(4)] == [1, 1, 1, 1]


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 1.5, float("nan")])
def test_fractions_lie_between_zero_and_one(rows, fraction):
    with pytest.raises(ArgumentError, match="fraction= is a number between 0 and 1"):
        rows.split(fraction)


def test_fractions_that_leave_a_part_empty(rows):
    with pytest.raises(DataError, match=r"A fraction 0.001 of 100 rows leaves one part empty"):
        rows.split(0.001)


@pytest.mark.parametrize("count", [0, 1, -3, 2.5])
def test_numbers_of_folds(rows, count):
    with pytest.raises(ArgumentError, match="folds= is a whole number of at least 2; found"):
        rows.folds(count)
    with pytest.raises(DataError, match="100 rows make at most 100 folds; found 101"):
        rows.folds(101)
