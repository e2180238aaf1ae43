from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.sweeps import side_to_side
from support.small_graphs import undirected


def open_nodes(edges, order):
    """The most nodes that were reached, being in turn or next to one that was, and have unreached neighbors or wait."""
    place = {v: i for i, v in enumerate(order)}
    last = {v: max([i, *(place[u] for a, b in edges for u in (a, b) if v in (a, b))]) for v, i in place.items()}
    return max(sum(1 for v in order[: i + 1] if last[v] > i) for i in range(len(order)))


def relabeled(graph, seed):
    nodes = list(graph)
    mixed = np.random.default_rng(seed).permutation(len(nodes))
    found = UndirectedGraph([str(i) for i in range(len(nodes))])
    numbers = {node: str(mixed[i]) for i, node in enumerate(nodes)}
    return UndirectedGraph(found.nodes, [(numbers[a], numbers[b]) for a, b in graph.edges])


@pytest.mark.parametrize("sides", [(1, 6), (2, 9), (6, 6), (7, 12), (13, 5)])
def test_grids_are_swept_with_no_more_open_nodes_than_their_shorter_side(sides):
    for seed in range(5):
        graph = relabeled(nx.grid_2d_graph(*sides), seed)
        order = [graph.nodes[i] for i in side_to_side(*graph.neighbor_csr)]
        assert open_nodes(graph.edges, order) == min(sides)


@settings(max_examples=100)
@given(undirected(max_nodes=9))
def test_every_node_once_and_components_one_after_the_other(drawn):
    nodes, edges = drawn
    graph = UndirectedGraph(nodes, edges)
    order = [graph.nodes[i] for i in side_to_side(*graph.neighbor_csr)]
    assert sorted(order) == sorted(nodes)
    plain = nx.Graph(edges)
    plain.add_nodes_from(nodes)
    for part in nx.connected_components(plain):
        places = sorted(order.index(node) for node in part)
        assert places == list(range(places[0], places[0] + len(places)))


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_graphs_without_edges(nodes):
    graph = UndirectedGraph([f"v{i}" for i in range(nodes)])
    assert side_to_side(*graph.neighbor_csr).tolist() == list(range(nodes))
