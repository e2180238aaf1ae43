"""Search over orders by moving columns to their best places."""

from __future__ import annotations

from pathlib import Path

import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.familyscores import TOLERANCE
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.search.boss import BOSS
from sepset.learning.structure.search.growshrink import GrowShrink
from sepset.learning.structure.search.hillclimb import HillClimb
from sepset.learning.structure.search.moves import SearchedGraph
from sepset.learning.structure.search.ordersearch import order_of, positions
from support.blocks import in_blocks
from support.enumerated_classes import expected_counts, sampled


@pytest.mark.parametrize("score", [ss.BIC(), ss.K2()], ids=repr)
@pytest.mark.parametrize("seed", range(2))
def test_no_place_and_no_move_improves(seed: int, score: object) -> None:
    data = sampled(seed, 400)
    found = ss.learn_structure(data, method=BOSS(2), score=score, seed=seed)
    task = StructureTask(Columns.of(data), score, start=found.graph)
    graph = SearchedGraph(task.scorer, task.allowed, task.start_parents())
    best = graph.best()
    assert best is None or best.gain <= TOLERANCE
    families, order = GrowShrink(task.scorer, task.allowed), order_of(task.start_parents())
    assert all(positions(families, order, x)[1].max() <= found.score + TOLERANCE for x in order)
    assert found.score == pytest.approx(graph.score)
    assert found.guarantees["structure"] is ss.Guarantee.LOCAL_OPTIMUM
    assert found.score >= ss.learn_structure(data, method=HillClimb(), score=score).score - 1e-9


@in_blocks("seed", range(6))
def test_expected_counts_give_the_class_back(seed: int) -> None:
    dag, cells, mass = expected_counts(seed, 5)
    found = ss.learn_structure(cells, weights=1e9 * mass, method=BOSS())
    assert found.cpdag == ss.graphs.cpdag(dag)


def test_constraints_hold() -> None:
    data = sampled(2, 1_000)
    constraints = Constraints(
        required=["xray -> asia"], forbidden=["lung -> smoke"], tiers=[["xray"], ["asia", "smoke"]], max_parents=2
    )
    found = ss.learn_structure(data, method=BOSS(3), constraints=constraints, seed=3)
    place = {name: k for k, name in enumerate(found.columns.names)}
    parents = [[place[p] for p in found.graph.parents(name)] for name in found.columns.names]
    assert constraints.bind(found.columns.names).permits(parents)


def test_resuming_is_the_same_as_going_on(tmp_path: Path) -> None:
    data, method = sampled(4, 300), BOSS(3)
    whole = ss.learn_structure(data, method=method, seed=5)
    for steps in (3, 12, 1_000):
        until = ss.Until(steps=steps, tolerance=None)
        part = ss.learn_structure(data, method=method, seed=5, until=until, checkpoint=tmp_path / "orders")
    assert part.graph == whole.graph
    assert part.score == whole.score


def test_greedy_searches_alone() -> None:
    data = sampled(1, 500)
    greedy = ss.learn_structure(data, method=BOSS(0))
    assert greedy.score >= max(ss.learn_structure(data, method=m).score for m in (HillClimb(), ss.GES())) - 1e-9
    assert greedy.score <= ss.learn_structure(data, method=BOSS(2)).score + 1e-9
    first = ss.learn_structure(data, method=BOSS(), until=1)
    assert first.score == pytest.approx(ss.learn_structure(data, method=HillClimb()).score)
    assert first.status is ss.Status.STEP_LIMIT


def test_degenerate_columns() -> None:
    assert ss.learn_structure({"a": [0, 1, 1]}, method=BOSS()).graph.num_edges == 0
    with pytest.raises(ss.SepsetError, match="starts"):
        BOSS(-1)
