from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from sepset.errors import ModelError, ScopeError
from sepset.graphs.graph import (
    DAG,
    MixedGraph,
    UndirectedGraph,
    ancestors,
    anterior,
    chain_components,
    connected_components,
    descendants,
    moralize,
    skeleton,
)
from support.small_graphs import chain_graphs, dags, descendants_of, is_acyclic, undirected


@given(dags())
def test_a_dag_knows_parents_children_and_edges_in_node_order(drawn):
    nodes, edges = drawn
    dag = DAG(nodes, edges)
    assert dag.nodes == tuple(nodes)
    assert list(dag.edges) == sorted(edges, key=lambda e: (nodes.index(e[0]), nodes.index(e[1])))
    assert len(dag.edges) == dag.num_edges
    for node in nodes:
        assert dag.parents(node) == tuple(n for n in nodes if (n, node) in edges)
        assert dag.children(node) == tuple(n for n in nodes if (node, n) in edges)
        assert dag.adjacent(node) == tuple(n for n in nodes if (n, node) in edges or (node, n) in edges)


@given(dags())
def test_arrays_names_text_and_networkx_build_the_same_dag(drawn):
    nodes, edges = drawn
    dag = DAG(nodes, edges)
    sources, targets = ([nodes.index(e[k]) for e in edges] for k in (0, 1))
    assert DAG.from_arrays(nodes, sources=sources, targets=targets) == dag
    assert DAG.parse(str(dag)) == dag
    assert DAG.from_networkx(dag.to_networkx()) == dag
    assert set(dag.to_networkx().edges()) == set(edges)


@given(dags())
def test_topological_order_is_lexicographic(drawn):
    nodes, edges = drawn
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    expected = list(nx.lexicographical_topological_sort(graph, key=nodes.index))
    assert list(DAG(nodes, edges).topological_order) == expected


def test_a_cycle_is_named():
    with pytest.raises(ModelError, match="cycle A -> B -> C -> A;"):
        DAG.parse("D -> A -> B -> C -> A; C -> E")
    with pytest.raises(ModelError, match="cycle A -> B -> A;"):
        DAG([], [("A", "B"), ("B", "A")])
    with pytest.raises(ModelError, match="cycle"):
        DAG.parse("A -> B -> C").with_edge("C", "A")
    with pytest.raises(ModelError, match='cycle "my node" -> B'):
        DAG.parse('"my node" -> B -> "my node"')


def test_reversing_an_edge():
    assert DAG.parse("A -> B -> C").reverse("B", "C") == DAG.parse("A -> B <- C")
    with pytest.raises(ModelError, match="cycle"):
        DAG.parse("A -> B -> C; A -> C").reverse("A", "C")
    assert MixedGraph.parse("A -> B - C").reverse("A", "B") == MixedGraph.parse("A <- B - C")


@given(dags())
def test_ancestors_and_descendants(drawn):
    nodes, edges = drawn
    dag = DAG(nodes, edges)
    for node in nodes:
        below = descendants_of(node, edges)
        assert set(descendants(dag, node, inclusive=True)) == below
        assert set(descendants(dag, node)) == below - {node}
        assert set(ancestors(dag, node)) == {n for n in nodes if node in descendants_of(n, edges)} - {node}
    assert ancestors(dag, [], inclusive=True) == ()
    assert ancestors(dag, nodes) == ()


@given(undirected())
def test_undirected_graphs_against_networkx(drawn):
    nodes, edges = drawn
    graph = UndirectedGraph(nodes, [(b, a) for a, b in edges])
    other = graph.to_networkx()
    assert UndirectedGraph.from_networkx(other) == graph == UndirectedGraph.parse(str(graph))
    for node in nodes:
        assert set(graph.neighbors(node)) == set(other.neighbors(node))
    groups = {frozenset(group) for group in nx.connected_components(other)}
    assert set(map(frozenset, connected_components(graph))) == groups


@given(dags())
def test_the_moral_graph_joins_families(drawn):
    nodes, edges = drawn
    dag = DAG(nodes, edges)
    families = [{node, *dag.parents(node)} for node in nodes]
    joined = {frozenset(pair) for pair in itertools.combinations(nodes, 2) if any(set(pair) <= f for f in families)}
    assert {frozenset(edge) for edge in moralize(dag).edges} == joined
    assert {frozenset(edge) for edge in skeleton(dag).edges} == {frozenset(edge) for edge in edges}


@given(undirected())
def test_an_undirected_graph_is_moral(drawn):
    graph = UndirectedGraph(*drawn)
    assert moralize(graph) == skeleton(graph) == graph


@given(chain_graphs())
def test_chain_graphs(drawn):
    nodes, directed, joined = drawn
    graph = MixedGraph(nodes, directed, undirected=joined)
    assert graph.is_chain_graph
    assert MixedGraph.from_networkx(graph.to_networkx()) == graph
    blocks = chain_components(graph)
    place = {node: i for i, block in enumerate(blocks) for node in block}
    assert sorted(place) == sorted(nodes)
    assert all(place[a] < place[b] for a, b in directed)
    assert all(place[a] == place[b] for a, b in joined)
    expected = {frozenset(edge) for edge in directed + joined}
    for block in blocks:
        parents = {a for a, b in directed if b in block}
        expected |= {frozenset(pair) for pair in itertools.combinations(parents, 2)}
    assert {frozenset(edge) for edge in moralize(graph).edges} == expected


def test_parents_of_a_chain_component_are_joined():
    """After Koller & Friedman, section 4.6.2."""
    graph = MixedGraph.parse("A -> C; B -> E; C - D - E; D -> I; C -> F - G <- D; H")
    assert chain_components(graph) == (("A",), ("B",), ("C", "E", "D"), ("I",), ("F", "G"), ("H",))
    assert moralize(graph).neighbors("A") == ("C", "B")


def test_mixed_graphs_hold_one_edge_a_pair():
    for edges in ("A -> B; B -> A", "A -> B; A - B", "A - B; B -> A"):
        with pytest.raises(ModelError, match="Two edges join 'A' and 'B'"):
            MixedGraph.parse(edges)
    assert MixedGraph.parse("A - B; B - A").num_edges == 1
    assert MixedGraph.from_arrays("ABC", sources=[0], targets=[1], lefts=[2], rights=[1]) == MixedGraph.parse(
        "A -> B - C"
    )
    assert MixedGraph.parse("A -> B - C; D - C").neighbors("C") == ("B", "D")


@pytest.mark.parametrize("text", ["A -> B -> C -> A", "A -> B - C -> A", "A -> B - C - A"])
def test_directed_cycles_make_no_chain_graph(text):
    graph = MixedGraph.parse(text)
    assert not graph.is_chain_graph
    with pytest.raises(ModelError, match="not a chain graph"):
        chain_components(graph)


def test_ancestral_sets_follow_arrows_and_undirected_edges():
    graph = MixedGraph.parse("A -> B - C -> D; E -> C; F <- B")
    assert anterior(graph, "B") == ("A", "B", "C", "E")
    assert ancestors(graph, "C") == ("E",)
    assert descendants(graph, ["A", "C"]) == ("B", "D", "F")


def test_node_numbers_are_checked():
    with pytest.raises(ScopeError, match="0 to 1; found 0 to 2"):
        DAG.from_arrays("AB", sources=[0], targets=[2])


def test_large_graphs_build_fast_enough_to_test():
    rng = np.random.default_rng(0)
    ends = np.sort(rng.integers(0, 20_000, (2, 60_000)), axis=0)
    sources, targets = rng.permutation(20_000)[ends[:, ends[0] != ends[1]]]
    dag = DAG.from_arrays([f"X{i}" for i in range(20_000)], sources=sources, targets=targets)
    place = np.argsort(dag.topological_ids)
    assert (place[sources] < place[targets]).all()


@given(dags(5))
def test_adding_an_edge_is_refused_exactly_when_it_closes_a_cycle(drawn):
    nodes, edges = drawn
    dag = DAG(nodes, edges)
    for a, b in itertools.permutations(nodes, 2):
        if is_acyclic(nodes, [*edges, (a, b)]):
            assert dag.with_edge(a, b).has_edge(a, b)
        else:
            with pytest.raises(ModelError, match="cycle"):
                dag.with_edge(a, b)


def test_edges_in_place_of_nodes():
    networkx = pytest.importorskip("networkx")
    pairs = [("b", "a"), ("a", "c")]
    assert DAG(pairs) == DAG((), pairs) == DAG(networkx.DiGraph(pairs)) == DAG(iter(pairs))
    assert UndirectedGraph(pairs) == UndirectedGraph((), pairs) == UndirectedGraph(networkx.Graph(pairs))
    with pytest.raises(ModelError, match="directions"):
        DAG(networkx.Graph(pairs))
    with pytest.raises(ModelError, match="from_networkx"):
        MixedGraph(networkx.DiGraph(pairs))
    assert DAG({"b": ["a"], "a": ("c",), "c": []}) == DAG(["b", "a", "c"], pairs)
    assert DAG({"b": 1, "a": 2}).nodes == ("b", "a")
    with pytest.raises(ScopeError, match="apart"):
        DAG([("a", "b"), "c"])
    for text in ("a -> b", "a <- b", "a - b"):
        with pytest.raises(ModelError, match="parse"):
            DAG(text)
