"""Equality by value."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import pytest

from sepset.base.equality import same_value
from sepset.base.lazy import lazy


@dataclass(frozen=True, eq=False, slots=True)
class Held:
    """An object with an array, equal only to itself by `==`."""

    numbers: np.ndarray
    label: str = ""


class Loose:
    """An object with attributes."""

    def __init__(self, *parts):
        self.parts = parts

    @lazy
    def num_parts(self):
        return len(self.parts)


class Called(Loose):
    """An object with attributes that can be called."""

    def __call__(self):
        return self.parts


EQUAL = [
    (1, 1),
    (float("nan"), float("nan")),
    ("a", "a"),
    (np.arange(3), np.arange(3)),
    (np.array([np.nan, 1.0]), np.array([np.nan, 1.0])),
    (np.array([None, "a"], object), np.array([None, "a"], object)),
    ([1, (2, {"k": np.ones(2)})], [1, (2, {"k": np.ones(2)})]),
    ({1, 2}, {2, 1}),
    (Held(np.ones(2), "x"), Held(np.ones(2), "x")),
    (Loose(Held(np.zeros(3)), [1]), Loose(Held(np.zeros(3)), [1])),
    (Called(np.zeros(3), 1), Called(np.zeros(3), 1)),
    (len, len),
    (int, int),
]
DIFFERENT = [
    (1, 2),
    (1, 1.0),
    ([1], (1,)),
    ([1], [1, 2]),
    (np.arange(3), np.arange(4)),
    (np.arange(4), np.arange(4).reshape(2, 2)),
    (np.array(["a"]), np.array(["b"])),
    ({"a": 1}, {"b": 1}),
    ({"a": 1}, {"a": 2}),
    (Held(np.ones(2), "x"), Held(np.ones(2), "y")),
    (Held(np.ones(2)), Held(np.array([1.0, np.nextafter(1.0, 2.0)]))),
    (Loose(1), Held(np.ones(1))),
    (Called(np.zeros(3), 1), Called(np.zeros(3), 2)),
    (len, max),
]


@pytest.mark.parametrize(("first", "second"), EQUAL, ids=range(len(EQUAL)))
def test_equal_contents_are_equal(first, second):
    assert same_value(first, second)
    assert same_value(copy.deepcopy(first), second)


def test_what_is_cached_does_not_count():
    used, new = Loose(1, 2), Loose(1, 2)
    assert used.num_parts == 2
    assert same_value(used, new)


@pytest.mark.parametrize(("first", "second"), DIFFERENT, ids=range(len(DIFFERENT)))
def test_different_contents_differ(first, second):
    assert not same_value(first, second)
    assert not same_value(second, first)
