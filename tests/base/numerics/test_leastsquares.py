from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from sepset.base.numerics.leastsquares import least_squares, residual_products, semidefinite_root


@given(st.integers(1, 20), st.integers(0, 3), st.integers(1, 2), st.integers(0, 2**32 - 1))
def test_regressions_are_least_squares(num_rows, num_parents, size, seed):
    rng = np.random.default_rng(seed)
    u, y = rng.normal(1.0, 2.0, size=(num_rows, num_parents)), rng.normal(size=(num_rows, size))
    rows = np.concatenate([u, y], axis=1)
    mean = rows.mean(axis=0)
    line = least_squares(mean, (rows - mean).T @ (rows - mean), size)
    centered = u - u.mean(axis=0)
    assert line.rank == np.linalg.matrix_rank(centered, tol=1e-6 * max(np.abs(centered).max(initial=0.0), 1e-300))
    expected = centered @ np.linalg.lstsq(centered, y - y.mean(axis=0), rcond=1e-8)[0] + y.mean(axis=0)
    fitted = line.intercept + u @ line.slope.T
    np.testing.assert_allclose(fitted, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(line.residual, (y - fitted).T @ (y - fitted), rtol=1e-6, atol=1e-6)


def test_equal_parents_share_their_effect_whatever_their_units():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    rows = np.stack([x, 1000.0 * x, np.ones(4), 2.0 * x], axis=1)
    mean = rows.mean(axis=0)
    line = least_squares(mean, (rows - mean).T @ (rows - mean))
    np.testing.assert_allclose(line.slope, [[1.0, 0.001, 0.0]], atol=1e-12)
    assert line.rank == 1
    assert abs(line.residual[0, 0]) < 1e-12


def test_roots_multiply_back():
    products = np.array([[4.0, 2.0, 2.0], [2.0, 1.0, 1.0], [2.0, 1.0, 5.0]])
    root = semidefinite_root(products)
    np.testing.assert_allclose(root.T @ root, products, atol=1e-12)
    assert np.array_equal(semidefinite_root(np.zeros((2, 2))), np.zeros((2, 2)))
    assert semidefinite_root(np.zeros((0, 0))).shape == (0, 0)


def test_products_of_residuals_of_any_line():
    rng = np.random.default_rng(0)
    u, y, slope = rng.normal(size=(9, 2)), rng.normal(size=(9, 2)), rng.normal(size=(2, 2))
    rows = np.concatenate([u, y], axis=1)
    away = y - u @ slope.T
    np.testing.assert_allclose(residual_products(rows.T @ rows, slope), away.T @ away, rtol=1e-12)
