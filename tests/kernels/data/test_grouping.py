from __future__ import annotations

import numpy as np
import pytest

from sepset.base.threads import NEVER
from sepset.kernels.data import grouping


def grouped(words, function=grouping.group_rows, only_missing=False, slots=8):
    """A table of the least size makes most probes run into each other, and grows often."""
    groups, firsts = np.empty(len(words), np.int64), np.empty(len(words), np.int64)
    count = function(words, only_missing, np.full(slots, -1, np.int64), groups, firsts, NEVER)
    return firsts[:count], groups


@pytest.mark.parametrize(("num_rows", "width", "distinct"), [(0, 1, 1), (1, 2, 1), (5000, 1, 3), (9000, 3, 4000)])
def test_groups_are_numbered_by_first_appearance(num_rows, width, distinct):
    rng = np.random.default_rng(1)
    words = rng.integers(-(2**62), 2**62, (distinct, width))[rng.integers(0, distinct, num_rows)]
    firsts, groups = grouped(words)
    np.testing.assert_array_equal(words[firsts][groups], words)
    assert len(np.unique(words, axis=0)) == len(firsts)
    assert np.all(np.diff(firsts) > 0)
    assert np.all(firsts[groups] <= np.arange(num_rows))


def test_narrow_cells_and_rows_with_the_same_missing():
    rows = np.array([[i, -1] for i in (3, 1, 3, 2, 1, 7)] + [[-1, 5]], np.int32)
    firsts, groups = grouped(rows)
    assert firsts.tolist() == [0, 1, 3, 5, 6]
    assert groups.tolist() == [0, 1, 0, 2, 1, 3, 4]
    firsts, groups = grouped(rows, only_missing=True)
    assert firsts.tolist() == [0, 6]
    assert groups.tolist() == [0] * 6 + [1]


@pytest.mark.filterwarnings("ignore:overflow")  # hashing wraps around on purpose
def test_the_same_uncompiled(monkeypatch):
    for name in ("hashed", "same", "larger"):
        monkeypatch.setattr(grouping, name, getattr(getattr(grouping, name), "py_func", getattr(grouping, name)))
    words = np.arange(1500).reshape(-1, 1) % 700
    plain = getattr(grouping.group_rows, "py_func", grouping.group_rows)
    for one, other in zip(grouped(words, plain), grouped(words), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_canceled_kernel_groups_no_more():
    count = grouping.group_rows(
        np.arange(9).reshape(-1, 1),
        False,
        np.full(8, -1, np.int64),
        np.empty(9, np.int64),
        np.empty(9, np.int64),
        np.ones(1, np.uint8),
    )
    assert count == 0
