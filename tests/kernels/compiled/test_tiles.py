"""Tiles: large copies with axes in another order are transposes, whatever the sizes of the axes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.kernels.compiled import tiles
from support.small_contractions import uncompile


def copied(cards, order, copy):
    """A copy of a table with its axes in another order, and the transpose of the table; what the copy returns."""
    rng = np.random.default_rng(len(cards))
    source = rng.random([cards[axis] for axis in order])
    near, far = np.empty(len(cards), np.int64), np.empty(len(cards), np.int64)
    for axis in range(len(cards)):
        near[axis] = math.prod(cards[axis + 1 :])
        far[axis] = math.prod(cards[other] for other in order[order.index(axis) + 1 :])
    groups = np.stack([np.array(cards), far, np.zeros(len(cards), np.int64), near], axis=1)
    w = np.concatenate([np.ravel(source), np.full(source.size, np.nan), [7.0]])
    found = copy(w, source.size, 0, groups, 0, len(groups), np.zeros(1, np.uint8))
    expected = source.transpose([order.index(axis) for axis in range(len(cards))])
    assert w[-1] == 7.0
    return w[source.size : -1], np.ravel(expected), found


@pytest.mark.parametrize("cards", [[2] * 13, [11, 11, 11, 11], [3, 8, 1, 16, 2, 24], [64, 128], [5, 997], [121, 14, 9]])
@pytest.mark.parametrize("seed", range(3))
def test_large_copies_by_tiles_are_transposes(cards, seed, monkeypatch):
    uncompile(monkeypatch, tiles)
    order = np.random.default_rng(seed).permutation(len(cards)).tolist()
    found, expected, _ = copied(cards, order, tiles.copy_tiles)
    np.testing.assert_array_equal(found, expected)


SQUARES = {
    "two axes": ([16, 24], [1, 0], True),
    "axes that do not fill squares": ([11, 3, 13], [2, 1, 0], True),
    "short axes": ([2, 4, 2, 3, 4, 2], [5, 4, 3, 0, 1, 2], True),
    "pairs": ([5, 12, 2], [1, 0, 2], True),
    "pairs of several axes": ([2, 3, 2, 2, 5, 2, 2, 2], [3, 2, 5, 6, 4, 0, 1, 7], True),
    "fours": ([4, 6, 2, 2], [1, 0, 2, 3], True),
    "units of three": ([16, 24, 3], [1, 0, 2], False),
    "one axis on both sides": ([2, 2, 2, 2, 2], [0, 1, 4, 3, 2], False),
    "one run": ([3, 8], [0, 1], False),
    "units of a vector": ([5, 12, 4, 2], [1, 0, 2, 3], False),
    "few entries": ([3, 5], [1, 0], False),
    "an axis longer than a side": ([tiles.SIDE + 1, 16], [1, 0], False),
    "nothing": ([], [], False),
}


@pytest.mark.parametrize("case", SQUARES)
def test_squares_are_transposes_where_vectors_are_of_different_axes(case, monkeypatch):
    uncompile(monkeypatch, tiles)
    cards, order, has_squares = SQUARES[case]
    found, expected, is_copied = copied(cards, order, tiles.copy_squares)
    assert is_copied == has_squares
    if has_squares:
        np.testing.assert_array_equal(found, expected)
    else:
        assert np.isnan(found).all()
