from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.errors import ModelError, ScopeError
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph
from sepset.graphs.separation import (
    Requisite,
    active_trail,
    barren_nodes,
    chain_separated,
    csi_separated,
    d_separated,
    markov_blanket,
    reachable,
    requisite_nodes,
    separated,
)
from support.bounded import within
from support.small_graphs import (
    chain_graphs,
    chain_separated_by_definition,
    d_separated_by_paths,
    dags,
    is_active,
    pairs_and_sets,
    simple_paths,
    undirected,
)
from support.tolerances import CLOSE

STUDENT = DAG.parse("D -> G <- I -> S; G -> L")


@given(dags(5))
@settings(max_examples=60)
def test_d_separation_is_the_absence_of_active_paths(drawn):
    nodes, edges = drawn
    dag = DAG(nodes, edges)
    for x, y, given_ in pairs_and_sets(nodes):
        expected = d_separated_by_paths(nodes, edges, x, y, given_)
        assert d_separated(dag, x, y, given=given_) is expected
        assert (y not in reachable(dag, x, given=given_)) is expected
        trail = active_trail(dag, x, y, given=given_)
        assert (trail is None) is expected
        if trail is not None:
            assert (trail[0], trail[-1]) == (x, y)
            assert len(set(trail)) == len(trail)
            assert is_active(tuple(trail), edges, given_)
            for (a, b), arrow in zip(itertools.pairwise(trail), trail.arrows, strict=True):
                assert ((a, b) if arrow == "->" else (b, a)) in edges


@given(dags(8), st.data())
def test_sets_against_networkx(drawn, data):
    nodes, edges = drawn
    dag = DAG(nodes, edges)
    role = {node: data.draw(st.integers(0, 3)) for node in nodes}
    xs, ys, zs = ({n for n in nodes if role[n] == k} for k in range(3))
    if xs and ys:
        assert d_separated(dag, xs, ys, given=zs) is nx.is_d_separator(dag.to_networkx(), xs, ys, zs)
    else:
        assert d_separated(dag, xs, ys, given=zs)


@given(dags(5), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_d_separation_implies_independence_in_every_distribution(drawn, seed):
    """Specification variational-and-clique-tree-queries, row B2: random CPDs, some with zeros and one-state nodes."""
    nodes, edges = drawn
    rng = np.random.default_rng(seed)
    card = {node: int(rng.integers(1, 4)) for node in nodes}
    joint = np.ones([card[n] for n in nodes])
    for node in nodes:
        parents = [n for n in nodes if (n, node) in edges]
        table = rng.random([card[n] for n in [*parents, node]]) ** 3
        table[rng.random(table.shape) < 0.2] = 0
        table[..., 0] += 1e-3
        table /= table.sum(axis=-1, keepdims=True)
        letters = [nodes.index(n) for n in [*parents, node]]
        joint = np.einsum(joint, range(len(nodes)), table, letters, range(len(nodes)))
    dag = DAG(nodes, edges)
    for x, y, zs in pairs_and_sets(nodes):
        if d_separated(dag, x, y, given=zs):
            keep = [nodes.index(n) for n in sorted(zs)]
            a, b = nodes.index(x), nodes.index(y)
            pxyz = np.einsum(joint, range(len(nodes)), [a, b, *keep])
            left = pxyz * pxyz.sum(axis=(0, 1))
            right = pxyz.sum(axis=1, keepdims=True) * pxyz.sum(axis=0, keepdims=True)
            assert np.abs(left - right).max() < CLOSE


def test_student_network_independences():
    """Specification temporal-and-learning-goals, row N35."""
    listed = [("D", "I", ()), ("G", "S", "I"), ("D", "L", "G"), ("L", "S", "G"), ("L", "S", "I"), ("D", "S", ())]
    assert all(d_separated(STUDENT, x, y, given=z) for x, y, z in listed)
    count = sum(d_separated(STUDENT, x, y, given=z) for x, y, z in pairs_and_sets(list(STUDENT.nodes)))
    assert count == 25


def test_fig_2_1b_network():
    """Specification variational-and-clique-tree-queries, row B2 and section 4, example 2."""
    dag = DAG.parse("X1 -> X3 <- X2; X1 -> X4 <- X2; X3 -> X5 <- X4; X3 -> X6")
    assert d_separated(dag, "X6", ["X1", "X2", "X4", "X5"], given="X3")
    assert d_separated(dag, "X1", "X2")
    for other in ("X3", "X4", "X5", "X6"):
        assert not d_separated(dag, "X1", "X2", given=other)


def test_explanations():
    trail = active_trail(STUDENT, "D", "S", given="L")
    assert trail is not None
    assert str(trail) == "D -> G <- I -> S"
    assert list(trail) == ["D", "G", "I", "S"]
    assert trail[1:3] == ("G", "I")
    assert trail.opened == (("G", "L"),)
    assert trail.explanation == "D -> G <- I -> S, where G is open because its descendant L is observed"
    assert active_trail(STUDENT, "D", "I", given="G").explanation == "D -> G <- I, where G is observed"
    assert active_trail(STUDENT, "D", "L").explanation == "D -> G -> L"
    assert active_trail(STUDENT, "D", "S") is None


def test_overlapping_and_unknown_nodes_are_refused():
    for x, y, z in (("D", "D", ()), ("D", "G", "G"), ("D", "G", ["D", "L"])):
        with pytest.raises(ScopeError, match=r"disjoint; '[DG]'"):
            d_separated(STUDENT, x, y, given=z)
    with pytest.raises(ScopeError, match="Unknown node 'Q'"):
        d_separated(STUDENT, "Q", "D")


def test_a_hundred_thousand_nodes_take_linear_time():
    rng = np.random.default_rng(1)
    size = 100_000
    targets = rng.integers(1, size, 2 * size)
    sources = (targets * rng.random(2 * size)).astype(np.int64)
    number = rng.permutation(size)
    dag = DAG.from_arrays([f"X{i}" for i in range(size)], sources=number[sources], targets=number[targets])
    observed = [f"X{i}" for i in range(2, 2000)]
    d_separated(STUDENT, "D", "I")
    found = within(5.0, lambda: d_separated(dag, "X0", "X1", given=observed))
    assert found is (active_trail(dag, "X0", "X1", given=observed) is None)


@given(undirected(6))
def test_separation_is_the_absence_of_open_paths(drawn):
    nodes, edges = drawn
    graph = UndirectedGraph(nodes, edges)
    adjacent = {n: set(graph.neighbors(n)) for n in nodes}
    for x, y, given_ in itertools.islice(pairs_and_sets(nodes), 60):
        open_paths = (p for p in simple_paths(x, y, adjacent) if not set(p) & given_)
        assert separated(graph, x, y, given=given_) is (next(open_paths, None) is None)


def test_four_cycle():
    """Specification variational-and-clique-tree-queries, section 4, example 3."""
    cycle = UndirectedGraph.parse("X1 - X2 - X4 - X3 - X1")
    assert separated(cycle, "X1", "X4", given=["X2", "X3"])
    assert separated(cycle, "X2", "X3", given=["X1", "X4"])
    assert not separated(cycle, "X1", "X4", given=["X2"])


@given(dags(5))
def test_chain_separation_in_a_dag_is_d_separation(drawn):
    nodes, edges = drawn
    for x, y, given_ in itertools.islice(pairs_and_sets(nodes), 40):
        expected = d_separated_by_paths(nodes, edges, x, y, given_)
        assert chain_separated(MixedGraph(nodes, edges), x, y, given=given_) is expected


@given(chain_graphs(5), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_chain_separation_implies_independence(drawn, seed):
    """A chain graph's distribution: each component given its parents is a normalized product over moral cliques."""
    nodes, directed, joined = drawn
    rng = np.random.default_rng(seed)
    graph = MixedGraph(nodes, directed, undirected=joined)
    every = list(range(len(nodes)))
    joint = np.ones([2] * len(nodes))
    done: set[str] = set()
    for start in nodes:
        if start in done:
            continue
        block = [start]
        for node in block:
            block += [m for m in graph.neighbors(node) if m not in block]
        done |= set(block)
        potential = np.ones([2] * len(nodes))
        parents = sorted({p for node in block for p in graph.parents(node)})
        for a, b in [*joined, *directed]:
            if b in block:
                potential = np.einsum(
                    potential, every, rng.random((2, 2)) + 0.1, [nodes.index(a), nodes.index(b)], every
                )
        if parents:
            potential = np.einsum(
                potential, every, rng.random([2] * len(parents)) + 0.1, [nodes.index(p) for p in parents], every
            )
        for node in block:
            potential = np.einsum(potential, every, rng.random(2) + 0.1, [nodes.index(node)], every)
        joint = joint * potential / potential.sum(axis=tuple(nodes.index(n) for n in block), keepdims=True)
    for x, y, zs in pairs_and_sets(nodes):
        if chain_separated(graph, x, y, given=zs):
            pxyz = np.einsum(joint, every, [nodes.index(n) for n in (x, y, *sorted(zs))])
            right = pxyz.sum(axis=1, keepdims=True) * pxyz.sum(axis=0, keepdims=True)
            assert np.abs(pxyz * pxyz.sum(axis=(0, 1)) - right).max() < CLOSE


@given(chain_graphs())
@settings(max_examples=60)
def test_chain_separation_by_definition(drawn):
    nodes, directed, joined = drawn
    graph = MixedGraph(nodes, directed, undirected=joined)
    for x, y, zs in itertools.islice(pairs_and_sets(nodes), 120):
        assert chain_separated(graph, x, y, given=zs) is chain_separated_by_definition(directed, joined, x, y, zs)


def test_chain_separation_facts():
    chain = MixedGraph.parse("T1 - T2 - T3 - T4 - T1; T2 -> T5 <- T4")
    assert chain_separated(chain, "T1", "T3", given=["T2", "T4"])
    assert chain_separated(chain, "T2", "T4", given=["T1", "T3"])
    assert not chain_separated(chain, "T2", "T4", given=["T1", "T3", "T5"])
    with pytest.raises(ModelError, match="needs a chain graph"):
        chain_separated(MixedGraph.parse("A -> B - C -> A"), "A", "B")


def test_context_specific_separation():
    """After Koller & Friedman, section 5.3: whether a recruiter reads the letter decides what the job depends on."""
    dag = DAG.parse("Apply -> Job; Letter -> Job; SAT -> Job; I -> Letter; I -> SAT")

    def drops(child, context):
        return ("SAT", "Letter") if child == "Job" and context.get("Apply") == "no" else ()

    assert not d_separated(dag, "Job", "I", given="Apply")
    assert csi_separated(dag, "Job", ["I", "SAT"], context={"Apply": "no"}, irrelevant=drops)
    assert not csi_separated(dag, "Job", "SAT", context={"Apply": "yes"}, irrelevant=drops)
    assert csi_separated(dag, "Job", "SAT", given="Letter", context={"Apply": "no"}, irrelevant={"Job": ["SAT"]})
    assert not csi_separated(dag, "Job", "SAT", context={}, irrelevant={"Job": ["SAT"]})
    with pytest.raises(ScopeError, match="'I' cannot drop out for 'Job'"):
        csi_separated(dag, "Job", "SAT", context={}, irrelevant={"Job": ["I"]})


@given(dags(5))
@settings(max_examples=50)
def test_the_blanket_is_the_smallest_separating_set(drawn):
    nodes, edges = drawn
    dag = DAG(nodes, edges)
    for node in nodes:
        blanket = set(markov_blanket(dag, node))
        others = [n for n in nodes if n != node]
        for size in range(len(others) + 1):
            for zs in map(set, itertools.combinations(others, size)):
                separates = all(d_separated_by_paths(nodes, edges, node, y, zs) for y in others if y not in zs)
                assert separates is (blanket <= zs)


def test_blankets_of_other_graphs():
    assert markov_blanket(UndirectedGraph.parse("A - B - C"), "B") == ("A", "C")
    chain = MixedGraph.parse("A -> C - D <- B; D -> E")
    assert markov_blanket(chain, "A") == ("C", "B")
    assert markov_blanket(chain, "D") == ("C", "B", "E")
    assert markov_blanket(DAG.parse("A"), "A") == ()


@given(dags(6), st.data())
def test_barren_nodes_are_those_removed_leaf_by_leaf(drawn, data):
    nodes, edges = drawn
    role = {n: data.draw(st.integers(0, 2)) for n in nodes}
    targets, observed = ([n for n in nodes if role[n] == k] for k in (0, 1))
    left = set(nodes)
    while leaves := {n for n in left if role[n] == 2 and not any(a == n and b in left for a, b in edges)}:
        left -= leaves
    assert barren_nodes(DAG(nodes, edges), targets, observed=observed) == tuple(n for n in nodes if n not in left)


@given(dags(5), st.data())
@settings(max_examples=150)
def test_requisite_nodes_by_an_added_parent(drawn, data):
    """A CPD is requisite when a new parent of its node is d-connected to the targets (Shachter)."""
    nodes, edges = drawn
    if not nodes:
        return
    role = {n: data.draw(st.integers(0, 2)) for n in nodes}
    targets, observed = ([n for n in nodes if role[n] == k] for k in (0, 1))
    found = requisite_nodes(DAG(nodes, edges), targets, observed=observed)
    for node in nodes:
        extended = [*edges, ("new", node)]
        connected = not all(d_separated_by_paths([*nodes, "new"], extended, "new", t, set(observed)) for t in targets)
        assert (node in found.probabilities) is connected
    for node in observed:
        others = set(observed) - {node}
        matters = not all(d_separated_by_paths(nodes, edges, node, t, others) for t in targets)
        if matters:
            assert node in found.observations


def test_requisite_nodes_of_the_student_network():
    assert requisite_nodes(STUDENT, "I", observed="L") == Requisite(("D", "G", "I", "L"), ("L",))
    assert requisite_nodes(STUDENT, "S", observed=["I", "G", "D"]) == Requisite(("S",), ("I",))
    assert requisite_nodes(STUDENT, "I", observed="I") == Requisite((), ("I",))
    assert requisite_nodes(STUDENT, (), observed=("G",)) == Requisite((), ())
