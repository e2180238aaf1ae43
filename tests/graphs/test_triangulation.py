from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, strategies as st

from sepset.errors import ModelError
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.triangulation import (
    elimination_order,
    is_chordal,
    maximal_cliques,
    perfect_elimination_order,
    triangulate,
)
from support import plain_elimination as plain
from support.small_graphs import undirected


def as_networkx(nodes, edges):
    graph = nx.Graph(edges)
    graph.add_nodes_from(nodes)
    return graph


@given(undirected(), st.data())
def test_induced_graphs_are_chordal(drawn, data):
    nodes, edges = drawn
    graph = UndirectedGraph(nodes, edges)
    order = data.draw(st.permutations(nodes))
    induced = triangulate(graph, order)
    assert nx.is_chordal(as_networkx(nodes, induced.edges))
    assert set(map(frozenset, induced.edges)) == set(map(frozenset, edges)) | plain.eliminate(nodes, edges, order)[1]
    assert is_chordal(triangulate(graph))
    assert triangulate(graph, elimination_order(graph)) == triangulate(graph)


@given(undirected(), undirected(), st.data())
def test_the_elimination_of_another_graph_stands_for_its_order(drawn, other, data):
    """Cliques and fill belong to the graph that was eliminated, names to both; nodes may be listed in any order."""
    nodes = data.draw(st.permutations(sorted({*drawn[0], *other[0]})))
    found = elimination_order(UndirectedGraph(sorted(nodes), other[1]))
    induced = triangulate(UndirectedGraph(nodes, drawn[1]), found)
    assert set(map(frozenset, induced.edges)) == (
        set(map(frozenset, drawn[1])) | plain.eliminate(nodes, drawn[1], list(found.order))[1]
    )


@given(undirected())
def test_chordality(drawn):
    assert is_chordal(UndirectedGraph(*drawn)) == nx.is_chordal(as_networkx(*drawn))


@given(undirected())
def test_maximal_cliques_and_perfect_orders(drawn):
    nodes, edges = drawn
    graph = UndirectedGraph(nodes, edges)
    if not is_chordal(graph):
        with pytest.raises(ModelError, match="not chordal: maximum cardinality search has to join"):
            maximal_cliques(graph)
        with pytest.raises(ModelError, match="Triangulate it first"):
            perfect_elimination_order(graph)
        return
    cliques = maximal_cliques(graph)
    assert set(map(frozenset, cliques)) == set(map(frozenset, nx.find_cliques(as_networkx(nodes, edges))))
    assert list(cliques) == sorted(cliques)
    assert not plain.eliminate(nodes, edges, perfect_elimination_order(graph))[1]


def test_empty():
    empty = UndirectedGraph()
    assert is_chordal(empty)
    assert maximal_cliques(empty) == perfect_elimination_order(empty) == ()
    assert triangulate(empty) == empty


def test_a_long_cycle_needs_all_but_three_chords():
    cycle = UndirectedGraph.from_networkx(nx.cycle_graph(50))
    assert triangulate(cycle).num_edges == 50 + 47
