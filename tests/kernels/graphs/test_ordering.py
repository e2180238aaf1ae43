from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings, strategies as st

from sepset.graphs.graph import UndirectedGraph
from sepset.kernels.graphs import ordering
from sepset.kernels.graphs.ordering import greedy_order
from sepset.kernels.kernel import Kernel
from support import plain_elimination as plain
from support.small_graphs import undirected

NEVER = np.zeros(1, np.uint8)
FILL, WEIGHT = np.array([1.0, 0.0]), np.array([0.0, 1.0])


def run(graph, cards, mix, *, bias=None, tie=None, group=None, limit=np.inf, cancel=NEVER):
    n = len(graph)
    indptr, indices = (np.array(a) for a in graph.neighbor_csr)
    blank = np.zeros(n)
    order, total, work = greedy_order(
        indptr,
        indices,
        np.array(cards, dtype=np.float64),
        np.log2(np.array(cards, dtype=np.float64)),
        np.zeros(n, np.int64) if group is None else np.array(group, dtype=np.int64),
        mix,
        blank if bias is None else np.array(bias, dtype=np.float64),
        blank if tie is None else np.array(tie, dtype=np.float64),
        limit,
        0,
        cancel,
    )
    assert work >= len(indices)
    return [graph.nodes[i] for i in order], total


@settings(max_examples=80)
@given(undirected(max_nodes=10), st.data())
def test_the_total_is_that_of_the_maximal_cliques(drawn, data):
    nodes, edges = drawn
    if not nodes:
        return
    cards = {node: data.draw(st.integers(1, 5)) for node in nodes}
    tie = data.draw(st.permutations(range(len(nodes))))
    mix = np.array([data.draw(st.floats(0, 1)), data.draw(st.floats(0, 1))])
    order, total = run(UndirectedGraph(nodes, edges), list(cards.values()), mix, tie=tie)
    assert sorted(order) == sorted(nodes)
    cliques = plain.maximal(plain.eliminate(nodes, edges, order)[0])
    expected = sum(math.prod(cards[name] for name in clique) for clique in cliques)
    assert abs(total - math.log2(expected)) < 1e-9


def test_bias_then_tie_then_number_decide():
    graph = UndirectedGraph("ABC")
    assert run(graph, [2, 2, 2], FILL)[0] == ["A", "B", "C"]
    assert run(graph, [2, 2, 2], FILL, tie=[2, 1, 0])[0] == ["C", "B", "A"]
    assert run(graph, [2, 2, 2], FILL, tie=[2, 1, 0], bias=[0, 1, 1])[0] == ["A", "C", "B"]
    assert run(graph, [2, 2, 2], FILL, bias=[0, 1, 1], group=[1, 1, 0])[0] == ["C", "A", "B"]


def test_it_stops_at_the_limit_and_when_canceled():
    square = UndirectedGraph.parse("A - B - C - D - A; A - E")
    assert run(square, [2] * 5, FILL, limit=-np.inf) == (["E"], np.inf)
    assert run(square, [2] * 5, FILL, cancel=np.ones(1, np.uint8)) == ([], np.inf)
    order, total = run(square, [2] * 5, FILL, limit=3.0)
    assert len(order) == 5
    assert math.isclose(total, math.log2(4 + 8 + 8), rel_tol=1e-15)


def test_rows_that_outgrow_their_room_move():
    """A complete bipartite graph, small side first: the large side becomes a clique of 60."""
    small, large = [f"S{i}" for i in range(3)], [f"L{i}" for i in range(60)]
    graph = UndirectedGraph(small + large, [(a, b) for a in small for b in large])
    order, total = run(graph, [2] * 63, FILL, group=[0] * 3 + [1] * 60)
    assert order[:3] == small
    assert total == math.log2(3) + 61


def test_message_size_is_that_of_the_neighbors():
    star = UndirectedGraph.parse("A - B; A - C")
    assert run(star, [9, 2, 2], WEIGHT)[0][0] == "A"
    assert run(star, [3, 2, 2], WEIGHT)[0][0] == "B"


def as_written(kernel):
    """The function of a kernel that only kernels call."""
    return kernel.function if isinstance(kernel, Kernel) else kernel.py_func


def test_logarithms_and_powers_are_those_of_the_library_to_the_last_digits():
    logarithm, power = as_written(ordering.logarithm), as_written(ordering.power)
    drawn = np.concatenate([2.0 ** np.random.default_rng(0).uniform(-900, 900, 2000), 2.0 ** np.arange(-20, 60)])
    for x in [*drawn.tolist(), 1.0, math.sqrt(0.5), 1e308]:
        expected = math.log2(x)
        assert abs(logarithm(x) - expected) <= 4e-16 * max(1.0, abs(expected))
        assert math.isclose(power(expected), 2.0**expected, rel_tol=1e-14)
    assert [logarithm(2.0**k) for k in (-3, 0, 50)] == [-3.0, 0.0, 50.0]
    assert logarithm(5e-324) == -1074.0
    assert logarithm(3.0 * 2.0**-1060) == math.log2(3.0) - 1060.0
    rounded = [(logarithm(float(k)) + ordering.GRAIN) - ordering.GRAIN for k in range(1, len(ordering.SMALL))]
    assert ordering.SMALL[1:].tolist() == rounded
    assert [logarithm(0.0), logarithm(math.inf)] == [-math.inf, math.inf]
    assert [power(3.0), power(math.inf), power(-math.inf), power(-1e5)] == [8.0, math.inf, 0.0, 0.0]
