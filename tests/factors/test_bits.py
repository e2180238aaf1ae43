"""Ends of tables in bits, and which results float64 can hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.factors.bits import SAFE_BITS, is_safe, linear_ends, log_ends, sum_bits, widened


def test_ends_of_plain_and_logarithmic_entries_agree():
    values = np.array([0.0, 3.0, 0.125, 40.0])
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    assert linear_ends(values, 0) == pytest.approx((-3.0, math.log2(40.0)))
    assert log_ends(logs) == pytest.approx(linear_ends(values, 0))
    assert linear_ends(values, 7) == pytest.approx((4.0, 7.0 + math.log2(40.0)))


def test_zeros_have_no_ends():
    assert linear_ends(np.zeros(3), 5) is None
    assert log_ends(np.full(2, -np.inf)) is None


def test_products_and_quotients_are_enclosed():
    left, right = np.array([0.5, 4.0]), np.array([3.0, 16.0])
    for sign, result in ((1, np.outer(left, right)), (-1, np.divide.outer(left, right))):
        low, high = sum_bits(linear_ends(left, 0), linear_ends(right, 0), sign)
        assert low <= math.log2(result.min()) + 1e-12
        assert high >= math.log2(result.max()) - 1e-12
    assert widened((1.0, 2.0)) == (0.0, 3.0)


def test_what_float64_can_hold():
    assert is_safe((-900.0, 900.0), 0)
    assert not is_safe((-900.0, 900.0), 200)
    assert not is_safe((0.0, SAFE_BITS), 0)
