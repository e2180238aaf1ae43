"""What all methods by tests share: budgets, names, refusals, and the order of columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.errors import ArgumentError, NotApplicable
from sepset.graphs.graph import DAG, skeleton
from sepset.inference.result import Status
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.independence.gaussian import FisherZ
from sepset.learning.structure.independence.oracles import DSeparation
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.skeletons.blankets import IAMB, FastIAMB, GrowShrink, InterIAMB
from sepset.learning.structure.skeletons.candidates import HPC, MMPC
from sepset.learning.structure.skeletons.latent import FCI, RFCI
from sepset.learning.structure.skeletons.method import ConstraintMethod, named_sets
from sepset.learning.structure.skeletons.pc import PC
from sepset.learning.structure.skeletons.phases import IC, SGS, Cheng
from sepset.learning.structure.skeletons.skeleton import Skeleton

METHODS = (PC, SGS, IC, Cheng, GrowShrink, IAMB, FastIAMB, InterIAMB, HPC, MMPC, FCI, RFCI)
ASIA = ss.datasets.load("asia").sample(1500, seed=1).to_frame("pandas")


def edges_of(graph):
    found = graph.skeleton if hasattr(graph, "skeleton") else skeleton(graph)
    return {frozenset(edge) for edge in found.edges}


@pytest.mark.parametrize("method", METHODS)
def test_rows_are_learned_from_in_any_order_of_columns(method):
    frame = ASIA[["smoke", "lung", "bronc", "either", "dysp", "xray"]]
    found = ss.learn_structure(frame, method=method(level=0.01))
    turned = ss.learn_structure(frame[frame.columns[::-1]].iloc[::-1], method=method(level=0.01))
    assert found.num_tests > 0
    assert found.status is Status.COMPLETED
    if method in (PC, SGS, FCI, RFCI):
        assert edges_of(found.graph) == edges_of(turned.graph)
    assert frozenset(("smoke", "bronc")) in edges_of(found.graph)


@pytest.mark.parametrize("method", METHODS)
def test_constraints_are_respected(method):
    rows = Columns.of(ASIA[["smoke", "lung", "bronc", "dysp"]])
    limits = Constraints(required=[("lung", "dysp")], forbidden=[("smoke", "bronc"), ("bronc", "smoke")])
    found = method().learn(StructureTask(rows, constraints=limits))
    edges = edges_of(found.graph)
    assert frozenset(("lung", "dysp")) in edges
    assert frozenset(("smoke", "bronc")) not in edges


def test_tiers_direct_edges():
    tiers = Constraints(tiers=[["smoke"], ["lung", "bronc"], ["dysp"]])
    found = PC().learn(StructureTask(Columns.of(ASIA[["dysp", "bronc", "lung", "smoke"]]), constraints=tiers))
    assert ("smoke", "bronc") in found.graph.directed
    assert ("bronc", "dysp") in found.graph.directed
    pag = FCI().learn(StructureTask(Columns.of(ASIA[["dysp", "bronc", "lung", "smoke"]]), constraints=tiers)).graph
    assert pag.mark("smoke", "bronc") == "arrow"


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_of_tests_ends_the_search(method):
    found = ss.learn_structure(ASIA, method=method(), until=5)
    assert found.status is Status.STEP_LIMIT
    whole = ss.learn_structure(ASIA, method=method())
    assert found.num_tests < whole.num_tests
    assert len(edges_of(found.graph)) >= len(edges_of(whole.graph))


def test_interrupts_end_with_what_is_known(monkeypatch):
    def interrupted(self, queries, found, knowledge):
        found.remove(0, 1, ())
        raise KeyboardInterrupt

    monkeypatch.setattr(PC, "_search", interrupted)
    found = ss.learn_structure(ASIA, method=PC())
    assert found.status is Status.INTERRUPTED
    assert found.separating_sets == {(ASIA.columns[0], ASIA.columns[1]): ()}


def test_results_can_be_fitted_and_shown():
    found = ss.learn_structure(ASIA[["smoke", "lung", "bronc", "dysp"]], method=PC(level=0.01))
    assert "independence tests" in str(found)
    assert found.dag.num_edges == found.graph.num_edges
    assert set(found.fit().model.variables.names) == {"smoke", "lung", "bronc", "dysp"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_columns(method, n):
    dag = DAG("AB", [("A", "B")]) if n == 2 else DAG("A")
    found = method(test=DSeparation(dag)).ask(dag.nodes)
    assert found.graph.num_edges == n - 1


def test_results_of_oracles_are_shown_and_not_fitted():
    found = PC(test=DSeparation(DAG.parse("A -> B"))).ask("AB")
    assert "independence tests" in str(found)
    with pytest.raises(NotApplicable, match="no rows"):
        found.fit()
    assert PC(test=DSeparation(DAG.parse("A -> B"))).ask("AB").dag.num_edges == 1
    with pytest.raises(NotApplicable, match="PAG"):
        FCI(test=DSeparation(DAG.parse("A -> B"))).ask("AB").dag


def test_numbers():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 800))
    c = a + b + 0.5 * rng.normal(size=800)
    d = c + rng.normal(size=800)
    rows = pd.DataFrame({"d": d, "c": c, "b": b, "a": a})
    found = ss.learn_structure(rows, method=PC(test=FisherZ(), level=0.01))
    assert found.graph == ss.MixedGraph.parse("d; c; b; a; a -> c; b -> c; c -> d")


def test_refusals(tmp_path):
    with pytest.raises(ArgumentError, match="level"):
        PC(level=1.5)
    with pytest.raises(ArgumentError, match="conflicts"):
        PC(conflicts="none")
    with pytest.raises(ArgumentError, match="max_condition"):
        PC(max_condition=-1)
    with pytest.raises(NotApplicable, match="checkpoint"):
        ss.learn_structure(ASIA, method=PC(), checkpoint=tmp_path / "file")
    with pytest.raises(NotApplicable, match="test of rows"):
        PC().ask("AB")
    with pytest.raises(NotImplementedError):
        ConstraintMethod(test=DSeparation(DAG("AB"))).ask("AB")
    assert named_sets(Skeleton(np.zeros((2, 2), bool), {(0, 1): ()}), "ab") == {("a", "b"): ()}
