from __future__ import annotations

import numpy as np
import pytest

from sepset.data.dataset import Dataset
from sepset.data.requirements import require_rows, require_varying
from sepset.errors import DataError
from sepset.variables.variable import Discrete, Real

ROWS = Dataset({"a": ["x", "y", None], "c": ["k", "k", "k"], "r": [1.0, 2.0, np.nan], "s": [4.5, 4.5, 4.5]})


def test_rows():
    require_rows(ROWS, "Fitting")
    with pytest.raises(DataError, match=r"Fitting needs rows; the frame has none \(columns: 'a', 'c'"):
        require_rows(ROWS[:0], "Fitting")
    with pytest.raises(DataError, match="all 3 weigh zero"):
        require_rows(ROWS.with_weights([0, 0, 0]), "Fitting")


def test_columns_that_vary():
    require_varying(ROWS, "Fitting", ["a", "r"])
    require_varying(Dataset(ROWS, [Discrete("c", ("k", "other"))]), "Fitting")
    with pytest.raises(DataError, match=r"column 'c' holds k in every row from row 0 on\. Leave it out"):
        require_varying(ROWS, "Fitting")
    with pytest.raises(DataError, match=r"column 's' holds 4\.5 in every row"):
        require_varying(ROWS, "Fitting", ["s"])
    hollow = Dataset.from_codes([Real("r")], {"r": [np.nan, np.nan]})
    with pytest.raises(DataError, match="column 'r' has no values"):
        require_varying(hollow, "Fitting")
