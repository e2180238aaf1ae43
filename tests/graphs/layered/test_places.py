"""Places in given orders: least distances hold, and long edges are straight."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.graphs.layered.places import places


def test_long_edges_are_vertical():
    rows = [[0, 1], [2, 3], [4, 5], [6]]
    above = [[], [], [0], [1], [2], [3], [4, 5]]
    below = [[2], [3], [4], [5], [6], [6], []]
    found = places(
        rows, above, below, bends=[False, False, True, False, True, False, False], separation=lambda a, b: 2.0
    )
    assert found[2] == found[4]
    assert found[6] == pytest.approx((found[4] + found[5]) / 2)


@pytest.mark.parametrize("seed", range(5))
def test_least_distances(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, 5)
    items = np.split(rng.permutation(int(sizes.sum())), np.cumsum(sizes)[:-1])
    rows = [row.tolist() for row in items]
    count = int(sizes.sum())
    above, below = [[] for _ in range(count)], [[] for _ in range(count)]
    for upper, lower in itertools.pairwise(rows):
        for a in upper:
            for b in lower:
                if rng.random() < 0.4:
                    below[a].append(b)
                    above[b].append(a)
    widths = rng.uniform(1.0, 5.0, count)
    bends = (rng.random(count) < 0.3).tolist()
    found = places(rows, above, below, bends=bends, separation=lambda a, b: float(widths[a] + widths[b]) / 2 + 1.0)
    for row in rows:
        for a, b in itertools.pairwise(row):
            assert found[b] - found[a] >= (widths[a] + widths[b]) / 2 + 1.0 - 1e-9
    assert min(found) == pytest.approx(0.0)


def test_nothing_to_place():
    assert places([], [], [], bends=[], separation=lambda a, b: 1.0) == []
