"""Displays: parents on rows, child's states as columns, never a whole table."""

from __future__ import annotations

import time

from rich.console import Console

from sepset.cpds.noisy import NoisyOr
from sepset.cpds.table import TableCPD
from sepset.variables.variable import Discrete

RAIN, WET = Discrete("rain", ("no", "<b>")), Discrete("wet", ("dry", "soaked"))
CPD = TableCPD(WET, [[0.9, 0.1], [0.25, 0.75]], RAIN)


def printed(cpd):
    console = Console(width=160)
    with console.capture() as captured:
        console.print(cpd)
    return captured.get()


def test_the_grid_has_parents_on_rows_and_states_as_columns():
    text = printed(CPD)
    assert "TableCPD(wet[2] | rain[2])" in text
    assert [line.split() for line in text.splitlines() if "0.25" in line] == [
        ["│", "<b>", "│", "0.25", "│", "0.75", "│"]
    ]
    assert "wet=dry" in text


def test_html_is_escaped():
    html = CPD._repr_html_()
    assert "<td>0.75</td>" in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_names_and_states_are_no_markup():
    x, y = Discrete("x[t]", ("[/b]", "low")), Discrete("y[t]", ("[a]", "b"))
    text = printed(TableCPD(y, [[0.5, 0.5], [0.25, 0.75]], given=x))
    assert all(part in text for part in ("x[t]", "[/b]", "y[t]=[a]", "y[t][2] | x[t][2]"))


def test_frames_of_each_kind():
    for kind in ("pandas", "polars", "pyarrow"):
        frame = CPD.to_frame(kind)
        names = frame.column_names if kind == "pyarrow" else list(frame.columns)
        assert names == ["rain", "wet=dry", "wet=soaked"]
    assert CPD.to_frame()["wet=soaked"].tolist() == [0.1, 0.75]
    assert CPD.to_frame()["rain"].tolist() == ["no", "<b>"]


def test_thirty_parents_print_at_once():
    parents = {Discrete(f"p{i}"): 0.1 for i in range(30)}
    start = time.perf_counter()
    text = printed(NoisyOr(Discrete("y"), parents))
    assert time.perf_counter() - start < 2.0
    assert f"first 20 of {2**30} rows" in text
    assert repr(NoisyOr(Discrete("y"), parents)).endswith("... 30 variables)")
