"""Operators on classes against enumeration: gains are differences of scores, and no neighboring class is missed."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from sepset.learning.structure.classes.essential import EssentialGraph
from sepset.learning.structure.classes.operators import (
    DELETE,
    INSERT,
    KINDS,
    TURN,
    Operator,
    Possible,
    applied,
    obstacle,
)
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.scores.likelihood import LogLikelihood
from support.enumerated_classes import Edges, classes, dag_of, is_acyclic, key_of, parents_of


@cache
def scorer_of(n: int) -> Scorer:
    """A likelihood alone: every set of parents has another score, and classes differ."""
    rng = np.random.default_rng(n)
    rows = rng.integers(0, 2, (200, n))
    return Scorer(Columns.of({f"v{k}": rows[:, k] for k in range(n)}), LogLikelihood())


def operators_of(graph: EssentialGraph, kind: int) -> list[Operator]:
    n = graph.n
    possible = Possible.of(Constraints().bind([f"v{k}" for k in range(n)]))
    found = [op for y in range(n) for op in KINDS[kind](graph, scorer_of(n), possible, y)]
    return [op for op in found if not obstacle(graph, op)]


def neighbors_of(members: list[Edges], n: int, kind: int) -> set[object]:
    """The other classes with a DAG that differs by one edge from a member."""
    found = set()
    for edges in members:
        for x, y in itertools.permutations(range(n), 2):
            if kind == INSERT and (x, y) not in edges and (y, x) not in edges:
                after = edges | {(x, y)}
            elif kind == DELETE and (x, y) in edges:
                after = edges - {(x, y)}
            elif kind == TURN and (y, x) in edges:
                after = edges - {(y, x)} | {(x, y)}
            else:
                continue
            if is_acyclic(after, n):
                found.add(key_of(after))
    return found - {key_of(members[0])}


def assert_operators(members: list[Edges], n: int, kind: int) -> None:
    graph = EssentialGraph(parents_of(members[-1], n))
    before = scorer_of(n).total(parents_of(members[0], n))
    reached = set()
    for operator in operators_of(graph, kind):
        after = dag_of(applied(graph, operator))
        assert is_acyclic(after, n), operator
        reached.add(key_of(after))
        gain = scorer_of(n).total(parents_of(after, n)) - before
        assert operator.gain == pytest.approx(gain, abs=1e-8), operator
    assert reached == neighbors_of(members, n, kind)


@pytest.mark.parametrize("kind", [INSERT, DELETE, TURN])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_operators_reach_every_neighboring_class(n: int, kind: int) -> None:
    for members in classes(n).values():
        assert_operators(members, n, kind)


@pytest.mark.parametrize("kind", [INSERT, DELETE, TURN])
def test_operators_on_five_nodes(kind: int) -> None:
    rng = np.random.default_rng(kind)
    for _ in range(25):
        order, shown = rng.permutation(5), rng.random((5, 5)) < rng.uniform(0.2, 0.9)
        edges = frozenset((int(order[a]), int(order[b])) for a, b in itertools.combinations(range(5), 2) if shown[a, b])
        assert_operators(members_of(edges), 5, kind)


def members_of(edges: Edges) -> list[Edges]:
    """The class of a DAG: all directions of its edges that leave the immoralities as they are."""
    pairs = sorted(edges)
    choices = itertools.product((False, True), repeat=len(pairs))
    turned = (frozenset(p[::-1] if t else p for p, t in zip(pairs, c, strict=True)) for c in choices)
    return [other for other in turned if key_of(other) == key_of(edges) and is_acyclic(other, 5)]
