"""Skeletons by sets among neighbors: oracles, bounds on questions, knowledge, corrections."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.graphs.graph import skeleton
from sepset.learning.structure.independence.boundtest import Names, Queries
from sepset.learning.structure.independence.corrections import Bonferroni
from sepset.learning.structure.independence.oracles import Asked, DSeparation
from sepset.learning.structure.skeletons.skeleton import (
    Knowledge,
    Skeleton,
    first_separator,
    remove_doubtful,
    separate_by_neighbors,
)
from support.random_dags import random_dag


def searched(dag, knowledge=None, **settings):
    queries = Queries(DSeparation(dag).bind(Names(dag.nodes)), dag.nodes, 0.05)
    knowledge = knowledge or Knowledge.none(len(dag))
    found = Skeleton.complete(knowledge)
    separate_by_neighbors(queries, found, knowledge, **settings)
    return found, queries


@pytest.mark.parametrize("stable", [True, False])
def test_an_oracle_gives_the_exact_skeleton(stable):
    for seed in range(15):
        dag = random_dag(8, 0.3, seed)
        found, _ = searched(dag, stable=stable)
        pairs = {frozenset((dag.nodes[x], dag.nodes[y])) for x, y in found.pairs()}
        assert pairs == {frozenset(edge) for edge in skeleton(dag).edges}


def test_the_number_of_questions_is_bounded():
    for seed in range(10):
        dag = random_dag(9, 0.4, seed, max_parents=2)
        found, queries = searched(dag)
        most = max(int(found.adjacent[x].sum()) for x in range(9))
        largest = max((len(given) for given in found.separating.values()), default=0)
        degree = max(most, largest)
        assert queries.num_tests <= math.comb(9, 2) * sum(2 * math.comb(7, k) for k in range(degree + 1))


def test_separating_sets_separate():
    dag = random_dag(8, 0.35, 1)
    found, queries = searched(dag)
    for (x, y), given in found.separating.items():
        if not found.adjacent[x, y]:
            assert queries.independent(x, y, given)


def test_sets_are_no_larger_than_allowed():
    dag = random_dag(8, 0.5, 3)
    found, _ = searched(dag, max_condition=1)
    assert max(map(len, found.separating.values())) <= 1


def test_known_edges_are_not_tested():
    dag = random_dag(6, 0.4, 2)
    required, forbidden = np.zeros((2, 6, 6), bool)
    x, y = map(dag.id, dag.edges[0])
    required[0, 5] = True
    forbidden[x, y] = forbidden[y, x] = True
    found, _ = searched(dag, Knowledge(required, forbidden))
    assert found.adjacent[0, 5]
    assert not found.adjacent[x, y]
    assert found.separator(x, y) is None


def test_doubtful_edges_are_removed():
    p = {("a", "b"): 0.001, ("a", "c"): 0.03, ("b", "c"): 0.5}
    names = ("a", "b", "c")
    queries = Queries(Asked(names, lambda xs, ys, given: p[tuple(sorted((xs[0], ys[0])))]), names, 0.05)
    knowledge = Knowledge.none(3)
    found = Skeleton.complete(knowledge)
    separate_by_neighbors(queries, found, knowledge)
    assert found.pairs() == [(0, 1), (0, 2)]
    remove_doubtful(found, knowledge, None, 0.05)
    assert found.pairs() == [(0, 1), (0, 2)]
    remove_doubtful(found, knowledge, Bonferroni(), 0.05)
    assert found.pairs() == [(0, 1)]


def test_unshielded_triples_and_first_sets():
    adjacent = np.zeros((4, 4), bool)
    for x, y in ((0, 1), (1, 2), (2, 3), (1, 3)):
        adjacent[x, y] = adjacent[y, x] = True
    assert Skeleton(adjacent).unshielded() == [(0, 1, 2), (0, 1, 3)]
    dag = random_dag(5, 1.0, 0)
    queries = Queries(DSeparation(dag).bind(Names(dag.nodes)), dag.nodes, 0.05)
    assert first_separator(queries, 0, 1, [2, 3, 4]) is None
    assert queries.num_tests == 8
    assert Knowledge.none(2).possible.tolist() == [[False, True], [True, False]]
