from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse

from sepset.errors import ArgumentError, ModelError, ScopeError, TooLarge
from sepset.graphs import costs
from sepset.graphs.elimination import eliminate_graph
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.names import Names
from sepset.graphs.ordering import (
    GivenOrder,
    MaxCardinality,
    MinFill,
    MinNeighbors,
    MinWeight,
    OrderingTask,
    Portfolio,
    SideToSide,
    WeightedMinFill,
    elimination_order,
    refuse_matrices,
)
from sepset.graphs.symbolic import symbolic_elimination
from sepset.kernels.graphs import ordering as kernels
from support import plain_elimination as plain
from support.bounded import within
from support.small_graphs import undirected

GREEDY = [MinFill(), WeightedMinFill(), MinWeight(), MinNeighbors()]
EVERY = [*GREEDY, MaxCardinality(), Portfolio(restarts=8)]


def plain_cost(method, node, near, cards):
    """What a heuristic pays for a node, by its definition."""
    around = sorted(near[node])
    missing = [(a, b) for i, a in enumerate(around) for b in around[i + 1 :] if b not in near[a]]
    return {
        "MinFill": len(missing),
        "WeightedMinFill": sum(cards[a] * cards[b] for a, b in missing),
        "MinWeight": int(np.prod([cards[a] for a in around])),
        "MinNeighbors": len(around),
    }[type(method).__name__]


@pytest.mark.parametrize("method", GREEDY, ids=repr)
@given(drawn=undirected(max_nodes=9), data=st.data())
@settings(max_examples=60)
def test_greedy_takes_the_cheapest_node_each_time(method, drawn, data):
    nodes, edges = drawn
    cards = {node: data.draw(st.integers(1, 5)) for node in nodes}
    order = elimination_order(UndirectedGraph(nodes, edges), cards, method=method).order
    near = {node: set() for node in nodes}
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    for node in order:
        costs = {other: plain_cost(method, other, near, cards) for other in near}
        assert node == min(near, key=lambda other: (costs[other], nodes.index(other)))
        around = near.pop(node)
        for a in around:
            near[a] = (near[a] | around) - {a, node}


@pytest.mark.parametrize("method", EVERY, ids=repr)
@given(drawn=undirected(), data=st.data())
@settings(max_examples=40)
def test_groups_are_eliminated_one_after_the_other(method, drawn, data):
    nodes, edges = drawn
    group = {node: data.draw(st.integers(0, 3)) for node in nodes}
    members = [[node for node in nodes if group[node] == k] for k in (1, 2, 3)]
    graph = UndirectedGraph(nodes, edges)
    found = elimination_order(graph, method=method, groups=members[:2], last=members[2])
    assert sorted(found.order) == sorted(nodes)
    assert [group[node] for node in found.order] == sorted(group.values())


@given(undirected(max_nodes=8))
@settings(max_examples=40)
def test_max_cardinality_is_perfect_on_chordal_graphs(drawn):
    nodes, edges = drawn
    graph = nx.Graph(edges)
    graph.add_nodes_from(nodes)
    fill = elimination_order(UndirectedGraph(nodes, edges), method=MaxCardinality()).fill_edges
    assert (not fill) == nx.is_chordal(graph)


@given(undirected(max_nodes=8), st.data())
@settings(max_examples=40)
def test_the_portfolio_is_never_worse_than_its_members(drawn, data):
    nodes, edges = drawn
    cards = {node: data.draw(st.integers(2, 5)) for node in nodes}
    graph = UndirectedGraph(nodes, edges)
    best = elimination_order(graph, cards, method=Portfolio(restarts=60))
    for method in GREEDY[:2]:
        assert best.total_size <= elimination_order(graph, cards, method=method).total_size


@given(undirected(max_nodes=5), st.data())
@settings(max_examples=40)
def test_the_portfolio_is_optimal_on_the_smallest_graphs(drawn, data):
    nodes, edges = drawn
    cards = {node: data.draw(st.integers(2, 5)) for node in nodes}
    sizes = []
    for order in itertools.permutations(nodes):
        cliques = plain.maximal(plain.eliminate(nodes, edges, order)[0])
        sizes.append(sum(math.prod(cards[name] for name in clique) for clique in cliques))
    best = elimination_order(UndirectedGraph(nodes, edges), cards, method=Portfolio(restarts=60))
    assert best.total_size == min(sizes)


def grid(k: int) -> UndirectedGraph:
    return UndirectedGraph.from_networkx(nx.grid_2d_graph(k, k))


def test_the_portfolio_depends_on_its_seed_alone():
    first, second = (elimination_order(grid(9), method=Portfolio(seed=3)) for _ in range(2))
    assert first == second
    assert elimination_order(grid(9)).total_size <= elimination_order(grid(9), method=MinFill()).total_size


def test_more_restarts_never_hurt():
    few, many = (elimination_order(grid(8), 3, method=Portfolio(restarts=n)).total_size for n in (12, 200))
    assert many <= few


def test_more_effort_never_hurts_and_little_tables_get_one_pass():
    totals, small = [], []
    for effort in (0.0, 0.25, 1.0, 4.0):
        large = replace(grid_task(9, math.inf), cards=np.full(81, 4.0), effort=effort)
        order = [grid(9).nodes[i] for i in Portfolio().arrange(large)]
        totals.append(eliminate_graph(grid(9), order, cards=4).total_size)
        small.append(list(Portfolio().arrange(replace(grid_task(4, math.inf), effort=effort))))
    assert totals == sorted(totals, reverse=True)
    assert small[0] == small[1] == small[2]


def test_a_time_budget_adds_restarts():
    base = elimination_order(grid(7), method=Portfolio(restarts=1)).total_size
    assert elimination_order(grid(7), method=Portfolio(seconds=0.05)).total_size <= base


def test_very_wide_graphs_have_no_overflow():
    names = [f"N{i}" for i in range(40)]
    pairs = [(a, b) for a in names[:20] for b in names[20:]]
    found = elimination_order(UndirectedGraph(names, pairs), 10**30)
    assert found.width == 20
    assert found.largest == 10 ** (30 * 21)


def test_a_large_sparse_graph_is_ordered():
    n = 20_000
    rng = np.random.default_rng(0)
    parents = np.array([rng.integers(max(0, i - 50), i) for i in range(1, n)])
    tree = UndirectedGraph.from_arrays([f"N{i}" for i in range(n)], sources=np.arange(1, n), targets=parents)
    assert elimination_order(tree).width == 1
    assert elimination_order(tree, method=MinNeighbors()).width == 1


def test_empty_graph():
    for method in EVERY:
        assert elimination_order(UndirectedGraph(), method=method).order == ()


def test_given_orders():
    graph = UndirectedGraph.parse("A - B - C")
    assert elimination_order(graph, method=GivenOrder("CAB")).order == ("C", "A", "B")
    with pytest.raises(ScopeError, match=r"Unknown node 'b' in the given order\. Did you mean 'B'\?"):
        elimination_order(graph, method=GivenOrder("AbC"))
    with pytest.raises(ScopeError, match="leaves out 'C'"):
        elimination_order(graph, method=GivenOrder("AB"))
    with pytest.raises(ModelError, match="eliminates 'A' before 'B', which belongs to an earlier group"):
        elimination_order(graph, method=GivenOrder("ABC"), last="A")


def test_groups_are_checked():
    graph = UndirectedGraph.parse("A - B - C")
    with pytest.raises(ScopeError, match="'A' is in two groups"):
        elimination_order(graph, groups=["A", ["B", "A"]])
    with pytest.raises(ScopeError, match="Unknown node 'X'"):
        elimination_order(graph, last="X")


def test_any_object_that_arranges_is_a_method():
    @dataclass(frozen=True)
    class Reversed:
        def arrange(self, task):
            return range(len(task.nodes) - 1, -1, -1)

    assert elimination_order(UndirectedGraph.parse("A - B - C"), method=Reversed()).order == ("C", "B", "A")


def task(indptr, indices, limit=math.inf, card=2.0):
    n = len(indptr) - 1
    names = Names(lambda i: f"N{i}", np.arange(n))
    rows = np.asarray(indptr, np.int64), np.asarray(indices, np.int32)
    return OrderingTask(names, *rows, np.full(n, card), np.zeros(n, np.int64), limit)


def task_of_pairs(n, first, second, limit=math.inf):
    ends, others = np.concatenate([first, second]), np.concatenate([second, first])
    by_end = np.lexsort((others, ends))
    return task(np.searchsorted(ends[by_end], np.arange(n + 1)), others[by_end], limit)


def grid_task(side, limit):
    place = np.arange(side * side).reshape(side, side)
    first = np.concatenate([place[1:].ravel(), place[:, 1:].ravel()])
    second = np.concatenate([place[:-1].ravel(), place[:, :-1].ravel()])
    return task_of_pairs(side * side, first, second, limit)


@pytest.mark.parametrize("method", [*GREEDY, Portfolio(), Portfolio(restarts=1), Portfolio(seconds=0.01)], ids=repr)
def test_orders_far_beyond_the_limit_are_refused(method):
    with pytest.raises(
        TooLarge, match=r"need.* tables of more than 2\^15 entries \(256.0 KiB .*\); the limit is 2\^5\..*Recursive"
    ):
        method.arrange(grid_task(20, 5.0))


@pytest.mark.parametrize("method", [*GREEDY, Portfolio()], ids=repr)
def test_a_limit_in_reach_changes_nothing(method):
    limited, free = (list(method.arrange(grid_task(6, limit))) for limit in (8.0, math.inf))
    assert limited == free


@pytest.mark.parametrize("side", [20, 40])
def test_grids_whose_cliques_become_tables_are_as_wide_as_their_side(side):
    swept = replace(grid_task(side, math.inf), has_tables=True)
    nodes = grid(side).nodes
    for method in (Portfolio(), SideToSide()):
        assert eliminate_graph(grid(side), [nodes[i] for i in method.arrange(swept)]).width == side
    with pytest.raises(TooLarge, match="The elimination order needs"):
        SideToSide().arrange(replace(swept, limit=side - 12.0))


@pytest.mark.parametrize("states", [2, (2, 5)])
@pytest.mark.parametrize("shape", [(9, 25), (6, 6, 6)])
def test_an_order_from_side_to_side_is_kept_only_if_it_is_better(shape, states):
    graph = UndirectedGraph.from_networkx(nx.grid_graph(shape))
    cards = np.random.default_rng(1).integers(2, 6, len(graph)) if states != 2 else np.full(len(graph), 2)
    rows, none = [part.copy() for part in graph.neighbor_csr], np.zeros(len(graph), np.int64)
    greedy = OrderingTask(graph.nodes, *rows, cards.astype(float), none)
    by_name = dict(zip(graph.nodes, cards.tolist(), strict=True))
    totals = [
        eliminate_graph(graph, [graph.nodes[i] for i in Portfolio().arrange(one)], cards=by_name).total_size
        for one in (replace(greedy, has_tables=True), greedy)
    ]
    assert totals[0] <= totals[1]


def test_a_given_order_is_not_refused():
    wide = grid_task(6, 0.0)
    assert len(GivenOrder(wide.nodes[:]).arrange(wide)) == 36


def test_a_part_of_a_large_graph_is_enough_to_refuse_it():
    with pytest.raises(TooLarge, match="The greedy elimination order needs"):
        Portfolio().arrange(grid_task(300, 20.0))


@pytest.mark.parametrize("side", [130, 300])
def test_only_a_part_of_a_large_graph_is_ordered_before_it_is_refused(side, monkeypatch):
    ordered, greedy_order = [], kernels.greedy_order
    monkeypatch.setattr(kernels, "greedy_order", lambda *a: ordered.append(len(a[0]) - 1) or greedy_order(*a))
    with pytest.raises(TooLarge):
        Portfolio().arrange(grid_task(side, 20.0))
    assert ordered == [costs.PARTS_OF_LARGE_GRAPH[0]]


def test_a_dense_part_is_refused_before_it_is_ordered(monkeypatch):
    n, num = costs.TIMES_OF_PART * costs.PARTS_OF_LARGE_GRAPH[0], 300
    rng = np.random.default_rng(0)
    a, b = np.nonzero(np.triu(rng.random((num, num)) < 0.5, 1))
    chain = np.arange(num - 1, n)
    task = task_of_pairs(n, np.append(a, chain[:-1]), np.append(b, chain[1:]), limit=20.0)
    ordered, greedy_order = [], kernels.greedy_order
    monkeypatch.setattr(kernels, "greedy_order", lambda *a: ordered.append(a[8]) or greedy_order(*a))
    with pytest.raises(TooLarge, match="tables of more than 2\\^30 entries"):
        Portfolio().arrange(task)
    assert set(ordered) <= {-np.inf}  # passes that end before the first fill edge


def test_a_large_graph_with_small_tables_is_not_refused():
    n = 70_000  # a ring: nothing is simplicial, and a part of it is a path
    found = Portfolio(restarts=1).arrange(task_of_pairs(n, np.arange(n), (np.arange(n) + 1) % n, limit=20.0))
    assert sorted(found) == list(range(n))


def test_nodes_of_very_large_degree_are_no_trouble():
    n = 100_000
    task = task_of_pairs(n, np.zeros(n - 1, np.int64), np.arange(1, n))
    MinFill().arrange(task_of_pairs(3, np.zeros(2, np.int64), np.arange(1, 3)))  # compiles what is needed
    found = within(5.0, lambda: MinFill().arrange(task))  # a clique of the neighbors would take minutes
    assert len(found) == n


@pytest.mark.parametrize("settings", [{"seconds": -1}, {"seconds": "3"}, {"restarts": True}, {"seconds": math.nan}])
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ArgumentError, match=r"is a (number >= 0|whole number of at least 0), or None; found"):
        Portfolio(**settings)


def test_hopeless_orders_are_finished_while_that_takes_little_work():
    wide = grid_task(20, 5.0)
    patient = replace(wide, patience=10**6)
    for method in (MinFill(), Portfolio(restarts=1)):
        assert sorted(method.arrange(patient)) == list(range(400))
        with pytest.raises(TooLarge):
            method.arrange(replace(wide, patience=1000))


def test_a_hopeless_order_without_a_limit_is_given_up_after_much_work():
    wide = replace(grid_task(70, math.inf), patience=1000)
    with pytest.raises(TooLarge, match=r"more than 2\^64 entries \(128.0 EiB at 8 bytes each\); no machine has these"):
        MinFill().arrange(wide)
    assert len(MinFill().arrange(replace(wide, patience=0))) == 70 * 70


def random_task(size):
    """A graph in which each node has three random neighbors on average."""
    ends = np.random.default_rng(0).integers(0, size, (3 * size // 2, 2))
    graph = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size)).tocsr()
    graph = (graph + graph.T).tolil()
    graph.setdiag(0)
    rows = graph.tocsr()
    rows.eliminate_zeros()
    rows.sort_indices()
    start, near = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    return OrderingTask(range(size), start, near, np.ones(size), np.zeros(size, np.int64))


def test_hopeless_matrices_are_refused_by_a_part_of_the_graph(monkeypatch):
    """Real variables have no states, so that tables say nothing of how large their matrices are."""
    passes = []

    def counted(*arguments):
        found = greedy_order(*arguments)
        passes.append((len(arguments[0]) - 1, found[2]))
        return found

    greedy_order = kernels.greedy_order
    monkeypatch.setattr(kernels, "greedy_order", counted)
    nothing = np.zeros(0, np.int64)
    with pytest.raises(TooLarge, match="elimination of 66,000 real variables that depend on each other needs matrices"):
        refuse_matrices(random_task(66_000), nothing)
    assert [size for size, _ in passes] == [2**12, 2**14]
    assert sum(reads for _, reads in passes) < 10**8
    refuse_matrices(replace(grid_task(130, math.inf), cards=np.ones(130**2)), nothing)
    refuse_matrices(random_task(66_000), np.arange(60_000))
    assert passes[-1][0] == 6_000


def test_the_hub_of_a_star_first_is_refused_without_its_clique():
    n = 3000  # its clique has all nodes, and all cliques together four million variables
    start = np.concatenate([[0], np.arange(n - 1, 2 * n - 1)])
    near = np.concatenate([np.arange(1, n), np.zeros(n - 1, np.int64)])
    names = [f"N{i}" for i in range(n)]
    about = names, (start, near), [2] * n, np.zeros(n, np.int64)
    with pytest.raises(TooLarge, match="The elimination order needs tables of more than"):
        symbolic_elimination(*about, GivenOrder(names), limit=10.0, patience=10**5)
    assert symbolic_elimination(*about, GivenOrder(names[::-1]), limit=10.0, patience=10**5).width == 1
