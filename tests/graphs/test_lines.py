"""Lines through graphs against counts of open nodes."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.graphs.lines import line_of, num_open
from support.small_graphs import undirected


def relabeled(graph, seed):
    """The edges of a graph whose nodes have numbers at random, and how many nodes there are."""
    mixed = np.random.default_rng(seed).permutation(len(graph))
    number = dict(zip(graph, mixed.tolist(), strict=True))
    return np.array([(number[a], number[b]) for a, b in graph.edges], np.int64).reshape(-1, 2), len(graph)


def open_nodes(edges, places):
    """The most nodes, after any turn, whose own is still to come and which are next to one that had its turn."""
    turns, most = np.argsort(places).tolist(), 0
    for t in range(1, len(turns) + 1):
        gone = set(turns[:t])
        reached = {v for edge in edges for v in edge if v not in gone and gone & set(edge)}
        most = max(most, len(reached))
    return most


GRAPHS = {
    "path": (nx.path_graph(40), 1),
    "2 x 12": (nx.grid_2d_graph(2, 12), 2),
    "4 x 9": (nx.grid_2d_graph(4, 9), 4),
    "binary tree": (nx.balanced_tree(2, 5), 5),
    "caterpillar": (nx.Graph([*((i, i + 1) for i in range(15)), *((i // 2, 100 + i) for i in range(30))]), 2),
    "star of paths": (nx.Graph((0 if i % 8 == 0 else i, i + 1) for i in range(48)), 2),
    "apart": (nx.disjoint_union(nx.grid_2d_graph(3, 7), nx.balanced_tree(2, 4)), 4),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("has_end", [False, True])
def test_trees_and_grids_have_few_open_nodes(name, has_end):
    graph, most = GRAPHS[name]
    for seed in range(4):
        edges, num = relabeled(graph, seed)
        chains = [np.append(np.random.default_rng(seed).permutation(num), num)] if has_end else []
        places = line_of(edges, chains, num + has_end)
        assert sorted(places.tolist()) == list(range(num + has_end))
        assert open_nodes(edges.tolist(), places[:num]) <= most


@pytest.mark.parametrize("width", [3, 6])
def test_windows_that_only_chains_connect_come_one_after_the_other(width):
    """Chains through neighbors in a hidden order: no more are open than overlap."""
    mixed = np.random.default_rng(0).permutation(30)
    chains = [np.append(mixed[i : i + width], 30 + i) for i in range(31 - width)]
    places = line_of(np.zeros((0, 2), np.int64), chains, 61 - width)
    stars = np.array([(v, chain[-1]) for chain in chains for v in chain[:-1]])
    assert num_open(stars, places).max() <= 2 * width


def test_two_paths_that_chains_connect_at_each_step_are_walked_together():
    """One after the other, every chain would be open between them."""
    mixed = np.random.default_rng(1).permutation(40)
    one, other = mixed[:20], mixed[20:]
    pairs = np.array([(path[i], path[i + 1]) for path in (one, other) for i in range(19)])
    chains = [np.array([one[i], one[i + 1], other[i], other[i + 1], 40 + i]) for i in range(19)]
    places = line_of(pairs, chains, 59)
    stars = [(v, chain[-1]) for chain in chains for v in chain[:-1]]
    assert num_open(np.concatenate([pairs, stars]), places).max() <= 6


@settings(max_examples=80)
@given(undirected(max_nodes=8), st.randoms(use_true_random=False))
def test_counts_of_open_nodes_and_ends_of_chains(drawn, random):
    nodes, edges = drawn
    number = {v: i for i, v in enumerate(nodes)}
    pairs = np.array([(number[a], number[b]) for a, b in edges], np.int64).reshape(-1, 2)
    n = len(nodes)
    first = random.sample(range(n), random.randint(0, n))
    second = [*random.sample(range(n), random.randint(0, n)), n]  # goes on where the first ends
    chains = [np.array([*first, n]), np.array([*second, n + 1])]
    places = line_of(pairs, chains, n + 2)
    assert sorted(places.tolist()) == list(range(n + 2))
    assert all(places[v] < places[n] for v in first)
    assert all(places[v] < places[n + 1] for v in second)
    found = num_open(pairs, places)
    assert found.max(initial=0) == open_nodes(pairs.tolist(), places)
    assert found[-1] == 0


def test_a_dense_graph_is_swept():
    """Its cliques are too large for branches."""
    places = line_of(*[np.array(nx.complete_graph(60).edges), []], 60)
    assert sorted(places.tolist()) == list(range(60))


def test_graphs_without_edges_keep_their_order():
    for num in (0, 1, 4):
        assert line_of(np.zeros((0, 2), np.int64), [], num).tolist() == list(range(num))
