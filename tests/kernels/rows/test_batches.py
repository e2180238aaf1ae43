"""Kernels over blocks of rows: bounds on powers of two, and maxima read back."""

from __future__ import annotations

import numpy as np

from sepset.kernels.rows import batches


def test_bounds_add_and_a_check_brings_them_back():
    width = 12
    ops = np.zeros((3, width), np.int64)
    ops[:, batches.GROWTH] = 4
    for r, (d, a, b) in enumerate([(2, 0, 1), (3, 2, 2), (4, 3, 0)]):
        ops[r, [batches.TENSOR_D, batches.TENSOR_A, batches.TENSOR_B]] = d, a, b
    lows = np.array([-100.0, -140.0, 0.0, 0.0, 0.0])
    highs = np.array([1.0, 2.0, 0.0, 0.0, 0.0])
    checks = np.zeros(3, np.uint8)
    batches.bounds(ops, lows, highs, checks)
    assert checks.tolist() == [0, 1, 1]
    assert lows[2] == -240.0
    assert highs[2] == 5.0
    assert (lows[3], highs[3]) == (-batches.RANGE, 1.0)


def test_weights_that_leave_the_range_are_compared_by_their_logarithms():
    larger = getattr(batches._is_larger, "py_func", batches._is_larger)
    assert larger(1.0, 0, 1.0, -1)
    assert not larger(1.0, -1, 1.0, 0)
    assert not larger(1.0, 0, 1.0, 0)  # the first wins
    assert larger(0.5, -1, 0.0, 0)
    assert not larger(0.0, 0, 0.5, -1)
    assert not larger(0.0, 0, 0.0, 0)


def test_what_depends_on_findings_is_marked_in_the_order_of_steps():
    varies = np.array([False, True, False, False, False, True])
    batches.vary(np.array([[2, 0, 1], [3, 0, 0], [4, 2, 3], [5, 0, 3]]), varies)
    assert varies.tolist() == [False, True, True, False, True, False]
