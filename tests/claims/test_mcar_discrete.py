"""The test of missing completely at random holds its level on discrete columns, and finds cells that are not.

Tables of several columns have more cells than any data fill. A test that counts every empty cell as a degree of freedom
rejects too often or never; one that needs the table of all joint states has no answer for ordinary numbers of columns.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import sepset as ss

LEVEL = 0.05


def drawn(seed, num_rows, num_columns, num_states=2):
    """Independent columns of states, the first to be left complete."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, num_states, (num_rows, num_columns))
    return rng, pd.DataFrame(cells, columns=[f"b{i}" for i in range(num_columns)]).astype(object)


def completely_at_random(seed, hidden, **size):
    """A quarter of some columns after the first hidden by coins."""
    rng, frame = drawn(seed, **size)
    for name in frame.columns[1 : hidden + 1]:
        frame.loc[rng.random(len(frame)) < 0.25, name] = None
    return frame


def by_the_first_column(seed, hidden, **size):
    """Cells hidden with probability 0.6 where the first column is zero, else 0.1: at random, not completely so."""
    rng, frame = drawn(seed, **size)
    chance = np.where(frame["b0"] == 0, 0.6, 0.1)
    for name in frame.columns[1 : hidden + 1]:
        frame.loc[rng.random(len(frame)) < chance, name] = None
    return frame


SIZES = [
    pytest.param({"num_rows": 1000, "num_columns": 2, "hidden": 1}, id="one of two columns"),
    pytest.param({"num_rows": 300, "num_columns": 10, "hidden": 2}, id="two of ten columns"),
    pytest.param({"num_rows": 300, "num_columns": 12, "hidden": 1}, id="one of twelve columns"),
    pytest.param({"num_rows": 200, "num_columns": 4, "num_states": 6, "hidden": 1}, id="columns of six states"),
    pytest.param({"num_rows": 500, "num_columns": 30, "hidden": 2}, id="two of thirty columns"),
]


@pytest.mark.parametrize(
    "size",
    [
        *SIZES,
        pytest.param({"num_rows": 1000, "num_columns": 6, "hidden": 5}, id="five of six columns"),
    ],
)
def test_it_rejects_at_its_level_where_cells_are_missing_completely_at_random(size):
    """Of 16 p-values about one lies below 0.05, and they fill the interval from zero to one evenly."""
    found = np.array([ss.missing.mcar_test(completely_at_random(seed, **size)).p_value for seed in range(16)])
    assert (found < LEVEL).sum() <= binom.ppf(0.9999, 16, LEVEL)
    assert abs(found.mean() - 0.5) < 5 * np.sqrt(1 / 12 / 16)


@pytest.mark.parametrize("size", SIZES)
def test_it_finds_columns_that_are_hidden_by_another(size):
    """Zeros of the first column hide six times as many cells as its other states; some hundred rows leave no doubt."""
    assert ss.missing.mcar_test(by_the_first_column(0, **size)).p_value < 1e-4


def test_the_columns_of_alarm_can_be_tested():
    """Two columns are hidden by coins, or in the rows of low blood pressure, which are a third."""
    rows = ss.datasets.load("alarm").sample(2000, seed=0).to_frame("pandas").astype(object)
    low = rows["BP"].to_numpy() == "LOW"
    for often, is_found in ((np.full(len(rows), 0.2), False), (np.where(low, 0.5, 0.1), True)):
        hidden, rng = rows.copy(), np.random.default_rng(0)
        for name in ("CVP", "HISTORY"):
            hidden.loc[rng.random(len(rows)) < often, name] = None
        assert (ss.missing.mcar_test(hidden).p_value < 1e-4) == is_found
