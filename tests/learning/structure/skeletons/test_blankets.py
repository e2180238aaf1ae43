"""Markov blankets from oracles, and classes from blankets."""

from __future__ import annotations

import pytest

from sepset.graphs.equivalence import cpdag
from sepset.graphs.separation import markov_blanket
from sepset.learning.structure.independence.boundtest import Names, Queries
from sepset.learning.structure.independence.oracles import DSeparation
from sepset.learning.structure.skeletons.blankets import (
    IAMB,
    FastIAMB,
    GrowShrink,
    InterIAMB,
    fast_iamb,
    grow_shrink,
    iamb,
    inter_iamb,
    shrunk,
)
from support.random_dags import random_dag


@pytest.mark.parametrize("learner", [grow_shrink, iamb, inter_iamb, fast_iamb])
def test_blankets_are_those_of_the_graph(learner):
    for seed in range(10):
        dag = random_dag(8, 0.3, seed)
        queries = Queries(DSeparation(dag).bind(Names(dag.nodes)), dag.nodes, 0.05)
        for x in range(8):
            found = learner(queries, x, [y for y in range(8) if y != x])
            assert sorted(dag.nodes[y] for y in found) == sorted(markov_blanket(dag, dag.nodes[x]))


@pytest.mark.parametrize("method", [GrowShrink, IAMB, FastIAMB, InterIAMB])
def test_an_oracle_gives_the_exact_class(method):
    for seed in range(8):
        dag = random_dag(8, 0.3, seed)
        found = method(test=DSeparation(dag)).ask(dag.nodes)
        assert found.graph == cpdag(dag)
        assert found.conflicts == ()


def test_shrinking_removes_what_is_not_needed():
    dag = random_dag(6, 0.4, 1)
    queries = Queries(DSeparation(dag).bind(Names(dag.nodes)), dag.nodes, 0.05)
    found = shrunk(queries, 0, {1, 2, 3, 4, 5})
    assert sorted(dag.nodes[y] for y in found) == sorted(markov_blanket(dag, dag.nodes[0]))
