"""Products of panels, as Python: each entry by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.vectors import LANES, copy_vectors, panel_product, panel_rows, panel_vectors, turn_vectors

WHOLE = [(vectors, LANES, adds) for vectors in range(1, panel_vectors() + 1) for adds in (False, True)]
SHORT = [(1, lanes, False) for lanes in (1, 3, 7)]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("size", [panel_rows(), panel_rows() // 2])
@pytest.mark.parametrize(("vectors", "lanes", "adds"), WHOLE + SHORT)
def test_every_entry_is_a_sum_or_a_maximum_of_products(vectors, size, lanes, maximize, adds):
    rng = np.random.default_rng(size)
    depth = 5
    w, v, out = rng.random(300), rng.random(300), rng.random(500)
    rows, inner, steps = 9 * rng.permutation(20), rng.permutation(9), 40 * rng.permutation(6)
    places, columns = 50 * rng.permutation(9), LANES * rng.permutation(4)
    expected = out.copy()
    for i in range(size):
        for j in range(vectors):
            for lane in range(lanes):
                products = [
                    w[7 + rows[3 + i] + inner[2 + k]] * v[4 + steps[1 + k] + LANES * j + lane] for k in range(depth)
                ]
                at = 6 + places[1 + i] + columns[1 + j] + lane
                terms = [*products, out[at]] if adds else products
                expected[at] = max(terms) if maximize else sum(terms)
    panel_product(
        w, 7, rows, 3, inner, 2, v, 4, steps, 1, depth, out, 6, places, 1, columns, 1, 0, 0, 0, 0, 0,
        size, vectors, lanes, maximize, adds,
    )  # fmt: skip
    np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_vectors_are_copied():
    w, out = np.arange(50.0), np.zeros(50)
    copy_vectors(w, 3, out, 5, 2)
    np.testing.assert_array_equal(
        out, np.where((np.arange(50) >= 5) & (np.arange(50) < 5 + 2 * LANES), np.arange(50) - 2, 0)
    )


@pytest.mark.parametrize("unit", [1, 2, 4])
def test_squares_are_turned(unit):
    rng = np.random.default_rng(unit)
    w, out, side = rng.random(200), np.zeros(300), LANES // unit
    columns, targets = 9 * rng.permutation(20), 10 * rng.permutation(25)
    turn_vectors(w, 3, columns, 2, out, 5, targets, 1, 3, unit)
    for i in range(side):
        for j in range(side):
            for k in range(unit):
                to = 5 + targets[1 + 3 * i] + unit * j + k
                assert out[to] == w[3 + columns[2 + j] + unit * i + k]
                out[to] = 0.0
    assert not out.any()
