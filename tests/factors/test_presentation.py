"""How tables look, in a terminal, a notebook, a frame and a picture."""

from __future__ import annotations

import io
import math

import matplotlib as mpl
import numpy as np
import pytest
from rich.console import Console

from sepset.errors import ScopeError
from sepset.factors import presentation
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.variables.variable import Discrete, Real

mpl.use("Agg")

A, B = Discrete("A", 2), Discrete("B", ("x", "<y>", "z"))


def printed(value: object) -> str:
    """What a terminal of 100 columns shows."""
    stream = io.StringIO()
    Console(file=stream, width=100, color_system=None).print(value)
    return stream.getvalue()


def test_short_reprs():
    assert repr(Table((A, B), np.ones((2, 3)))) == "Table(A[2], B[3])"
    assert repr(Table((), [1])) == "Table()"
    many = Table([Discrete(f"v{i}", 1) for i in range(12)], [1])
    assert repr(many) == "Table(" + ", ".join(f"v{i}[1]" for i in range(8)) + ", ... 12 variables)"
    assert presentation.label(Real("r")) == "r"
    assert presentation.conditional((A,), ()) == "Conditional(A[2])"
    assert presentation.conditional((A,), (Real("r"),), "Linear") == "Linear(A[2] | r)"


def test_rich_shows_states_values_and_bars():
    text = printed(Table(B, [1, 2, 4]))
    assert "Table(B[3])" in text
    assert "<y>" in text
    assert "█" * 20 in text
    assert "█" * 21 not in text


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
        SparseTable(A, np.zeros((0, 1), int), []),
    ],
)
def test_extreme_tables_still_show(table):
    assert "value" in printed(table)
    assert table._repr_html_().startswith("<table>")


def test_html_is_escaped():
    html = Table((A, B), np.arange(6))._repr_html_()
    assert "&lt;y&gt;" in html
    assert "<y>" not in html
    assert "<th>A</th><th>B</th><th>value</th>" in html
    assert "<td>1</td><td>z</td><td>5</td>" in html


def test_sparse_tables_show_their_support():
    table = SparseTable((A, B), [[1, 2], [0, 1]], [3, 2])
    assert list(presentation.rows(table)) == [((0, "<y>"), pytest.approx(2)), ((1, "z"), pytest.approx(3))]
    assert table._repr_html_().count("<tr>") == 3
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
    with pytest.raises(ScopeError, match="Unknown frame kind"):
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
    SparseTable((A, B), [[1, 2]], [5]).plot(axes)
    np.testing.assert_allclose(axes.images[0].get_array(), [[0, 0, 0], [0, 0, 5]])
    assert axes.get_ylabel() == "A"
    pyplot.figure()
    assert Table(A, [1, math.e]).plot() is pyplot.gca()
    pyplot.close("all")
    with pytest.raises(ScopeError, match="one or two variables"):
        Table((A, B, Discrete("C")), np.ones((2, 3, 2))).plot()
