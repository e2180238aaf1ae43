"""Rows grouped in engines and files against the same rows in memory."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.groupedrows import grouped_rows

FRAME = ss.datasets.load("asia").sample(3_000, seed=5).to_frame("polars")


def sources(tmp_path, monkeypatch):
    monkeypatch.setattr("sepset.data.filecolumns.LARGEST", 100)
    FRAME.write_csv(tmp_path / "rows.csv")
    FRAME.write_parquet(tmp_path / "rows.parquet")
    relation = duckdb.connect().read_parquet(str(tmp_path / "rows.parquet"))
    return [FRAME.lazy(), relation, tmp_path / "rows.csv", str(tmp_path / "rows.parquet")]


def test_the_same_structure_and_parameters(tmp_path, monkeypatch):
    expected = ss.learn_structure(FRAME, method=ss.HillClimb())
    for data in sources(tmp_path, monkeypatch):
        found = ss.learn_structure(data, method=ss.HillClimb())
        assert found.columns.num_rows == FRAME.unique().height
        assert found.columns.total == 3_000
        assert found.graph == expected.graph
        assert found.score == pytest.approx(expected.score, rel=1e-12)
        assert found.fit().log_likelihood == pytest.approx(expected.fit().log_likelihood, rel=1e-12)
        tested = ss.learn_structure(data, method=ss.PC(level=0.01))
        assert tested.graph == ss.learn_structure(FRAME, method=ss.PC(level=0.01)).graph


def test_weights_missing_cells_and_given_states():
    rows = pl.DataFrame({"a": [0, 0, 1, None, 0], "b": ["x", "x", "y", "y", "x"], "w": [1.0, 2.0, 0.5, 3.0, 1.0]})
    b = ss.Discrete("b", ("z", "y", "x"))
    found = grouped_rows(rows.lazy(), {"b": b}, "w")
    assert found.variables["b"] == b
    assert [tuple(row) for row in found.matrix().tolist()] == [(-1, 1), (0, 2), (1, 1)]
    np.testing.assert_array_equal(found.weights, [3.0, 4.0, 0.5])
    columns = Columns.of(rows.lazy(), weights="w", missing="available")
    np.testing.assert_array_equal(columns.counts(1, (0,)), [[4.0, 0.0], [0.0, 0.5]])
    with pytest.raises(ss.errors.DataError, match="missing"):
        ss.learn_structure(rows.lazy(), weights="w")


def test_what_is_not_grouped():
    rows = pl.DataFrame({"a": [0, 1, 1], "x": [0.5, 1.25, 2.5]})
    assert grouped_rows(rows, {}) is None
    assert grouped_rows(rows.lazy(), {}) is None
    assert grouped_rows(rows.lazy().select("a"), {}, [1.0, 2.0, 1.0]) is None
    assert grouped_rows(rows.lazy(), {"x": ss.Real("x")}) is None
    assert grouped_rows(rows.lazy().select("a"), {"hidden": ss.Discrete("hidden", 2)}) is None
