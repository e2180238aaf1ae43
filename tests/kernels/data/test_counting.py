"""The counting kernels against bincount, also as plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.data import counting


def plain(function):
    return getattr(function, "py_func", function)


def layout():
    """Two families, (0, 1) of shape (3, 2) and (2,) of shape (4,), and a spare cell."""
    return (
        np.array([0, 2, 3]),
        np.array([0, 1, 2]),
        np.array([2, 1, 1]),
        np.array([0, 6]),
    )


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
@pytest.mark.parametrize("lanes", [1, counting.LANES])
@pytest.mark.parametrize("num_rows", [0, 3, 5000])
def test_ones_and_weights(dtype, lanes, num_rows):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, card, num_rows) for card in (3, 2, 4)]).astype(dtype)
    expected = np.concatenate(
        [np.bincount(codes[0] * 2 + codes[1], minlength=6), np.bincount(codes[2], minlength=4), [0]]
    )
    counts = np.zeros((lanes, 11), np.int64)
    counting.count_rows(codes, num_rows, True, *layout(), counts)
    np.testing.assert_array_equal(counts.sum(axis=0), expected)
    sums = np.zeros((lanes, 11))
    counting.weigh_rows(codes, num_rows, True, *layout(), np.full(num_rows, 0.5), sums)
    np.testing.assert_array_equal(sums.sum(axis=0), expected / 2)


def test_missing_codes_go_to_the_spare_cell():
    codes = np.array([[0, -1, 2, 1], [1, 1, -1, 0], [3, 0, 0, -1]], np.int8)
    counts = np.zeros((1, 11), np.int64)
    counting.count_rows(codes, 4, False, *layout(), counts)
    assert counts[0].tolist() == [0, 1, 1, 0, 0, 0, 2, 0, 0, 1, 3]
    sums = np.zeros((1, 11))
    counting.weigh_rows(codes, 4, False, *layout(), np.arange(4.0), sums)
    assert sums[0].tolist() == [0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 6]


@pytest.mark.parametrize("lanes", [1, counting.LANES])
def test_the_same_uncompiled(lanes):
    place = np.array([0, 2, 2, 1, 2, 0], np.uint32)
    counts = np.zeros((lanes, 3), np.int64)
    plain(counting.add_ones)(place, 6, counts)
    assert counts.sum(axis=0).tolist() == [2, 1, 3]
    sums = np.zeros((lanes, 3))
    plain(counting.add_weights)(place, 6, np.arange(6.0), sums)
    assert sums.sum(axis=0).tolist() == [5, 3, 7]
    codes = np.array([[0, 1, -1]], np.int8)
    out = np.zeros(3, np.uint32)
    plain(counting.places)(codes, 0, 2, np.array([0]), np.array([2]), 5, out)
    assert out[:2].tolist() == [5, 7]
    plain(counting.spare_missing)(codes, 0, 3, np.array([0]), 9, out)
    assert out.tolist() == [5, 7, 9]
