"""Roots of precisions against exact fractions, where products would lose all digits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.cpds.priors.lineroots import absorbed, log_det, precisions_of, root_of, semidefinite_root, spreads
from sepset.data.scatter import Scatter
from sepset.errors import ModelError


def exact_update(u, y, precisions):
    """Precision, mean and added squares of a line with prior mean zero, in fractions."""
    s, t = (Fraction(float(v)) for v in precisions)
    u, y = [Fraction(float(v)) for v in u], [Fraction(float(v)) for v in y]
    a, b, c = s + len(u), sum(u), t + sum(v * v for v in u)
    p, q = sum(y), sum(v * w for v, w in zip(u, y, strict=True))
    det = a * c - b * b
    mean = [(c * p - b * q) / det, (a * q - b * p) / det]
    return det, mean, sum(v * v for v in y) - mean[0] * p - mean[1] * q


@pytest.mark.parametrize(("center", "spread"), [(0.0, 1.0), (1e6, 1.0), (1.7e9, 1e4), (1e-140, 1e-145), (1e120, 1e119)])
def test_rows_far_from_zero(center, spread):
    """Times in seconds as parents: the precision itself would not even be positive."""
    rng = np.random.default_rng(0)
    u = center + spread * rng.normal(size=30)
    y = 3.0 * (u - center) / spread + rng.normal(size=30)
    scales = np.sqrt(1e-6) * np.array([1.0, spread])
    root, mean, squares = absorbed(np.diag(scales), np.zeros((2, 1)), Scatter.of(np.column_stack([u, y])))
    det, exact, added = exact_update(u, y, scales**2)
    assert log_det(root) == pytest.approx(math.log(det.numerator) - math.log(det.denominator), rel=1e-6)
    np.testing.assert_allclose(mean[:, 0], [float(v) for v in exact], rtol=1e-6)
    assert squares[0, 0] == pytest.approx(float(added), rel=1e-6)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_updates_are_the_printed_ones(parents, size, num_rows, seed):
    rng = np.random.default_rng(seed)
    base, mean = rng.normal(size=(parents + 3, parents + 1)), rng.normal(size=(parents + 1, size))
    precision = base.T @ base
    u, y = rng.normal(size=(num_rows, parents)), rng.normal(size=(num_rows, size))
    root, after, squares = absorbed(root_of("It", precision), mean, Scatter.of(np.hstack([u, y])))
    z = np.column_stack([np.ones(num_rows), u])
    total = precision + z.T @ z
    expected = np.linalg.solve(total, precision @ mean + z.T @ y)
    np.testing.assert_allclose(root.T @ root, total, rtol=1e-9, atol=1e-9)
    assert (np.diagonal(root) > 0).all()
    assert np.array_equal(root, np.triu(root))
    np.testing.assert_allclose(after, expected, rtol=1e-6, atol=1e-7)
    printed = y.T @ y + mean.T @ precision @ mean - expected.T @ total @ expected
    np.testing.assert_allclose(squares, printed, rtol=1e-6, atol=1e-6)


def test_roots_multiply_back():
    products = np.array([[4.0, 2.0, 2.0], [2.0, 1.0, 1.0], [2.0, 1.0, 5.0]])
    root = semidefinite_root(products)
    np.testing.assert_allclose(root.T @ root, products, atol=1e-12)
    assert np.array_equal(semidefinite_root(np.zeros((2, 2))), np.zeros((2, 2)))
    assert semidefinite_root(np.zeros((0, 0))).shape == (0, 0)
    wide = np.array([[1e300, 1e0], [1e0, 1e-290]])
    np.testing.assert_allclose(root_of("It", wide).T @ root_of("It", wide), wide)


def test_spreads_are_quadratic_forms():
    rng = np.random.default_rng(1)
    base, z = rng.normal(size=(5, 3)), rng.normal(size=(4, 2, 3))
    precision = base.T @ base
    expected = np.einsum("nij,jk,nlk->nil", z, np.linalg.inv(precision), z)
    np.testing.assert_allclose(spreads(root_of("It", precision), z), expected)


def test_what_is_no_precision_is_refused():
    for matrix, why in (
        ([[1.0, 2.0], [2.0, 1.0]], "least eigenvalue"),
        ([[1.0, 2.0], [0.0, 1.0]], "symmetric"),
        ([[np.nan]], "finite"),
        ([[0.0]], "diagonal holds 0"),
    ):
        with pytest.raises(ModelError, match=why):
            root_of("It", np.array(matrix))
    with pytest.raises(ModelError, match="3 coefficients need as many rows"):
        precisions_of("It", [1.0, 2.0], 3)
    assert precisions_of("It", [1.0, 2.0], 2).tolist() == [[1.0, 0.0], [0.0, 2.0]]
