"""Numerical maximization against closed forms."""

from __future__ import annotations

import numpy as np

from sepset.base.numerics.optimize import log_softmax, maximize, minimize, softmax

COUNTS = np.array([[3.0, 1.0, 4.0], [0.0, 0.0, 0.0], [2.0, 2.0, 2.0]])


def multinomial(tables):
    """Complete data: the expected counts are the counts."""
    (table,) = tables
    return float((COUNTS * np.log(table)).sum()), [COUNTS]


def test_complete_counts_give_ratios():
    start = np.full((3, 3), 1 / 3)
    (found,) = maximize(multinomial, [start], [np.array([True, True, False])], [np.zeros((3, 3))])
    np.testing.assert_allclose(found, [[3 / 8, 1 / 8, 4 / 8], [1 / 3] * 3, [1 / 3] * 3], atol=1e-7)


def test_pseudo_counts_are_added():
    start = np.full((3, 3), 1 / 3)
    (found,) = maximize(multinomial, [start], [np.ones(3, np.bool_)], [np.full((3, 3), 1.0)])
    np.testing.assert_allclose(found, (COUNTS + 1) / (COUNTS + 1).sum(axis=1, keepdims=True), atol=1e-7)


def test_nothing_free_changes_nothing():
    start = [np.array([[0.2, 0.8]])]
    assert maximize(multinomial, start, [np.array([False])], [np.zeros((1, 2))]) is start


def test_a_quadratic_has_its_minimum():
    center = np.array([1.0, -2.0, 3.0])
    found = minimize(lambda p: (float(((p - center) ** 2).sum()) + 5.0, 2 * (p - center)), np.zeros(3))
    np.testing.assert_allclose(found, center, atol=1e-6)


def test_softmax_survives_large_logits():
    np.testing.assert_allclose(softmax(np.array([[1e4, 0.0], [-1e4, -1e4]])), [[1.0, 0.0], [0.5, 0.5]])


def test_logarithms_of_small_probabilities():
    found = log_softmax(np.array([[0.0, -2000.0, -1e5], [3.0, 3.0, 3.0], [-900.0, -901.0, -5000.0]]))
    np.testing.assert_allclose(found[0], [0.0, -2000.0, -1e5], rtol=1e-15)
    np.testing.assert_allclose(found[1], -np.log(3.0), rtol=1e-15)
    np.testing.assert_allclose(found[2], -np.log1p(np.exp(-1.0)) - np.array([0.0, 1.0, 4100.0]), rtol=1e-15)
