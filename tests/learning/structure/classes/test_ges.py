"""Greedy equivalence search: classes from expected counts, local optima, constraints, resuming, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.classes.ges import GES
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.learned import StructureTask
from support.blocks import in_blocks
from support.enumerated_classes import classes, expected_counts, key_of, parents_of, sampled


@pytest.mark.parametrize("n", [4, 5, 6])
@in_blocks("seed", range(8))
def test_expected_counts_give_the_class_back(seed: int, n: int) -> None:
    dag, cells, mass = expected_counts(seed, n)
    for score in (ss.BIC(), ss.BDeu(1.0)):
        found = ss.learn_structure(cells, weights=1e9 * mass, method=GES(), score=score)
        assert found.graph == ss.graphs.cpdag(dag)
        assert found.score == pytest.approx(ss.structure.score(dag, cells, weights=1e9 * mass, score=score).total)


@pytest.mark.parametrize("seed", range(4))
def test_no_class_one_edge_away_is_better(seed: int) -> None:
    data = sampled(seed, 150)[["asia", "tub", "either", "xray"]]
    found = ss.learn_structure(ss.Dataset(data), method=GES(), score=ss.BDeu(2.0))
    task = StructureTask(Columns.of(data), ss.BDeu(2.0))
    names = task.columns.names
    place = {name: k for k, name in enumerate(names)}
    edges = frozenset((place[a], place[b]) for a, b in found.dag.edges)
    members = classes(4)[key_of(edges)]
    near = [
        other
        for mine in members
        for group in classes(4).values()
        for other in group
        if len({frozenset(e) for e in mine ^ other}) <= 1
    ]
    best = max(task.scorer.total(parents_of(other, 4)) for other in near)
    assert found.score >= best - 1e-8
    assert found.guarantees["structure"] is ss.Guarantee.LOCAL_OPTIMUM
    assert found.graph == found.cpdag


def test_constraints_hold_in_a_member() -> None:
    data = sampled(2, 1_000)
    free = ss.learn_structure(data, method=GES())
    constraints = Constraints(
        required=["asia -> xray"],
        forbidden=["lung -> smoke", "either -> xray"],
        tiers=[["asia", "smoke"]],
        max_parents=2,
    )
    found = ss.learn_structure(data, method=GES(), constraints=constraints)
    allowed = constraints.bind(found.columns.names)
    place = {name: k for k, name in enumerate(found.columns.names)}
    assert allowed.permits([[place[p] for p in found.dag.parents(name)] for name in found.columns.names])
    assert found.graph.has_edge("asia", "xray")
    assert found.score == pytest.approx(ss.structure.score(found.dag, data).total)
    assert found.score <= free.score
    one = ss.learn_structure(data, method=GES(), constraints=Constraints(max_parents=1))
    assert max(len(one.dag.parents(name)) for name in one.dag.nodes) <= 1


@in_blocks("seed", range(6))
def test_constraints_against_enumeration(seed: int) -> None:
    """With expected counts, constraints that the truth respects do not change the class."""
    dag, cells, mass = expected_counts(seed, 5, 0.6)
    forbidden = [(b, a) for a, b in dag.edges][:3]
    found = ss.learn_structure(
        cells, weights=1e9 * mass, method=GES(), constraints=Constraints(required=dag.edges[:1], forbidden=forbidden)
    )
    assert found.cpdag == ss.graphs.cpdag(dag)
    assert not set(forbidden) & set(found.dag.edges)
    assert dag.edges[0] in found.dag.edges
    assert all(edge in found.graph.edges for edge in dag.edges[:3])


def test_resuming_is_the_same_as_going_on(tmp_path: Path) -> None:
    data = sampled(4, 800)
    whole = ss.learn_structure(data, method=GES(), score=ss.BDeu(5.0))
    file = tmp_path / "classes"
    for steps in (2, 5, 1_000):
        until = ss.Until(steps=steps, tolerance=None)
        part = ss.learn_structure(data, method=GES(), score=ss.BDeu(5.0), until=until, checkpoint=file)
    assert part.graph == whole.graph
    assert part.score == whole.score


def test_starts_and_limits() -> None:
    data = sampled(1, 2_000)
    truth = ss.datasets.load("asia").dag
    whole = ss.learn_structure(data, method=GES())
    for start in (truth, ss.graphs.cpdag(truth), whole.graph):
        assert ss.learn_structure(data, method=GES(), start=start).score >= ss.structure.score(truth, data).total
    short = ss.learn_structure(data, method=GES(), until=2)
    assert short.status is ss.Status.STEP_LIMIT
    assert short.dag.num_edges == 2
    assert short.guarantees["structure"] is ss.Guarantee.HEURISTIC
    assert ss.learn_structure(data, method=GES("forward")).score <= whole.score


def test_columns_and_states_in_another_order() -> None:
    dag, cells, mass = expected_counts(11, 6)
    names = np.random.default_rng(0).permutation(list(cells))
    shuffled = {name: 1 - cells[name] for name in names}
    found = ss.learn_structure(shuffled, weights=1e9 * mass, method=GES())
    assert found.graph == ss.graphs.cpdag(dag)


def test_refusals() -> None:
    rows = {"a": [0, 1, 1, 0], "b": [1, 0, 1, 0]}
    with pytest.raises(ss.errors.NotApplicable, match="K2"):
        ss.learn_structure(rows, method=GES(), score=ss.K2())
    with pytest.raises(ss.errors.NotApplicable, match="GIES"):
        ss.learn_structure(rows, method=GES(), interventions=[["a"], [], [], []])
    with pytest.raises(ss.SepsetError, match="upward"):
        GES(("upward",))
    with pytest.raises(ss.SepsetError, match="phases"):
        GES(())


def test_degenerate_columns() -> None:
    assert ss.learn_structure({"a": [0, 1, 1]}, method=GES()).graph.num_edges == 0
    one_state = [ss.Discrete("a", ("x",))]
    constant = ss.learn_structure({"a": ["x"] * 5, "b": [0, 1, 0, 1, 1]}, method=GES(), variables=one_state)
    assert constant.graph.num_edges == 0
    twins = ss.learn_structure(ss.Dataset({name: [0, 1] * 10 for name in "abc"}), method=GES())
    assert len(twins.graph.undirected) == 2
