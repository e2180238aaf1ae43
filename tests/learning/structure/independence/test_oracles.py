"""Oracles: d-separation, functions, and chosen mistakes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.errors import ArgumentError, ModelError, ScopeError
from sepset.graphs.graph import DAG, MixedGraph, ancestors, moralize
from sepset.graphs.separation import separated
from sepset.learning.structure.independence.boundtest import Names
from sepset.learning.structure.independence.discrete import G
from sepset.learning.structure.independence.independencetest import independence_test
from sepset.learning.structure.independence.oracles import Asked, Callback, DSeparation, FaultyOracle
from sepset.learning.structure.skeletons.pc import PC


def test_d_separation_is_separation_in_the_moral_graph():
    rng = np.random.default_rng(0)
    for _ in range(10):
        names = "ABCDE"
        dag = DAG(names, [edge for edge in itertools.combinations(names, 2) if rng.random() < 0.4])
        bound = DSeparation(dag).bind(Names(tuple(names)))
        for x, y in itertools.combinations(range(5), 2):
            rest = [z for z in range(5) if z not in (x, y)]
            for given in itertools.chain.from_iterable(itertools.combinations(rest, k) for k in range(4)):
                asked = [names[i] for i in (x, y, *given)]
                moral = moralize(dag.subgraph([*asked, *ancestors(dag, asked)]))
                wanted = separated(moral, asked[0], asked[1], given=asked[2:])
                assert bound.outcome((x,), (y,), given).p_value == wanted


def test_latent_nodes_and_sets():
    dag = DAG.parse("H -> A; H -> B; C")
    found = independence_test(None, between=(["A", "B"], "C"), test=DSeparation(dag))
    assert found.is_independent
    assert not independence_test(None, between=("A", "B"), test=DSeparation(dag)).is_independent


def test_functions_are_asked_by_name():
    asked = []
    test = Callback(lambda xs, ys, given: asked.append((xs, ys, given)) or 0.3)
    assert independence_test(None, between=("a", ["b", "c"]), given="d", test=test, level=0.2).is_independent
    assert asked == [(("a",), ("b", "c"), ("d",))]
    with pytest.raises(ArgumentError, match="p-value"):
        Asked(("a", "b"), lambda *names: 3).outcome((0,), (1,), ())


def test_one_mistake_spreads():
    """One wrong answer takes away an edge and turns a chain around: several marks differ."""
    truth = DAG.parse("A -> C <- B; C -> D; D -> E")
    right = PC(test=DSeparation(truth)).ask("ABCDE").graph
    wrong = PC(test=FaultyOracle(DSeparation(truth), [("C", "A", ())])).ask("ABCDE").graph
    differing = set(right.directed) ^ set(wrong.directed) | set(right.undirected) ^ set(wrong.undirected)
    assert len({frozenset(edge) for edge in differing}) >= 2
    assert PC(test=FaultyOracle(DSeparation(truth), [])).ask("ABCDE").graph == right


def test_mistakes_of_tests_of_rows():
    rows = {"x": [0, 1] * 20, "y": [0, 1] * 20}
    wrong = FaultyOracle(G(), [("y", "x", ()), ("x", "unknown", ())])
    assert wrong.needs_rows
    assert independence_test(rows, between=("x", "y"), test=wrong).is_independent


def test_refusals():
    with pytest.raises(ScopeError, match="'Z'"):
        independence_test(None, between=("A", "Z"), test=DSeparation(DAG.parse("A -> B")))
    with pytest.raises(ModelError, match="DAG"):
        DSeparation(MixedGraph.parse("A - B"))
