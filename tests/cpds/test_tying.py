"""Shared probabilities: closed forms, and the optimality conditions where rows overlap."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.tying import estimate, multiplicities
from sepset.errors import DataError


def solved(rule_of, counts, **options):
    return estimate(np.array(rule_of), np.array(counts, float), None, options.get("unseen", "uniform"), "me", str)


def test_rows_of_their_own_are_ratios():
    np.testing.assert_allclose(solved([[0, 1], [2, 3]], [3, 1, 0, 2]), [0.75, 0.25, 0.0, 1.0])


def test_a_parameter_used_twice_in_a_row_is_halved():
    # p0 + 2 p1 = 1: maximize 2 log p0 + 4 log p1.
    np.testing.assert_allclose(solved([[0, 1, 1]], [2, 4]), [1 / 3, 1 / 3])


def test_overlapping_rows_reach_the_constrained_optimum():
    # Rows (p0, p1) and (p0, p2): so p1 = p2 = 1 - p0, and the optimum is p0 = M0 / (M0 + M1 + M2).
    np.testing.assert_allclose(solved([[0, 1], [0, 2]], [6, 3, 1]), [0.6, 0.4, 0.4], atol=1e-7)


def test_overlapping_rows_meet_every_sum():
    rng = np.random.default_rng(0)
    rule_of = np.array([[0, 1, 2], [0, 3, 4], [5, 1, 4], [6, 7, 8]])
    for _ in range(5):
        counts = rng.integers(0, 20, size=9).astype(float)
        p = estimate(rule_of, counts, None, "uniform", "me", str)
        np.testing.assert_allclose(p[rule_of].sum(axis=1), 1.0, atol=1e-10)
        assert (p >= 0).all()
        score = (counts[counts > 0] * np.log(p[counts > 0])).sum()
        table = multiplicities(rule_of, 9)
        kernel = np.linalg.svd(table)[2][np.linalg.matrix_rank(table) :]
        for direction in (*kernel, *-kernel):  # no feasible move improves
            moved = p + 1e-4 * direction
            if (moved >= 0).all() and (moved[counts > 0] > 0).all():
                assert (counts[counts > 0] * np.log(moved[counts > 0])).sum() <= score + 1e-7


def test_silent_groups_are_uniform_or_refused():
    assert solved([[0, 1], [2, 3]], [1, 1, 0, 0])[2:].tolist() == [0.5, 0.5]
    with pytest.raises(DataError, match="1 of 2 contexts"):
        solved([[0, 1], [2, 3]], [1, 1, 0, 0], unseen="raise")
