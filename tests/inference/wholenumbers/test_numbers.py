"""Whole numbers times powers of two against fractions: nothing is rounded before the quotient, and that once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sepset.inference.wholenumbers.numbers import WholeNumbers

RANGES = [0, 10, 300]


def fractions(numbers):
    scale = Fraction(2) ** numbers.exponent
    return [scale * int(value) for value in numbers.values.reshape(-1).tolist()]


def drawn(rng, size, powers):
    found = rng.choice([-1.0, 1.0], size) * 10.0 ** rng.uniform(-powers, powers, size)
    return np.where(rng.random(size) < 0.2, 0.0, found)


@pytest.mark.parametrize("powers", RANGES)
def test_arithmetic_is_that_of_fractions(powers):
    rng = np.random.default_rng(powers)
    x, y = drawn(rng, (3, 4), powers), drawn(rng, (3, 4), powers)
    first, second = WholeNumbers.of(x), WholeNumbers.of(y)
    a, b = ([Fraction(value) for value in array.reshape(-1).tolist()] for array in (x, y))
    assert fractions(first) == a
    assert fractions(first + second) == [u + v for u, v in zip(a, b, strict=True)]
    assert fractions(first - second) == [u - v for u, v in zip(a, b, strict=True)]
    assert fractions(first * second) == [u * v for u, v in zip(a, b, strict=True)]
    assert fractions(first.sum([0])) == [sum(a[i::4]) for i in range(4)]
    assert fractions(first.where(x > y, second)) == [max(u, v) for u, v in zip(a, b, strict=True)]
    divided = first.over(second).reshape(-1).tolist()
    for found, u, v in zip(divided, a, b, strict=True):
        assert math.isnan(found) if v == 0 else found == _rounded(u / v)


def _rounded(value):
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def test_extreme_floats_and_empty_arrays():
    values = np.array([5e-324, 1.7976931348623157e308, 0.0, -1.0])
    assert fractions(WholeNumbers.of(values)) == [Fraction(v) for v in values.tolist()]
    assert WholeNumbers.of(np.array([-1.0, 3.0])).num_bits == 54
    assert WholeNumbers.of(np.zeros(3)).num_bits == 0
    assert WholeNumbers.of(np.zeros(0)).over(WholeNumbers.of(np.ones(1))).shape == (0,)
    one = WholeNumbers.of(np.array(0.75))
    assert (one * one).over(one) == 0.75
    assert WholeNumbers.of(values[1:2]).over(WholeNumbers.of(values[:1])).tolist() == [math.inf]
    assert WholeNumbers.of(-values[1:2]).over(WholeNumbers.of(values[:1])).tolist() == [-math.inf]
