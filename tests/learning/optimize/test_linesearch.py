"""Line searches, held to the strong Wolfe conditions on hills of many shapes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.learning.optimize.linesearch import RISE, TRIALS, line_search


def hill(top):
    return lambda t: (-((t - top) ** 2), np.array([-2 * (t - top)]))


@given(st.integers(0, 2**32 - 1), st.floats(1e-4, 1e4), st.sampled_from([0.05, 0.3, 0.9]))
@settings(max_examples=150)
def test_the_conditions_hold(seed, size, flattening):
    """Sums of bumps and of a falling parabola: bounded above, with several tops."""
    rng = np.random.default_rng(seed)
    places, heights = rng.normal(size=4) * 2, rng.normal(size=4)

    def value(t):
        t = size * t
        return float(heights @ np.exp(-((t - places) ** 2))) - 0.05 * (t - 1.0) ** 2

    def slope(t):
        t = size * t
        return size * (float(heights @ (-2 * (t - places) * np.exp(-((t - places) ** 2)))) - 0.1 * (t - 1.0))

    tried = []

    def trial(t):
        tried.append(t)
        return value(t), np.array([slope(t)])

    start = slope(0.0)
    direction = np.array([1.0 if start > 0 else -1.0])
    found = line_search(value(0.0), np.array([start]), direction, lambda t: trial(t * direction[0]), flattening)
    gain = abs(start)
    assert found is not None
    assert value(found * direction[0]) >= value(0.0) + RISE * found * gain
    if len(tried) < TRIALS:
        assert abs(slope(found * direction[0])) <= flattening * gain * (1 + 1e-12)
    assert len(tried) <= TRIALS


def test_searches_shrink_grow_and_give_up():
    one = np.array([1.0])
    assert 0 < line_search(-0.01, np.array([0.2]), one, hill(0.1)) < 0.2
    assert line_search(-2500.0, np.array([100.0]), one, hill(50.0)) > 2.0
    assert line_search(0.0, np.array([-1.0]), one, hill(1.0)) is None
    assert line_search(0.0, one, one, lambda t: (-np.inf, one)) is None
    assert line_search(0.0, one, one, lambda t: (t, one)) > 1e6  # a slope without end: as far as it looked


def test_parabolas_take_two_trials():
    tried = []

    def trial(t):
        tried.append(t)
        return hill(3.0)(t)

    assert line_search(-9.0, np.array([6.0]), np.array([1.0]), trial, 0.01) == pytest.approx(3.0)
    assert len(tried) == 2


def test_promises_below_rounding_are_not_tried():
    assert line_search(-1e6, np.array([1e-12]), np.array([1.0]), lambda t: pytest.fail("tried")) is None


def test_places_out_of_bounds_are_left_behind():
    def trial(t):
        return (-np.inf, np.zeros(1)) if t > 0.3 else (t, np.array([1.0 if t < 0.2 else 0.0]))

    assert 0.2 <= line_search(0.0, np.array([1.0]), np.array([1.0]), trial, 0.1) <= 0.3


def test_a_value_of_minus_infinity_may_be_left():
    assert line_search(-np.inf, np.array([1.0]), np.array([1.0]), hill(1.0)) == 1.0
