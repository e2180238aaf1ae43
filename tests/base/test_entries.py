"""Entries by key are found and listed; answers are mappings with helpful errors, and arrays."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.base.entries import Answers, Entries, stacked
from sepset.errors import StateError
from support.everything import hybrid, made, net


class Coin(Entries):
    def keys(self):
        return ("head", "tail")

    def __getitem__(self, key):
        if key not in self.keys():
            raise StateError(f"There is no {key!r}.")
        return 0.5


def test_entries_are_found_and_listed():
    assert "head" in Coin()
    assert "edge" not in Coin()
    assert Coin().get("tail") == 0.5
    assert Coin().get("edge") is None
    assert dict(Coin().items()) == {"head": 0.5, "tail": 0.5}


class Squares(Answers[str, int]):
    def __getitem__(self, key):
        if key not in ("one", "two"):
            raise ss.errors.ScopeError(f"There is no {key!r}.")
        return {"one": 1, "two": 4}[key]

    def __iter__(self):
        return iter(("one", "two"))

    def __len__(self):
        return 2


def test_absence_is_no_error_where_mappings_have_none():
    squares = Squares()
    assert ("two" in squares, "three" in squares, squares.get("three", 9)) == (True, False, 9)
    with pytest.raises(ss.errors.ScopeError, match="There is no 'three'"):
        squares["three"]
    assert dict(squares) == {"one": 1, "two": 4}
    assert np.asarray(squares).tolist() == [1, 4]
    assert np.asarray(squares, dtype=float).dtype == float


def test_lists_of_several_lengths_end_with_nan():
    found = stacked([[0.5, 0.5], [0.25, 0.5, 0.25]])
    assert np.array_equal(found, [[0.5, 0.5, np.nan], [0.25, 0.5, 0.25]], equal_nan=True)
    assert stacked([]).size == 0
    with pytest.raises(ss.errors.ScopeError, match="make no array"):
        stacked([[0.5, 0.5], 1.0])


def test_marginals_are_rows_of_probabilities():
    """P(a) = (1/4, 3/4), P(b = yes) = 1/4 * 1/2 + 3/4 * 9/10."""
    found = np.asarray(ss.marginals(net()))
    assert found[:2] == pytest.approx(np.array([[0.25, 0.75], [0.2, 0.8]]))
    with pytest.raises(ss.errors.ScopeError, match="make no array"):
        np.asarray(ss.marginals(hybrid()))


def test_a_best_assignment_is_a_mapping_of_states():
    best = made("best assignment")
    assert dict(best) == dict(best.assignment) == {"a": "high", "b": "yes", "c": "no"}
    assert ("d" in best, best.get("d"), len(best), bool(best)) == (False, None, 3, True)
    assert np.asarray(best).tolist() == ["high", "yes", "no"]


def test_each_marginal_is_a_mapping_and_an_array():
    found = ss.marginals(net())["a"]
    assert dict(found) == {"low": 0.25, "high": 0.75}
    assert ("low" in found, "medium" in found, len(found)) == (True, False, 2)
    assert np.asarray(found).tolist() == [0.25, 0.75]
    assert (np.float64(2.0) * found)["low"] == 0.5
    joint = ss.query(net(), ["a", "b"]).distribution
    assert joint["low", "no"] == pytest.approx(0.125)
    assert list(joint) == [("low", "no"), ("low", "yes"), ("high", "no"), ("high", "yes")]
    assert np.asarray(net().cpd("b")).tolist() == [[0.5, 0.5], [0.1, 0.9]]
    with pytest.raises(TypeError, match="not iterable"):
        iter(net().cpd("b"))


def test_datasets_have_the_names_of_columns_as_keys():
    rows = ss.Dataset({"a": ["x", None], "n": [1.5, 2.5]})
    assert (list(rows), "a" in rows, "b" in rows, len(rows)) == (["a", "n"], True, False, 2)
    assert np.asarray(rows).tolist() == [["x", 1.5], [None, 2.5]]
    assert dict(rows)["n"].tolist() == [1.5, 2.5]


def test_predictions_are_rows_and_an_array():
    found = made("prediction")
    assert np.asarray(found).shape == (80, 2)
    assert next(iter(found)) == {"a": "high"}
    two = ss.predict(net(), {"d": ["no", "yes"]}, targets=["a", "b"])
    with pytest.raises(ss.errors.ScopeError, match="several arrays"):
        np.asarray(two)
