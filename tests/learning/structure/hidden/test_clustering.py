"""Selective clustering: the relevant columns of clusters that are known."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.errors import NotApplicable


def clustered() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 500)
    rows = {f"x{k}": np.where(rng.random(500) < 0.85, kind, rng.integers(0, 3, 500)) for k in range(4)}
    return rows | {f"noise{k}": rng.integers(0, 2, 500) for k in range(3)}


def test_relevant_columns_are_found() -> None:
    data = clustered()
    found = ss.learn_structure(data, method=ss.structure.SelectiveClustering(3))
    assert found.dag.children("cluster") == ("x0", "x1", "x2", "x3")
    assert found.info["relevant"] == "x0, x1, x2, x3"
    assert found.dag.edges == tuple(("cluster", f"x{k}") for k in range(4))
    assert np.diff(found.trace).min() >= -1e-7
    assert found.score > ss.structure.score(ss.DAG(list(data)), data).total
    assert set(found.fit().model.variables.names) == {*data, "cluster"}


def test_what_is_refused() -> None:
    rows = {"a": [0, 1, None], "b": [0, 1, 1]}
    method = ss.structure.SelectiveClustering(2)
    assert ss.learn_structure(rows, method=method).dag.nodes == ("a", "b", "cluster")
    with pytest.raises(NotApplicable, match="constraints"):
        ss.learn_structure(rows, method=method, constraints=ss.structure.Constraints(max_parents=1))
    with pytest.raises(NotApplicable, match="another name"):
        ss.learn_structure({"cluster": [0, 1]}, method=method)
