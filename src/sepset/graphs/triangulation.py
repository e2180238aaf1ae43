"""Triangulation and chordal graphs; also exports the elimination orders they depend on."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from sepset.base.foreign import translated
from sepset.errors import ModelError
from sepset.graphs.elimination import GraphElimination, eliminate_graph, eliminated, fill_in, induced_width
from sepset.graphs.graph import Graph, Node, UndirectedGraph
from sepset.graphs.kinds import undirected
from sepset.graphs.ordering import (
    GivenOrder,
    MaxCardinality,
    MinFill,
    MinNeighbors,
    MinWeight,
    OrderingMethod,
    OrderingTask,
    Portfolio,
    WeightedMinFill,
    elimination_order,
)
from sepset.graphs.width import treewidth, treewidth_bounds

__all__ = [
    "GivenOrder",
    "GraphElimination",
    "MaxCardinality",
    "MinFill",
    "MinNeighbors",
    "MinWeight",
    "OrderingMethod",
    "Portfolio",
    "WeightedMinFill",
    "eliminate_graph",
    "elimination_order",
    "fill_in",
    "induced_width",
    "is_chordal",
    "maximal_cliques",
    "perfect_elimination_order",
    "treewidth",
    "treewidth_bounds",
    "triangulate",
]


@translated
def triangulate(graph: Graph, order: GraphElimination | Iterable[Node] | None = None) -> UndirectedGraph:
    """The induced graph of an elimination order: the graph with the fill edges added, which is chordal.

    Args:
        graph: an undirected graph.
        order: names, or the result of `elimination_order`, which is also the default.

    Reference: Koller & Friedman, section 9.4.2.
    Guarantee: chordal.
    Tested by: graphs/test_triangulation.py::test_induced_graphs_are_chordal

    >>> triangulate(UndirectedGraph.parse("A - B - C - D - A"), "ABCD")
    UndirectedGraph(A - B; A - D; B - C; B - D; C - D)
    """
    graph = undirected(graph)
    found = resolve(graph, order)
    return UndirectedGraph(graph.nodes, (*graph.edges, *found.fill_edges))


@translated
def is_chordal(graph: Graph) -> bool:
    """Whether every cycle of four or more nodes has a chord.

    Cost: close to linear, by maximum cardinality search.
    Reference: Koller & Friedman, definition 2.24; Tarjan & Yannakakis (1984).
    Guarantee: exact.
    Tested by: graphs/test_triangulation.py::test_chordality

    >>> is_chordal(UndirectedGraph.parse("A - B - C - D - A"))
    False
    """
    graph = undirected(graph)
    return _missing(graph, _by_cardinality(graph)) is None


@translated
def perfect_elimination_order(graph: Graph) -> tuple[str, ...]:
    """An elimination order without fill edges; raises unless the graph is chordal, for other graphs have none.

    Reference: Koller & Friedman, section 9.4.3.1.
    Guarantee: exact.
    Tested by: graphs/test_triangulation.py::test_maximal_cliques_and_perfect_orders

    >>> perfect_elimination_order(UndirectedGraph.parse("A - B - C"))
    ('C', 'B', 'A')
    """
    graph = undirected(graph)
    return _perfect(graph).order


@translated
def maximal_cliques(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """The maximal cliques of a chordal graph, each in node order, sorted; raises for other graphs.

    Cost: linear in their total size; a chordal graph has at most as many cliques as nodes.
    Reference: Koller & Friedman, section 9.4.3.1.
    Guarantee: exact.
    Tested by: graphs/test_triangulation.py::test_maximal_cliques_and_perfect_orders

    >>> maximal_cliques(UndirectedGraph.parse("A - B - C - A; C - D"))
    (('A', 'B', 'C'), ('C', 'D'))
    """
    graph = undirected(graph)
    found = _perfect(graph)
    numbers = sorted(sorted(graph.ids(found.cliques[i])) for i in found.maximal)
    return tuple(tuple(graph.nodes[v] for v in clique) for clique in numbers)


def resolve(graph: UndirectedGraph, order: GraphElimination | Iterable[Node] | None) -> GraphElimination:
    """The result of eliminating `order`, given in any of its forms; that of another graph stands for its order.

    >>> resolve(UndirectedGraph.parse("A - B"), "AB").width
    1
    """
    if order is None:
        return elimination_order(graph)
    if not isinstance(order, GraphElimination):
        return eliminate_graph(graph, order)
    return order if _is_of(graph, order) else eliminate_graph(graph, order.order)


def _is_of(graph: UndirectedGraph, found: GraphElimination) -> bool:
    """Whether it is this graph that was eliminated: the edges of its cliques are those of the graph and the fill."""
    cliques = {frozenset((name, other)) for name, *rest in found.cliques for other in rest}
    edges, fill = {frozenset(e) for e in graph.edges}, {frozenset(e) for e in found.fill_edges}
    return set(graph.nodes) == set(found.order) and edges | fill == cliques and not edges & fill


def _perfect(graph: UndirectedGraph) -> GraphElimination:
    order = _by_cardinality(graph)
    missing = _missing(graph, order)
    if missing is not None:
        a, b = (graph.nodes[v] for v in sorted(missing))
        raise ModelError(
            f"The graph is not chordal: maximum cardinality search has to join {a!r} and {b!r}. "
            "Triangulate it first (triangulate)."
        )
    return eliminated(graph, order, [2] * len(graph))


def _by_cardinality(graph: UndirectedGraph) -> list[int]:
    """The node numbers in an order of maximum cardinality search, first eliminated first."""
    indptr, indices = graph.neighbor_csr
    ones, none = np.ones(len(graph)), np.zeros(len(graph), np.int64)
    return list(MaxCardinality().arrange(OrderingTask(graph.nodes, indptr, indices, ones, none)))


def _missing(graph: UndirectedGraph, order: Sequence[int]) -> tuple[int, int] | None:
    """A fill edge of an order of maximum cardinality search, if there is one.

    In a chordal graph the later neighbors of a node are neighbors of the first of them.
    """
    indptr, indices = (array.tolist() for array in graph.neighbor_csr)
    rows = [set(indices[start:stop]) for start, stop in itertools.pairwise(indptr)]
    position = {v: i for i, v in enumerate(order)}
    for i, v in enumerate(order):
        later = [u for u in rows[v] if position[u] > i]
        if len(later) > 1:
            first = min(later, key=position.__getitem__)
            apart = set(later) - rows[first] - {first}
            if apart:
                return first, min(apart)
    return None
