import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from sepset.data import Dataset
from sepset.data.export import EXPORTS, is_text, numeric_states, state_array
from sepset.errors import ArgumentError, DataError, MissingExtra
from sepset.variables.variable import Discrete
from support.random_rows import datasets, one_type, text_states

KINDS = list(EXPORTS)


@pytest.mark.parametrize("kind", KINDS)
@given(dataset=datasets(states=one_type))
def test_round_trip_under_the_same_variables(kind, dataset):
    back = Dataset(dataset.to_frame(kind), dataset.variables)
    if len(dataset.variables):
        assert dataset.equals(back)


@pytest.mark.parametrize("kind", KINDS)
@given(dataset=datasets(states=text_states, min_variables=1))
def test_text_states_come_back_without_variables(kind, dataset):
    """Numbers come back as numbers, but for few whole ones, which are noted."""
    back = Dataset(dataset.to_frame(kind))
    changed = [v.name for v in dataset.variables if not v.is_discrete and back.variables[v.name].is_discrete]
    assert all(any(repr(name) in note for note in back.notes) for name in changed)
    same = [v.name for v in dataset.variables if v.name not in changed]
    assert dataset.select(same).equals(back.select(same))


MIXED = Dataset(
    {"s": ["b", None], "i": [3, None], "t": [True, None], "f": [0.5, None], "r": [1.5, None]},
    [Discrete("s", ("b", "a")), Discrete("i", (1, 3)), Discrete("t", (False, True)), Discrete("f", (0.5, 1.0))],
)


def test_types_where_cells_are_missing():
    frame = MIXED.to_frame("pandas")
    assert [str(t) for t in frame.dtypes] == ["category", "Int64", "boolean", "float64"]
    assert frame["s"].cat.categories.tolist() == ["b", "a"]
    assert MIXED.to_frame("polars").dtypes == [pl.Enum(["b", "a"]), pl.Int64, pl.Boolean, pl.Float64]
    types = MIXED.to_frame("pyarrow").schema.types
    assert types == [pa.dictionary(pa.int8(), pa.string()), pa.int64(), pa.bool_(), pa.float64()]


def test_types_where_all_is_known():
    frame = MIXED.head(1).to_frame("pandas")
    assert [str(t) for t in frame.dtypes] == ["category", "int64", "bool", "float64"]
    assert frame.iloc[0].tolist() == ["b", 3, True, 0.5]


@pytest.mark.parametrize("kind", KINDS)
def test_missing_numbers_are_missing_there(kind):
    frame = Dataset({"r": [1.5, None]}).to_frame(kind)
    column = frame["r"].to_pylist() if kind == "pyarrow" else frame["r"].to_list()
    assert column[0] == 1.5
    assert column[1] is None or np.isnan(column[1])
    assert kind == "pandas" or column[1] is None


def test_states_of_several_types():
    mixed = Dataset({"x": ["a", 1, None]})
    assert mixed.to_frame("pandas")["x"].tolist() == [*mixed.states("x")]
    for kind in ("polars", "pyarrow"):
        with pytest.raises(DataError, match=r"no common column type.*to_frame\('pandas'\)"):
            mixed.to_frame(kind)


def test_rows_without_variables_keep_their_number_in_pandas():
    assert Dataset.from_codes([], np.zeros((3, 0), int)).to_frame().shape == (3, 0)


def test_frames_may_be_changed_without_changing_the_dataset():
    dataset = Dataset({"s": ["a", "b"], "r": [1.0, 2.0], "i": [1, 2]})
    frame = dataset.to_frame("pandas")
    frame.loc[0, "s"], frame.loc[0, "r"], frame.loc[0, "i"] = "b", 9.0, 2
    assert dataset.row(0) == {"s": "a", "r": 1.0, "i": 1}


def test_unknown_and_missing_libraries(monkeypatch):
    with pytest.raises(ArgumentError, match="'pandas', 'polars' or 'pyarrow'; found 'spark'"):
        MIXED.to_frame("spark")
    for kind in KINDS:
        monkeypatch.setitem(sys.modules, kind, None)
        with pytest.raises(MissingExtra, match=rf"to_frame\('{kind}'\) needs '{kind}'.*pip install"):
            MIXED.to_frame(kind)


def test_state_arrays():
    assert state_array((1, 2.5)).tolist() == [1.0, 2.5]
    assert state_array((True, False)).dtype == np.bool_
    assert state_array((2**70, 1)) is None
    assert state_array((True, 2)) is None
    assert is_text(("a",))
    assert not is_text(("a", 1))
    assert numeric_states(Discrete("x", (4, 2))).tolist() == [4, 2]
    assert isinstance(MIXED.to_frame(), pd.DataFrame)
