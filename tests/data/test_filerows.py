"""Rows of a file that are read once: what they look like, and what variables say they are."""

from __future__ import annotations

import pytest

from sepset.data import filerows
from sepset.data.dataset import Dataset
from sepset.data.filerows import file_rows
from sepset.errors import DataError, FileFormatError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real


@pytest.fixture
def path(tmp_path):
    (tmp_path / "rows.csv").write_text("n,word,x,w\n1,a,0.5,2\n2,b,,1\n,a,2.5,0.5\n")
    return tmp_path / "rows.csv"


def test_columns_look_as_in_a_dataset(path):
    rows = file_rows(path, ["x", "n", "word", "w"])
    assert Dataset(rows).equals(Dataset(path).select(["x", "n", "word", "w"]))
    scope = Universe([Discrete("n", ("1", "2")), Real("x")])
    assert Dataset(rows, scope, weights="w").equals(Dataset(path, scope, weights="w"))
    assert list(rows) == ["x", "n", "word", "w"]


def test_what_is_not_there_or_too_large_is_not_read(path, monkeypatch):
    assert file_rows(path, ["n", "hidden"]) is None
    assert file_rows(path, []) is None
    monkeypatch.setattr(filerows, "LARGEST", 3)
    assert file_rows(path, ["n"]) is None
    with pytest.raises(FileFormatError, match="no such file"):
        file_rows(path.with_name("none.csv"), ["n"])


def test_errors_name_the_file_and_the_way_out(path, monkeypatch):
    rows = file_rows(path, ["word", "n"])
    with pytest.raises(DataError, match=r"rows\.csv: Column 'word', row 1: unknown state 'b'"):
        Dataset(rows, [Discrete("word", ("a", "c"))])
    monkeypatch.setattr(filerows, "MOST", 1)
    with pytest.raises(DataError, match=r"Column 'word' has more than 1 distinct values.*Real\('word'\)"):
        rows["word"]
