"""Randomized search over classes."""

from __future__ import annotations

from pathlib import Path

import pytest

import sepset as ss
from sepset.learning.structure.classes.ges import GES, ClassSearch
from sepset.learning.structure.classes.kes import KES
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask
from support.enumerated_classes import expected_counts, sampled


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_runs_end_at_local_optima(share: float) -> None:
    data = sampled(3, 400)
    found = ss.learn_structure(data, method=KES(share, 3), score=ss.BDeu(5.0), seed=1)
    task = StructureTask(Columns.of(data), ss.BDeu(5.0), start=found.graph)
    search = ClassSearch(task, task.start_parents(), None)
    assert search.best("forward") is None
    assert search.best("backward") is None
    assert found.score == pytest.approx(ss.structure.score(found.dag, data, score=ss.BDeu(5.0)).total)
    assert found.info["runs"] == 3


@pytest.mark.parametrize("seed", range(4))
def test_expected_counts_give_the_class_back(seed: int) -> None:
    dag, cells, mass = expected_counts(seed, 5)
    found = ss.learn_structure(cells, weights=1e9 * mass, method=KES(0.3, 2), seed=seed)
    assert found.graph == ss.graphs.cpdag(dag)


def test_all_operators_competing_is_one_greedy_run() -> None:
    data = sampled(6, 600)
    one, more = (ss.learn_structure(data, method=KES(1.0, runs), seed=runs) for runs in (1, 2))
    assert one.graph == more.graph
    assert one.score <= ss.learn_structure(data, method=GES(), start=one.graph).score + 1e-9


def test_resuming_is_the_same_as_going_on(tmp_path: Path) -> None:
    data, method = sampled(4, 300), KES(0.2, 3)
    whole = ss.learn_structure(data, method=method, seed=5)
    for steps in (3, 9, 1_000):
        until = ss.Until(steps=steps, tolerance=None)
        part = ss.learn_structure(data, method=method, seed=5, until=until, checkpoint=tmp_path / "runs")
    assert part.graph == whole.graph
    assert part.score == whole.score


def test_bad_settings() -> None:
    with pytest.raises(ss.SepsetError, match="share"):
        KES(1.5)
    with pytest.raises(ss.SepsetError, match="runs"):
        KES(runs=0)
    with pytest.raises(ss.errors.NotApplicable, match="KES"):
        ss.learn_structure({"a": [0, 1], "b": [0, 1]}, method=KES(), score=ss.K2())
