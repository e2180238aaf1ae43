"""Directions on quadratic hills, with edges and without, held to closed forms and to coordinate descent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from sepset.learning.optimize.directions import DIRECTIONS, Curvature, conjugate, steepest, stopped, within
from sepset.learning.optimize.linesearch import line_search
from support.blocks import in_blocks


def quadratic(seed, size=4):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(size, size))
    return A @ A.T + 0.2 * np.eye(size), rng.normal(size=size) * 3


def ascend(name, A, b, edges, steps, flattening=None):
    """The climb of $b x - x A x / 2 - edges |x|$ from zero, as gradient ascent does it."""
    ways, x, memory = DIRECTIONS[name], np.zeros(len(b)), Curvature()
    scale = 1.0 / np.diag(A)

    def value(y):
        return float(b @ y - 0.5 * y @ A @ y - edges @ np.abs(y))

    for _ in range(steps):
        smooth = b - A @ x
        slope = steepest(x, smooth, edges)
        for d in (within(ways.ahead(memory, slope, scale), slope, edges), scale * slope):

            def path(t, x=x, d=d, slope=slope):
                return stopped(x, slope, edges, x + t * d)

            def trial(t, path=path, x=x, d=d):
                bends = (path(t) != x + t * d).any()
                return value(path(t)), np.zeros(len(b)) if bends else steepest(path(t), b - A @ path(t), edges)

            t = line_search(value(x), slope, d, trial, flattening or ways.flattening)
            if t is not None:
                break
        if t is None:
            break
        assert value(path(t)) >= value(x)
        keep = 10 if ways.memory is None else ways.memory
        memory = memory.updated(path(t) - x, smooth - (b - A @ path(t)), keep) if keep else memory
        x = path(t)
    return x


@given(st.integers(0, 2**32 - 1), st.sampled_from(["lbfgs", "conjugate", "steepest"]))
@settings(max_examples=40)
def test_smooth_hills_are_climbed(seed, name):
    A, b = quadratic(seed)
    found = ascend(name, A, b, np.zeros(4), 2000 if name == "steepest" else 80)
    assert_allclose(b - A @ found, 0.0, atol=1e-4)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_conjugate_directions_end_after_as_many_steps_as_dimensions(seed):
    A, b = quadratic(seed)
    found = ascend("conjugate", A, b, np.zeros(4), 4, flattening=1e-10)
    assert_allclose(b - A @ found, 0.0, atol=1e-5 * np.abs(b).max())


def coordinate_descent(A, b, edges):
    x = np.zeros(len(b))
    for _ in range(20_000):
        for i in range(len(b)):
            rest = b[i] - A[i] @ x + A[i, i] * x[i]
            x[i] = np.sign(rest) * max(abs(rest) - edges[i], 0.0) / A[i, i]
    return x


@pytest.mark.parametrize("name", ["lbfgs", "conjugate", "steepest"])
@in_blocks("seed", range(6))
def test_sharp_hills_are_climbed_to_exact_zeros(name, seed):
    A, b = quadratic(seed)
    edges = np.array([2.0, 2.0, 0.0, 2.0])
    wanted = coordinate_descent(A, b, edges)
    found = ascend(name, A, b, edges, 3000)
    assert_allclose(found, wanted, atol=2e-4)
    assert ((found == 0) == (np.abs(wanted) < 1e-12)).all()


def test_directions_that_do_not_bend_are_left_out():
    ahead = np.array([1.0, 2.0])
    assert conjugate(ahead, np.ones(2), -np.ones(2)) is ahead
    assert conjugate(ahead, np.ones(2), np.ones(2)).tolist() == ahead.tolist()


def test_edges_hold_what_is_not_steeper():
    assert steepest(np.zeros(3), np.array([0.5, -1.5, 2.0]), np.array([1.0, 1.0, 0.0])).tolist() == [0.0, -0.5, 2.0]
    assert steepest(np.array([-1.0]), np.array([0.5]), np.array([2.0])).tolist() == [2.5]
    assert stopped(np.array([0.0]), np.array([0.0]), np.array([1.0]), np.array([0.3])).tolist() == [0.0]


def quasi_newton(value, slope, x, steps):
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
    found = quasi_newton(lambda x: -0.5 * (x - top) @ A @ (x - top), lambda x: -A @ (x - top), np.zeros(4), 60)
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
