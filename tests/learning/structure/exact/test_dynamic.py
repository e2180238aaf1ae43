"""Dynamic programming over subsets against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import sepset as ss
from sepset.errors import NotApplicable, TooLarge
from sepset.learning.structure.exact.dynamic import best_dag, check_size, dense_scores, needs
from sepset.learning.structure.exact.enumeration import all_scores
from sepset.learning.structure.exact.scoretable import ScoreTable
from support.score_tables import random_table


@given(st.integers(0, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_equals_enumeration(size, seed, tied):
    table = random_table(np.random.default_rng(seed), size, tied=tied)
    found = best_dag(dense_scores(table))
    assert found.score == pytest.approx(all_scores(table).max(), abs=1e-12)
    assert table.score_of(found.parents) == pytest.approx(found.score, abs=1e-12)
    assert found.is_proved
    table.graph(found.parents)  # a DAG


def test_five_columns():
    table = random_table(np.random.default_rng(5), 5)
    assert best_dag(dense_scores(table)).score == pytest.approx(all_scores(table).max(), abs=1e-12)


def test_no_dag_is_allowed():
    table = ScoreTable.from_scores({"a": {("b",): 0.0}, "b": {("a",): 0.0}})
    with pytest.raises(NotApplicable, match="no DAG is allowed"):
        best_dag(dense_scores(table))


def test_refused_with_an_estimate():
    assert needs(20)[0] < 2**30
    with pytest.raises(TooLarge, match=r"30 columns takes about 249\.0 GiB and [\d,.e+]+ s; the limit is 8\.0 GiB"):
        check_size(30, 2.0**33)


def test_no_parent_is_taken_that_adds_nothing():
    """Of equal scores the smaller set: a column of one state, and ties in a table."""
    ties = {"a": {(): -1.0}, "b": {(): -5.0, ("a",): -2.0, ("c",): -5.0, ("a", "c"): -2.0}, "c": {(): -1.0}}
    table = ScoreTable.from_scores(ties)
    assert set(table.graph(best_dag(dense_scores(table)).parents).edges) == {("a", "b")}
    rows = {"a": [0, 0, 1, 1] * 9, "e": ["k"] * 36, "b": [0, 0, 1, 1] * 8 + [0, 1, 1, 1]}
    for method in ("dynamic", "astar", "integer"):
        for score in (ss.BIC(), ss.BDeu(1.0)):
            found = ss.learn_structure(
                rows, method=ss.ExactSearch(method), score=score, variables=[ss.Discrete("e", ["k"])]
            )
            assert {frozenset(edge) for edge in found.graph.edges} == {frozenset("ab")}
