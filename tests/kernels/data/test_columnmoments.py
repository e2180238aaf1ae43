"""Moments of one column in each context, against plain averages."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.data.columnmoments import column_moments


@pytest.mark.parametrize("function", [column_moments, getattr(column_moments, "py_func", column_moments)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_moments_of_each_context(function, is_weighted):
    rng = np.random.default_rng(0)
    column, places = rng.normal(1e8, 1.0, 300), rng.integers(0, 2, 300)
    weights = rng.integers(0, 3, 300) / 2.0 if is_weighted else np.ones(1)
    counts, means, squares = np.zeros(3), np.zeros(3), np.zeros(3)
    function(places, column, weights, counts, means, squares)
    share = weights if is_weighted else np.ones(300)
    for context in range(2):
        mine, weight = column[places == context] - 1e8, share[places == context]
        mean = np.average(mine, weights=weight)
        np.testing.assert_allclose([counts[context], means[context] - 1e8], [weight.sum(), mean], rtol=1e-6)
        np.testing.assert_allclose(squares[context], weight @ (mine - mean) ** 2, rtol=1e-9)
    assert (counts[2], means[2], squares[2]) == (0.0, 0.0, 0.0)


def test_one_row_and_none():
    for column, expected in ((np.array([3.0]), (1.0, 3.0, 0.0)), (np.zeros(0), (0.0, 0.0, 0.0))):
        parts = np.zeros(1), np.zeros(1), np.zeros(1)
        column_moments(np.zeros(len(column), np.int64), column, np.ones(1), *parts)
        assert tuple(float(p[0]) for p in parts) == expected
