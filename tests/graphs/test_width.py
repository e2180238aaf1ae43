from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.errors import TooLarge
from sepset.graphs import width
from sepset.graphs.graph import DAG, UndirectedGraph, moralize
from sepset.graphs.width import treewidth, treewidth_bounds
from support import plain_elimination as plain
from support.small_graphs import undirected


@given(undirected(max_nodes=6))
def test_every_order_of_small_graphs(drawn):
    nodes, edges = drawn
    expected = plain.treewidth(nodes, edges)
    graph = UndirectedGraph(nodes, edges)
    lower, upper = treewidth_bounds(graph)
    assert treewidth(graph) == expected
    assert lower <= expected <= upper


def test_seven_nodes_against_every_order():
    for seed, density in itertools.product(range(2), (0.4, 0.6)):
        graph = nx.relabel_nodes(nx.gnp_random_graph(7, density, seed=seed), str)
        expected = plain.treewidth(list(graph.nodes), list(graph.edges))
        assert treewidth(UndirectedGraph.from_networkx(graph)) == expected


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (nx.path_graph(30), 1),
        (nx.star_graph(30), 1),
        (nx.cycle_graph(30), 2),
        (nx.complete_graph(9), 8),
        (nx.complete_bipartite_graph(3, 5), 3),
        (nx.petersen_graph(), 4),
        (nx.hypercube_graph(3), 3),
        (nx.hypercube_graph(4), 6),
        (nx.pappus_graph(), 6),
        (nx.dodecahedral_graph(), 6),
        (nx.grid_2d_graph(2, 2), 2),
        (nx.grid_2d_graph(3, 3), 3),
        (nx.grid_2d_graph(4, 4), 4),
        (nx.grid_2d_graph(5, 5), 5),
        (nx.disjoint_union(nx.petersen_graph(), nx.hypercube_graph(3)), 4),
        (nx.random_labeled_tree(40, seed=1), 1),
        (nx.Graph(), 0),
        (nx.empty_graph(5), 0),
    ],
    ids=str,
)
def test_known_treewidths(graph, expected):
    assert treewidth(UndirectedGraph.from_networkx(graph)) == expected


def test_the_trace_of_eight_variables_is_not_optimal():
    trace = DAG.parse("B -> C; A -> D; C -> E <- D; A -> F; E -> G; E -> H <- F")
    assert treewidth(moralize(trace)) == 2


@pytest.mark.parametrize(("extra", "largest"), [("", 5), ("; L -> V'", 6)])
def test_a_two_slice_tree_must_hold_both_interfaces(extra, largest):
    """Car: the belief state over W, V, L, F and its successor are each in one clique, so n + 1 is the least."""
    slices = DAG.parse("W -> W'; W -> V' <- V; L -> L' <- V; F -> F' <- W; L' -> O' <- F'" + extra)
    graph = moralize(slices)
    for interface in (["W", "V", "L", "F"], ["W'", "V'", "L'", "F'"]):
        for a, b in itertools.combinations(interface, 2):
            graph = graph.with_edge(a, b)
    assert treewidth(graph) + 1 == largest
    if not extra:
        assert treewidth(moralize(slices)) + 1 == 3


def test_large_graphs_are_refused_with_the_bounds():
    graph = UndirectedGraph.from_networkx(nx.random_regular_graph(4, 60, seed=0))
    lower, upper = treewidth_bounds(graph)
    assert lower < upper
    with pytest.raises(TooLarge, match=rf"up to 24 nodes .* between {lower} and {upper}"):
        treewidth(graph)


@settings(max_examples=30, deadline=None)
@given(undirected(max_nodes=12))
def test_bounds_and_exact_agree(drawn):
    graph = UndirectedGraph(*drawn)
    lower, upper = treewidth_bounds(graph)
    assert lower <= treewidth(graph) <= upper


def tree_of_cliques(size: int, k: int, seed: int) -> UndirectedGraph:
    """A k-tree: each new node is joined to a clique of k nodes that are already there, so its treewidth is k."""
    rng = np.random.default_rng(seed)
    cliques = [tuple(range(k))]
    edges = list(itertools.combinations(range(k), 2))
    for v in range(k, size):
        chosen = cliques[int(rng.integers(len(cliques)))]
        edges += [(u, v) for u in chosen]
        cliques += [(*(u for u in chosen if u != left), v) for left in chosen]
    names = rng.permutation(size)
    return UndirectedGraph(map(str, range(size)), [(str(names[a]), str(names[b])) for a, b in edges])


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_k_trees_have_width_k(k):
    assert treewidth(tree_of_cliques(2_000, k, k)) == k


@pytest.mark.parametrize("sides", [(7, 7), (5, 40), (30, 30), (60, 60)])
def test_grids_have_the_width_of_their_shorter_side(sides):
    lower, upper = treewidth_bounds(UndirectedGraph.from_networkx(nx.grid_2d_graph(*sides)))
    assert lower <= min(sides) == upper


@given(drawn=undirected(max_nodes=5), budget=st.integers(0, 60))
def test_bounds_hold_whatever_the_budget(drawn, budget):
    nodes, edges = drawn
    expected, graph = plain.treewidth(nodes, edges), UndirectedGraph(nodes, edges)
    width.FREE, free = 0, width.FREE
    try:
        assert width.minor_min_width(width.neighbor_rows(graph), budget) <= expected
        assert width.min_degree_width(width.neighbor_rows(graph), budget) >= expected
    finally:
        width.FREE = free
    assert width.swept_width(graph) >= expected


def test_what_the_bounds_look_at_is_counted():
    graph = UndirectedGraph.from_networkx(nx.random_regular_graph(12, 400, seed=0))
    whole = width.minor_min_width(width.neighbor_rows(graph), 10**9)
    part = width.minor_min_width(width.neighbor_rows(graph), 4 * 12 * 20)
    assert 12 <= part < whole
    left = width.min_degree_width(width.neighbor_rows(graph), 12**2 * 3)
    assert 390 <= left <= 399


def test_bounds_that_are_far_apart_are_not_searched():
    graph = UndirectedGraph.from_networkx(nx.random_regular_graph(8, 3_000, seed=0))
    with pytest.raises(TooLarge, match=r"beyond its budget\. The treewidth is between"):
        treewidth(graph)
