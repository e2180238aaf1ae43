from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from sepset.errors import ScopeError, StateError
from sepset.graphs.elimination import eliminate_graph, fill_in, induced_width
from sepset.graphs.graph import DAG, UndirectedGraph, moralize
from support import plain_elimination as plain
from support.small_graphs import undirected

# P(a) P(b) P(c|b) P(d|a) P(e|c,d) P(f|a) P(g|e) P(h|e,f)
TRACE = DAG.parse("B -> C; A -> D; C -> E <- D; A -> F; E -> G; E -> H <- F")
SCOPES = ["A", "B", "CB", "DA", "ECD", "FA", "GE", "HEF"]


def test_the_trace_of_eight_variables():
    found = eliminate_graph(moralize(TRACE), "HGFEDCB", keep="A")
    assert ["".join(sorted(clique)) for clique in found.cliques] == ["EFH", "EG", "AEF", "ACDE", "ACD", "ABC", "AB"]
    assert ["".join(sorted(scope)) for scope in found.messages] == ["EF", "E", "AE", "ACD", "AC", "AB", "A"]
    assert found.width == 3
    assert found.parents == (2, 3, 3, 4, 5, 6, -1)


def test_how_wide_all_orders_of_the_trace_are():
    graph = moralize(TRACE)
    widths = Counter(
        max(map(len, plain.eliminate(graph.nodes, graph.edges, order)[0])) - 1
        for order in itertools.permutations("BCDEFGH")
    )
    assert widths == {2: 144, 3: 2352, 4: 1152, 5: 1392}
    assert eliminate_graph(graph, "BCDGHEF", keep="A").width == 2
    for order in itertools.islice(itertools.permutations("BCDEFGH"), 0, None, 50):
        assert eliminate_graph(graph, order, keep="A").width == plain.width(graph.nodes, graph.edges, order)


def test_stars():
    star = UndirectedGraph([], [("0", str(i)) for i in range(1, 8)])
    leaves = [str(i) for i in range(1, 8)]
    assert induced_width(star, ["0", *leaves]) == 7
    assert induced_width(star, [*leaves, "0"]) == 1


@given(undirected(), st.data())
def test_elimination_by_definition(drawn, data):
    nodes, edges = drawn
    order = data.draw(st.permutations(nodes))
    cards = {node: data.draw(st.integers(1, 4)) for node in nodes}
    cliques, fill = plain.eliminate(nodes, edges, order)
    found = eliminate_graph(UndirectedGraph(nodes, edges), order, cards=cards)
    assert [set(clique) for clique in found.cliques] == cliques
    assert [clique[0] for clique in found.cliques] == list(order)
    assert {frozenset(edge) for edge in found.fill_edges} == fill
    assert len(found.fill_edges) == len(fill)
    assert {frozenset(found.cliques[i]) for i in found.maximal} == plain.maximal(cliques)
    assert len(found.maximal) == len(plain.maximal(cliques))
    sizes = [math.prod(cards[name] for name in clique) for clique in cliques]
    assert found.sizes == tuple(sizes)
    assert found.largest == max(sizes, default=1)
    assert found.total_size == sum(math.prod(cards[n] for n in clique) for clique in plain.maximal(cliques))
    for i, keeper in enumerate(found.absorbed):
        assert cliques[i] <= cliques[keeper]
        assert keeper in found.maximal


@given(undirected(), st.data())
def test_scopes_and_cliques_of_the_induced_graph(drawn, data):
    """Every scope of variable elimination is a clique of the induced graph, and every maximal clique is a scope."""
    nodes, edges = drawn
    order = data.draw(st.permutations(nodes))
    found = eliminate_graph(UndirectedGraph(nodes, edges), order)
    induced = {frozenset(edge) for edge in (*edges, *found.fill_edges)}
    subsets = itertools.chain.from_iterable(itertools.combinations(nodes, k) for k in range(1, len(nodes) + 1))
    cliques = [set(s) for s in subsets if all(frozenset(pair) in induced for pair in itertools.combinations(s, 2))]
    scopes = [set(clique) for clique in found.cliques]
    assert all(scope in cliques for scope in scopes)
    assert all(set(clique) in scopes for clique in plain.maximal(cliques))


@given(undirected(max_nodes=6), st.data())
def test_kept_nodes_are_joined_too(drawn, data):
    nodes, edges = drawn
    order = data.draw(st.permutations(nodes))
    cut = data.draw(st.integers(0, len(nodes)))
    found = eliminate_graph(UndirectedGraph(nodes, edges), order[:cut], keep=order[cut:])
    cliques, fill = plain.eliminate(nodes, edges, order[:cut])
    assert [set(clique) for clique in found.cliques] == cliques
    assert {frozenset(edge) for edge in found.fill_edges} == fill


@given(undirected(max_nodes=6), st.data())
def test_cost_counts_multiplications(drawn, data):
    """Multiplying k factors takes k operations for each entry of the clique, the eliminated name included."""
    nodes, edges = drawn
    order = data.draw(st.permutations(nodes))
    cards = {node: data.draw(st.integers(1, 3)) for node in nodes}
    factors = [set(edge) for edge in edges] + [{node} for node in nodes]
    expected, left = 0, list(factors)
    for node in order:
        used = [factor for factor in left if node in factor]
        union = set().union(*used)
        expected += len(used) * math.prod(cards[name] for name in union)
        left = [factor for factor in left if node not in factor] + ([union - {node}] if len(union) > 1 else [])
    found = eliminate_graph(UndirectedGraph(nodes, edges), order, cards=cards)
    assert found.cost(factors) == expected


def test_cost_of_a_chain():
    """n binary variables: two factors of four entries at each step, and the two at the last."""
    chain = UndirectedGraph.parse(" - ".join(map(str, range(6))))
    pairs = [(str(i), str(i + 1)) for i in range(5)]
    assert eliminate_graph(chain, "01234", keep="5").cost(pairs) == 4 + 4 * 8
    assert eliminate_graph(chain, "012345").cost() == 4 * (1 + 2 * 4) + 2 * 2


def test_empty_and_single():
    assert eliminate_graph(UndirectedGraph(), ()).width == 0
    assert eliminate_graph(UndirectedGraph(), ()).total_size == 0
    one = eliminate_graph(UndirectedGraph("A"), "A", cards={"A": 1})
    assert (one.width, one.total_size, one.largest, one.cliques) == (0, 1, 1, (("A",),))


def test_reading_an_order():
    found = eliminate_graph(UndirectedGraph.parse("A - B - C"), "ABC", cards=3)
    assert repr(found) == "GraphElimination(3 variables, width 1, total size 18)"
    assert str(found).splitlines()[1] == "order: A, B, C"
    assert len(found) == 3


def test_huge_tables_are_counted_exactly():
    names = [f"N{i}" for i in range(60)]
    clique = UndirectedGraph(names, itertools.combinations(names, 2))
    assert eliminate_graph(clique, names, cards=10).total_size == 10**60


@pytest.mark.parametrize(
    ("order", "keep", "message"),
    [
        ("AB", (), r"leaves out 'C'; eliminate them too, or name them in `keep`"),
        ("ABCA", (), r"'A' of the elimination order is listed twice"),
        ("ABC", "A", r"'A' of the elimination order is also in `keep`"),
        (["A", "B", "c"], (), r"Unknown node 'c'.*Did you mean 'C'\?"),
    ],
)
def test_orders_that_are_refused(order, keep, message):
    with pytest.raises(ScopeError, match=message):
        eliminate_graph(UndirectedGraph.parse("A - B - C"), order, keep=keep)


def test_numbers_of_states_are_checked():
    graph = UndirectedGraph.parse("A - B")
    with pytest.raises(ScopeError, match=r"No number of states for 'B'.*Did you mean 'b'"):
        eliminate_graph(graph, "AB", cards={"A": 2, "b": 2})
    with pytest.raises(StateError, match=r"at least one state; found 0 for 'A'"):
        eliminate_graph(graph, "AB", cards={"A": 0, "B": 2})


def test_fill_edges_are_sorted():
    cycle = UndirectedGraph.parse("A - B - C - D - E - A")
    assert fill_in(cycle, "CADBE") == (("B", "D"), ("B", "E"))
