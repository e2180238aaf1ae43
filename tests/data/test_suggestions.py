"""Stored columns suggest what the same columns suggest in memory."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.data import suggestions
from sepset.data.dataset import Dataset
from sepset.data.files import read_dataset
from sepset.data.suggestions import column_names, suggested_variables
from sepset.errors import DataError
from sepset.variables.variable import Discrete, Real

COLUMNS = {
    "word": ["b", "a", None, "b"],
    "whole": [3, 1, 2, 3],
    "real": [0.5, 1.0, -2e3, 7.25],
    "codes": [0.0, 1.0, None, 1.0],
    "truth": [True, False, True, True],
    "one": ["x", "x", "x", "x"],
}


def stored(tmp_path):
    import duckdb
    import polars as pl

    frame = pl.DataFrame(COLUMNS)
    frame.write_parquet(tmp_path / "rows.parquet")
    frame.write_csv(tmp_path / "rows.csv")
    relation = duckdb.read_parquet(str(tmp_path / "rows.parquet"))
    return frame.lazy(), relation, tmp_path / "rows.parquet", str(tmp_path / "rows.csv")


def test_every_source_suggests_the_same(tmp_path):
    expected = {v.name: v for v in Dataset(COLUMNS).variables}
    for source in stored(tmp_path):
        assert column_names(source) == list(COLUMNS)
        found = suggested_variables(source, COLUMNS)
        assert found.variables == expected
        assert set(found.notes) == set(Dataset(COLUMNS).notes)
        assert len(found.notes) == 1
        assert suggested_variables(source, ["real", "nothing"]).variables == {"real": Real("real")}


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2.5", "nan"],
        ["007", "8"],
        ["TRUE", "false"],
        ["", "4"],
        ["a", "1"],
        ["inf", "nan"],
        ["-0", "1"],
        ["1e3", ".5", "-inf"],
    ],
)
def test_texts_are_typed_as_in_memory(tmp_path, cells):
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(["x", *cells]) + "\n")
    assert suggested_variables(file, ["x"]).variables["x"] == read_dataset(file).variables["x"]


def test_columns_of_many_texts_are_judged_where_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(suggestions, "MOST_STATES", 3)
    file = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    rows = {"real": rng.normal(size=9), "whole": np.arange(9), "word": list("abcdefghi"), "few": [0, 1, 2] * 3}
    rows["mixed"] = ["007", *map(str, rng.normal(size=8))]
    lines = [",".join(str(cell) for cell in row) for row in zip(*rows.values(), strict=True)]
    file.write_text("\n".join([",".join(rows), *lines]) + "\n")
    found = suggested_variables(file, ["real", "few"]).variables
    assert found == {"real": Real("real"), "few": Discrete("few", (0, 1, 2))}
    for name in ("whole", "word", "mixed"):
        with pytest.raises(DataError, match=rf"Column '{name}' has more than 3 distinct values.*Real\('{name}'\)"):
            suggested_variables(file, [name])


def test_what_is_no_frame_is_refused():
    with pytest.raises(DataError, match="A frame was expected; found list"):
        column_names([1, 2])
    assert column_names({"a": [1]}) == ["a"]
