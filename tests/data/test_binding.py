import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sepset as ss
from sepset.data.binding import bind_column, bind_frame, infer_variable, missing_message
from sepset.data.columns import Cells, Levels, from_array, from_objects
from sepset.data.frames import open_frame
from sepset.errors import DataError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real, Vector


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["b", "a", None], Discrete("x", ("a", "b"))),
        ([3, None, 1], Discrete("x", (1, 3))),
        ([True, True], Discrete("x", (False, True))),
        ([1.0, 2.0], Discrete("x", (1, 2))),
        ([1.0, 2.0, None, 2.5], Real("x")),
        ([1.0, None], Real("x")),
        ([float(k) for k in range(12)], Discrete("x", tuple(range(12)))),
        ([float(k) for k in range(13)], Real("x")),
        ([1, 2.5, None], Real("x")),
        (["b", 2, 1], Discrete("x", (1, 2, "b"))),
        (["only"], Discrete("x", ("only",))),
    ],
)
def test_variables_that_objects_suggest(cells, expected):
    assert infer_variable("x", from_objects(cells)) == expected


def test_variables_that_typed_columns_suggest():
    assert infer_variable("x", Cells(np.array([True, True]))) == Discrete("x", (False, True))
    assert infer_variable("x", Cells(np.array([2, 1, 2], np.int8))) == Discrete("x", (1, 2))
    assert infer_variable("x", Cells(np.array([2.0, 1.0, np.nan]))) == Discrete("x", (1, 2))
    assert infer_variable("x", Cells(np.array([2.5, 1.0]))) == Real("x")
    assert infer_variable("x", Cells(np.array([2.0, 2.0]))) == Real("x")
    assert infer_variable("x", Cells(np.array([1.0, np.inf]))) == Real("x")
    assert infer_variable("x", Cells(np.array([np.nan]))) == Real("x")
    assert infer_variable("x", Levels(np.array([0]), ("z", "a"), fixed=True)) == Discrete("x", ("z", "a"))
    assert infer_variable("x", Levels(np.array([0, 1]), ("z", "z"), fixed=True)) == Discrete("x", ("z",))


def test_columns_that_suggest_no_variable():
    with pytest.raises(DataError, match=r"Column 'x' has no values.*Give the variables"):
        infer_variable("x", from_objects([None, None]))
    with pytest.raises(DataError, match=r"Column 'x' holds datetime.date\(2020, 1, 2\) \(date\) in row 1"):
        infer_variable("x", from_objects([None, datetime.date(2020, 1, 2)]))
    with pytest.raises(DataError, match=r"Column 'x'.*twice"):
        infer_variable("x", from_objects([True, 1]))


def test_states_are_told_apart_by_type():
    number = Discrete("x", (0, 1))
    assert bind_column(number, from_array(np.array([1.0, np.nan, 0.0]))).tolist() == [1, -1, 0]
    assert bind_column(Discrete("x", (0.0, 1.0)), from_objects([1, 0])).tolist() == [1, 0]
    for wrong in ([True], ["1"]):
        with pytest.raises(DataError, match=r"row 0: unknown state .* convert the column to int"):
            bind_column(number, from_objects(wrong))
    with pytest.raises(DataError, match="convert the column to bool"):
        bind_column(Discrete("x", (False, True)), from_objects([1]))
    with pytest.raises(DataError, match="convert the column to str"):
        bind_column(Discrete("x", ("0", "1")), from_objects([1]))


def test_unknown_states_are_named_with_row_value_and_nearest():
    grade = Discrete("grade", ("low", "high"))
    with pytest.raises(DataError, match=r"Column 'grade', row 2: unknown state 'hihg' \(str\).*Did you mean 'high'\?"):
        bind_column(grade, from_objects(["low", None, "hihg"]))
    with pytest.raises(DataError, match=r"row 0.*3 rows hold such values"):
        bind_column(grade, from_objects(["?", "low", "?", "!"]))
    with pytest.raises(DataError, match=r"unknown state datetime\.date"):
        bind_column(grade, from_objects([datetime.date(2020, 1, 1)]))


def test_unused_categories_are_not_an_error():
    column = Levels(np.array([0, -1]), ("low", "other"), fixed=True)
    assert bind_column(Discrete("grade", ("low", "high")), column).tolist() == [0, -1]


def test_many_states_use_wider_codes():
    wide = Discrete("x", 40_000)
    codes = bind_column(wide, from_array(np.array([39_999, 0])))
    assert (codes.dtype, codes.tolist()) == (np.int32, [39_999, 0])
    assert bind_column(Discrete("x", 200), from_array(np.array([199]))).dtype == np.int16


def test_real_variables_take_numbers_only():
    assert bind_column(Real("x"), from_array(np.array([1, 2]))).tolist() == [1.0, 2.0]
    with pytest.raises(DataError, match=r"Column 'x': row 0 holds 'a'.*Real\('x'\) takes numbers"):
        bind_column(Real("x"), from_objects(["a"]))
    with pytest.raises(DataError, match="2 dimensions"):
        bind_column(Vector("p", 2), from_objects([1.0]))


def test_absent_columns():
    frame = open_frame({"grade": ["low"], "extra": ["ignored"]})
    scope = Universe([Discrete("grades", ("low",)), Real("r")])
    with pytest.raises(DataError, match=r"No column for variable 'grades' and 1 more.*Did you mean 'grade'\?.*allow"):
        bind_frame(frame, scope, "refuse")
    variables, columns, notes = bind_frame(frame, scope, "allow")
    assert notes == ()
    assert variables is scope
    assert columns[0].tolist() == [-1]
    assert np.isnan(columns[1]).all()
    with pytest.raises(DataError, match="dimensions"):
        bind_frame(frame, Universe([Vector("p", 2)]), "allow")


def test_messages_about_missing_cells():
    assert "1,200 cells." in missing_message("Fitting", "a", 1200)
    assert "misses one cell (first in row 2)" in missing_message("Fitting", "a", 1, 2)


@pytest.mark.parametrize("text", ["NA", "None", "nan", "N/A"])
def test_a_text_that_often_means_missing_is_a_state_with_a_note(text):
    rows = ss.Dataset({"a": [text, "x", None], "b": ["y", "z", "y"]})
    assert rows.variables["a"].states == tuple(sorted([text, "x"]))
    (note,) = rows.notes
    assert f"'a' holds the text {text!r}" in note


def test_decimals_are_real_numbers_in_every_frame():
    cells = [Decimal("1.5"), None, Decimal("2.25")]
    for rows in (
        {"x": cells},
        pd.DataFrame({"x": cells}),
        pl.DataFrame({"x": cells}),
        pa.table({"x": cells}),
    ):
        found = ss.Dataset(rows)
        assert found.variables["x"] == Real("x")
        np.testing.assert_array_equal(found.values("x"), [1.5, np.nan, 2.25])
    whole = ss.Dataset({"x": [Decimal(1), None, Decimal(0)]})
    assert whole.variables["x"].states == (0, 1)
    assert "whole numbers as floats" in whole.notes[0]


def test_categories_that_are_whole_floats_are_integers():
    column = pd.Series([1, 0, None, 1]).astype("category")  # pandas has made floats of them
    for rows in (pd.DataFrame({"x": column}), pa.table({"x": pa.array([1.0, 0.0, None]).dictionary_encode()})):
        states = ss.Dataset(rows).variables["x"].states
        assert sorted(states) == [0, 1]
        assert {type(state) for state in states} == {int}
    halves = pd.DataFrame({"x": pd.Categorical([0.5, 1.0])})
    assert ss.Dataset(halves).variables["x"].states == (0.5, 1.0)
