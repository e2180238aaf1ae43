"""Blocks that move: never past a neighbor, pieces of a long edge together, and edges become shorter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.graphs.layered.straightening import nearest_median, straightened


def test_a_block_stays_in_order_and_moves_as_one():
    rows = [[0], [1, 2], [3, 4], [5]]
    edges = [(0, 1), (1, 3), (3, 5), (2, 4)]
    bends = [False, True, False, True, False, False]
    found = straightened(rows, edges, [0.0, 5.0, 6.0, 5.0, 6.0, 0.0], bends=bends, separation=lambda a, b: 1.0)
    assert found[1] == found[3]
    assert found[2] - found[1] >= 1.0
    assert found[4] - found[3] >= 1.0
    assert found[0] == found[1] == found[5]


@pytest.mark.parametrize("seed", range(5))
def test_edges_become_shorter_and_distances_hold(seed):
    rng = np.random.default_rng(seed)
    rows = [[4 * level + k for k in range(4)] for level in range(5)]
    edges = [(a, b) for up, low in itertools.pairwise(rows) for a in up for b in low if rng.random() < 0.35]
    at = [float(x) for row in rows for x in np.cumsum(rng.uniform(1.0, 6.0, len(row)))]
    found = straightened(rows, edges, at, bends=[False] * 20, separation=lambda a, b: 1.0)
    for row in rows:
        assert all(found[b] - found[a] >= 1.0 - 1e-9 for a, b in itertools.pairwise(row))
    assert sum(abs(found[a] - found[b]) for a, b in edges) <= sum(abs(at[a] - at[b]) for a, b in edges)


@pytest.mark.parametrize(
    ("points", "at", "expected"),
    [
        ([(1.0, 1.0)], 5.0, 1.0),
        ([(1.0, 1.0), (3.0, 1.0)], 2.0, 2.0),
        ([(1.0, 1.0), (3.0, 1.0)], 7.0, 3.0),
        ([(1.0, 1.0), (3.0, 1.0), (9.0, 1.0)], 7.0, 3.0),
        ([(1.0, 5.0), (3.0, 1.0), (9.0, 1.0)], 7.0, 1.0),
    ],
)
def test_medians(points, at, expected):
    places = [x for x, _ in points]
    assert nearest_median(places, [(k, weight) for k, (_, weight) in enumerate(points)], at) == expected
