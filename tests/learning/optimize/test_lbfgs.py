"""Quasi-Newton directions, held to closed forms."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from sepset.learning.optimize.lbfgs import Curvature
from sepset.learning.optimize.linesearch import line_search


def ascend(value, slope, x, steps):
    curvature = Curvature()
    for _ in range(steps):
        g = slope(x)
        d = curvature.direction(g, np.ones(len(x)))
        t = line_search(value(x), g, d, lambda t, x=x, d=d: (value(x + t * d), slope(x + t * d)))
        if t is None:
            break
        curvature = curvature.updated(t * d, g - slope(x + t * d), 10)
        x = x + t * d
    return x


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_quadratic_hills_are_climbed(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 4))
    A = A @ A.T + 0.1 * np.eye(4)
    top = rng.normal(size=4)
    found = ascend(lambda x: -0.5 * (x - top) @ A @ (x - top), lambda x: -A @ (x - top), np.zeros(4), 60)
    assert_allclose(found, top, atol=1e-5)


def test_one_pair_is_the_secant():
    found = Curvature().updated(np.array([2.0, 0.0]), np.array([6.0, 0.0]), 3)
    assert_allclose(found.direction(np.array([3.0, 3.0]), np.ones(2)), [1.0, 1.0])


def test_pairs_that_tell_of_no_hill_are_left_out_and_old_ones_forgotten():
    empty = Curvature().updated(np.array([1.0]), np.array([-1.0]), 3)
    assert empty.pairs == ()
    many = Curvature()
    for k in range(1, 6):
        many = many.updated(np.array([float(k)]), np.array([1.0]), 3)
    assert [s.item() for s, _ in many.pairs] == [3.0, 4.0, 5.0]
