"""Recovery of structure: equal for I-equivalent graphs, and counted by hand elsewhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sepset as ss
from sepset.data.dataset import Dataset
from sepset.errors import ModelError, ScopeError
from sepset.graphs.equivalence import cpdag, i_equivalent
from sepset.graphs.graph import DAG, UndirectedGraph
from sepset.learning.structure.comparison import Overlap, compare, feature_confidence

NODES = ("a", "b", "c", "d")


@st.composite
def dags(draw):
    order = draw(st.permutations(NODES))
    pairs = [p for p in itertools.combinations(order, 2) if draw(st.booleans())]
    return DAG(NODES, pairs)


def mark(graph, x, y) -> str:
    """How two nodes are joined in a class PDAG."""
    arrows, lines = set(graph.directed), {frozenset(e) for e in graph.undirected}
    return "->" if (x, y) in arrows else "<-" if (y, x) in arrows else "-" if frozenset((x, y)) in lines else ""


@settings(max_examples=200, deadline=None)
@given(dags(), dags())
def test_counts_by_pairs(truth, learned):
    found = compare(truth, learned)
    ours, theirs = cpdag(truth), cpdag(learned)
    pairs = list(itertools.combinations(NODES, 2))
    assert found.distance == sum(mark(ours, *p) != mark(theirs, *p) for p in pairs)
    joined = [(bool(mark(ours, *p)), bool(mark(theirs, *p))) for p in pairs]
    expected = Overlap(joined.count((True, True)), joined.count((False, True)), joined.count((True, False)))
    assert found.skeleton == expected
    assert (found.distance == 0) == i_equivalent(truth, learned)
    back = compare(learned, truth)
    assert back.distance == found.distance
    assert (back.skeleton.precision, back.skeleton.recall) == (found.skeleton.recall, found.skeleton.precision)


def test_equivalent_graphs_are_at_no_distance():
    found = compare(DAG.parse("a -> b -> c"), DAG.parse("a <- b -> c"))
    assert found.distance == 0
    assert found.skeleton.f1 == found.immoralities.f1 == 1.0
    collider = compare(DAG.parse("a -> b -> c"), DAG.parse("a -> b <- c"))
    assert (collider.distance, collider.skeleton.f1, collider.immoralities.precision) == (2, 1.0, 0.0)


def test_nothing_learned_and_nothing_to_learn():
    empty, edge = DAG.parse("a; b"), DAG.parse("a -> b")
    assert compare(edge, empty).skeleton.recall == 0.0
    assert compare(edge, empty).skeleton.precision == 1.0
    assert compare(empty, empty).skeleton.f1 == 1.0
    with pytest.raises(ModelError, match="differ in 'c'"):
        compare(edge, DAG.parse("a -> b -> c"))


def test_confidence_is_the_frequency_over_resamples():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 60)
    data = Dataset({"a": a, "b": np.where(rng.random(60) < 0.9, a, 1 - a), "c": rng.integers(0, 2, 60)})

    def learn(rows):
        """Joined where the agreement of two columns is far from a half."""
        pairs = [
            p
            for p in itertools.combinations("abc", 2)
            if abs(np.mean(rows.codes(p[0]) == rows.codes(p[1])) - 0.5) > 0.12
        ]
        return DAG("abc", pairs)

    found = feature_confidence(learn, data, num_draws=50, seed=1)
    assert found[frozenset("ab")] == 1.0
    assert found.get(frozenset("bc"), 0.0) < 0.5
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert feature_confidence(learn, data, num_draws=50, seed=1) == found
    skeletons = feature_confidence(learn, data, features=lambda g: [len(g.edges)], num_draws=20)
    assert sum(skeletons.values()) == pytest.approx(1.0)


def test_nothing_to_resample():
    with pytest.raises(ScopeError, match="needs rows"):
        feature_confidence(lambda d: DAG("a"), Dataset({"a": [0, 1]})[:0])


def test_it_prints():
    from rich.console import Console

    console = Console(record=True)
    alarm = ss.datasets.load("alarm").dag
    console.print(compare(alarm, alarm))
    assert "structural Hamming distance 0" in console.export_text()


def test_classes_and_undirected_graphs():
    truth, learned = DAG.parse("a -> b <- c; b -> d"), DAG.parse("a -> b -> c; d")
    assert compare(truth, cpdag(learned)) == compare(cpdag(truth), learned) == compare(truth, learned)
    one, two = UndirectedGraph.parse("a - b - c; d"), UndirectedGraph.parse("a - b; c - d")
    found = compare(one, two)
    assert found.skeleton == (1, 1, 1)
    assert found.distance == 2
    assert found.immoralities.f1 == 1.0
    with pytest.raises(ModelError, match="moralize"):
        compare(truth, one)
