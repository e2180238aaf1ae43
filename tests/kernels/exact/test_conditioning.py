"""The arithmetic of the recursion's machine: numbers with exponents, compiled or plain."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, strategies as st

from sepset.kernels.exact.conditioning import HIGH, LOW, UNIT, place_of, plus, times

mantissas = st.sampled_from([0.0, LOW, 2.0**-200, 1e-30, 0.3, 1.0, 7.5, 1e30, 2.0**200, HIGH])
numbers = st.tuples(mantissas, st.integers(-4, 4))


def exact(number):
    return Fraction(number[0]) * Fraction(2) ** (UNIT * number[1])


def is_close(found, expected):
    return found == expected if expected == 0 else abs(exact(found) / expected - 1) < Fraction(1, 2**50)


@given(numbers, numbers)
def test_products_are_right_and_stay_in_range(a, b):
    found = times(*a, *b)
    expected = exact(a) * exact(b)
    assert exact(found) == 0 if expected == 0 else is_close(found, expected)
    assert found[0] == 0.0 or LOW <= found[0] <= HIGH


@given(numbers, numbers)
def test_sums_are_right_and_stay_in_range(a, b):
    found = plus(*a, *b, 0)
    expected = exact(a) + exact(b)
    assert exact(found) == 0 if expected == 0 else is_close(found, expected)
    assert 0.0 <= found[0] <= HIGH


@given(numbers, numbers)
def test_maxima_are_one_of_the_two(a, b):
    assert exact(plus(*a, *b, 1)) == max(exact(a), exact(b))


def test_places_add_up_strides():
    entries = np.array([[0, 6], [2, 1], [1, 100]])
    assert place_of(entries, 0, 2, np.array([1, 5, 2])) == 8
    assert place_of(entries, 1, 1, np.array([1, 5, 2])) == 0
    assert math.log2(HIGH) == UNIT
