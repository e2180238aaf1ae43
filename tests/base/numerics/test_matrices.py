"""Large matrices in parts against the same at once."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.base.numerics import matrices
from sepset.base.threads import OutOfTime, ending_at

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Parts of a few entries, so that small matrices take many."""
    monkeypatch.setattr(matrices, "OPERATIONS", 40)
    monkeypatch.setattr(matrices, "ENTRIES", 12)
    monkeypatch.setattr(matrices, "PANEL", 3)


def test_parts_cover_all_rows_once_and_are_never_empty():
    for count, operations, entries in ((0, 1.0, 1.0), (7, 0.0, 0.0), (7, 13.0, 1.0), (7, 1e9, 1.0), (7, 1.0, 5.0)):
        found = list(matrices.parts(count, operations, entries))
        assert [row for part in found for row in range(part.start, part.stop)] == list(range(count))
        assert all(part.stop > part.start for part in found)


@pytest.mark.parametrize(("rows", "inner", "columns"), [(7, 5, 6), (1, 4, 9), (9, 0, 4), (0, 3, 2), (4, 3, 0)])
def test_products(rows, inner, columns):
    left, right = RNG.normal(size=(rows, inner)), RNG.normal(size=(inner, columns))
    np.testing.assert_allclose(matrices.product(left, right), left @ right, atol=1e-14)
    found = matrices.squares(left)
    np.testing.assert_allclose(found, left @ left.T, atol=1e-14)
    assert np.array_equal(found, found.T)


def test_matrices_of_one_number():
    assert matrices.full((5, 7), -np.inf).tolist() == [[-np.inf] * 7] * 5
    assert matrices.full((0, 0), 1.0).shape == (0, 0)


@pytest.mark.parametrize("size", [1, 3, 4, 11])
def test_triangular_factors_and_inverses(size):
    rows = RNG.normal(size=(size, size + 3))
    matrix = rows @ rows.T
    factor = matrices.cholesky(matrix)
    np.testing.assert_allclose(factor, np.linalg.cholesky(matrix), atol=1e-12)
    inverse = matrices.inverse_from(factor)
    np.testing.assert_allclose(inverse @ matrix, np.eye(size), atol=1e-8)
    assert np.array_equal(inverse, inverse.T)


@pytest.mark.parametrize("place", [0, 4, 8])
def test_what_is_not_positive_definite_has_no_factor(place):
    matrix = np.eye(9)
    matrix[place, place] = -1.0
    with pytest.raises(np.linalg.LinAlgError):
        matrices.cholesky(matrix)


def test_long_decompositions_are_the_same(monkeypatch):
    matrix = RNG.normal(size=(6, 6))
    called = []
    monkeypatch.setattr(matrices, "abandonable", lambda call: called.append(1) or call())
    assert matrices.decomposed(lambda: np.linalg.svd(matrix)[1], matrix.shape).shape == (6,)
    assert called == [1]
    assert matrices.decomposed(lambda: 3, (2, 4)) == 3
    assert called == [1]


@pytest.mark.parametrize("work", [matrices.squares, matrices.cholesky, matrices.inverse_from])
def test_the_time_is_heeded_between_parts(work):
    with ending_at(0.0), pytest.raises(OutOfTime):
        work(np.eye(9))


@pytest.mark.parametrize("shape", [(1, 3), (3, 3), (7, 2), (0, 2)])
def test_a_triangle_has_the_products_of_rows(shape):
    rows = np.random.default_rng(0).normal(size=shape)
    found = matrices.triangle(rows)
    assert found.shape == (shape[1], shape[1])
    np.testing.assert_allclose(found.T @ found, rows.T @ rows, atol=1e-12)
