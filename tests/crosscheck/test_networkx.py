"""Graph questions agree with networkx on random graphs, sparse and dense, with isolated nodes."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from support.blocks import in_blocks

nx = pytest.importorskip("networkx")
pytestmark = pytest.mark.crosscheck


def random_graph(seed, size=12):
    """A random DAG as ours and theirs; some nodes may be isolated."""
    rng = np.random.default_rng(seed)
    density = rng.uniform(0.05, 0.5)
    names = [f"v{i}" for i in range(size)]
    edges = [(names[i], names[j]) for i in range(size) for j in range(i + 1, size) if rng.uniform() < density]
    theirs = nx.DiGraph()
    theirs.add_nodes_from(names)
    theirs.add_edges_from(edges)
    return rng, names, ss.DAG(names, edges), theirs


@in_blocks("seed", range(40))
def test_separation(seed):
    rng, names, dag, theirs = random_graph(seed)
    for _ in range(20):
        cut = np.sort(rng.choice(np.arange(1, 8), 2, replace=False))
        mixed = [str(v) for v in rng.permutation(names)[:8]]
        xs, ys, zs = mixed[: cut[0]], mixed[cut[0] : cut[1]], mixed[cut[1] :]
        assert ss.d_separated(dag, xs, ys, given=zs) == nx.is_d_separator(theirs, set(xs), set(ys), set(zs))


@in_blocks("seed", range(20))
def test_moral_graphs_and_chordality(seed):
    _, _, dag, theirs = random_graph(seed)
    moral, expected = ss.graphs.moralize(dag), nx.moral_graph(theirs)
    assert {frozenset(e) for e in moral.edges} == {frozenset(e) for e in expected.edges()}
    assert ss.graphs.is_chordal(moral) == nx.is_chordal(expected)


@in_blocks("seed", range(20))
def test_ancestors_and_components(seed):
    _, names, dag, theirs = random_graph(seed)
    for name in names:
        assert set(ss.graphs.ancestors(dag, name)) == nx.ancestors(theirs, name)
        assert set(ss.graphs.descendants(dag, name)) == nx.descendants(theirs, name)
    ours = {frozenset(part) for part in ss.graphs.connected_components(ss.graphs.skeleton(dag))}
    assert ours == {frozenset(part) for part in nx.weakly_connected_components(theirs)}


@in_blocks("seed", range(20))
def test_cliques_of_triangulated_graphs(seed):
    _, _, dag, _ = random_graph(seed)
    chordal = ss.graphs.triangulate(ss.graphs.moralize(dag))
    theirs = chordal.to_networkx()
    assert nx.is_chordal(theirs)
    assert {frozenset(c) for c in ss.graphs.maximal_cliques(chordal)} == {frozenset(c) for c in nx.find_cliques(theirs)}
