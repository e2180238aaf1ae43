"""Ranking, joining and grouping rows, against tuples and dictionaries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.errors import TooLarge
from sepset.factors.rows import in_order, join, ranks, reduce_groups, starts
from sepset.semiring import MAX, SUM, temperature


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Two matrices of codes with common numbers of states, sometimes far beyond 63 bits in all."""
    columns = draw(st.integers(0, 5)) * draw(st.sampled_from([1, 20]))
    cards = [draw(st.sampled_from([1, 2, 3, 1000, 2**40])) for _ in range(columns)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    distinct = np.array([[int(rng.integers(c)) for c in cards] for _ in range(4)], np.int64).reshape(4, columns)
    return distinct[rng.integers(0, 4, draw(st.integers(0, 8)))], distinct[rng.integers(0, 4, 6)], cards


@given(tables())
@settings(max_examples=60, deadline=None)
def test_ranks_keep_lexicographic_order(case):
    codes, _, cards = case
    rows, rank = [tuple(row) for row in codes.tolist()], ranks(codes, cards).tolist()
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            assert (rank[i] < rank[j]) == (a < b)
            assert (rank[i] == rank[j]) == (a == b)
    assert [rows[i] for i in in_order(codes, cards)] == sorted(rows)


@given(tables())
@settings(max_examples=60, deadline=None)
def test_join_finds_every_pair(case):
    left, right, cards = case
    i, j, counts = join(left, right, cards)
    expected = [(a, b) for a, x in enumerate(left.tolist()) for b, y in enumerate(right.tolist()) if x == y]
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == expected
    assert counts.tolist() == [sum(a == row for a, _ in expected) for row in range(len(left))]


def test_join_without_columns_is_a_product():
    i, j, counts = join(np.zeros((2, 0), int), np.zeros((3, 0), int), [])
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(a, b) for a in range(2) for b in range(3)]
    assert counts.tolist() == [3, 3]


def test_join_checks_its_size_first():
    with pytest.raises(TooLarge):
        join(np.zeros((40_000, 1), int), np.zeros((40_000, 1), int), [2])


def test_starts():
    assert starts(np.array([3, 3, 5, 9, 9, 9])).tolist() == [0, 2, 3]
    assert starts(np.array([], int)).tolist() == []


@given(st.lists(st.lists(st.floats(-800, 800), min_size=1, max_size=6), max_size=6))
@settings(max_examples=60, deadline=None)
def test_groups_reduce_as_lists_do(groups):
    logs = np.array([x for group in groups for x in group])
    begins = np.cumsum([0, *map(len, groups)])[:-1].astype(np.intp)
    folds = {
        SUM: lambda xs: max(xs) + math.log(math.fsum(math.exp(x - max(xs)) for x in xs)),
        MAX: max,
        temperature(0.5): lambda xs: max(xs) + 0.5 * math.log(math.fsum(math.exp(2 * (x - max(xs))) for x in xs)),
    }
    for semiring, fold in folds.items():
        found = reduce_groups(logs, begins, semiring)
        np.testing.assert_allclose(found, [fold(group) for group in groups], rtol=1e-12, atol=1e-12)
