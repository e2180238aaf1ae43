"""Row weights: checked at the border, carried along with their rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from sepset.data.dataset import Dataset
from sepset.data.weights import checked_weights
from sepset.errors import DataError
from sepset.variables.variable import Discrete


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2], "row 1 has -2"),
        ([np.nan, 1], "row 0 has nan"),
        ([1, np.inf], "row 1 has"),
        ([1], r"shape \(1,\) for 2 rows"),
        ([[1, 2]], "shape"),
        (["a", "b"], "numbers, one a row"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(DataError, match=message):
        checked_weights(weights, 2)


def test_weights_are_copied_and_locked():
    given = np.array([1.0, 2.0])
    kept = checked_weights(given, 2)
    given[0] = 7
    assert kept.tolist() == [1, 2]
    assert not kept.flags.writeable


@pytest.fixture
def rows():
    return Dataset({"a": ["x", "y", "x", "z"], "w": [0.5, 1.0, 0.0, 2.0]}, weights="w")


def test_weights_by_name(rows):
    assert rows.variables.names == ("a",)
    assert (rows.weights.tolist(), rows.total_weight) == ([0.5, 1, 0, 2], 3.5)
    assert repr(rows) == "Dataset(4 rows of weight 3.5, 1 variable: 'a')"
    with pytest.raises(DataError, match=r"No column 'v'; columns are 'a'"):
        Dataset({"a": ["x", "y"]}, weights="v")
    with pytest.raises(DataError, match="Column 'a': row 0 holds 'x'"):
        Dataset({"a": ["x", "y"], "b": [1, 2]}, weights="a")
    import polars as pl

    lazy = pl.LazyFrame({"a": ["x", "y"], "b": [1, 2], "w": [1.0, 3.0]})
    assert Dataset(lazy, [Discrete("a", ("x", "y"))], weights="w").weights.tolist() == [1, 3]


def test_weights_follow_their_rows(rows):
    assert rows[1:3].weights.tolist() == [1, 0]
    assert rows.head(1).weights.tolist() == [0.5]
    assert rows.take([3, 0]).weights.tolist() == [2, 0.5]
    assert rows.take(np.array([True, False, False, True])).weights.tolist() == [0.5, 2]
    assert rows.select(["a"]).weights.tolist() == rows.weights.tolist()
    assert Dataset(rows, rows.variables).weights.tolist() == rows.weights.tolist()
    assert Dataset(rows, rows.variables, weights=[1, 1, 1, 2]).weights.tolist() == [1, 1, 1, 2]
    assert pickle.loads(pickle.dumps(rows)).equals(rows)


def test_concat_counts_rows_without_weights_once(rows):
    bare = rows.with_weights(None)
    assert bare.weights is None
    assert rows.concat(bare).weights.tolist() == [0.5, 1, 0, 2, 1, 1, 1, 1]
    assert bare.concat(bare).weights is None
    assert bare.total_weight == 4


def test_weights_take_part_in_equality(rows):
    bare = rows.with_weights(None)
    assert not rows.equals(bare)
    assert not bare.equals(rows)
    assert not rows.equals(rows.with_weights([1, 1, 1, 1]))
    assert rows.equals(bare.with_weights(rows.weights))


def test_codes_with_weights():
    rows = Dataset.from_codes([Discrete("a")], {"a": [0, 1]}, weights=[1, 2])
    assert rows.total_weight == 3
    with pytest.raises(DataError, match="row 0"):
        Dataset.from_codes([Discrete("a")], {"a": [0]}, weights=[-1])


def test_weights_add_up_to_a_float():
    with pytest.raises(DataError, match="more than a float holds"):
        checked_weights([1e308, 1e308], 2)
