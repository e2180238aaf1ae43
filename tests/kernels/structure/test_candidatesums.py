"""Edges and draws of one column's parents, against plain sums."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.kernels.structure.candidatesums import add_edges, draw_parents, sum_before, sum_touching
from sepset.learning.structure.averaging.candidates import summed_block

CANDS, OUTS = np.array([[1, 2], [-1, -1], [-1, -1], [-1, -1]]), np.array([[3], [-1], [-1], [-1]])
SCORES = np.log(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]))
"""Of {}, {1}, {2}, {1, 2}, and of each with 3."""

RANKED = np.argsort(-SCORES).astype(np.int32)

SETS = [(), (1,), (2,), (1, 2), (3,), (1, 3), (2, 3), (1, 2, 3)]


@pytest.mark.parametrize("inside", [(1, 2, 3), (1, 3), (2,), ()])
@pytest.mark.parametrize("level", [None, (1,), (3,), (2, 3)])
@pytest.mark.parametrize("more", [0, 512])
def test_edges_and_draws(inside, level, more):
    """With `more` further columns that are never parents, a draw goes down the ranked scores."""
    if level is not None and not set(level) & set(inside):
        return
    _, sums = summed_block(SCORES.reshape(2, 4))
    flags = np.array([u in inside for u in range(4)], np.uint8)
    marks = np.array([level is not None and u in level and u in inside for u in range(4)], np.uint8)
    possible = [
        (s, np.exp(x))
        for s, x in zip(SETS, SCORES, strict=True)
        if set(s) <= set(inside) and (level is None or set(s) & set(level))
    ]
    total = sum(w for _, w in possible)
    outs = np.concatenate([OUTS, np.full((4, more), 3)], axis=1)
    edges = np.zeros((4, 4))
    add_edges(0, flags, marks, level is not None, CANDS, OUTS, sums, 0, edges)
    for u in (1, 2, 3):
        assert edges[u, 0] == pytest.approx(sum(w for s, w in possible if u in s) / total, abs=1e-12)
    seen = dict.fromkeys([s for s, _ in possible], 0.0)
    for k in range(2000):
        graph = np.zeros((4, 4), np.uint8)
        uniform = (k + 0.5) / 2000
        draw_parents(
            0, flags, marks, level is not None, CANDS, outs, SCORES, RANKED, 0, 8, np.log(total), uniform, graph
        )
        seen[tuple(np.flatnonzero(graph[:, 0]).tolist())] += 1 / 2000
    assert list(seen.values()) == pytest.approx([w / total for _, w in possible], abs=1e-3)
    assert list(itertools.chain(*graph[:, 1:])) == [0] * 12


def test_sums_that_are_nothing_beside_the_largest():
    """A sum of e^-2000 beside a further column's of one is not zero where that column is not before."""
    _, sums = summed_block(np.array([[-2000.0, -2001.0, -np.inf, -np.inf], [0.0, 0.0, -1.0, -np.inf]]))
    inside = np.array([0, 1, 1, 0], np.uint8)
    assert sum_before(0, inside, CANDS, OUTS, sums, 0) == pytest.approx(-2000 + np.log1p(np.exp(-1)))
    inside[3] = 1
    assert sum_before(0, inside, CANDS, OUTS, sums, 0) == pytest.approx(np.log(2 + np.exp(-1)))


def test_sums_too_small_to_have_all_digits():
    """e^-740 has two digits as a number, and all of them as a logarithm."""
    _, sums = summed_block(np.array([[-740.0, -741.0, -np.inf, -np.inf], [0.0, 0.0, -np.inf, -np.inf]]))
    inside = np.array([0, 1, 0, 0], np.uint8)
    assert sum_before(0, inside, CANDS, OUTS, sums, 0) == pytest.approx(-740 + np.log1p(np.exp(-1)), abs=1e-12)


@pytest.mark.parametrize("share", [0.5, 1e-6, 1e-12, 1e-20])
def test_differences_that_have_lost_their_digits_are_zero(share):
    """Sets with column 1 have this share of all sets."""
    scores = np.full((2, 4), -np.inf)
    scores[0, :2] = np.log([1 - share, share])
    _, sums = summed_block(scores)
    flags, marks = np.array([0, 1, 1, 1], np.uint8), np.array([0, 1, 0, 0], np.uint8)
    found = sum_touching(0, flags, marks, True, CANDS, OUTS, sums, 0)
    assert found == (pytest.approx(np.log(share), rel=1e-6) if share > 1e-10 else -np.inf)
