from __future__ import annotations

import itertools
from collections import defaultdict, deque

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.errors import ModelError, TooLarge
from sepset.graphs import csr, equivalence, graph
from sepset.graphs.equivalence import (
    consistent_extension,
    covered_edges,
    cpdag,
    directed_imap,
    i_equivalent,
    immoralities,
    is_cpdag,
    meek_rules,
)
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph, moralize, skeleton
from sepset.graphs.separation import d_separated, separated
from support.small_graphs import all_dags, d_separated_by_paths, dags, names, pairs_and_sets, undirected


def independence_set(nodes, edges):
    """What the definition says a DAG states, by listing paths."""
    statements = pairs_and_sets(nodes)
    return frozenset((x, y, frozenset(z)) for x, y, z in statements if d_separated_by_paths(nodes, edges, x, y, z))


def classes(size):
    """The DAGs over `size` nodes, grouped by the independences they state."""
    groups = defaultdict(list)
    for edges in all_dags(names(size)):
        groups[independence_set(names(size), edges)].append(edges)
    return list(groups.values())


@pytest.fixture(scope="module")
def four():
    return classes(4)


@pytest.mark.parametrize(("size", "num_dags", "num_classes"), [(1, 1, 1), (2, 3, 2), (3, 25, 11)])
def test_counts_of_small_dags_and_classes(size, num_dags, num_classes):
    groups = classes(size)
    assert sum(map(len, groups)) == num_dags
    assert len(groups) == num_classes
    assert len({cpdag(DAG(names(size), edges)) for group in groups for edges in group}) == num_classes


def test_a_class_has_one_cpdag_and_its_edges_are_what_all_members_share(four):
    assert (sum(map(len, four)), len(four)) == (543, 185)
    seen = set()
    for group in four:
        members = [DAG(names(4), edges) for edges in group]
        shared = set.intersection(*(set(edges) for edges in group))
        (found,) = {cpdag(member) for member in members}
        assert set(found.directed) == shared
        assert skeleton(found) == skeleton(members[0])
        assert is_cpdag(found)
        assert found.is_chain_graph
        assert consistent_extension(found) in members
        assert all(i_equivalent(members[0], member) for member in members)
        seen.add(found)
    assert len(seen) == 185


def test_dags_of_different_classes_are_not_equivalent(four):
    firsts = [DAG(names(4), group[0]) for group in four[:60]]
    assert not any(i_equivalent(a, b) for a, b in itertools.combinations(firsts, 2))
    assert not i_equivalent(DAG.parse("A -> B"), DAG.parse("A -> C"))
    assert i_equivalent(DAG.parse("A -> C <- B"), DAG.parse("B -> C <- A"))


def test_covered_edges_are_those_whose_reversal_stays_in_the_class(four):
    for group in four:
        members = {frozenset(edges) for edges in group}
        for edges in group[:6]:
            covered = {(a, b) for a, b in edges if frozenset({*(e for e in edges if e != (a, b)), (b, a)}) in members}
            assert set(covered_edges(DAG(names(4), edges))) == covered


def test_meek_rules_find_all_that_background_knowledge_implies(four):
    """Every edge that all members consistent with two known directions share, and no other (Meek's completeness)."""
    rng = np.random.default_rng(0)
    for group in four:
        pattern = cpdag(DAG(names(4), group[0]))
        if len(pattern.undirected) < 2:
            continue
        for _ in range(3):
            member = group[rng.integers(len(group))]
            loose = [e for e in member if e not in pattern.directed]
            known = [loose[i] for i in rng.permutation(len(loose))[: rng.integers(1, 3)]]
            told = MixedGraph(
                names(4),
                [*pattern.directed, *known],
                undirected=[e for e in pattern.undirected if e not in known and e[::-1] not in known],
            )
            agreeing = [set(edges) for edges in group if set(known) <= set(edges)]
            assert set(meek_rules(told).directed) == set.intersection(*agreeing)


def closed_under_meek(arrows, lines):
    """Meek's four rules, tried on every line until nothing changes."""
    arrows, lines = set(arrows), {frozenset(line) for line in lines}

    def touch(a, b):
        return (a, b) in arrows or (b, a) in arrows or frozenset((a, b)) in lines

    def forced(x, y):
        others = sorted({n for pair in [*arrows, *lines] for n in pair} - {x, y})
        return (
            any((z, x) in arrows and not touch(z, y) for z in others)
            or any((x, z) in arrows and (z, y) in arrows for z in others)
            or any(
                {frozenset((x, z)), frozenset((x, w))} <= lines and {(z, y), (w, y)} <= arrows and not touch(z, w)
                for z, w in itertools.combinations(others, 2)
            )
            or any(
                frozenset((x, z)) in lines and {(z, w), (w, y)} <= arrows and touch(x, w) and not touch(z, y)
                for z, w in itertools.permutations(others, 2)
            )
        )

    while found := next(((x, y) for line in lines for x, y in itertools.permutations(line) if forced(x, y)), None):
        arrows.add(found)
        lines.remove(frozenset(found))
    return arrows, lines


@given(dags(8), st.data())
@settings(max_examples=150)
def test_meek_rules_close_larger_graphs(drawn, data):
    dag = DAG(*drawn)
    pattern = cpdag(dag)
    assert (set(pattern.directed), {frozenset(e) for e in pattern.undirected}) == closed_under_meek(
        *_arrows_and_lines(dag, {e for x, z, y in immoralities(dag) for e in ((x, z), (y, z))})
    )
    loose = [e for e in dag.edges if e not in pattern.directed]
    known = [e for e in loose if data.draw(st.integers(0, 4)) == 0]
    arrows, lines = _arrows_and_lines(dag, {*pattern.directed, *known})
    found = meek_rules(MixedGraph(dag.nodes, arrows, undirected=lines))
    assert (set(found.directed), {frozenset(e) for e in found.undirected}) == closed_under_meek(arrows, lines)


def _arrows_and_lines(dag, arrows):
    return sorted(arrows), [e for e in dag.edges if e not in arrows]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Z -> X - Y", "Z -> X -> Y"),
        ("X -> Z -> Y; X - Y", "X -> Z -> Y; X -> Y"),
        ("X - Z -> Y; X - W -> Y; X - Y", "X - Z -> Y; X - W -> Y; X -> Y"),
        ("X - Z -> W -> Y; X - W; X - Y", "X - Z -> W -> Y; X - W; X -> Y"),
        ("X - Y - Z", "X - Y - Z"),
        # Rule 1 directs C -> D, then rule 4 A -> D, then rule 2 A -> B.
        ("A - B; A - C; A - D; D -> B; E -> C; A - E; C - D", "A -> B; A - C; A -> D; D -> B; E -> C; A - E; C -> D"),
    ],
)
def test_each_meek_rule(before, after):
    start, end = MixedGraph.parse(before), MixedGraph.parse(after)
    assert meek_rules(start) == end
    assert closed_under_meek(start.directed, start.undirected) == (
        set(end.directed),
        set(map(frozenset, end.undirected)),
    )


@pytest.mark.parametrize("causes", ["", "ab"])
def test_edges_of_a_hub_are_looked_at_a_few_times_each(causes, monkeypatch):
    class Counted(deque):
        taken = 0

        def popleft(self):
            Counted.taken += 1
            return super().popleft()

    monkeypatch.setattr(equivalence, "deque", Counted)
    names = [f"v{i}" for i in range(1000)]
    found = cpdag(DAG((*causes, "hub", *names), [(c, "hub") for c in causes] + [("hub", name) for name in names]))
    assert len(found.undirected) == (0 if causes else 1000)
    assert Counted.taken <= 2 * 1002


def test_meek_rules_run_along_chains_both_ways():
    nodes = names(2000)
    forward = MixedGraph(nodes, [(nodes[0], nodes[1])], undirected=list(itertools.pairwise(nodes[1:])))
    assert meek_rules(forward).undirected == ()
    backward = MixedGraph(nodes, [(nodes[-1], nodes[-2])], undirected=list(itertools.pairwise(nodes[:-1])))
    assert meek_rules(backward).directed == tuple((b, a) for a, b in itertools.pairwise(nodes))


@given(dags(6), st.data())
@settings(max_examples=80)
def test_extensions_keep_skeleton_arrows_and_immoralities(drawn, data):
    dag = DAG(*drawn)
    pattern = cpdag(dag)
    known = [e for e in dag.edges if e in pattern.directed or data.draw(st.booleans())]
    pdag = MixedGraph(dag.nodes, known, undirected=[e for e in dag.edges if e not in known])
    extension = consistent_extension(pdag)
    assert skeleton(extension) == skeleton(dag)
    assert set(known) <= set(extension.edges)
    assert immoralities(extension) == immoralities(dag)
    assert cpdag(extension) == pattern


def test_small_pdags_extend_exactly_when_some_dag_does():
    nodes = names(3)
    pairs = list(itertools.combinations(nodes, 2))
    every = [DAG(nodes, edges) for edges in all_dags(nodes)]
    for kinds in itertools.product(range(4), repeat=3):
        directed = [(a, b) if k == 1 else (b, a) for (a, b), k in zip(pairs, kinds, strict=True) if k in (1, 2)]
        pdag = MixedGraph(nodes, directed, undirected=[p for p, k in zip(pairs, kinds, strict=True) if k == 3])
        fits = [
            dag
            for dag in every
            if skeleton(dag) == skeleton(pdag)
            and set(directed) <= set(dag.edges)
            and immoralities(dag) == immoralities(pdag)
        ]
        if fits:
            assert consistent_extension(pdag) in fits
        else:
            with pytest.raises(ModelError, match="no consistent extension"):
                consistent_extension(pdag)


def test_what_has_no_extension_is_refused_and_is_no_cpdag():
    square = MixedGraph.parse("A - B - C - D - A")
    with pytest.raises(ModelError, match="no consistent extension: among 'A', 'B', 'C', 'D'"):
        consistent_extension(square)
    assert not is_cpdag(square)
    assert not is_cpdag(MixedGraph.parse("A -> B -> C -> A"))
    assert not is_cpdag(MixedGraph.parse("A -> B"))
    assert is_cpdag(MixedGraph())


def test_student_class():
    """Koller & Friedman, section 3.4.3: the student network's class leaves only I - S undirected."""
    student = DAG.parse("D -> G <- I -> S; G -> L")
    assert immoralities(student) == (("D", "G", "I"),)
    assert cpdag(student) == MixedGraph.parse("D -> G <- I - S; G -> L")
    assert covered_edges(student) == (("I", "S"),)


@given(undirected(6), st.data())
@settings(max_examples=60)
def test_markov_to_bayes_is_a_minimal_imap(drawn, data):
    nodes, edges = drawn
    graph = UndirectedGraph(nodes, edges)
    order = data.draw(st.one_of(st.none(), st.permutations(nodes)))
    dag = directed_imap(graph, order)
    assert set(dag.nodes) == set(nodes)
    assert immoralities(dag) == ()
    if order is not None:
        assert all(order.index(a) < order.index(b) for a, b in dag.edges)
    if nodes:
        assert nx.is_chordal(skeleton(dag).to_networkx())
    for x, y, given_ in itertools.islice(pairs_and_sets(nodes), 80):
        if d_separated(dag, x, y, given=given_):
            assert separated(graph, x, y, given=given_)
    for a, b in dag.edges:
        assert not separated(graph, a, b, given=[p for p in dag.parents(b) if p != a])


def test_chordal_graphs_need_no_new_edges():
    chordal = UndirectedGraph.parse("A - B - C - A; C - D; E")
    dag = directed_imap(chordal)
    assert skeleton(dag) == chordal == moralize(dag)


@given(dags(5))
def test_the_moral_graph_joins_each_node_to_its_markov_blanket(drawn):
    dag = DAG(*drawn)
    for node in dag.nodes:
        children = set(dag.children(node))
        blanket = {*dag.parents(node), *children, *(p for c in children for p in dag.parents(c))} - {node}
        assert set(moralize(dag).neighbors(node)) == blanket


@given(dags(), st.integers(1, 5))
def test_immoralities_in_parts_are_those_of_the_definition(edges_and_nodes, at_once):
    nodes, edges = edges_and_nodes
    joined = {frozenset(edge) for edge in edges}
    expected = {
        (frozenset((x, y)), z)
        for (x, z), (y, w) in itertools.combinations(edges, 2)
        if z == w and frozenset((x, y)) not in joined
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csr, "PAIRS_AT_ONCE", at_once)
        found = immoralities(DAG(nodes, edges))
        moral = moralize(DAG(nodes, edges))
    assert len(found) == len(expected)
    assert {(frozenset((x, y)), z) for x, z, y in found} == expected
    married = {frozenset((x, y)) for (x, z), (y, w) in itertools.combinations(edges, 2) if z == w}
    assert {frozenset(edge) for edge in moral.edges} == joined | married


SINK = DAG([f"v{i}" for i in range(20_000)], [(f"v{i}", "v0") for i in range(1, 20_000)])


@pytest.mark.parametrize("work", [moralize, immoralities, cpdag, is_cpdag, lambda dag: i_equivalent(dag, dag)])
def test_a_node_of_very_many_parents_is_refused_before_their_pairs_are_listed(work, monkeypatch):
    for module in (equivalence, graph):
        monkeypatch.setattr(module, "pairs_within_rows", lambda rows: pytest.fail("pairs were listed"))
    with pytest.raises(TooLarge, match="19,999 parents"):
        work(SINK)


def test_parents_that_are_all_joined_are_not_too_many(monkeypatch):
    """Their pairs are counted many times, and each is an edge."""
    monkeypatch.setattr(equivalence, "MOST_IMMORALITIES", 100)
    monkeypatch.setattr(graph, "MOST_EDGES", 800)
    nodes = names(40)
    dag = DAG(nodes, list(itertools.combinations(nodes, 2)))
    assert immoralities(dag) == ()
    assert moralize(dag) == skeleton(dag)
