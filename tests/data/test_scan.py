from __future__ import annotations

import datetime
import os
from pathlib import Path

import numpy as np
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


def test_a_file_that_was_replaced_is_read_again(tmp_path):
    """Nothing is kept of a file, though size and time of the new one are the same."""
    file, stamp = tmp_path / "x.parquet", 1_700_000_000
    for cells in (["a", "b"], ["c", "d"]):
        pl.DataFrame({"x": cells}).write_parquet(file)
        os.utime(file, (stamp, stamp))
        with scanned(file) as scan:
            assert scan.relation.fetchall() == [(cell,) for cell in cells]


def test_connections_do_not_see_each_other(tmp_path):
    with connected(tmp_path / "x.csv") as one, connected(tmp_path / "y.csv") as other:
        one.register("cells", {"x": np.arange(2)})
        other.register("cells", {"x": np.arange(3)})
        found = [len(connection.sql("SELECT * FROM cells").fetchall()) for connection in (one, other)]
        assert found == [2, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_reads_files_too(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("a\n1\n")

    def rows():
        with scanned(file) as scan:
            return scan.relation.fetchall()

    assert rows() == [("1",)]
    child = os.fork()
    if not child:
        os._exit(0 if rows() == [("1",)] else 1)
    assert os.waitpid(child, 0)[1] == 0


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
