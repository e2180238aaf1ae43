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


def test_clusters_of_states_and_numbers():
    """Two clusters in a column of states and two of numbers, and two columns that are about nothing.

    The score is that of the mixture, summed by hand from the parameters that were found.
    """
    rng, size = np.random.default_rng(2), 300
    cluster = rng.integers(0, 2, size)
    rows = {
        "state": np.where(rng.random(size) < 0.85, cluster, 1 - cluster).astype(str),
        "high": 3.0 * cluster + rng.normal(size=size),
        "wide": np.where(cluster, 4.0, 0.5) * rng.normal(size=size),
        "coin": rng.integers(0, 2, size).astype(str),
        "noise": rng.normal(size=size),
    }
    rows["high"][:20] = np.nan
    found = ss.learn_structure(rows, method=ss.structure.SelectiveClustering(2))
    assert sorted(found.dag.children("cluster")) == ["high", "state", "wide"]
    logs = np.log(found.model.cpd("cluster").values)[:, None] + np.zeros(size)
    for name in ("high", "wide"):
        cpd = found.model.cpd(name)
        for k in range(2):
            mean, variance = cpd.intercept[k].item(), cpd.covariance[k].item()
            density = -0.5 * (np.log(2 * np.pi * variance) + (rows[name] - mean) ** 2 / variance)
            logs[k] += np.nan_to_num(density, nan=0.0)
    logs += np.log(found.model.cpd("state").values)[:, (rows["state"] == "1").astype(int)]
    alone = np.log(found.model.cpd("coin").values)[(rows["coin"] == "1").astype(int)].sum()
    noise = rows["noise"]
    alone += -0.5 * size * (np.log(2 * np.pi * noise.var()) + 1)
    parameters = 1 + 2 + 4 + 4 + 1 + 2
    score = np.logaddexp(*logs).sum() + alone - parameters * np.log(size) / 2
    assert found.score == pytest.approx(score, rel=1e-6)


def test_who_else_takes_numbers_is_said() -> None:
    """The advice of methods that take states only works: a hidden variable explains numbers."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 200)
    rows = {"x": 5.0 * kind + rng.normal(size=200), "y": 5.0 * kind + rng.normal(size=200), "z": rng.normal(size=200)}
    for method in (ss.structure.MixtureOfNetworks(2), ss.structure.LatentTree(), ss.structure.FindHidden()):
        with pytest.raises(NotApplicable, match=r"StructuralEM\(\) with a hidden variable.*take numbers"):
            ss.learn_structure(rows, method=method)
    hidden = ss.Discrete("h", 2)
    found = ss.learn_structure(rows, method=ss.StructuralEM(), variables=[hidden])
    assert set(found.dag.children("h")) == {"x", "y"}
    assert set(ss.learn_structure(rows, method=ss.structure.SelectiveClustering(2)).dag.children("cluster")) == {
        "x",
        "y",
    }
