"""Searches in rounds: local optima, constraints, resuming, bad settings, and starts of searches."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.familyscores import TOLERANCE
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.search.escapes import BasinFlooding, OptimalReinsertion, PlateauWalk, SparseCandidate
from sepset.learning.structure.search.hillclimb import HillClimb
from sepset.learning.structure.search.moves import Move, SearchedGraph
from sepset.learning.structure.search.rounds import SearchInRounds
from sepset.learning.structure.search.stochastic import Annealing, DataPerturbation, FirstAscent
from support.enumerated_classes import sampled

METHODS = [
    FirstAscent(2),
    Annealing(5.0, rounds=10, decay=0.7, moves=20),
    DataPerturbation(3),
    BasinFlooding(5),
    PlateauWalk(20),
    OptimalReinsertion(2),
    SparseCandidate(3),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_no_move_improves(method: SearchInRounds) -> None:
    data = sampled(1, 300)
    found = ss.learn_structure(data, method=method, score=ss.BDeu(5.0), seed=1)
    task = StructureTask(Columns.of(data), ss.BDeu(5.0), start=found.graph)
    graph = SearchedGraph(task.scorer, task.allowed, task.start_parents())
    best = graph.best()
    assert best is None or best.gain <= TOLERANCE
    assert found.score == pytest.approx(graph.score)
    assert found.guarantees["structure"] is ss.Guarantee.LOCAL_OPTIMUM
    again = ss.learn_structure(data, method=method, score=ss.BDeu(5.0), seed=1)
    assert again.graph == found.graph


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_constraints_hold(method: SearchInRounds) -> None:
    constraints = Constraints(
        required=["xray -> asia"], forbidden=["lung -> either"], tiers=[["xray"], ["asia", "smoke"]], max_parents=2
    )
    found = ss.learn_structure(sampled(2, 300), method=method, constraints=constraints, seed=3)
    place = {name: k for k, name in enumerate(found.columns.names)}
    parents = [[place[p] for p in found.graph.parents(name)] for name in found.columns.names]
    assert constraints.bind(found.columns.names).permits(parents)


@pytest.mark.parametrize("method", [DataPerturbation(4), BasinFlooding(10), PlateauWalk(), OptimalReinsertion()])
def test_climbs_are_never_lost(method: SearchInRounds) -> None:
    data = sampled(6, 500)
    assert ss.learn_structure(data, method=method).score >= ss.learn_structure(data, method=HillClimb()).score - 1e-9


@pytest.mark.parametrize("method", METHODS[:3], ids=repr)
def test_resuming_is_the_same_as_going_on(method: SearchInRounds, tmp_path: Path) -> None:
    data = sampled(4, 200)
    whole = ss.learn_structure(data, method=method, seed=5)
    for steps in (1, 2, 1_000):
        until = ss.Until(steps=steps, tolerance=None)
        part = ss.learn_structure(data, method=method, seed=5, until=until, checkpoint=tmp_path / "rounds")
    assert part.graph == whole.graph
    assert part.score == whole.score


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_single_column(method: SearchInRounds) -> None:
    assert ss.learn_structure({"a": [0, 1, 1]}, method=method).graph.num_edges == 0


@pytest.mark.parametrize("method", [*METHODS, ss.structure.BOSS(), ss.structure.GRaSP(), ss.structure.OBS(2)], ids=repr)
def test_an_interruption_amid_the_first_round_keeps_what_it_found(
    method: SearchInRounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C at the fourth move: its graph has three moves, and a run from the checkpoint ends as if never stopped."""
    data = sampled(4, 300)
    whole = ss.learn_structure(data, method=method, seed=5)
    original, count = SearchedGraph.make, 0

    def make(self: SearchedGraph, move: Move) -> None:
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        original(self, move)

    with monkeypatch.context() as patched:
        patched.setattr(SearchedGraph, "make", make)
        cut = ss.learn_structure(data, method=method, seed=5, checkpoint=tmp_path / "run")
    assert cut.status is ss.Status.INTERRUPTED
    assert cut.guarantees["structure"] is ss.Guarantee.HEURISTIC
    assert cut.graph.num_edges >= 2
    assert cut.score == pytest.approx(ss.structure.score(cut.graph, data).total)
    assert cut.score > ss.structure.score(ss.DAG(cut.graph.nodes), data).total + 1
    again = ss.learn_structure(data, method=method, seed=5, checkpoint=tmp_path / "run")
    assert (again.graph, again.score) == (whole.graph, whole.score)


@pytest.mark.parametrize("method", [BasinFlooding(5), PlateauWalk(20), OptimalReinsertion(2), Annealing(rounds=3)])
def test_an_interruption_after_a_climb_keeps_it(method: SearchInRounds, monkeypatch: pytest.MonkeyPatch) -> None:
    data = sampled(4, 300)
    climb = ss.learn_structure(data, method=HillClimb()).score

    def interrupted(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sepset.learning.structure.search.escapes._after", interrupted)
    monkeypatch.setattr("sepset.learning.structure.search.escapes.moves", interrupted)
    monkeypatch.setattr("sepset.learning.structure.search.stochastic.random_move", interrupted)
    monkeypatch.setattr(OptimalReinsertion, "_reinserted", interrupted)
    cut = ss.learn_structure(data, method=method)
    assert cut.status is ss.Status.INTERRUPTED
    assert cut.score == pytest.approx(climb)


@pytest.mark.parametrize(
    "method", [FirstAscent(1), DataPerturbation(2), SparseCandidate(3), ss.structure.BOSS()], ids=repr
)
def test_the_end_of_the_time_amid_the_first_round_keeps_what_it_found(
    method: SearchInRounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third move takes longer than the time: it is the last; a run without a limit goes on from the checkpoint."""
    data = sampled(4, 300)
    whole = ss.learn_structure(data, method=method, seed=5)
    original, count, clock = SearchedGraph.make, 0, [0.0]

    def make(self: SearchedGraph, move: Move) -> None:
        nonlocal count
        count += 1
        original(self, move)
        if count == 3:
            clock[0] = 100.0

    with monkeypatch.context() as patched:
        patched.setattr(SearchedGraph, "make", make)
        patched.setattr(time, "monotonic", lambda: clock[0])
        limit = ss.Until(None, None, seconds=50.0)
        cut = ss.learn_structure(data, method=method, seed=5, until=limit, checkpoint=tmp_path / "run")
    assert (cut.status, count) == (ss.Status.TIME_LIMIT, 3)
    assert 1 <= cut.graph.num_edges <= 3
    assert cut.score == pytest.approx(ss.structure.score(cut.graph, data).total)
    again = ss.learn_structure(data, method=method, seed=5, checkpoint=tmp_path / "run")
    assert (again.graph, again.score) == (whole.graph, whole.score)
