"""Learned structures: their parts, displays, parameters, and tasks that are refused."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureMethod, StructureTask

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
    axes = found.plot_trace()
    assert len(axes.lines) == 1
    plt.close(axes.figure)
    axes = found.plot()
    assert len(axes.patches) == found.graph.num_edges
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


METHODS = [ss.HillClimb(), ss.GES(), ss.structure.KES(), ss.structure.BOSS(), ss.structure.FirstAscent()]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_checkpoint_belongs_to_its_rows_and_settings(tmp_path: Path, method: StructureMethod[ss.DAG]) -> None:
    rng = np.random.default_rng(0)
    one, other = ({name: rng.integers(0, 2, 200) for name in "abc"} for _ in range(2))
    file = tmp_path / "search"
    first = ss.learn_structure(one, method=method, checkpoint=file)
    assert ss.learn_structure(one, method=method, checkpoint=file).graph == first.graph
    strict = ss.structure.Constraints(max_parents=1)
    for data, options in (
        (other, {}),
        (one, {"constraints": strict}),
        (one, {"score": ss.BDeu(3.0)}),
        (one, {"seed": 7}),
    ):
        with pytest.raises(ss.errors.DataError, match="belongs to"):
            ss.learn_structure(data, method=method, checkpoint=file, **options)  # type: ignore[call-overload]


def test_a_chain_belongs_to_its_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    one, other = ({name: rng.integers(0, 2, 50) for name in "abc"} for _ in range(2))
    chain, file = ss.OrderMCMC(num_samples=20), tmp_path / "chain"
    ss.structure_posterior(one, method=chain, checkpoint=file)
    with pytest.raises(ss.errors.DataError, match="belongs to"):
        ss.structure_posterior(other, method=chain, checkpoint=file)
