"""Columns of files: what text becomes, with and without variables, and which file an error names."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.data import filecolumns
from sepset.data.columns import Cells, Levels
from sepset.data.dataset import Dataset
from sepset.data.filecolumns import file_columns, file_rows, matched, naming, state_text, typed
from sepset.data.files import read_dataset
from sepset.errors import DataError, FileFormatError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real


def levels(*texts: str) -> Levels:
    return Levels(np.arange(len(texts)), texts)


def test_text_becomes_what_it_looks_like():
    assert typed(levels("3", "-10")).values == (3, -10)
    assert typed(levels("true", "FALSE", "True")).codes.tolist() == [1, 0, 1]
    numbers = typed(levels("0.5", "1e3", "nan"))
    assert isinstance(numbers, Cells)
    np.testing.assert_array_equal(numbers.values, [0.5, 1000.0, np.nan])
    assert isinstance(typed(levels("-0", "1")), Cells)  # no int prints like that
    for stays in (("007", "1"), ("a", "1"), ("nan", "inf"), ()):
        assert typed(levels(*stays)).values == stays


def test_text_is_matched_with_states_and_numbers():
    found = matched(levels("1", "2.50", "<0.5", "FALSE", "other"), Discrete("x", (1, 2.5, "<0.5", False)))
    assert found.values == (1, 2.5, "<0.5", False, "other")
    assert matched(levels(" 1.5 ", "x"), Real("r")).values == (1.5, "x")
    assert [state_text(state) for state in (True, 3.0, "<0.5")] == ["True", "3.0", "<0.5"]


def test_columns_of_a_file(tmp_path):
    file = tmp_path / "coins.csv"
    file.write_text("coin,tries,other\nhead,3,x\n,5,y\n")
    assert list(file_columns(file)) == ["coin", "tries", "other"]
    scope = Universe([Discrete("coin", ("tail", "head")), Real("tries")])
    found = file_columns(file, scope)
    assert list(found) == ["coin", "tries", "other"]
    assert list(found.columns) == ["coin", "tries"]  # no other is read
    with pytest.raises(DataError, match=r"No column for variable 'con'; columns are 'coin', .*Did you mean 'coin'"):
        Dataset(file, [Discrete("con", ("tail", "head")), Real("tries")])
    nothing = file_columns(file, Universe([Real("absent")]))
    assert list(nothing) == ["coin", "tries", "other"]  # they say how many rows there are, and what was meant


@pytest.mark.parametrize("weights", ["tries", "other"])
def test_files_with_weights(tmp_path, weights):
    file = tmp_path / "coins.csv"
    file.write_text("coin,tries,other\nhead,3,x\ntail,5,y\n")
    if weights == "tries":
        assert Dataset(file, [Discrete("coin", ("tail", "head"))], weights=weights).weights.tolist() == [3, 5]
        assert Dataset(file, weights=weights).variables.names == ("coin", "other")
    else:
        with pytest.raises(DataError, match=r"coins\.csv: Column 'other': row 0 holds 'x'"):
            Dataset(file, [Discrete("coin", ("tail", "head"))], weights=weights)


def test_errors_name_their_file(tmp_path):
    with pytest.raises(DataError, match=r"^rows\.csv: no"), naming("rows.csv"):
        raise DataError("no")


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
    monkeypatch.setattr(filecolumns, "LARGEST", 3)
    assert file_rows(path, ["n"]) is None
    with pytest.raises(FileFormatError, match="no such file"):
        file_rows(path.with_name("none.csv"), ["n"])


def test_errors_name_the_file_and_the_way_out(path, monkeypatch):
    rows = file_rows(path, ["word", "n"])
    with pytest.raises(DataError, match=r"rows\.csv: Column 'word', row 1: unknown state 'b'"):
        Dataset(rows, [Discrete("word", ("a", "c"))])
    monkeypatch.setattr(filecolumns, "MOST", 1)
    with pytest.raises(DataError, match=r"Column 'word' has more than 1 distinct values.*Real\('word'\)"):
        rows["word"]


QUOTED = '"whole","share","truth","word"\n"1","0.5","True","x"\n"","","",""\n"0","1.5","False","y"\n'


def test_a_quoted_empty_cell_among_numbers_is_missing(tmp_path):
    """As programs write it that quote every cell; among words it could be a state."""
    (tmp_path / "rows.csv").write_text(QUOTED)
    found = Dataset(tmp_path / "rows.csv")
    assert [v.states for v in found.variables if isinstance(v, Discrete)] == [(0, 1), (False, True), ("", "x", "y")]
    assert found.num_missing == {"whole": 1, "share": 1, "truth": 1, "word": 0}


@pytest.mark.parametrize(("states", "missing"), [(("x", "y"), 1), (("", "x", "y"), 0)])
def test_a_quoted_empty_cell_is_a_state_if_there_is_one(tmp_path, states, missing):
    (tmp_path / "rows.csv").write_text(QUOTED)
    scope = [Discrete("word", states), Real("share"), Discrete("whole", 2)]
    found = read_dataset(tmp_path / "rows.csv", scope)
    assert found.num_missing == {"word": missing, "share": 1, "whole": 1}
