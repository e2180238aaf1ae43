from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given

from sepset.errors import ModelError, ScopeError
from sepset.graphs.base import each, name_of
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph
from support.small_graphs import chain_graphs, dags


@dataclass(frozen=True)
class Thing:
    name: str


def test_nodes_may_be_names_or_anything_named():
    a, b = Thing("A"), Thing("B")
    dag = DAG([a], [(a, b)])
    assert dag == DAG.parse("A -> B")
    assert dag.parents(b) == ("A",)
    assert a in dag
    assert "C" not in dag
    assert dag.ids(a) == dag.ids("A") == dag.ids(["A", a]) == [0]
    assert each("AB") == ["AB"]
    with pytest.raises(ScopeError, match="found 3 of type int"):
        name_of(3)


def test_an_unknown_node_is_refused_with_the_nearest():
    with pytest.raises(ScopeError, match=r"Unknown node 'grad'.*Did you mean 'grade'"):
        DAG.parse("grade -> letter").parents("grad")


def test_nodes_that_only_edges_mention_are_appended():
    assert DAG(["C"], [("A", "B"), ("B", "C")]).nodes == ("C", "A", "B")


@pytest.mark.parametrize("kind", [DAG, UndirectedGraph, MixedGraph])
def test_constructors_refuse_what_is_no_graph(kind):
    with pytest.raises(ModelError, match="'A' has an edge to itself"):
        kind([], [("A", "A")])
    with pytest.raises(ScopeError, match="'A' is listed twice"):
        kind(["A", "A"])
    with pytest.raises(ScopeError, match="'A' is listed twice"):
        kind.from_arrays(["A", "A"], sources=[], targets=[])
    with pytest.raises(ModelError, match="An edge is a pair"):
        kind([], ["AB"])
    with pytest.raises(ModelError, match="An edge is a pair"):
        kind([], [("A", "B", "C")])


@pytest.mark.parametrize("kind", [DAG, UndirectedGraph, MixedGraph])
def test_the_empty_graph(kind):
    empty = kind()
    assert (len(empty), empty.edges, list(empty), str(empty)) == (0, (), [], "")
    assert empty == kind.parse("") == kind.from_arrays([], sources=[], targets=[])
    assert empty.subgraph([]) == empty
    assert empty.adjacent_csr[0].tolist() == [0]


def test_equality_is_by_value_whatever_the_order():
    assert DAG.parse("A -> B; C -> B") == DAG.parse("C -> B; A -> B")
    assert hash(DAG.parse("A -> B; C -> B")) == hash(DAG.parse("C -> B; A -> B"))
    assert UndirectedGraph.parse("A - B") == UndirectedGraph.parse("B - A")
    assert DAG.parse("A -> B") != DAG.parse("B -> A")
    assert DAG.parse("A -> B") != DAG.parse("A -> B; C")
    assert DAG.parse("A") != UndirectedGraph.parse("A")
    assert DAG.parse("A") != "A"
    assert DAG([], [("A", "B"), ("A", "B")]) == DAG.parse("A -> B")


def test_graphs_are_immutable():
    dag = DAG.parse("A -> B")
    with pytest.raises(AttributeError, match="immutable"):
        dag.nodes = ()
    with pytest.raises(ValueError, match="read-only"):
        dag.parent_csr[1][0] = 7
    with pytest.raises(TypeError):
        dag.index["A"] = 3


@given(chain_graphs())
def test_text_and_pickle_round_trip(drawn):
    nodes, directed, undirected = drawn
    graph = MixedGraph(nodes, directed, undirected=undirected)
    assert MixedGraph.parse(str(graph)) == graph
    copy = pickle.loads(pickle.dumps(graph))
    assert (copy, copy.nodes) == (graph, graph.nodes)
    assert not copy.parent_csr[0].flags.writeable


@given(dags())
def test_subgraph_keeps_order_and_inner_edges(drawn):
    nodes, edges = drawn
    kept = nodes[::2]
    part = DAG(nodes, edges).subgraph(kept[::-1])
    assert part.nodes == tuple(kept)
    assert set(part.edges) == {(a, b) for a, b in edges if a in kept and b in kept}


def test_edges_come_and_go():
    dag = DAG.parse("A -> B")
    assert dag.with_edge("A", "B") == dag
    assert dag.with_edge("B", "C").without_edge("A", "B") == DAG.parse("A; B -> C")
    assert dag.has_edge("A", "B")
    assert not dag.has_edge("B", "A")
    assert UndirectedGraph.parse("A - B").has_edge("B", "A")
    assert UndirectedGraph.parse("B - A").without_edge("A", "B") == UndirectedGraph(["A", "B"])
    with pytest.raises(ModelError, match="no edge from 'B' to 'A'"):
        dag.without_edge("B", "A")


def test_long_graphs_have_short_reprs():
    names = [f"X{i}" for i in range(1000)]
    chain = DAG.from_arrays(names, sources=np.arange(999), targets=np.arange(1, 1000))
    assert repr(chain).endswith("X7 -> X8; ...: 1000 nodes, 999 edges)")
    assert len(repr(chain)) < 200
    assert repr(DAG.parse("A -> B; C -> B")) == "DAG(A -> B; C -> B)"
    html = DAG.parse("A -> B")._repr_html_()
    assert html.startswith("<code>DAG(A -&gt; B)</code>")
    assert html.count("<svg") == 1
    assert chain._repr_html_().count("<svg") == 0
