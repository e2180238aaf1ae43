"""MMPC, HPC and the search among their edges."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.graphs.graph import skeleton
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
