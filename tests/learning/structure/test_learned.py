"""Learned structures: their parts, displays, parameters, and tasks that are refused."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask

mpl.use("Agg")


@pytest.fixture(scope="module")
def found() -> ss.structure.Learned[ss.DAG]:
    return ss.learn_structure(ss.datasets.load("sprinkler").sample(2_000, seed=1), method=ss.HillClimb())


def test_everything_is_shown(found: ss.structure.Learned[ss.DAG]) -> None:
    shown = str(found)
    for word in ("structure", "score", "families scored", "local optimum", "HillClimb"):
        assert word in shown
    assert f"{found.score:.7g}" in repr(found)
    assert "<table" in found._repr_html_()
    axes = found.plot()
    assert len(axes.lines) == 1
    plt.close(axes.figure)


def test_parameters_of_the_learned_structure(found: ss.structure.Learned[ss.DAG]) -> None:
    data = ss.datasets.load("sprinkler").sample(2_000, seed=1)
    one, other = found.fit().model, ss.fit(found.graph, data).model
    assert one.log_probability(dict(ss.Dataset(data).row(0))) == pytest.approx(
        other.log_probability(ss.Dataset(data).row(0))
    )
    assert found.fit(ss.Bayes(ss.BDeu(1.0))).posterior is not None


def test_no_bound_means_no_gap(found: ss.structure.Learned[ss.DAG]) -> None:
    assert found.bound == np.inf == found.gap


def test_a_start_must_fit() -> None:
    columns = Columns.of({"a": [0, 1], "b": [1, 0]})
    task = StructureTask(columns, ss.BIC(), start=ss.DAG.parse("a -> z"))
    with pytest.raises(ss.SepsetError, match="one node per column"):
        task.start_parents()
    forbidden = StructureTask(
        columns, ss.BIC(), constraints=ss.structure.Constraints(forbidden=["a -> b"]), start=ss.DAG.parse("a -> b")
    )
    with pytest.raises(ss.SepsetError, match="constraints"):
        forbidden.start_parents()
    with pytest.raises(ss.errors.NotApplicable, match="score="):
        StructureTask(columns).scorer


def test_classes_need_equivalent_scores() -> None:
    columns = Columns.of({"a": [0, 1], "b": [1, 0]})
    StructureTask(columns, ss.BIC()).require_equivalent("GES")
    with pytest.raises(ss.errors.NotApplicable, match=r"K2\(\) is not"):
        StructureTask(columns, ss.K2()).require_equivalent("GES")
