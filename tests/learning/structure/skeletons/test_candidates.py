"""MMPC, HPC and the search among their edges."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.errors import ArgumentError
from sepset.graphs.graph import skeleton
from sepset.inference.result import Status
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.independence.oracles import DSeparation
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.scores.likelihood import BIC
from sepset.learning.structure.skeletons.candidates import HPC, MMHC, MMPC
from support.random_dags import random_dag

ASIA = ss.datasets.load("asia").sample(1000, seed=2)


@pytest.mark.parametrize("method", [MMPC, HPC])
def test_an_oracle_gives_the_exact_skeleton(method):
    for seed in range(12):
        dag = random_dag(8, 0.3, seed)
        assert method(test=DSeparation(dag)).ask(dag.nodes).graph == skeleton(dag)


def test_separating_sets_of_max_min():
    dag = random_dag(7, 0.35, 4)
    found = MMPC(test=DSeparation(dag)).ask(dag.nodes)
    for (x, y), given in found.separating_sets.items():
        assert ss.d_separated(dag, x, y, given=given)


@pytest.mark.parametrize("candidates", [MMPC(), HPC()])
def test_the_search_stays_within_the_skeleton(candidates):
    columns = Columns.of(ASIA)
    near = candidates.learn(StructureTask(columns)).graph
    limits = Constraints(required=[near.edges[0]], candidates={"dysp": ["bronc"]})
    for constraints in (Constraints(), limits):
        found = MMHC(candidates=candidates).learn(StructureTask(columns, BIC(), constraints=constraints))
        assert {frozenset(edge) for edge in found.graph.edges} <= {frozenset(edge) for edge in near.edges}
        assert found.num_tests > 0
        assert found.num_scores > 0
        assert task_allows(columns, constraints, found.graph)


def task_allows(columns, constraints, graph):
    place = {name: k for k, name in enumerate(columns.names)}
    return constraints.bind(columns.names).permits([[place[p] for p in graph.parents(n)] for n in columns.names])


def test_steps_are_those_of_the_search():
    """One step is one move of the search; the tests before it are all made."""
    whole = ss.learn_structure(ASIA, method=MMHC())
    near = ss.learn_structure(ASIA, method=MMPC())
    for steps in (1, 2):
        found = ss.learn_structure(ASIA, method=MMHC(), until=steps)
        assert found.graph.num_edges == steps
        assert found.num_tests == whole.num_tests == near.num_tests
        assert found.status is Status.STEP_LIMIT
    assert {frozenset(edge) for edge in whole.graph.edges} <= {frozenset(edge) for edge in near.graph.edges}


def test_seconds_are_of_tests_and_search():
    start = ss.DAG(ASIA.variables.names)
    found = ss.learn_structure(ASIA, method=MMHC(), until=ss.Until(None, None, seconds=0.0))
    assert (found.graph, found.status) == (start, Status.TIME_LIMIT)
    by_order = ss.structure.KnownOrder(ASIA.variables.names)
    cut = ss.learn_structure(ASIA, method=MMHC(search=by_order), until=ss.Until(None, None, seconds=0.0))
    assert cut.status is Status.TIME_LIMIT
    long = ss.learn_structure(ASIA, method=MMHC(), until=ss.Until(None, None, seconds=600.0))
    assert (long.graph, long.status) == (ss.learn_structure(ASIA, method=MMHC()).graph, Status.CONVERGED)


def test_an_interruption_of_the_tests(monkeypatch, tmp_path):
    def interrupted(*_args):
        raise KeyboardInterrupt

    whole = ss.learn_structure(ASIA, method=MMHC())
    with monkeypatch.context() as patched:
        patched.setattr("sepset.learning.structure.skeletons.candidates.max_min_candidates", interrupted)
        found = ss.learn_structure(ASIA, method=MMHC(), checkpoint=tmp_path / "run")
    assert found.status is Status.INTERRUPTED
    assert ss.learn_structure(ASIA, method=MMHC(), checkpoint=tmp_path / "run").graph == whole.graph


def test_parts_that_do_not_fit():
    for wrong in ({"candidates": ss.PC()}, {"candidates": HPC}, {"search": ss.PC()}, {"search": ss.HillClimb}):
        with pytest.raises(ArgumentError, match=r"MMHC\("):
            MMHC(**wrong)
