"""Equal rows against a dictionary of tuples."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.data import duplicates
from sepset.data.dataset import Dataset
from sepset.data.duplicates import ROWS_TO_COMPILE, group_codes, group_rows, group_words
from sepset.variables.variable import Discrete, Real


def plain_groups(rows):
    index: dict[object, int] = {}
    groups = [index.setdefault(row, len(index)) for row in rows]
    return [groups.index(group) for group in range(len(index))], groups


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 0), st.sampled_from([0.0, -0.0, 1.5, None]))))
def test_groups_are_those_of_a_dictionary(rows):
    columns = [
        np.array([row[0] for row in rows], np.int8),
        np.array([row[1] for row in rows], np.int32),
        np.array([np.nan if row[2] is None else row[2] for row in rows], np.float64),
    ]
    firsts, groups = group_rows(columns, [3, 1, 0], len(rows))
    assert (firsts.tolist(), groups.tolist()) == plain_groups(rows)


def test_many_columns_take_several_words():
    rng = np.random.default_rng(0)
    cards = [2, 1000, 30_000, 5, 40_000, 3, 2_000_000, 7, 2]
    codes = np.array([[rng.integers(-1, card) for card in cards] for _ in range(40)])
    codes = codes[rng.integers(0, 40, 3000)]
    firsts, groups = group_rows([codes[:, k] for k in range(9)], cards, 3000)
    assert (firsts.tolist(), groups.tolist()) == plain_groups(list(map(tuple, codes.tolist())))


def test_no_columns_and_no_rows():
    firsts, groups = group_rows([], [], 3)
    assert (firsts.tolist(), groups.tolist()) == ([0], [0, 0, 0])
    firsts, groups = group_rows([np.zeros(0, np.int8)], [2], 0)
    assert (firsts.tolist(), groups.tolist()) == ([], [])


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50).flatmap(lambda xs: st.permutations(xs + xs[::2])))
def test_words_of_any_bits(words):
    firsts, groups = group_words(np.array(words, np.int64).reshape(-1, 1))
    assert (firsts.tolist(), groups.tolist()) == plain_groups(words)


def test_collapsed_rows_keep_their_order_and_weight():
    rows = Dataset({"a": ["x", "y", "x", None, None, "x"], "r": [1.0, 2.0, 1.0, np.nan, np.nan, 3.0]})
    few = rows.collapse()
    assert few.variables == rows.variables
    assert list(few.rows()) == [rows.row(place) for place in (0, 1, 3, 5)]
    assert few.weights.tolist() == [2, 1, 2, 1]
    weighted = rows.with_weights([1, 2, 3, 4, 5, 6]).collapse()
    assert weighted.weights.tolist() == [4, 2, 9, 6]
    assert weighted.collapse().equals(weighted)


def test_collapse_of_nothing():
    empty = Dataset.from_codes([Discrete("a"), Real("r")], {"a": np.zeros(0, int), "r": np.zeros(0)})
    assert (len(empty.collapse()), empty.collapse().total_weight) == (0, 0.0)


@pytest.mark.parametrize("cards", [[3, 1, 4], [2] * 70, []], ids=["packed", "too many states to pack", "no columns"])
@pytest.mark.parametrize("num_rows", [0, 50, ROWS_TO_COMPILE + 10])
def test_codes_without_missing_cells(cards, num_rows):
    rng = np.random.default_rng(len(cards) + num_rows)
    codes = rng.integers(0, cards, (9, len(cards)))[rng.integers(0, 9, num_rows)]
    firsts, groups = group_codes(codes, cards)
    assert len(groups) == num_rows
    np.testing.assert_array_equal(codes[firsts][groups], codes)
    assert len(firsts) == len({tuple(row) for row in codes.tolist()})


def test_many_rows_are_grouped_where_an_interruption_is_heard(monkeypatch):
    """In another thread than the main one, which waits for signals, by a kernel that can be canceled."""
    from sepset.kernels.data import grouping

    words, where = np.arange(30).reshape(-1, 1) % 7, []
    kernel = grouping.group_rows

    def watched(*args):
        where.append(threading.current_thread() is threading.main_thread())
        return kernel(*args)

    monkeypatch.setattr(grouping, "group_rows", watched)
    few = group_words(words)
    monkeypatch.setattr(duplicates, "CELLS_UNINTERRUPTED", 29)
    for one, other in zip(few, group_words(words), strict=True):
        np.testing.assert_array_equal(one, other)
    assert where == [True, False]
