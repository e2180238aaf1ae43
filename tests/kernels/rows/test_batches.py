"""Kernels over blocks of rows: bounds on powers of two, and rows numbered through a hash table."""

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


def test_distinct_numbers_rows_with_every_hash_colliding():
    """A table of the least size makes most probes run into each other."""
    rows = np.array([[i, -1] for i in (3, 1, 3, 2, 1, 7)], np.int32)
    first, which = np.zeros(6, np.int64), np.zeros(6, np.int64)
    num = batches.distinct(rows, False, first, which, np.full(8, -1, np.int64))
    assert first[:num].tolist() == [0, 1, 3, 5]
    assert which.tolist() == [0, 1, 0, 2, 1, 3]
    assert batches.distinct(rows, True, first, which, np.full(8, -1, np.int64)) == 1
