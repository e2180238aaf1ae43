"""Centered statistics add up to those of all rows, and come apart again, context by context."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.data import scatter as scatters
from sepset.data.columns import check_range
from sepset.data.dataset import Dataset
from sepset.data.scatter import (
    Scatter,
    Scatters,
    centered,
    centered_columns,
    merged,
    moments_of,
    no_rows,
    pooled,
    shortfall,
    without,
)
from sepset.errors import DataError, TooLarge
from sepset.variables.variable import Discrete, Real
from support.tolerances import CLOSE

X, Y, K = Real("x"), Real("y"), Discrete("k", 3)


def rows(seed, num_rows, states=3):
    rng = np.random.default_rng(seed)
    cells = {"x": rng.normal(1e3, 1, num_rows), "y": rng.normal(size=num_rows), "k": rng.integers(0, states, num_rows)}
    return Dataset.from_codes([X, Y, K], cells)


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def plain(data, states=3):
    """Each context's moments by NumPy."""
    columns = np.stack([data.values("x"), data.values("y")])
    parts = [columns[:, data.codes("k") == state] for state in range(states)]
    means = [part.mean(axis=1) if part.size else np.zeros(2) for part in parts]
    scatters = [
        np.atleast_2d(np.cov(part, ddof=0) * part.shape[1]) if part.size else np.zeros((2, 2)) for part in parts
    ]
    return np.array([part.shape[1] for part in parts], float), np.array(means), np.array(scatters)


@pytest.mark.parametrize("states", [1, 3])
def test_parts_of_the_rows_merge_and_come_apart(states):
    one, other = rows(0, 40, states), rows(1, 70)
    parts = [moments_of(data, [X, Y], (K,)) for data in (one, other, one.concat(other))]
    assert_same(parts[0], plain(one))
    assert_same(parts[2], plain(one.concat(other)))
    assert_same(merged(parts[0], parts[1]), parts[2])
    assert_same(merged(parts[1], parts[0]), parts[2])
    assert_same(without(parts[2], parts[0]), parts[1])
    assert_same(without(parts[2], parts[2]), tuple(np.zeros_like(part) for part in parts[2]))


def test_pooling():
    data = rows(2, 60)
    parts = moments_of(data, [X, Y], (K,))
    assert_same(pooled(parts, np.array([0, 0, 0]), 1), moments_of(data, [X, Y], ()))
    two = pooled(parts, np.array([1, 0, 1]), 2)
    assert two[0].tolist() == [parts[0][1], parts[0][0] + parts[0][2]]


def test_infinite_numbers_are_named():
    data = Dataset.from_codes([X], {"x": [1.0, -np.inf]})
    with pytest.raises(DataError, match="Column 'x', row 1: -inf"):
        moments_of(data, [X], ())


def test_rows_without_weight_count_for_nothing():
    """An enormous number in a row of weight zero leaves no trace."""
    block = np.array([[1e15, -1e15], [1.0, 2.0], [3.0, 7.0]])
    for places in (None, np.zeros(3, np.int64)):
        count, mean, scatter = centered(block, np.array([0.0, 1.0, 1.0]), places)
        assert (count.tolist(), mean.tolist()) == ([2.0], [[2.0, 4.5]])
        assert scatter.tolist() == [[[2.0, 5.0], [5.0, 12.5]]]
        assert_same(centered(block, np.zeros(3), places), (np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2, 2))))
        assert_same(
            centered(block[:0], None, None if places is None else places[:0]), centered(block, np.zeros(3), places)
        )


def test_what_was_never_seen_falls_short():
    one, other = centered(np.array([[1.0], [2.0]])), centered(np.array([[1.0], [5.0]]))
    assert [bad.tolist() for bad in shortfall(without(one, one), one)] == [[False], [False]]
    three = centered(np.array([[1.0], [2.0], [2.5]]))
    assert [bad.tolist() for bad in shortfall(without(three, other), three)] == [[False], [True]]
    assert shortfall(without(one, three), one)[0].tolist() == [True]


def test_ranges_that_squares_need():
    check_range(np.array([[1e130, 1e-300], [0.0, 0.0]]), ["x", "y"], "It needs rows")
    for values, why in (([1e141, 1.0], "up to 1e"), ([1e-200, 0.0], "up to 1e-200"), ([1.0, np.inf], "row 1: inf")):
        with pytest.raises(DataError, match=why):
            check_range([np.array(values)], ["x"], "It needs rows")
    check_range([np.array([1e-200])], ["x"], "It needs rows", start=0)
    with pytest.raises(DataError, match=r"It needs rows\. Column 'x', row 10: nan"):
        check_range([np.array([np.nan])], ["x"], "It needs rows", start=10)
    check_range(np.zeros((1, 0)), ["x"], "It needs rows")


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("size", [1, 3, 50])
def test_rows_of_several_blocks(size, is_weighted):
    rng = np.random.default_rng(size)
    x = rng.normal(1e6, 1.0, (40_000 if size < 50 else 3_000, size))
    weights = rng.random(len(x)) if is_weighted else None
    share = np.ones(len(x)) if weights is None else weights
    first, last = x[:, 0].tolist(), x[:, -1].tolist()
    total = math.fsum(share)
    means = [math.fsum(np.longdouble(1) * share * x[:, k]) / total for k in (0, -1)]
    product = math.fsum(w * (a - means[0]) * (b - means[1]) for w, a, b in zip(share, first, last, strict=True))
    for count, mean, products in (centered(x, weights), centered_columns([*x.T], len(x), weights, None, 1)):
        np.testing.assert_allclose(count, [total], rtol=1e-14)
        np.testing.assert_allclose(mean[0, [0, -1]], means, rtol=1e-15)
        np.testing.assert_allclose(products[0, 0, -1], product, rtol=1e-10, atol=1e-7)


def test_one_column_is_a_case_of_several():
    rng = np.random.default_rng(5)
    x, places, weights = rng.normal(1e6, 1.0, (100, 1)), rng.integers(3, size=100), rng.random(100)
    for share in (None, weights):
        one = centered(x, share, places, 4)
        two = centered(np.column_stack([x, x]), share, places, 4)
        np.testing.assert_allclose(one[0], two[0])
        np.testing.assert_allclose(one[1][:, 0], two[1][:, 0], rtol=1e-14)
        np.testing.assert_allclose(one[2][:, 0, 0], two[2][:, 0, 0], rtol=1e-8)


def test_as_many_other_rows_are_not_the_same_rows():
    """Nothing is left of the count; that the rows were others shows in what is left of the squares."""
    one = centered(np.array([[1.0], [2.0], [4.0]]))
    for other in ([[3.0], [6.0], [12.0]], [[2.0], [3.0], [5.0]]):
        assert shortfall(without(one, centered(np.array(other))), one)[1].tolist() == [True]
    for scale in (1e-100, 1.0, 1e9, 1e100):
        same = centered(scale * np.array([[1.0], [2.0], [4.0]]))
        again = centered(scale * np.array([[4.0], [1.0], [2.0]]))
        left = without(same, again)
        assert not any(bad.any() for bad in shortfall(left, same))
        assert [p.tolist() for p in left] == [[0.0], [[0.0]], [[[0.0]]]]
    far = centered(1.7e9 + np.array([[1.0], [2.0], [4.0]]))
    assert not shortfall(without(far, centered(1.7e9 + np.array([[4.0], [2.0], [1.0]]))), far)[1].any()


def plain_scatter(rows, weights):
    """The definition, with numpy's weighted average and covariance."""
    mean = np.average(rows, axis=0, weights=weights)
    products = np.einsum("m,mi,mj->ij", weights, rows - mean, rows - mean)
    return weights.sum(), mean, products


def assert_scatter(found, expected, tolerance=CLOSE):
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
    assert_scatter(whole, plain_scatter(rows, weights))
    assert_scatter(whole, plain_scatter(rows, weights))
    if 0 < cut < num_rows:
        assert_scatter(whole - second, plain_scatter(rows[:cut], weights[:cut]))


def test_large_means_keep_their_digits():
    rows = 1e9 + np.random.default_rng(0).integers(-8, 8, size=(1000, 2)).astype(float)
    chunks = sum((Scatter.of(rows[i : i + 10]) for i in range(0, 1000, 10)), Scatter.nothing(2))
    exact = (rows - 1e9).T @ (rows - 1e9) - np.outer((rows - 1e9).sum(0), (rows - 1e9).sum(0)) / 1000
    np.testing.assert_allclose(chunks.products, exact, rtol=1e-6)
    np.testing.assert_allclose(chunks.covariance, np.cov(rows.T, bias=True), rtol=1e-6)


def test_raw_sums_and_a_single_column():
    rows = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]])
    z = np.concatenate([np.ones((3, 1)), rows], axis=1)
    assert_scatter(Scatter.from_sums(z.T @ z), plain_scatter(rows, np.ones(3)))
    assert Scatter.from_sums(np.zeros((3, 3))).count == 0.0
    assert Scatter.of([2.0, 4.0]).covariance.tolist() == [[1.0]]
    assert repr(Scatter.of([2.0, 4.0])) == "Scatter(2 rows, 1 columns)"


def test_nothing_is_neutral():
    some = Scatter.of([[1.0, 2.0]])
    assert_scatter(some + Scatter.nothing(2), (1.0, np.array([1.0, 2.0]), np.zeros((2, 2))))
    assert (some - some).count == 0.0
    assert Scatter.of(np.zeros((0, 2))).count == 0.0


def test_what_scatters_refuse():
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


def in_contexts(seed, num=20, shift=0.0):
    rng = np.random.default_rng(seed)
    return shift + rng.normal(size=(num, 3)), rng.integers(3, size=num), rng.random(num)


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_parts_add_up_and_can_be_taken_away(seed):
    rows, context, weights = in_contexts(seed)
    whole = Scatters.of(rows, context, 3, weights)
    first = Scatters.of(rows[:8], context[:8], 3, weights[:8])
    second = Scatters.of(rows[8:], context[8:], 3, weights[8:])
    for joined, expected in ((first + second, whole), (whole - second, first)):
        np.testing.assert_allclose(joined.counts, expected.counts, atol=1e-12)
        for mine, other in zip(joined.contexts, expected.contexts, strict=True):
            np.testing.assert_allclose(mine.products, other.products, atol=1e-9)
    for c, scatter in enumerate(whole.contexts):
        at = context == c
        if weights[at].sum() > 0:
            expected = np.cov(rows[at].T, aweights=weights[at], ddof=0) * weights[at].sum()
            np.testing.assert_allclose(scatter.products, expected, atol=1e-9)


def test_raw_sums_give_the_same():
    rows, context, _ = in_contexts(1)
    z = np.column_stack([np.ones(20), rows])
    sums = np.stack([z[context == c].T @ z[context == c] for c in range(3)])
    for mine, other in zip(Scatters.from_sums(sums).contexts, Scatters.of(rows, context, 3).contexts, strict=True):
        np.testing.assert_allclose(mine.products, other.products, atol=1e-9)
    moved = Scatters.from_sums(np.stack([sums[0], np.zeros_like(sums[0])]), np.array([5.0, -1.0, 0.0]))
    np.testing.assert_allclose(moved.means[0], rows[context == 0].mean(axis=0) + np.array([5.0, -1.0, 0.0]))
    assert (moved.counts[1], moved.products[1].tolist()) == (0.0, np.zeros_like(sums[0])[1:, 1:].tolist())
    with pytest.raises(DataError, match="finite"):
        Scatters.from_sums(np.full((1, 2, 2), np.nan))


def test_pooled_forgets_the_contexts():
    rows, context, _ = in_contexts(2)
    pooled = Scatters.of(rows, context, 3).pooled
    np.testing.assert_allclose(pooled.mean, rows.mean(axis=0))
    np.testing.assert_allclose(pooled.products, np.cov(rows.T, ddof=0) * 20)


def test_large_means_lose_no_digits():
    rows, context, _ = in_contexts(3, shift=1e9)
    exact = in_contexts(3)[0]
    found = Scatters.of(rows, context, 3)
    np.testing.assert_allclose(found.pooled.products, np.cov(exact.T, ddof=0) * 20, rtol=1e-5)


def test_other_contexts_do_not_join():
    rows, context, _ = in_contexts(4)
    some = Scatters.of(rows, context, 3)
    with pytest.raises(DataError, match="same contexts"):
        some + Scatters.of(rows, context, 4)
    assert (some.size, repr(some)) == (3, "Scatters(3 contexts, 20 rows)")


def test_few_rows_of_many_columns_need_no_eigenvalues(monkeypatch):
    monkeypatch.setattr(scatters, "least_eigenvalues", lambda products: pytest.fail("eigenvalues"))
    rows = np.random.default_rng(0).normal(size=(5, 40))
    found = Scatter.of(rows)
    apart = rows - rows.mean(axis=0)
    np.testing.assert_allclose(found.root.T @ found.root, apart.T @ apart, atol=1e-12)
    line = found.fit()
    np.testing.assert_allclose(line.intercept + rows[:, :-1] @ line.slope.T, rows[:, -1:], atol=1e-10)
    assert line.rank == 4
    assert found.relative_error(line.intercept, line.slope) < 1e-10


def test_products_of_too_many_columns_are_refused():
    with pytest.raises(TooLarge, match="100,000 columns in 2 contexts"):
        no_rows(2, 100_000)
