"""Products of panels in machine code: what the Python does."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from sepset.kernels import compile as compiling, vectors

COMPILED = compiling.vectorcode.SHAPE


@numba.njit
def compiled_product(w, rows, inner, v, steps, depth, out, places, columns, size, width, lanes, maximize, adds):
    vectors.panel_product(
        w, 1, rows, 1, inner, 0, v, 2, steps, 0, depth, out, 3, places, 0, columns, 0, 1, 0, 3, 0, 0,
        size, width, lanes, maximize, adds,
    )  # fmt: skip


@numba.njit
def shape():
    return vectors.panel_rows(), vectors.panel_vectors()


@numba.njit
def compiled_copy(w, place, out, to, width):
    vectors.copy_vectors(w, place, out, to, width)


@numba.njit
def compiled_turn(w, columns, out, targets, unit):
    vectors.turn_vectors(w, 3, columns, 2, out, 5, targets, 1, 3, unit)


def test_shapes_have_room_in_the_registers():
    rows, width = shape()
    assert (rows, width) == COMPILED
    assert rows % 2 == 0
    assert 1 <= width <= vectors.panel_vectors()


WHOLE = [(width, vectors.LANES, adds) for width in range(1, COMPILED.vectors + 1) for adds in (False, True)]
SHORT = [(1, lanes, False) for lanes in (1, 3, 7)]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(("width", "lanes", "adds"), WHOLE + SHORT)
@pytest.mark.parametrize("size", [COMPILED.rows, COMPILED.rows // 2])
@pytest.mark.parametrize("depth", [1, 2, 13])
def test_code_and_python_agree(depth, size, width, lanes, maximize, adds):
    rng = np.random.default_rng(depth)
    most = COMPILED.rows + 1
    w, rows, inner = rng.random(400), 20 * rng.permutation(most), rng.permutation(15)[:depth]
    v, steps = rng.random(500), 30 * rng.permutation(depth)
    out, places, columns = rng.random(900), 90 * rng.permutation(most), 40 * rng.permutation(2)
    expected, found = out.copy(), out.copy()
    vectors.panel_product(
        w, 1, rows, 1, inner, 0, v, 2, steps, 0, depth, expected, 3, places, 0, columns, 0, 1, 0, 3, 0, 0,
        size, width, lanes, maximize, adds,
    )  # fmt: skip
    compiled_product(w, rows, inner, v, steps, depth, found, places, columns, size, width, lanes, maximize, adds)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert (found != out).sum() == size * width * lanes or maximize


def test_vectors_are_copied():
    w, out = np.arange(40.0), np.zeros(40)
    compiled_copy(w, 3, out, 5, COMPILED.vectors)
    expected = np.zeros(40)
    vectors.copy_vectors(w, 3, expected, 5, COMPILED.vectors)
    np.testing.assert_array_equal(out, expected)
    assert out[5] == 3.0


def test_squares_are_turned():
    rng = np.random.default_rng(0)
    for unit in (1, 2, 4):
        w, out, columns, targets = rng.random(200), np.zeros(300), 9 * rng.permutation(20), 10 * rng.permutation(25)
        compiled_turn(w, columns, out, targets, unit)
        expected = np.zeros(300)
        vectors.turn_vectors(w, 3, columns, 2, expected, 5, targets, 1, 3, unit)
        np.testing.assert_array_equal(out, expected)
        assert np.count_nonzero(out) == vectors.LANES**2 // unit
