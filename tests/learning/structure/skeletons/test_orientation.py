"""Directions from separating sets: oracles, policies for conflicts, and background knowledge against enumeration."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest

from sepset.graphs.equivalence import cpdag
from sepset.graphs.graph import DAG
from sepset.learning.structure.independence.boundtest import Names, Queries
from sepset.learning.structure.independence.oracles import DSeparation
from sepset.learning.structure.skeletons.orientation import CONFLICTS, Directions, apply_rules, directed
from sepset.learning.structure.skeletons.skeleton import Knowledge, Skeleton, separate_by_neighbors
from support.random_dags import random_dag


def searched(dag, knowledge):
    queries = Queries(DSeparation(dag).bind(Names(dag.nodes)), dag.nodes, 0.05)
    found = Skeleton.complete(knowledge)
    separate_by_neighbors(queries, found, knowledge)
    return found, queries


@pytest.mark.parametrize("conflicts", CONFLICTS)
def test_an_oracle_gives_the_class_without_conflicts(conflicts):
    for seed in range(10):
        dag = random_dag(7, 0.35, seed)
        knowledge = Knowledge.none(7)
        found, queries = searched(dag, knowledge)
        made = directed(found, knowledge, conflicts=conflicts, queries=queries)
        assert made.graph(dag.nodes) == cpdag(dag)
        assert not made.conflicts


def test_knowledge_directs_all_that_it_implies():
    """An edge is directed exactly if all members of the class that respect what is known agree about it."""
    names = ("v0", "v1", "v2", "v3")
    pairs = list(itertools.combinations(names, 2))
    dags = []
    for kinds in itertools.product((0, 1, 2), repeat=6):
        edges = [pair if kind == 1 else pair[::-1] for pair, kind in zip(pairs, kinds, strict=True) if kind]
        try:
            dags.append(DAG(names, edges))
        except Exception:
            continue
    assert len(dags) == 543
    rng = np.random.default_rng(0)
    by_class = defaultdict(list)
    for dag in dags:
        by_class[cpdag(dag)].append(dag)
    for truth in [dags[i] for i in rng.choice(543, 25, replace=False)]:
        x, y = (truth.edges or [("v0", "v1")])[int(rng.integers(max(truth.num_edges, 1)))]
        required = np.zeros((4, 4), bool)
        required[truth.id(x), truth.id(y)] = truth.num_edges > 0
        knowledge = Knowledge(required, np.zeros((4, 4), bool))
        found, _ = searched(truth, knowledge)
        made = directed(found, knowledge).graph(names)
        members = [d for d in by_class[cpdag(truth)] if not truth.num_edges or (x, y) in d.edges]
        for a, b in itertools.permutations(names, 2):
            assert ((a, b) in made.directed) == all((a, b) in d.edges for d in members)


def conflicting():
    """The skeleton a - b - c - d whose empty separating sets make both a -> b <- c and b -> c <- d."""
    adjacent = np.zeros((4, 4), bool)
    for x, y in ((0, 1), (1, 2), (2, 3)):
        adjacent[x, y] = adjacent[y, x] = True
    return Skeleton(adjacent, {(0, 2): (), (1, 3): (), (0, 3): ()})


def test_edges_directed_both_ways():
    made = directed(conflicting(), Knowledge.none(4), conflicts="bidirected")
    assert str(made.graph("abcd")) == "a -> b; d -> c; b - c"
    assert [conflict.edge for conflict in made.named_conflicts("abcd")] == [("b", "c")]
    first = directed(conflicting(), Knowledge.none(4), conflicts="first")
    assert str(first.graph("abcd")) == "a -> b; c -> b; c - d"
    assert first.named_conflicts("abcd")[0].edge == ("b", "c", "d")


def test_knowledge_wins_against_tests():
    required = np.zeros((4, 4), bool)
    required[1, 0] = True
    made = directed(conflicting(), Knowledge(required, np.zeros((4, 4), bool)))
    assert ("b", "a") in made.graph("abcd").directed
    assert "knowledge" in made.named_conflicts("abcd")[0].reason


def test_disagreeing_sets_leave_a_triple_open():
    adjacent = np.zeros((3, 3), bool)
    adjacent[0, 1] = adjacent[1, 0] = adjacent[1, 2] = adjacent[2, 1] = True
    found = Skeleton(adjacent, {(0, 2): ()}, every={(0, 2): [(), (1,)]})
    for conflicts, wanted in (("majority", "a - b; b - c"), ("conservative", "a - b; b - c")):
        made = directed(found, Knowledge.none(3), conflicts=conflicts)
        assert str(made.graph("abc")) == wanted
        assert made.conflicts
    found.every[0, 2] = [(), (), (1,)]
    assert str(directed(found, Knowledge.none(3), conflicts="majority").graph("abc")) == "a -> b; c -> b"


def test_open_triples_direct_nothing():
    heads = np.zeros((3, 3), bool)
    adjacent = np.zeros((3, 3), bool)
    adjacent[0, 1] = adjacent[1, 0] = adjacent[1, 2] = adjacent[2, 1] = True
    heads[0, 1] = True
    made = Directions(adjacent, heads.copy())
    apply_rules(made, {(0, 1, 2)})
    assert made.is_line(1, 2)
    made = Directions(adjacent, heads.copy())
    apply_rules(made)
    assert made.is_arrow(1, 2)
