"""Contexts without weight, and rows that a filter left none of."""

from __future__ import annotations

import numpy as np
import polars as pl

from sepset.data.lazymoments import lazy_moments
from sepset.data.moments import Moments
from sepset.data.sources import rows_of
from sepset.variables.variable import Discrete, Real

X, K = Real("x"), Discrete("k", ("a", "b", "c"))
ROWS = pl.LazyFrame({"x": [1.0, 3.0, 7.0], "k": ["a", "a", "b"], "w": [1.0, 1.0, 0.0]})


def test_contexts_without_weight_have_no_moments():
    with rows_of(ROWS, [X, K], "w") as rows:
        count, mean, scatter, num_rows = lazy_moments(rows, [X], (K,))
    assert (count.tolist(), num_rows) == ([2, 0, 0], 3)
    assert (mean.ravel().tolist(), scatter.ravel().tolist()) == ([2, 0, 0], [2, 0, 0])


def test_no_rows():
    none = ROWS.filter(pl.col("x") > 10)
    assert Moments.of(none, [X], K).count.tolist() == [0, 0, 0]
    assert Moments.of(none, [X]).total == 0
    assert np.all(Moments.of(none, [X], weights="w").scatter == 0)
