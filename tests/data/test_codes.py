from __future__ import annotations

import numpy as np
import pytest

from sepset.data.codes import checked_cells, matrix_columns, named_columns, positions
from sepset.errors import DataError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real, Vector

SCOPE = Universe([Discrete("a", 3), Real("r")])


def test_columns_by_name_and_by_place():
    found = named_columns(SCOPE, {"r": [1.5], "a": [2]})
    assert [column.tolist() for column in found] == [[2], [1.5]]
    found = matrix_columns(SCOPE, np.array([[0, 1], [2, 3]]))
    assert [column.tolist() for column in found] == [[0, 2], [1, 3]]
    with pytest.raises(DataError, match="without codes: 'r'; unknown: 'q'"):
        named_columns(SCOPE, {"a": [0], "q": [0]})
    with pytest.raises(DataError, match="2 columns, one per variable"):
        matrix_columns(SCOPE, np.zeros((2, 3)))


def test_cells_are_checked():
    assert checked_cells(Discrete("a", 3), np.array([0, -1, 2])).dtype == np.int8
    assert checked_cells(Real("r"), np.array([1, 2])).tolist() == [1.0, 2.0]
    with pytest.raises(DataError, match="found 3 in row 1"):
        checked_cells(Discrete("a", 3), np.array([0, 3]))
    with pytest.raises(DataError, match="integer codes"):
        checked_cells(Discrete("a", 3), np.array([0.5]))
    with pytest.raises(DataError, match="2 dimensions"):
        checked_cells(Vector("v", 2), np.array([0.5]))


def test_positions():
    assert positions(np.array([0, -1]), 3).tolist() == [0, -1]
    with pytest.raises(DataError, match="no row 3"):
        positions(np.array([3]), 3)
    with pytest.raises(DataError, match="whole numbers"):
        positions(np.array([0.5]), 3)
