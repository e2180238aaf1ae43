"""Answers that dense and sparse tables give alike."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.errors import NotClosed, ScopeError, StateError
from sepset.factors.discrete import DiscreteFactor
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.testing import assert_close
from sepset.variables.variable import Discrete
from support import small_tables as small

NUMBER = Discrete("number", (30, 10, 20))
WORD = Discrete("word", ("low", "high"))


def both(table: Table) -> list[DiscreteFactor]:
    return [table, SparseTable.from_table(table)]


@given(small.factors(), st.data())
@settings(max_examples=40, deadline=None)
def test_dense_and_sparse_agree(f, data):
    dense, sparse = both(Table(*f))
    kept = data.draw(st.permutations(f[0]))[: data.draw(st.integers(0, len(f[0])))]
    assert_close(sparse.project(kept), dense.project(kept))
    assert_close(sparse.collapse(kept), dense.collapse(kept))
    assert dense.shape == sparse.shape
    if dense.log_total > -math.inf:
        assert sparse.mode() == dense.mode()


@pytest.mark.parametrize("factor", both(Table(NUMBER, [2, 5, 3])))
def test_numeric_answers(factor):
    assert factor.mean() == pytest.approx(0.2 * 30 + 0.5 * 10 + 0.3 * 20)
    assert factor.mode() == 10
    assert factor.interval(0.2) == (10, 20)
    assert factor.interval(1.0) == (10, 30)
    assert factor.value({NUMBER: 20}) == pytest.approx(3)
    assert factor[20] == pytest.approx(3)


@pytest.mark.parametrize("factor", both(Table((NUMBER, WORD), [[1, 0], [0, 3], [2, 0]])))
def test_joint_answers(factor):
    assert factor.mode() == {"number": 10, "word": "high"}
    drawn = factor.sample(500, seed=4)
    assert drawn == factor.sample(500, seed=4)
    assert set(zip(drawn["number"], drawn["word"], strict=True)) == {(30, "low"), (10, "high"), (20, "low")}
    assert abs(drawn["word"].count("high") / 500 - 0.5) < 5 * math.sqrt(0.25 / 500)
    with pytest.raises(ScopeError, match="one variable"):
        factor.mean()
    with pytest.raises(StateError, match="not numbers"):
        factor.project(WORD).mean()
    assert factor.sample(3, seed=np.random.default_rng(0)).keys() == {"number", "word"}


@pytest.mark.parametrize("factor", both(Table(WORD, [0, 0])))
def test_zero_has_no_mode(factor):
    with pytest.raises(NotClosed, match="no mode"):
        factor.mode()


def test_intervals_hold_their_probability():
    rng = np.random.default_rng(0)
    wide = Discrete("wide", 50)
    for level in (0.5, 0.8, 0.95):
        table = Table.random(wide, rng).normalize()
        low, high = table.interval(level)
        inside = table.values[low : high + 1].sum()
        assert inside >= level - 1e-12
        assert table.values[:low].sum() <= (1 - level) / 2 + 1e-12
        assert table.values[high + 1 :].sum() <= (1 - level) / 2 + 1e-12


def test_booleans_are_numbers_too():
    assert Table(Discrete("b", (False, True)), [1, 3]).mean() == 0.75


def test_factors_cannot_be_changed():
    table = Table(WORD, [1, 2])
    with pytest.raises(AttributeError, match="cannot set 'flat'"):
        table.flat = np.zeros(2)
    with pytest.raises(AttributeError, match="cannot delete"):
        del table.flat
