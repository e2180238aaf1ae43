"""Essential graphs against enumerated classes, with and without interventions; members with given parents; paths."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.classes.essential import EssentialGraph, cliques
from sepset.learning.structure.classes.gies import told_apart
from support.enumerated_classes import Edges, classes, dag_of, key_of, parents_of


def union(members: list[Edges], n: int) -> np.ndarray:
    """The marks of all members together."""
    arcs = np.zeros((n, n), np.bool_)
    for edges in members:
        for x, y in edges:
            arcs[x, y] = True
    return arcs


def test_an_edge_is_undirected_if_members_differ() -> None:
    for members in classes(4).values():
        for edges in members:
            assert np.array_equal(EssentialGraph(parents_of(edges, 4)).arcs, union(members, 4))


@pytest.mark.parametrize("targets", [[(0,)], [(0, 1)], [(0,), (1, 2)], [(3,), (0, 2)]], ids=str)
def test_interventions_split_classes(targets: list[tuple[int, ...]]) -> None:
    """Two DAGs stay together if they also agree once the edges into each target are gone."""
    masks = np.array([[x in t for t in targets] + [False] for x in range(4)])
    for members in classes(4).values():
        split: dict[object, list[Edges]] = {}
        for edges in members:
            mutilated = [frozenset(frozenset(e) for e in edges if e[1] not in t) for t in targets]
            split.setdefault(tuple(mutilated), []).append(edges)
        for part in split.values():
            for edges in part:
                graph = EssentialGraph(parents_of(edges, 4), told_apart(masks))
                assert np.array_equal(graph.arcs, union(part, 4))


def test_members_with_the_parents_asked_for() -> None:
    for members in classes(4).values():
        graph = EssentialGraph(parents_of(members[0], 4))
        for y in range(4):
            for clique in cliques(graph.neighbors[y], graph.adjacent, 4):
                found = dag_of(graph.member((*clique, y)))
                assert key_of(found) == key_of(members[0])
                assert {x for x, z in found if z == y} == graph.parents[y].union(clique)


@pytest.mark.parametrize("seed", range(5))
def test_large_classes_and_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, order = 40, rng.permutation(40)
    edges = np.triu(rng.random((n, n)) < 0.06, 1)[np.ix_(order, order)]
    names = [f"v{k}" for k in range(n)]
    graph = EssentialGraph([np.flatnonzero(edges[:, k]).tolist() for k in range(n)])
    dag = ss.DAG(names, [(names[x], names[y]) for x, y in np.argwhere(edges)])
    assert graph.graph(names) == ss.graphs.cpdag(dag)
    for _ in range(20):
        x, y, *blocked = rng.choice(n, 5, replace=False).tolist()
        allowed = nx.from_numpy_array(graph.arcs, create_using=nx.DiGraph)
        allowed.remove_nodes_from(blocked)
        path = graph.path(x, y, blocked)
        assert bool(path) == nx.has_path(allowed, x, y)
        assert all(graph.arcs[b, a] for a, b in itertools.pairwise(path))


def test_changes_are_named() -> None:
    graph = EssentialGraph([[], [0], [1], []])
    edges = graph.edges.copy()
    edges[3, 2] = True
    assert graph.become(edges) == [1, 2, 3]
    assert graph.parents_of == [[], [0], [1, 3], []]
    assert graph.neighbors[1] == {0}
    assert graph.parents[2] == {1, 3}


def test_cliques_are_all_complete_sets() -> None:
    graph = nx.gnp_random_graph(7, 0.6, seed=3)
    adjacent = [set(graph[x]) for x in range(7)]
    expected = {
        nodes
        for size in range(4)
        for nodes in itertools.combinations(range(7), size)
        if all(b in adjacent[a] for a, b in itertools.combinations(nodes, 2))
    }
    found = list(cliques(range(7), adjacent, 3))
    assert len(found) == len(expected)
    assert set(found) == expected
    assert list(cliques([0], adjacent, -1)) == []
