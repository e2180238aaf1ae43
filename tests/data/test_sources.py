"""Which data is read here, and which stays where it is."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from sepset.data.counts import Counts
from sepset.data.dataset import Dataset
from sepset.data.engines import LazyRows
from sepset.data.sources import finder, rows_of
from sepset.errors import DataError
from sepset.variables.variable import Discrete

A = Discrete("a", ("x", "y"))
CELLS = {"a": ["x", "y", "x"], "b": [1, 2, 2], "w": [0.5, 1.0, 2.0]}


@pytest.mark.parametrize("data", [CELLS, pd.DataFrame(CELLS), pl.DataFrame(CELLS), pl.DataFrame(CELLS).to_arrow()])
def test_eager_frames_become_datasets(data):
    with rows_of(data, [A], "w") as rows:
        assert isinstance(rows, Dataset)
        assert (rows.variables.names, rows.weights.tolist()) == (("a",), [0.5, 1, 2])
    with rows_of(data, ["b", A], np.ones(3)) as rows:
        assert rows.variables.names == ("b", "a")
        assert finder(rows)("b") == Discrete("b", (1, 2))
    with pytest.raises(DataError, match="No column for variable 'c'"), rows_of(data, ["c"]):
        pass


def test_lazy_frames_and_files_stay(tmp_path):
    file = tmp_path / "rows.csv"
    pl.DataFrame(CELLS).write_csv(file)
    for data in (pl.LazyFrame(CELLS), duckdb.from_arrow(pl.DataFrame(CELLS).to_arrow()), file, str(file)):
        with rows_of(data, [A], "w") as rows:
            assert isinstance(rows, LazyRows)
            assert finder(rows)(A) is A
        with pytest.raises(DataError, match="by the name of a column"), rows_of(data, [A], [1, 2, 3]):
            pass
        with pytest.raises(DataError, match="states of 'a' are unknown"), rows_of(data, ["a"]):
            pass
        with (
            pytest.raises(DataError, match=r"No column for variable 'aa'.*Did you mean 'a'"),
            rows_of(data, [Discrete("aa")]),
        ):
            pass
        with pytest.raises(DataError, match="No column for variable 'v'"), rows_of(data, [A], "v"):
            pass


def test_a_dataset_brings_its_weights():
    rows = Dataset(CELLS, [A], weights="w")
    with rows_of(rows, [A]) as found:
        assert found is rows
    with pytest.raises(DataError, match=r"with_weights\(None\)"), rows_of(rows, [A], [1, 1, 1]):
        pass
    with pytest.raises(DataError, match=r"dataset.values\('w'\)"), rows_of(rows.with_weights(None), [A], "w"):
        pass


def test_what_is_no_data():
    with pytest.raises(DataError, match="A frame was expected"), rows_of(3, [A]):
        pass


def test_many_names_are_looked_up_not_compared_with_each_other():
    compared = []

    class Name(str):
        __slots__ = ()

        def __eq__(self, other):
            compared.append(1)
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    rows = {Name(f"v{i}"): ["a", "b"] for i in range(2000)}
    counts = Counts.of(rows, [[f"v{i}", f"v{i + 1}"] for i in range(0, 2000, 2)])
    assert len(counts.tables) == 1000
    assert len(compared) < 20 * 2000
