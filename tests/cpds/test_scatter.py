from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.cpds.scatter import Scatter
from sepset.errors import DataError
from support.tolerances import CLOSE


def plain(rows, weights):
    """The definition, with numpy's weighted average and covariance."""
    mean = np.average(rows, axis=0, weights=weights)
    products = np.einsum("m,mi,mj->ij", weights, rows - mean, rows - mean)
    return weights.sum(), mean, products


def assert_equal(found, expected, tolerance=CLOSE):
    count, mean, products = expected
    assert found.count == pytest.approx(count, rel=tolerance)
    np.testing.assert_allclose(found.mean, mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.products, products, rtol=tolerance, atol=1e-7)


@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 2**32 - 1), st.data())
def test_chunks_add_up_to_the_whole_and_come_off_again(num_rows, size, seed, data):
    rng = np.random.default_rng(seed)
    rows, weights = rng.normal(3.0, 2.0, size=(num_rows, size)), rng.random(num_rows) + 0.01
    cut = data.draw(st.integers(0, num_rows))
    first, second = (Scatter.of(rows[part], weights[part]) for part in (slice(0, cut), slice(cut, None)))
    whole = first + second
    assert_equal(whole, plain(rows, weights))
    assert_equal(whole, plain(rows, weights))
    if 0 < cut < num_rows:
        assert_equal(whole - second, plain(rows[:cut], weights[:cut]))


def test_large_means_keep_their_digits():
    rows = 1e9 + np.random.default_rng(0).integers(-8, 8, size=(1000, 2)).astype(float)
    chunks = sum((Scatter.of(rows[i : i + 10]) for i in range(0, 1000, 10)), Scatter.nothing(2))
    exact = (rows - 1e9).T @ (rows - 1e9) - np.outer((rows - 1e9).sum(0), (rows - 1e9).sum(0)) / 1000
    np.testing.assert_allclose(chunks.products, exact, rtol=1e-6)
    np.testing.assert_allclose(chunks.covariance, np.cov(rows.T, bias=True), rtol=1e-6)


def test_raw_sums_and_a_single_column():
    rows = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]])
    z = np.concatenate([np.ones((3, 1)), rows], axis=1)
    assert_equal(Scatter.from_sums(z.T @ z), plain(rows, np.ones(3)))
    assert Scatter.from_sums(np.zeros((3, 3))).count == 0.0
    assert Scatter.of([2.0, 4.0]).covariance.tolist() == [[1.0]]
    assert repr(Scatter.of([2.0, 4.0])) == "Scatter(2 rows, 1 columns)"


def test_nothing_is_neutral():
    some = Scatter.of([[1.0, 2.0]])
    assert_equal(some + Scatter.nothing(2), (1.0, np.array([1.0, 2.0]), np.zeros((2, 2))))
    assert (some - some).count == 0.0
    assert Scatter.of(np.zeros((0, 2))).count == 0.0


def test_what_is_refused():
    with pytest.raises(DataError, match="complete finite"):
        Scatter.of([1.0, np.nan])
    with pytest.raises(DataError, match="Weights are finite and not negative"):
        Scatter.of([1.0], weights=[-1.0])
    with pytest.raises(DataError, match="cannot be taken"):
        Scatter.of([1.0]) - Scatter.of([1.0, 2.0])
    with pytest.raises(DataError, match="those of 2"):
        Scatter.of([1.0]) + Scatter.nothing(2)
    with pytest.raises(DataError, match="no covariance"):
        Scatter.nothing(1).covariance
    with pytest.raises(DataError, match="count >= 0"):
        Scatter(-1.0, [0.0], [[1.0]])
