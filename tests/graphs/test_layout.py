"""Layouts in layers: directions, distances, crossings, lengths."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.graphs.layout import crossings, depths, layered, spaced


def random_dag(seed, size=12):
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(size)]
    return ss.DAG(names, [pair for pair in itertools.combinations(names, 2) if rng.random() < 0.25])


@pytest.mark.parametrize("seed", range(5))
def test_edges_go_down_and_nodes_have_room(seed):
    dag = random_dag(seed)
    found = layered(dag)
    assert set(found.nodes) == set(dag.nodes)
    for a, b in dag.edges:
        assert found.nodes[a][1] > found.nodes[b][1]
        route = found.routes[a, b]
        assert (route[0], route[-1]) == (found.nodes[a], found.nodes[b])
        assert [y for _, y in route] == [found.nodes[a][1] - k for k in range(len(route))]
    for (x, y), (u, v) in itertools.combinations(found.nodes.values(), 2):
        assert y != v or abs(x - u) >= 1.0 - 1e-6
    assert min(x for x, _ in found.nodes.values()) >= 0.0


def test_layers_are_shortest_in_total():
    """Against all layers of a small graph."""
    dag = ss.DAG.parse("a -> b -> c -> d; e -> d; f -> e; a -> g")
    depth = depths(dag.nodes, dag.edges, dag.topological_order)
    best = min(
        sum(
            dict(zip(dag.nodes, levels, strict=True))[b] - dict(zip(dag.nodes, levels, strict=True))[a]
            for a, b in dag.edges
        )
        for levels in itertools.product(range(4), repeat=7)
        if all(levels[dag.index[b]] > levels[dag.index[a]] for a, b in dag.edges)
    )
    assert sum(depth[b] - depth[a] for a, b in dag.edges) == best


def test_graphs_of_all_kinds():
    assert layered(ss.DAG([], [])).nodes == {}
    assert layered(ss.DAG(["a", "b"], [])).nodes == {"a": (0.0, 0.0), "b": (1.0, 0.0)}
    star = layered(ss.UndirectedGraph.parse("a - b - c"))
    assert star.nodes == {"b": (0.5, 0.0), "a": (0.0, -1.0), "c": (1.0, -1.0)}
    mixed = layered(ss.MixedGraph.parse("a -> b - c"))
    assert mixed.nodes["a"][1] > mixed.nodes["b"][1]
    cycle = ss.MixedGraph("abc", [("a", "b"), ("b", "c"), ("c", "a")])
    assert len(layered(cycle).nodes) == 3
    upward = layered(ss.MixedGraph.parse("a -> b"), order=["b", "a"])
    assert upward.nodes["a"][1] < upward.nodes["b"][1]


def test_crossings_and_spaces():
    layers = [["a", "b"], ["c", "d"]]
    joined = {"a": ["d"], "b": ["c"], "c": ["b"], "d": ["a"]}
    assert crossings(layers, joined) == 1
    found = layered(ss.DAG(["a", "b", "c", "d"], [("a", "d"), ("b", "c")]))
    assert (found.nodes["a"][0] < found.nodes["b"][0]) == (found.nodes["d"][0] < found.nodes["c"][0])
    assert spaced([3.0, 3.0]) == [2.5, 3.5]
    assert spaced([]) == []
