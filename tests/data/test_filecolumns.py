"""Columns of files: what text becomes, with and without variables, and which file an error names."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.data.columns import Cells, Levels
from sepset.data.dataset import Dataset
from sepset.data.filecolumns import file_columns, matched, naming, state_text, typed
from sepset.errors import DataError
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
    assert list(file_columns(file, scope)) == ["coin", "tries"]
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
