from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.ordering import GivenOrder, elimination_order
from sepset.graphs.sweeps import beside, side_by_side, side_to_side
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


def chained(paths, num_own):
    """The scopes of chains through these variables, each with auxiliaries of its own; and the number of variables."""
    scopes, free = [], num_own
    for path in paths:
        ends = range(free, free + len(path) - 1)
        free += len(ends)
        scopes.append((path[0], *ends[:1]))
        scopes += [(ends[i - 1], v, *ends[i : i + 1]) for i, v in enumerate(path) if i]
    return scopes, free


def in_rows(scopes):
    return np.cumsum([0, *map(len, scopes)]), np.array([v for scope in scopes for v in scope], np.int64)


@settings(max_examples=150)
@given(st.integers(2, 12), st.integers(1, 5), st.randoms(use_true_random=False))
def test_one_auxiliary_of_each_chain_is_open(num_own, num_chains, random):
    shared = random.sample(range(num_own), num_own)
    chosen = [random.sample(range(num_own), random.randint(2, num_own)) for _ in range(num_chains)]
    scopes, num = chained([sorted(path, key=shared.index) for path in chosen], num_own)
    ranks = side_by_side(*in_rows(scopes), num_own, num)
    graph = UndirectedGraph(
        [str(v) for v in range(num)], [(str(a), str(b)) for s in scopes for a in s for b in s if a < b]
    )
    ranks = beside(*graph.neighbor_csr, ranks)
    order = GivenOrder(graph.nodes[i] for i in np.argsort(ranks, kind="stable"))
    assert elimination_order(graph, method=order).width <= num_chains + 1


def test_chains_in_contrary_directions_have_no_order():
    scopes, num = chained([(0, 1, 2), (2, 1, 0)], 3)
    assert np.isnan(side_by_side(*in_rows(scopes), 3, num)).all()
    assert np.isnan(side_by_side(np.zeros(1, np.int64), np.zeros(0, np.int64), 2, 2)).all()


@settings(max_examples=100)
@given(undirected(max_nodes=9), st.data())
def test_other_nodes_come_after_their_last_neighbor_nearer_to_ranks(drawn, data):
    nodes, edges = drawn
    graph, plain = UndirectedGraph(nodes, edges), nx.Graph(edges)
    plain.add_nodes_from(nodes)
    known = {v: float(i) for i, v in enumerate(nodes) if data.draw(st.booleans())}
    found = beside(*graph.neighbor_csr, np.array([known.get(v, np.nan) for v in graph.nodes]))
    rank = dict(zip(graph.nodes, found.tolist(), strict=True))
    distance = nx.multi_source_dijkstra_path_length(plain, known) if known else {}
    for v in nodes:
        nearer = [rank[u] for u in plain[v] if v in distance and distance[u] < distance[v]]
        assert rank[v] == known.get(v, max(nearer, default=max(known.values(), default=0.0) + 1.0))
