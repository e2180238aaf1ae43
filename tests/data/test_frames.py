import decimal
import sys
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sepset as ss
from sepset.data.columns import Levels, levels_of
from sepset.data.frames import in_row_order, open_frame
from sepset.errors import DataError


def decoded(column) -> list[object]:
    levels = levels_of(column)
    return [None if code < 0 else levels.values[code] for code in levels.codes.tolist()]


CELLS = {
    "text": ["b", None, "a", "b"],
    "whole": [3, None, -1, 3],
    "truth": [True, None, False, True],
    "number": [0.5, None, 2.0, 0.5],
    "nothing": [None, None, None, None],
}


def frames() -> dict[str, object]:
    arrow = pa.table({name: pa.array(cells) for name, cells in CELLS.items()})
    return {
        "mapping": CELLS,
        "pandas": pd.DataFrame(CELLS),
        "pandas nullable": pd.DataFrame(CELLS).convert_dtypes(),
        "pandas arrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas objects": pd.DataFrame(CELLS, dtype=object),
        "polars": pl.DataFrame(CELLS),
        "polars lazy": pl.LazyFrame(CELLS),
        "pyarrow": arrow,
        "pyarrow batch": arrow.combine_chunks().to_batches()[0],
        "pyarrow chunks": pa.concat_tables([arrow[:1], arrow[1:]]),
        "duckdb": duckdb.connect().from_arrow(arrow),
        "mapping of series": {name: pl.Series(cells, strict=False) for name, cells in CELLS.items()},
        "mapping of arrow arrays": {name: pa.array(cells) for name, cells in CELLS.items()},
    }


@pytest.mark.parametrize("kind", list(frames()))
def test_every_library_gives_the_same_cells(kind):
    frame = open_frame(frames()[kind])
    assert (frame.names, frame.num_rows) == (tuple(CELLS), 4)
    for name, cells in CELLS.items():
        found = decoded(frame.read(name))
        assert found == cells
        assert [type(f) for f in found if not isinstance(f, float | int) or isinstance(f, bool)] == [
            type(c) for c in cells if not isinstance(c, float | int) or isinstance(c, bool)
        ]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical(["b", None, "b"], ["c", "b"])),
        pl.Series(["b", None, "b"], dtype=pl.Enum(["c", "b"])),
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([1, None, 1], pa.uint8()), ["c", "b"])]),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_categories_keep_their_order(column):
    levels = open_frame({"x": column}).read("x")
    assert isinstance(levels, Levels)
    assert (levels.values, levels.fixed, levels.codes.tolist()) == (("c", "b"), True, [1, -1, 1])


def test_other_types_of_text_and_number():
    text = pl.Series(["b", "a", None], dtype=pl.Categorical)
    wide = pa.chunked_array([pa.array(["b", "a", None], pa.large_string())])
    exact = [decimal.Decimal("1.5"), None, decimal.Decimal("2.0")]
    assert decoded(open_frame({"x": text}).read("x")) == ["b", "a", None]
    assert decoded(open_frame({"x": wide}).read("x")) == ["b", "a", None]
    for column in (pl.Series(exact), pa.chunked_array([pa.array(exact)]), exact):
        assert decoded(open_frame({"x": column}).read("x")) == [1.5, None, 2.0]


def test_chunks_with_different_dictionaries():
    chunks = [pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()]
    assert decoded(open_frame(pa.table({"x": pa.chunked_array(chunks)})).read("x")) == ["a", "b", "c", "b"]


def test_lazy_frames_compute_only_what_is_wanted():
    def refuse(_):
        raise AssertionError("computed a column nobody wanted")

    lazy = pl.LazyFrame({"a": [1], "b": [2]}).with_columns(pl.col("b").map_batches(refuse, return_dtype=pl.Int64))
    frame = open_frame(lazy, wanted=["a", "absent"])
    assert (frame.names, frame.num_rows) == (("a", "b"), 1)  # by the names, misspelled columns are found
    assert decoded(frame.read("a")) == [1]
    assert open_frame(pl.LazyFrame({"a": [1, 2]}), wanted=["absent"]).num_rows == 2


def test_duckdb_without_arrow(monkeypatch):
    relation = duckdb.connect().sql("SELECT * FROM (VALUES ('x', 1, true), (NULL, NULL, NULL)) t(a, b, c)")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = open_frame(relation)
    assert [decoded(frame.read(name)) for name in frame.names] == [["x", None], [1, None], [True, None]]


def test_empty_frames():
    assert open_frame({}).num_rows == 0
    assert open_frame(pd.DataFrame(index=range(3))).num_rows == 3
    for empty in (pd.DataFrame({"a": []}), pl.DataFrame({"a": []}), pa.table({"a": pa.array([], pa.string())})):
        frame = open_frame(empty)
        assert (frame.num_rows, decoded(frame.read("a"))) == (0, [])


def test_columns_of_a_mapping_that_nobody_wants_are_not_looked_at():
    columns = {"a": ["x", "y"], "strange": [[1], object()], "longer": [1, 2, 3]}
    frame = open_frame(columns, ["a", "absent"])
    assert (frame.names, frame.num_rows, decoded(frame.read("a"))) == (("a", "strange", "longer"), 2, ["x", "y"])
    assert open_frame(columns, ["absent"]).num_rows == 2
    with pytest.raises(DataError, match="'strange'"):
        open_frame(columns)


@pytest.mark.parametrize("frame", [42, "text.csv", None, [1, 2], np.zeros((2, 2))], ids=repr)
def test_other_objects_are_refused(frame):
    with pytest.raises(DataError, match="A frame was expected"):
        open_frame(frame)


def test_the_name_of_several_columns_is_said():
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["a", "b", "a", "b"])
    with pytest.raises(DataError, match=r"^'a', 'b' are the names of several columns\. Rename or drop all but one\.$"):
        open_frame(frame)
    with pytest.raises(DataError, match="'a' is the name of several columns"):
        open_frame(frame.iloc[:, :3])


def test_names_must_be_distinct_strings():
    with pytest.raises(DataError, match="non-empty strings; found 1"):
        open_frame(pd.DataFrame({1: [0]}))
    with pytest.raises(DataError, match="non-empty strings; found ''"):
        open_frame({"": [0]})
    with pytest.raises(DataError, match="several columns"):
        open_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_columns_must_be_sequences_of_one_length():
    with pytest.raises(DataError, match="one length; found 'a': 1, 'b': 2"):
        open_frame({"a": [1], "b": [1, 2]})
    with pytest.raises(DataError, match="Column 'a': a column is a sequence of cells; found 'text'"):
        open_frame({"a": "text"})
    with pytest.raises(DataError, match="Column 'a': Row 0 holds"):
        open_frame({"a": [{}]})
    with pytest.raises(DataError, match="Column 'a': Row 0 holds"):
        open_frame(pd.DataFrame({"a": [[1]]})).read("a")


def test_arrow_dictionaries_of_any_index_type():
    states = pa.array(["a", "b", None, "c"])
    for kind in (pa.int8(), pa.uint8(), pa.int32(), pa.int64()):
        for cells in ([0, 1, 3, 2], [0, None, 3, 1]):
            encoded = pa.DictionaryArray.from_arrays(pa.array(cells, kind), states)
            levels = open_frame(pa.table({"x": encoded})).read("x")
            found = [None if code < 0 else levels.values[code] for code in levels.codes]
            assert found == encoded.to_pylist()


DECLARED = pa.DictionaryArray.from_arrays(pa.array([2, None, 1]), pa.array(["z", "b", "a"]))


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["a", None, "b"], categories=["z", "b", "a"]),
        pd.CategoricalIndex(["a", None, "b"], categories=["z", "b", "a"]),
        pd.Series(["a", None, "b"], dtype=pd.CategoricalDtype(["z", "b", "a"])),
        pd.Series(DECLARED, dtype=pd.ArrowDtype(DECLARED.type)),
        pl.Series(["a", None, "b"], dtype=pl.Enum(["z", "b", "a"])),
        DECLARED,
        pa.chunked_array([DECLARED]),
    ],
)
def test_a_column_on_its_own_keeps_the_categories_it_declares(column):
    levels = open_frame({"x": column}).read("x")
    assert levels.fixed
    assert levels.values == ("z", "b", "a")
    assert decoded(levels) == ["a", None, "b"]


@pytest.mark.parametrize(
    ("column", "found"),
    [
        ({0: "a", 1: "b"}, "found a dict. Give a list of its values"),
        ({"a", "b"}, "found a set. It has no order"),
        (frozenset("ab"), "found a frozenset. It has no order"),
        (pd.DataFrame({"x": [1, 2]}), "found a frame"),
        (pl.DataFrame({"x": [1, 2]}), "found a frame"),
        (pa.table({"x": [1, 2]}), "found a Table"),
    ],
)
def test_what_is_no_sequence_of_cells_is_refused(column, found):
    """Python would go through the keys of a mapping, or the names of a frame, as if they were the cells."""
    with pytest.raises(DataError, match=f"Column 'y': a column is a sequence.*{found}"):
        open_frame({"y": column})


def test_a_frame_as_a_mapping_of_mappings_is_refused():
    frame = pd.DataFrame({"a": ["p", "q"], "b": ["r", "s"]})
    with pytest.raises(DataError, match="Column 'a'"):
        open_frame(frame.to_dict())
    assert decoded(open_frame(frame.to_dict("list")).read("a")) == ["p", "q"]


def test_arrow_columns_of_one_name_are_refused_by_their_name():
    with pytest.raises(DataError, match="'c' is the name of several columns"):
        open_frame(pa.table([pa.array([1]), pa.array([2])], names=["c", "c"]))


ROWS = pd.DataFrame(
    {"a": list("uvuvuu"), "b": list("ppqqqp"), "x": [1.0, 2.5, 3.0, 7.0, 4.0, 6.5]}, index=list("ijklmn")
)
WEIGHTS = pd.Series([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], index=ROWS.index)
SHUFFLED = WEIGHTS.iloc[[3, 0, 5, 2, 4, 1]]
DAG = ss.DAG.parse("a -> b; a -> x")

QUESTIONS = {
    "a dataset": lambda w: ss.Dataset(ROWS, weights=w).weights,
    "a mapping of series": lambda w: ss.Dataset({"a": ROWS.a, "b": ROWS.b}, weights=w).weights,
    "estimates": lambda w: ss.fit(DAG, ROWS, weights=w).model.cpd("x").intercept,
    "a network": lambda w: ss.fit(ss.fit(DAG, ROWS).model, ROWS, weights=w).model.cpd("b").values,
    "counts": lambda w: ss.data.Counts.of(ROWS, [(ss.Discrete("a", list("uv")),)], weights=w).tables[0],
    "a Gaussian": lambda w: ss.learning.fit_gaussian(ROWS, "x", weights=w).mu,
    "classes": lambda w: ss.classify.discriminant_analysis(ROWS[["a", "x"]], "a", weights=w).cpd("x").intercept,
    "errors": lambda w: ss.learning.standard_errors(
        ss.fit(ss.DAG.parse("a -> b"), ROWS).model, ROWS[["a", "b"]], weights=w
    ).errors["b"],
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_weights_follow_their_labels(question: str) -> None:
    ask: Any = QUESTIONS[question]
    np.testing.assert_allclose(ask(SHUFFLED), ask(WEIGHTS.to_numpy()), rtol=1e-12)


def test_weights_of_other_rows_are_refused() -> None:
    for labels in (list("ijklmz"), list("iijklm")):
        with pytest.raises(DataError, match="not those of the rows"):
            in_row_order(WEIGHTS.set_axis(labels), ROWS)
    assert in_row_order(WEIGHTS.reset_index(drop=True), ROWS).tolist() == WEIGHTS.tolist()  # positions are no labels


def test_columns_whose_rows_have_different_labels_are_refused() -> None:
    with pytest.raises(DataError, match="'a', 'b' are series whose rows have different labels"):
        ss.Dataset({"a": ROWS.a, "b": ROWS.b.sort_values()})
    assert ss.Dataset({"a": ROWS.a, "b": ROWS.b.tolist()}).num_rows == 6
