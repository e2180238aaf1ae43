"""Tiles: large copies with axes in another order are transposes, whatever the sizes of the axes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.kernels.compiled import tiles
from support.small_contractions import uncompile


@pytest.mark.parametrize("cards", [[2] * 13, [11, 11, 11, 11], [3, 8, 1, 16, 2, 24], [64, 128], [5, 997], [121, 14, 9]])
@pytest.mark.parametrize("seed", range(3))
def test_large_copies_by_tiles_are_transposes(cards, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(cards)).tolist()
    source = rng.random([cards[axis] for axis in order])
    near, far = np.empty(len(cards), np.int64), np.empty(len(cards), np.int64)
    for axis in range(len(cards)):
        near[axis] = math.prod(cards[axis + 1 :])
        far[axis] = math.prod(cards[other] for other in order[order.index(axis) + 1 :])
    groups = np.stack([np.array(cards), far, np.zeros(len(cards), np.int64), near], axis=1)
    w = np.concatenate([np.ravel(source), np.full(source.size, np.nan), [7.0]])
    uncompile(monkeypatch, tiles)
    tiles.copy_tiles(w, source.size, 0, groups, 0, len(groups), np.zeros(1, np.uint8))
    expected = source.transpose([order.index(axis) for axis in range(len(cards))])
    np.testing.assert_array_equal(w[source.size : -1], np.ravel(expected))
    assert w[-1] == 7.0
