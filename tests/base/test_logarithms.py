"""Sums of logarithms against plain sums, and at infinity; sums of products against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.base.logarithms import LN2, LOG_2PI, differences, log_sum, rounded_product, rounded_sum


@given(st.lists(st.floats(-1e5, 1e5), min_size=1, max_size=6))
def test_log_sum_neither_over_nor_underflows(logs):
    top = max(logs)
    expected = top + np.log(sum(np.exp(v - top) for v in logs))
    assert float(log_sum(np.array(logs), 0)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_infinite_logarithms():
    assert float(log_sum(np.array([np.inf, 0.0]), 0)) == np.inf
    rows = np.array([[-np.inf, -np.inf], [0.0, -np.inf], [-1e4, -1e4]])
    assert log_sum(rows, 1).tolist() == [-np.inf, 0.0, pytest.approx(-1e4 + math.log(2))]
    assert log_sum(rows, -1).tolist() == log_sum(rows, 1).tolist()
    assert log_sum(np.zeros((3, 0)), 1).tolist() == [-np.inf] * 3


def test_constants():
    assert math.exp(LN2) == pytest.approx(2.0, rel=1e-15)
    assert math.exp(LOG_2PI) == pytest.approx(2.0 * math.pi, rel=1e-15)


NUMBERS = st.floats(-1e30, 1e30).filter(lambda x: x == 0.0 or abs(x) > 1e-30)


@given(NUMBERS, NUMBERS)
def test_what_rounding_takes_is_returned(a, b):
    for found, expected in (
        (rounded_sum(np.float64(a), np.float64(b)), Fraction(a) + Fraction(b)),
        (rounded_product(np.float64(a), np.float64(b)), Fraction(a) * Fraction(b)),
    ):
        assert Fraction(float(found[0])) + Fraction(float(found[1])) == expected


def test_differences_that_nearly_cancel_keep_their_digits():
    rng = np.random.default_rng(0)
    u, slopes, start = rng.normal(size=(200, 3)), rng.normal(size=(2, 3)), 1e3 * rng.normal(size=2)
    y = start + u @ slopes.T + 1e-13 * rng.normal(size=(200, 2))
    found = differences(y, start, slopes, u)
    for row in range(200):
        for i in range(2):
            products = sum(Fraction(slopes[i, k]) * Fraction(u[row, k]) for k in range(3))
            expected = Fraction(y[row, i]) - Fraction(start[i]) - products
            assert found[row, i] == pytest.approx(float(expected), rel=1e-14, abs=1e-28)
    assert differences(y, start, slopes[:, :0], u[:, :0]).tolist() == (y - start).tolist()
