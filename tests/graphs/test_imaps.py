from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from sepset.errors import ArgumentError, TooLarge
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph
from sepset.graphs.imaps import (
    Independence,
    independences,
    is_imap,
    is_perfect_map,
    minimal_imap,
    minimal_imap_undirected,
)
from sepset.graphs.separation import d_separated, separated
from support.small_graphs import (
    all_dags,
    chain_separated_by_definition,
    d_separated_by_paths,
    dags,
    is_acyclic,
    names,
    pairs_and_sets,
    undirected,
)


def oracle(nodes, edges):
    """The d-separations of a DAG, found by listing paths."""

    def independent(x, ys, given_):
        return all(d_separated_by_paths(nodes, edges, x, y, set(given_)) for y in ys)

    return independent


def test_statements_of_the_student_network():
    """Specification temporal-and-learning-goals, row N35."""
    found = independences(DAG.parse("D -> G <- I -> S; G -> L"))
    assert len(found) == 25
    assert Independence("G", "S", given=("I",)) in found
    assert str(Independence("my node", "S", given=("I", "D"))) == '("my node" ⊥ S | I, D)'
    assert str(Independence("A", "B")) == "(A ⊥ B)"


def test_statements_of_other_graphs():
    cycle = UndirectedGraph.parse("A - B - C - D - A")
    assert set(map(str, independences(cycle))) == {"(A ⊥ C | B, D)", "(B ⊥ D | A, C)"}
    assert independences(cycle, max_given=1) == ()
    chain = independences(MixedGraph.parse("A -> C - D <- B"))
    assert Independence("A", "B") in chain
    assert Independence("A", "D", given=("C", "B")) in chain
    assert Independence("A", "B", given=("C", "D")) not in chain
    assert independences(DAG()) == ()


def test_too_many_statements_are_refused():
    with pytest.raises(TooLarge, match="30 nodes have 116,769,423,360 pairs"):
        independences(DAG(names(30)))
    assert len(independences(DAG(names(30)), max_given=0)) == 435


@given(dags(5), st.data())
@settings(max_examples=60)
def test_minimal_imaps_are_imaps_and_no_edge_can_go(drawn, data):
    nodes, edges = drawn
    order = data.draw(st.permutations(nodes))
    truth = oracle(nodes, edges)
    found = minimal_imap(order, truth)
    assert found.nodes == tuple(order)
    assert all(order.index(a) < order.index(b) for a, b in found.edges)
    for x, y, given_ in pairs_and_sets(nodes):
        if d_separated(found, x, y, given=given_):
            assert truth(x, [y], given_)
    assert is_imap(found, truth)
    for edge in found.edges:
        assert not is_imap(found.without_edge(*edge), truth)


def test_student_minimal_imaps():
    """Koller & Friedman, figure 3.8: the orders D, I, S, G, L and L, S, G, I, D."""
    student = DAG.parse("D -> G <- I -> S; G -> L")
    truth = oracle(list(student.nodes), list(student.edges))
    assert minimal_imap("DISGL", truth) == student
    backward = DAG.parse("L -> S; L -> G; S -> G; G -> I; S -> I; I -> D; G -> D")
    assert minimal_imap("LSGID", truth) == backward


@given(undirected(5))
@settings(max_examples=60)
def test_undirected_minimal_imaps_recover_the_graph(drawn):
    nodes, edges = drawn
    graph = UndirectedGraph(nodes, edges)

    def truth(x, ys, given_):
        return separated(graph, x, ys, given=given_)

    assert minimal_imap_undirected(nodes, truth) == graph
    assert minimal_imap_undirected(nodes, truth, form="blanket") == graph
    assert is_perfect_map(graph, truth)
    assert is_imap(graph, truth)
    if edges:
        assert not is_imap(graph.without_edge(*edges[0]), truth)


def test_an_unknown_form_is_refused():
    with pytest.raises(ArgumentError, match="form= is 'pairwise' or 'blanket'; found 'local'"):
        minimal_imap_undirected("AB", lambda x, ys, given_: True, form="local")


@given(dags(4), dags(4))
def test_imaps_and_perfect_maps_by_definition(first, second):
    nodes, edges = first
    other = [e for e in second[1] if set(e) <= set(nodes)]
    truth = oracle(nodes, other)
    graph = DAG(nodes, edges)
    statements = [(d_separated(graph, x, y, given=z), truth(x, [y], z)) for x, y, z in pairs_and_sets(nodes)]
    assert is_imap(graph, truth) is all(holds for stated, holds in statements if stated)
    assert is_perfect_map(graph, truth) is all(stated == holds for stated, holds in statements)


def test_no_dag_is_a_perfect_map_of_the_diamond():
    """Specification temporal-and-learning-goals, row U1; Koller & Friedman, section 3.4.2."""
    nodes = list("ABCD")
    diamond = UndirectedGraph.parse("A - B - C - D - A")

    def truth(x, ys, given_):
        return separated(diamond, x, ys, given=given_)

    candidates = [DAG(nodes, edges) for edges in all_dags(nodes)]
    assert len(candidates) == 543
    assert not any(is_perfect_map(dag, truth) for dag in candidates)


def test_no_undirected_graph_is_a_perfect_map_of_a_collider():
    """Specification variational-and-clique-tree-queries, section 4, example 3."""
    truth = oracle(["X1", "X2", "X3"], [("X1", "X3"), ("X2", "X3")])
    pairs = list(itertools.combinations(["X1", "X2", "X3"], 2))
    graphs = [UndirectedGraph(["X1", "X2", "X3"], c) for k in range(4) for c in itertools.combinations(pairs, k)]
    assert len(graphs) == 8
    assert not any(is_perfect_map(graph, truth) for graph in graphs)


def test_a_chain_graph_with_no_perfect_dag_or_undirected_map():
    """Specification variational-and-clique-tree-queries, row C2 (fig. 3-3): a 4-cycle with a collider below.

    A perfect map joins exactly the pairs that no set separates, so only orientations of one skeleton can be perfect.
    """
    nodes = ["T1", "T2", "T3", "T4", "T5"]
    joined = [("T1", "T2"), ("T2", "T3"), ("T3", "T4"), ("T4", "T1")]
    directed = [("T2", "T5"), ("T4", "T5")]

    def truth(x, ys, given_):
        return all(chain_separated_by_definition(directed, joined, x, y, set(given_)) for y in ys)

    assert is_perfect_map(MixedGraph(nodes, directed, undirected=joined), truth)
    assert not is_perfect_map(UndirectedGraph(nodes, [*joined, *directed]), truth)
    inseparable = {(x, y) for x, y in itertools.combinations(nodes, 2)} - {
        (x, y) for x, y, z in pairs_and_sets(nodes) if truth(x, [y], z)
    }
    assert {frozenset(e) for e in inseparable} == {frozenset(e) for e in joined + directed}
    tried = 0
    for flips in itertools.product((False, True), repeat=6):
        edges = [(b, a) if flip else (a, b) for (a, b), flip in zip(joined + directed, flips, strict=True)]
        if is_acyclic(nodes, edges):
            tried += 1
            assert not is_perfect_map(DAG(nodes, edges), truth)
    assert tried > 40
