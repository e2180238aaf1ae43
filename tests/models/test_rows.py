"""Complete assignments from frames, datasets, mappings and single ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sepset.data import Dataset
from sepset.errors import DataError, StateError
from sepset.models.rows import code_matrix, complete
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real, Vector

coin, dose, position = Discrete("coin", ("head", "tail")), Real("dose"), Vector("position", 2)


def test_frames_mappings_and_datasets():
    variables = Universe([coin, dose])
    rows = {"coin": ["tail", "head"], "dose": [1.5, 2.0], "other": [1, 2]}
    for frame in (rows, pd.DataFrame(rows), {coin: rows["coin"], "dose": rows["dose"]}):
        columns, num_rows = complete(frame, variables)
        assert num_rows == 2
        assert columns[coin].tolist() == [1, 0]
        assert columns[dose].tolist() == [1.5, 2.0]
    data = Dataset(rows, variables)
    assert complete(data, variables)[0][coin] is data.column(coin)


def test_single_assignments():
    columns, num_rows = complete({"coin": "tail", dose: 3}, Universe([coin, dose]))
    assert num_rows == 1
    assert columns[coin].tolist() == [1]
    assert columns[dose].tolist() == [3.0]
    with pytest.raises(StateError, match="Did you mean 'tail'"):
        complete({"coin": "tails"}, Universe([coin]))
    with pytest.raises(DataError, match="has no value for 'dose'"):
        complete({"coin": "tail", "dose": float("nan")}, Universe([coin, dose]))


def test_missing_cells_name_their_row():
    with pytest.raises(DataError, match="'coin' is missing in row 1"):
        complete({"coin": ["head", None]}, Universe([coin]))
    with pytest.raises(DataError, match="'dose' is missing in row 0"):
        complete({"dose": [np.nan, 1.0]}, Universe([dose]))


def test_vectors_come_as_arrays():
    variables = Universe([coin, position])
    columns, num_rows = complete({"coin": ["head"], "position": [[1.0, 2.0]]}, variables)
    assert num_rows == 1
    assert columns[position].tolist() == [[1.0, 2.0]]
    assert complete({"position": [[1.0, 2.0]]}, Universe([position]))[1] == 1
    with pytest.raises(DataError, match="no column for the vector"):
        complete({"coin": ["head"]}, variables)
    with pytest.raises(DataError, match=r"shape \(1, 2\)"):
        complete({"coin": ["head"], "position": [[1.0, 2.0, 3.0]]}, variables)
    with pytest.raises(DataError, match="A data frame cannot store vectors"):
        complete(pd.DataFrame({"coin": ["head"]}), variables)
    with pytest.raises(StateError, match="give a frame"):
        complete({"coin": "head", "position": 3.0}, variables)


def test_code_matrix():
    variables = Universe([coin, Discrete("b", 3)])
    columns, num_rows = complete({"coin": ["head", "tail"], "b": [2, 0]}, variables)
    assert code_matrix(columns, variables, num_rows).tolist() == [[0, 2], [1, 0]]
    assert code_matrix({}, Universe(), 4).shape == (4, 0)
