"""Entries of conditional tables from arrays and mappings."""

from __future__ import annotations

import numpy as np
import pytest

from sepset import Discrete, TableCPD
from sepset.errors import ModelError, ScopeError
from sepset.factors.entries import entries, in_contexts, named_scope, row_of, row_place

I, D, G = Discrete("i", ("low", "high")), Discrete("d", ("easy", "hard")), Discrete("g", ("A", "B", "C"))
BOOK = [[0.3, 0.4, 0.3], [0.05, 0.25, 0.7], [0.9, 0.08, 0.02], [0.5, 0.3, 0.2]]


def test_the_rows_of_a_book_are_the_nested_table():
    nested = TableCPD(G, np.reshape(BOOK, (2, 2, 3)), given=(I, D))
    for table in (BOOK, np.ravel(BOOK)):
        np.testing.assert_array_equal(TableCPD(G, table, given=(I, D)).values, nested.values)
    np.testing.assert_array_equal(entries(nested, BOOK), np.ravel(BOOK))


def test_a_transposed_table_is_refused_with_advice():
    with pytest.raises(ModelError, match="give the transpose"):
        TableCPD(G, np.transpose(BOOK), given=(I, D))
    with pytest.raises(ModelError, match=r"\(2, 2, 3\) or \(4, 3\)"):
        TableCPD(G, np.ones((2, 6)), given=(I, D))


def test_rows_by_their_states():
    cpd = TableCPD(G, BOOK, given=(I, D))
    assert row_place((I, D), ("high", "easy"), "a table") == 2
    assert row_of(G, {"C": 0.2, "A": 0.5, "B": 0.3}, cpd).tolist() == [0.5, 0.3, 0.2]


def test_values_by_joint_states():
    by_states = {("high", "easy"): 3, ("low", "hard"): 2, ("low", "easy"): 1, ("high", "hard"): 4}
    assert in_contexts(by_states, (I, D), "Numbers", "number") == [1, 2, 3, 4]
    with pytest.raises(
        ModelError, match=r"Numbers was given 3 of 4 numbers; the number \(i='low', d='hard'\) is missing"
    ):
        in_contexts({states: n for states, n in by_states.items() if n != 2}, (I, D), "Numbers", "number")


def test_names_beside_variables():
    rows = {("low", "easy"): {"A": 1.0}, ("high", "easy"): {"A": 1.0}}
    child, parents = named_scope("g", rows, given=["i", D])
    assert child == Discrete("g", ("A",))
    assert parents == (I, D)
    assert named_scope(G, BOOK, given=(I, D)) == (G, (I, D))
    with pytest.raises(ScopeError, match="2 parents"):
        named_scope("g", {"low": {"A": 1.0}}, given=["i", "d"])
