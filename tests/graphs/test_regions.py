from __future__ import annotations

import itertools

import networkx as nx
import pytest
from hypothesis import given, strategies as st

import sepset as ss
from sepset.errors import ModelError, ScopeError
from sepset.graphs.elimination import eliminate_graph
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.regions import RegionGraph, bethe_graph, cluster_variation_graph, join_graph

SCOPES = st.lists(st.lists(st.sampled_from("ABCDEF"), unique=True, max_size=3), max_size=7)


@given(SCOPES)
def test_bethe_graphs(scopes):
    graph = bethe_graph(scopes, "ABCDEF")
    graph.check_running_intersection()
    assert graph.clusters[: len(scopes)] == tuple(map(tuple, scopes))
    assert graph.clusters[len(scopes) :] == tuple((name,) for name in "ABCDEF")
    assert len(graph.edges) == sum(map(len, scopes))
    assert graph.is_forest == (not scopes or nx.is_forest(nx.Graph([*graph.edges, ("x", "y")])))


@given(SCOPES, st.permutations("ABCDEF"), st.integers(3, 6))
def test_join_graphs(scopes, order, bound):
    graph = join_graph(scopes, order, bound=bound)
    graph.check_running_intersection()
    assert all(len(cluster) <= bound for cluster in graph.clusters)
    graph.families(scopes)
    assert set(graph.variables) == set("ABCDEF")
    pairs = {frozenset(pair) for scope in scopes for pair in itertools.combinations(scope, 2)}
    width = eliminate_graph(UndirectedGraph("ABCDEF", map(sorted, pairs)), order).width
    if bound > width:
        assert graph.is_forest
    counted = {name: sum(name in c for c in graph.clusters) - sum(name in s for s in graph.sepsets) for name in order}
    assert set(counted.values()) == {1}


@given(SCOPES)
def test_region_graphs_count_each_variable_once(scopes):
    graph = cluster_variation_graph(scopes, "ABCDEF")
    graph.check_counting()
    sets = [frozenset(region) for region in graph.regions]
    for scope in scopes:
        assert any(set(scope) <= region for region in sets)
    assert len(set(sets)) == len(sets)
    for a, b in itertools.combinations(sets, 2):
        assert not (a & b) or a & b in sets
    for region, count in zip(sets, graph.counting, strict=True):
        assert count + sum(c for r, c in zip(sets, graph.counting, strict=True) if region < r) == 1
    order = nx.DiGraph([(i, j) for i, j in itertools.permutations(range(len(sets)), 2) if sets[j] < sets[i]])
    assert set(graph.edges) == set(nx.transitive_reduction(order).edges)


def test_counting_numbers_of_pairs_are_those_of_bethe():
    """Over pairwise scopes the regions are edges, 1 each, and nodes, one less their degree."""
    edges = [("A", "B"), ("B", "C"), ("C", "A"), ("A", "D")]
    counts = dict(zip(cluster_variation_graph(edges).regions, cluster_variation_graph(edges).counting, strict=True))
    assert {region: count for region, count in counts.items() if len(region) == 1} == {
        ("A",): -2,
        ("B",): -1,
        ("C",): -1,
    }


def test_kikuchi_on_a_grid():
    """Squares of a 3 x 3 grid: the squares 1, inner edges -1, the center 1."""
    squares = [[f"{i + a}{j + b}" for a in (0, 1) for b in (0, 1)] for i in (0, 1) for j in (0, 1)]
    graph = cluster_variation_graph(squares)
    assert sorted(graph.counting) == [-1] * 4 + [1] * 5
    assert graph.counting[graph.regions.index(("11",))] == 1
    assert len(graph) == 9


def test_wrong_counting_numbers_are_named():
    with pytest.raises(ModelError, match="regions with 'B' sum to 2"):
        RegionGraph((("A", "B"), ("B", "C")), (), counting=(1, 1)).check_counting()


def test_refusals():
    with pytest.raises(ModelError, match="bound of 1 is too small for the scope 'A', 'B'; use at least 2"):
        join_graph([("A", "B")], "AB", bound=1)
    with pytest.raises(ScopeError, match="contains 'C', which is not among the variables"):
        join_graph([("A", "C")], "AB", bound=2)
    with pytest.raises(ScopeError, match="contain a duplicate; name each once"):
        bethe_graph([], "AA")


def test_nothing_at_all():
    assert len(bethe_graph([])) == len(join_graph([], [], bound=1)) == len(cluster_variation_graph([])) == 0
    assert cluster_variation_graph([()], "A").regions == (("A",),)
    assert bethe_graph([()]).clusters == ((),)


def test_a_model_is_not_its_scopes():
    """Its variables would be taken for scopes of one name each."""
    model = ss.datasets.load("student")
    for make in (bethe_graph, cluster_variation_graph):
        with pytest.raises(ScopeError, match=r"\[cpd.scope for cpd in model.cpds\]"):
            make(model)
    assert len(bethe_graph([cpd.scope for cpd in model.cpds])) == 10


def test_a_graph_is_not_its_scopes():
    edges = [("A", "B"), ("B", "C")]
    for graph in (ss.DAG(edges), UndirectedGraph(edges), nx.Graph(edges), "A -> B"):
        for make in (bethe_graph, cluster_variation_graph):
            with pytest.raises(ScopeError, match="made of scopes; found a "):
                make(graph)


def test_far_regions_are_never_compared():
    scopes = [(f"v{i}", f"v{i + 1}", f"v{i + 2}") for i in range(2000)]
    found = cluster_variation_graph(scopes)
    assert len(found.regions) == 2000 + 1999 + 1998  # triples, pairs, and single names whose counting number is zero
    assert [sum(found.counting[:2000]), sum(found.counting[2000:3999]), set(found.counting[3999:])] == [
        2000,
        -1999,
        {0},
    ]
