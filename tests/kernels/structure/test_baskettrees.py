"""Kernels of item trees: interruption, and rows without items."""

from __future__ import annotations

import numpy as np

from sepset.base.threads import NEVER
from sepset.kernels.structure.baskettrees import grow, log_odds, probabilities


def test_a_canceled_tree_is_a_leaf() -> None:
    bits = np.array([[0b0011], [0b0011]], np.uint64)
    logs = np.array([np.linspace(0, -3, 5), np.linspace(0, -6, 5)])
    for flag, expected in ((NEVER, 3), (np.ones(1, np.uint8), 1)):
        masks, nodes, counts = np.zeros((3, 1), np.uint64), np.full((3, 3), -1), np.zeros((3, 2), np.int64)
        masks[0] = 0b1111
        size = grow(bits, 0, np.array([1]), logs, 0.1, masks, nodes, counts, flag)
        assert size == expected
        assert counts[0].tolist() == [2, 2]


def test_one_split() -> None:
    """Item 0 depends on item 1: P(0 | 1 absent) = 0.1, P(0 | 1 present) = 0.8, and P(1) = 0.3."""
    roots, tested = np.array([0, 3]), np.array([1, -1, -1, -1])
    starts, branches = np.array([0, 0, 2, 4]), np.array([1, 2])
    values = np.array([0.9, 0.1, 0.2, 0.8, 0.7, 0.3])
    rows = np.array([[0, 0], [0, 1], [1, 0]], np.uint8)
    out = np.zeros((3, 2))
    probabilities(rows, roots, tested, starts, branches, values, out)
    np.testing.assert_allclose(out, [[0.1, 0.3], [0.8, 0.3], [0.1, 0.3]])
    odds = np.zeros((3, 2))
    log_odds(rows, roots, tested, starts, branches, values, odds)
    np.testing.assert_allclose(odds[0], np.log([0.1 / 0.9, 0.3 * 0.2 / (0.7 * 0.9)]))
    np.testing.assert_allclose(odds[1, 0], np.log(4))
    np.testing.assert_allclose(odds[2, 1], np.log(0.3 * 0.8 / (0.7 * 0.1)))
