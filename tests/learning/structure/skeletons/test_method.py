"""What all methods by tests share: budgets, names, refusals, and the order of columns."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.errors import ArgumentError, NotApplicable
from sepset.graphs.graph import DAG, skeleton
from sepset.graphs.separation import d_separated
from sepset.inference.result import Status
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.independence.boundtest import BoundTest
from sepset.learning.structure.independence.discrete import G
from sepset.learning.structure.independence.gaussian import FisherZ
from sepset.learning.structure.independence.oracles import Callback, DSeparation
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.skeletons import method as skeletons
from sepset.learning.structure.skeletons.blankets import IAMB, FastIAMB, GrowShrink, InterIAMB
from sepset.learning.structure.skeletons.candidates import HPC, MMPC
from sepset.learning.structure.skeletons.latent import FCI, RFCI
from sepset.learning.structure.skeletons.method import ConstraintMethod, named_sets
from sepset.learning.structure.skeletons.pc import PC
from sepset.learning.structure.skeletons.phases import IC, SGS, Cheng
from sepset.learning.structure.skeletons.skeleton import Skeleton
from support.random_dags import random_dag

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
    paths = 6 * math.comb(7, 2) + 2 * math.comb(6, 2)  # of eight variables, all joined but for one pair
    monkeypatch.setattr(skeletons, "MOST_PATHS", paths)
    assert ss.learn_structure(ASIA, method=PC()).status is Status.INTERRUPTED
    monkeypatch.setattr(skeletons, "MOST_PATHS", paths - 1)  # more take long to direct
    with pytest.raises(KeyboardInterrupt):
        ss.learn_structure(ASIA, method=PC())


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
    with pytest.raises(NotApplicable, match="interventions"):
        ss.learn_structure({"a": [0, 1], "b": [1, 0]}, method=PC(), interventions=[["a"], []])
    with pytest.raises(NotApplicable, match="test of rows"):
        PC().ask("AB")
    with pytest.raises(NotImplementedError):
        ConstraintMethod(test=DSeparation(DAG("AB"))).ask("AB")
    assert named_sets(Skeleton(np.zeros((2, 2), bool), {(0, 1): ()}), "ab") == {("a", "b"): ()}


@pytest.mark.parametrize("has_free", [False, True], ids=["all in tiers", "some in none"])
@pytest.mark.parametrize("method", METHODS)
def test_no_test_is_given_a_variable_of_a_later_tier(method, has_free):
    for seed in range(8):
        dag = random_dag(7, 0.45, seed)
        order = list(dag.topological_order)
        tiers = [order[:2], order[2:4], order[4:6] if has_free else order[4:]]
        tier = {name: k for k, group in enumerate(tiers) for name in group}
        asked = []

        def separated(xs, ys, given, dag=dag, asked=asked):
            asked.append((xs[0], ys[0], given))
            return d_separated(dag, xs, ys, given=given)

        found = ss.learn_structure(
            {name: [0, 1] for name in dag.nodes},
            method=method(test=Callback(separated)),
            constraints=Constraints(tiers=tiers),
        )
        assert edges_of(found.graph) == edges_of(dag)
        for x, y, given in [*asked, *((*pair, given) for pair, given in found.separating_sets.items())]:
            if x in tier and y in tier:
                assert all(tier.get(z, -1) <= max(tier[x], tier[y]) for z in given)


def test_tiers_in_compiled_tests_of_rows():
    frame = ss.datasets.load("asia").sample(20_000, seed=3).to_frame("pandas")
    tiers = [["asia", "smoke"], ["tub", "lung", "bronc"], ["either"], ["xray", "dysp"]]
    number = {name: k for k, tier in enumerate(tiers) for name in tier}
    found = ss.learn_structure(frame, method=PC(level=0.01), constraints=Constraints(tiers=tiers))
    slow = ss.learn_structure(frame, method=PC(test=Slow(), level=0.01), constraints=Constraints(tiers=tiers))
    assert found.graph == slow.graph
    assert found.separating_sets == slow.separating_sets
    assert found.num_tests == slow.num_tests
    for (x, y), given in found.separating_sets.items():
        assert all(number[z] <= max(number[x], number[y]) for z in given)


class Slow:
    """The G test, whose sets are enumerated in Python."""

    needs_rows = True

    def bind(self, columns):
        bound = G().bind(columns)
        bound.separate = lambda *args: BoundTest.separate(bound, *args)
        return bound
