"""Which rows are tested: each exactly once, in proportion, and the same for the same seed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError
from sepset.learning.evaluation.splits import Holdout, KFold, LeaveOneOut, Splitter


def rows(num: int) -> Dataset:
    return Dataset({"x": [m % 3 for m in range(num)]})


def masks(split: Splitter, data: Dataset, seed: int = 0) -> np.ndarray:
    found = list(split.rounds(data, np.random.default_rng(seed)))
    assert len(found) == split.num_rounds(data)
    return np.stack(found)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(2, 12), st.integers(0, 5), st.booleans())
def test_every_row_is_tested_exactly_once(num, folds, seed, stratified):
    if folds > num:
        with pytest.raises(DataError):
            masks(KFold(folds), rows(num))
        return
    found = masks(KFold(folds, stratify="x" if stratified else None), rows(num), seed)
    assert (found.sum(axis=0) == 1).all()
    assert np.ptp(found.sum(axis=1)) <= 1
    np.testing.assert_array_equal(found, masks(KFold(folds, stratify="x" if stratified else None), rows(num), seed))
    if stratified:
        codes = rows(num).codes("x")
        assert all(np.ptp(found[:, codes == k].sum(axis=1)) <= 1 for k in range(min(num, 3)))


@pytest.mark.parametrize(("num", "share", "trained"), [(10, 0.25, 8), (5, 0.5, 3), (4, 0.25, 3), (100, 0.3, 70)])
def test_halves_are_rounded_up_for_training(num, share, trained):
    assert math.floor(num * (1 - share) + 0.5) == trained
    (mask,) = masks(Holdout(share), rows(num))
    assert (~mask).sum() == trained


def test_what_is_no_split_is_refused_at_once():
    for folds in (1, 0, 2.5, True, "5"):
        with pytest.raises(ArgumentError, match="folds= is a whole number of at least 2"):
            KFold(folds)
    for share in (0.0, 1.0, -0.5, 3):
        with pytest.raises(ArgumentError, match="test= is a number between 0 and 1"):
            Holdout(share)
    with pytest.raises(ArgumentError, match="repeats= is a whole number of at least 1"):
        Holdout(0.5, repeats=0)


def test_repeats_differ_and_seeds_repeat():
    found = masks(Holdout(0.5, repeats=3), rows(40), seed=1)
    assert found.shape == (3, 40)
    assert (found[0] != found[1]).any()
    np.testing.assert_array_equal(found, masks(Holdout(0.5, repeats=3), rows(40), seed=1))
    assert (found != masks(Holdout(0.5, repeats=3), rows(40), seed=2)).any()


def test_stratified_holdout_keeps_proportions():
    data = Dataset({"x": [0] * 80 + [1] * 20})
    (mask,) = masks(Holdout(0.25, stratify="x"), data)
    assert data.codes("x")[mask].tolist().count(1) == 5


def test_leaving_one_out_is_as_many_folds_as_rows():
    found = masks(LeaveOneOut(), rows(5))
    np.testing.assert_array_equal(found, np.eye(5, dtype=bool))
    assert sorted(masks(KFold(5), rows(5)).argmax(axis=1)) == [0, 1, 2, 3, 4]
    with pytest.raises(DataError, match="at least two rows"):
        masks(LeaveOneOut(), rows(5)[:1])
