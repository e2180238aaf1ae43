"""Answers that dense and sparse tables give alike."""

from __future__ import annotations

import math

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.errors import ArgumentError, NotClosed, ScopeError, StateError
from sepset.factors.discrete import DiscreteFactor
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.testing import assert_close
from sepset.variables.variable import Discrete
from support import small_tables as small
from support.terminal import printed, without_styles

mpl.use("Agg")

A, B = Discrete("A", 2), Discrete("B", ("x", "<y>", "z"))
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
    with pytest.raises(AttributeError, match="setting 'flat'"):
        table.flat = np.zeros(2)
    with pytest.raises(AttributeError, match="cannot delete"):
        del table.flat


def test_rich_shows_states_values_and_bars():
    text = printed(Table(B, [1, 2, 4]))
    assert "Table(B[3])" in text
    assert "<y>" in text
    assert "█" * 20 in text
    assert "█" * 21 not in text
    assert "width:100%" in Table(B, [1, 2, 4])._repr_html_()
    assert "Table(B[3])" in Table(B, [1, 2, 4])._repr_html_()


def test_rich_keeps_brackets_in_names():
    slices = Discrete("rain").prev
    markup = Discrete("m", ("[bold]", "[/bold]"))
    text = printed(Table((slices, markup), np.ones((2, 2))))
    assert "rain[t-1]" in text
    assert "[bold]" in text
    assert "[/bold]" in text


def test_rich_cuts_long_tables():
    long = Table(Discrete("long", 100), np.arange(100))
    assert "first 20 of 100 entries" in printed(long)
    assert "first 20 of 100 entries" in long._repr_html_()
    assert long._repr_html_().count("<tr>") == 21


@pytest.mark.parametrize(
    "table",
    [
        Table(A, [0, 0]),
        Table.from_log(A, [0, -1e5]),
        Table.from_log(A, [1e5, -1e5]),
        Table((), [3]),
        SparseTable(A, np.zeros((0, 1), int), values=[]),
    ],
)
def test_extreme_tables_still_show(table):
    assert "value" in printed(table)
    assert table._repr_html_().startswith("<table>")


def test_html_is_escaped():
    html = without_styles(Table((A, B), np.arange(6))._repr_html_())
    assert "&lt;y&gt;" in html
    assert "<y>" not in html
    assert "<th>A</th><th>B</th><th>value</th>" in html
    assert "<td>1</td><td>z</td><td>5</td>" in html


def test_sparse_tables_show_their_support():
    table = SparseTable((A, B), [[1, 2], [0, 1]], values=[3, 2])
    html = without_styles(table._repr_html_())
    assert "<td>0</td><td>&lt;y&gt;</td><td>2</td>" in html
    assert "<td>1</td><td>z</td><td>3</td>" in html
    assert html.count("<tr>") == 3
    assert table.to_frame()["B"].tolist() == ["<y>", "z"]


def test_frames_of_every_kind():
    table = Table((A, B), np.arange(6))
    pandas = table.to_frame()
    assert pandas.columns.tolist() == ["A", "B", "value"]
    assert pandas["A"].tolist() == [0, 0, 0, 1, 1, 1]
    assert pandas["B"].tolist() == ["x", "<y>", "z"] * 2
    assert pandas["value"].tolist() == [0, 1, 2, 3, 4, 5]
    assert table.to_frame("polars").shape == (6, 3)
    assert table.to_frame("pyarrow").column_names == ["A", "B", "value"]
    with pytest.raises(ArgumentError, match="kind= is 'pandas', 'polars' or 'pyarrow'; found 'excel'"):
        table.to_frame("excel")


def test_frame_of_a_variable_called_value():
    table = Table(Discrete("value", 2), [1, 2])
    assert table.to_frame().columns.tolist() == ["value", "value_"]
    assert table.to_frame()["value"].tolist() == [0, 1]


def test_frames_keep_the_types_of_states():
    frame = Table(Discrete("t", (True, False)), [1, 2]).to_frame()
    assert frame["t"].tolist() == [True, False]
    assert Table((), [2]).to_frame()["value"].tolist() == [2]


def test_pictures():
    from matplotlib import pyplot

    axes = pyplot.figure().add_subplot()
    assert Table(B, [1, 2, 3]).plot(axes) is axes
    assert [bar.get_height() for bar in axes.patches] == [1, 2, 3]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["x", "<y>", "z"]
    axes = pyplot.figure().add_subplot()
    SparseTable((A, B), [[1, 2]], values=[5]).plot(axes)
    np.testing.assert_allclose(axes.images[0].get_array(), [[0, 0, 0], [0, 0, 5]])
    assert axes.get_ylabel() == "A"
    pyplot.figure()
    assert Table(A, [1, math.e]).plot() is pyplot.gca()
    pyplot.close("all")
    with pytest.raises(ScopeError, match="one or two variables"):
        Table((A, B, Discrete("C")), np.ones((2, 3, 2))).plot()
