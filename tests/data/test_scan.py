from __future__ import annotations

import datetime
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from sepset.data.dataset import Dataset
from sepset.data.scan import compression, connected, file_format, scanned
from sepset.errors import ArgumentError, DataError, FileFormatError
from sepset.variables.variable import Discrete


@pytest.mark.parametrize(
    ("name", "kind"), [("a.csv", ".csv"), ("a.TSV.gz", ".tsv"), ("a.parquet", ".parquet"), ("a.b.csv", ".csv")]
)
def test_formats(name, kind):
    assert file_format(Path(name)) == kind


@pytest.mark.parametrize("name", ["a", "a.txt", "a.parquet.gz", "a.gz"])
def test_no_formats(name):
    with pytest.raises(FileFormatError, match=r"Use .csv, .tsv"):
        file_format(Path(name))


def test_a_scan_keeps_the_names_in_the_file(tmp_path):
    file = tmp_path / "odd ? name.csv"
    file.write_text("A,a\n1,\n")
    with scanned(file) as scan:
        assert (dict(scan.columns), scan.is_text) == ({"A": "c0", "a": "c1"}, True)
        assert scan.relation.fetchall() == [("1", None)]
    with scanned(file, missing=["1"]) as scan:
        assert scan.relation.fetchall() == [(None, "")]
    with pytest.raises(ArgumentError, match="one character"), scanned(file, delimiter="::"):
        pass


def test_what_cannot_be_scanned(tmp_path):
    with pytest.raises(FileFormatError, match="no such file"), scanned(tmp_path / "none.csv"):
        pass
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileFormatError, match="not a regular file"), scanned(tmp_path / "folder.csv"):
        pass
    (tmp_path / "bad.parquet").write_bytes(b"not parquet")
    with pytest.raises(FileFormatError, match=r"bad.parquet"), scanned(tmp_path / "bad.parquet"):
        pass


def test_connections_turn_errors_into_ours(tmp_path):
    with pytest.raises(FileFormatError, match=r"x\.csv"), connected(tmp_path / "x.csv") as connection:
        connection.sql("SELECT nonsense")
    assert (compression(Path("a.csv.gz")), compression(Path("a.csv"))) == ("gzip", "none")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_durations_in_parquet_are_refused_as_in_frames(library, tmp_path):
    spans = [datetime.timedelta(days=1), datetime.timedelta(days=2)]
    frame = (
        pd.DataFrame({"x": spans, "y": ["u", "v"]}) if library == "pandas" else pl.DataFrame({"x": spans, "y": [1, 2]})
    )
    file = tmp_path / "spans.parquet"
    if library == "pandas":
        frame.to_parquet(file)
    else:
        frame.write_parquet(file)
    for rows in (frame, file):
        with pytest.raises(DataError, match=r"Column 'x' holds .*Convert the column or leave it out"):
            Dataset(rows)
    assert Dataset(file, [Discrete("y", ("u", "v") if library == "pandas" else (1, 2))]).num_rows == 2
