"""Frames with their holes filled: the caller's library, column types, order and index, and nothing else changed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sepset as ss
from sepset.learning.missing.framefilling import impute_frame

COLOR, COUNT, FLAG = (
    ss.Discrete("color", ("red", "blue", "green")),
    ss.Discrete("count", 3),
    ss.Discrete("flag", (False, True)),
)
X = ss.Real("x")
NET = ss.BayesNet(
    ss.TableCPD(COLOR, [0.2, 0.3, 0.5]),
    ss.TableCPD(COUNT, [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], given=COLOR),
    ss.TableCPD(FLAG, [[0.9, 0.1], [0.1, 0.9], [0.2, 0.8]], given=COUNT),
    ss.LinearGaussian(X, [0.5, 1.5, 2.5], covariance=1.0, by=COLOR),
)
COLORS, COUNTS, FLAGS, XS = (
    ["red", None, "blue", None],
    [0, 2, None, None],
    [False, None, True, None],
    [0.25, None, 1.0, None],
)
FULL = {"color": ["red", "green", "blue", "green"], "count": [0, 2, 1, 2], "flag": [False, True, True, True]}


def listed(column):
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)


def check(found, names=FULL):
    for name in names:
        assert listed(found[name] if not isinstance(found, pa.Table) else found.column(name)) == FULL[name]


@pytest.mark.parametrize(
    "types",
    [
        {"color": "object", "count": "Int64", "flag": "boolean"},
        {"color": "string", "count": "Int8", "flag": "object"},
        {"color": "category", "count": "float64", "flag": "category"},
        {"color": pd.CategoricalDtype(["blue", "green", "red"], ordered=True), "count": "category", "flag": "boolean"},
        {"color": pd.CategoricalDtype(["blue", "green", "red", "pink"]), "count": "float32", "flag": "object"},
        {"color": "string[pyarrow]", "count": "int64[pyarrow]", "flag": "bool[pyarrow]"},
    ],
)
def test_pandas_types_stay(types):
    index = pd.Index([10, 30, 20, 40], name="day")
    columns = {"note": list("wxyz"), "count": COUNTS, "color": COLORS, "flag": FLAGS}
    frame = pd.DataFrame(columns, index=index).astype(types)
    before = frame.copy(deep=True)
    found = impute_frame(NET, frame)
    check(found)
    assert list(found.columns) == list(frame.columns)
    assert found.index.equals(index)
    assert found["note"].equals(frame["note"])
    for name, kind in types.items():
        if kind != "category":
            assert found[name].dtype == frame[name].dtype
    pd.testing.assert_frame_equal(frame, before)


def test_categories_that_lack_a_state_get_it_at_the_end():
    frame = pd.DataFrame({"color": pd.Categorical(["red", None], ["red"]), "count": [0, 2]})
    found = impute_frame(NET, frame)
    assert list(found["color"]) == ["red", "green"]
    assert list(found["color"].cat.categories) == ["red", "green"]
    enum = pl.DataFrame({"color": pl.Series(["red", None], dtype=pl.Enum(["red"])), "count": [0, 2]})
    assert impute_frame(NET, enum)["color"].dtype == pl.Enum(["red", "green"])


@pytest.mark.parametrize(
    "types",
    [
        {"color": pl.String, "count": pl.Int64, "flag": pl.Boolean},
        {"color": pl.Categorical, "count": pl.UInt8, "flag": pl.Boolean},
        {"color": pl.Enum(["green", "red", "blue"]), "count": pl.Float64, "flag": pl.Boolean},
    ],
)
def test_polars_types_stay(types):
    frame = pl.DataFrame(
        [
            pl.Series("note", list("wxyz")),
            *(pl.Series(n, v, dtype=types[n]) for n, v in zip(types, (COLORS, COUNTS, FLAGS), strict=True)),
        ]
    )
    before = frame.clone()
    found = impute_frame(NET, frame)
    check(found)
    assert found.schema == frame.schema
    assert frame.equals(before)


@pytest.mark.parametrize(
    "types",
    [
        {"color": pa.string(), "count": pa.int64(), "flag": pa.bool_()},
        {"color": pa.large_string(), "count": pa.int8(), "flag": pa.bool_()},
        {"color": pa.dictionary(pa.int8(), pa.string()), "count": pa.float32(), "flag": pa.bool_()},
        {"color": pa.dictionary(pa.int32(), pa.string(), ordered=True), "count": pa.uint16(), "flag": pa.bool_()},
    ],
)
def test_arrow_types_stay(types):
    arrays = [pa.array(v, type=types[n]) for n, v in zip(types, (COLORS, COUNTS, FLAGS), strict=True)]
    table = pa.table([*arrays, pa.array(list("wxyz"))], names=[*types, "note"])
    found = impute_frame(NET, pa.concat_tables([table[:2], table[2:]]))
    check(found)
    assert found.schema == table.schema
    assert found.column("note").to_pylist() == list("wxyz")


def test_mappings_keep_lists_tuples_and_arrays():
    found = impute_frame(
        NET, {"color": COLORS, "count": tuple(COUNTS), "flag": np.array(FLAGS, object), "note": "wxyz"}
    )
    check(found)
    assert [type(found[n]) for n in ("color", "count", "flag")] == [list, tuple, np.ndarray]
    assert found["note"] == "wxyz"


@pytest.mark.parametrize("kind", ["float64", "float32", "Float64"])
def test_numbers_keep_their_width(kind):
    frame = pd.DataFrame({"color": ["red", "red", "blue", "green"], "x": pd.array(XS, dtype="Float64")}).astype(
        {"x": kind}
    )
    found = impute_frame(NET, frame, kind="mean")
    assert found["x"].dtype == kind
    assert found["x"].tolist() == pytest.approx([0.25, 0.5, 1.0, 2.5])
    arrow = pa.table({"color": ["red", "green"], "x": pa.array([None, 1.0], pa.float32())})
    assert impute_frame(NET, arrow, kind="mean").schema == arrow.schema


def test_fractions_among_whole_numbers_are_refused_and_not_cut():
    columns = {"color": ["red", "green"], "x": [1, None]}
    frames = [
        pd.DataFrame(columns).astype({"x": "Int64"}),
        pl.DataFrame(columns),
        pa.table({"color": ["red", "green"], "x": pa.array([1, None], pa.int32())}),
    ]
    for frame in frames:
        with pytest.raises(ss.DataError, match=r"Column 'x': it holds whole numbers, and 2\.5 is none"):
            impute_frame(NET, frame, kind="mean")


def test_copies_are_frames_and_agree_with_datasets():
    frame = pl.DataFrame({"color": COLORS, "count": COUNTS, "x": XS})
    found = impute_frame(NET, frame, kind="draw", copies=3, seed=5)
    rows = ss.impute(NET, frame, kind="draw", copies=3, seed=5)
    assert len(found) == 3
    for one, other in zip(found, rows, strict=True):
        assert one["color"].to_list() == other["color"].tolist()
        assert one["x"].to_list() == other["x"].tolist()
        assert one.null_count().sum_horizontal().item() == 0


def test_only_what_is_asked_is_filled_and_nothing_is_added():
    frame = pd.DataFrame({"color": COLORS, "count": pd.array(COUNTS, dtype="Int64")})
    found = impute_frame(NET, frame, variables=["count", "flag"])
    assert found["color"].isna().tolist() == [False, True, False, True]
    assert not found["count"].isna().any()
    assert list(found.columns) == ["color", "count"]
    full = pd.DataFrame({"count": [1, 2]})
    pd.testing.assert_frame_equal(impute_frame(NET, full), full)


def test_frames_without_rows_or_of_other_kinds():
    empty = pd.DataFrame({"color": pd.Series([], dtype="string")})
    pd.testing.assert_frame_equal(impute_frame(NET, empty), empty)
    for strange in (pl.LazyFrame({"color": COLORS}), ss.Dataset({"color": ["red"]}), "rows.csv", None):
        with pytest.raises(ss.DataError, match="Use impute"):
            impute_frame(NET, strange)
    with pytest.raises(ss.DataError, match="No column is a variable"):
        impute_frame(NET, pd.DataFrame({"other": [1]}))
