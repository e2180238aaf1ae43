"""Merging and taking apart, context by context."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.data.centered import centered, check_range, merged, moments_of, pooled, shortfall, without
from sepset.data.dataset import Dataset
from sepset.errors import DataError
from sepset.variables.variable import Discrete, Real

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
    check_range(np.array([[1e130, 0.0], [1e-300, 0.0]]), ["x", "y"], "It needs rows")
    for values, why in (([1e141, 1.0], "up to 1e"), ([1e-200, 0.0], "up to 1e-200"), ([1.0, np.inf], "row 1: inf")):
        with pytest.raises(DataError, match=why):
            check_range(np.array(values)[:, None], ["x"], "It needs rows")
    check_range(np.array([[1e-200]]), ["x"], "It needs rows", start=0)
    with pytest.raises(DataError, match=r"It needs rows\. Column 'x', row 10: nan"):
        check_range(np.array([[np.nan]]), ["x"], "It needs rows", start=10)
    check_range(np.zeros((0, 1)), ["x"], "It needs rows")


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
