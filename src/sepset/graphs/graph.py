"""Immutable graphs over names: directed acyclic, undirected, and mixed; and functions of their edges alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Ints
from sepset.base.extras import require
from sepset.base.foreign import translated
from sepset.base.frozen import read_only
from sepset.base.lazy import lazy
from sepset.base.text import brief
from sepset.errors import ModelError, TooLarge
from sepset.graphs.base import (
    Graph,
    Named,
    Node,
    Nodes,
    NodesOrEdges,
    edges_first,
    is_undirected,
    required_graph,
    text_of,
    unique_names,
)
from sepset.graphs.csr import (
    CSR,
    NO_PAIRS,
    components,
    csr,
    cycle,
    id_pairs,
    owners,
    pairs_within_rows,
    parts_of_pairs,
    reached,
    sorted_pairs,
    topological,
)
from sepset.graphs.notation import quoted

__all__ = [
    "DAG",
    "Graph",
    "MixedGraph",
    "Named",
    "Node",
    "Nodes",
    "UndirectedGraph",
    "ancestors",
    "anterior",
    "chain_components",
    "connected_components",
    "descendants",
    "moralize",
    "skeleton",
]


def _check_foreign(graph: object) -> None:
    """Raise if a graph is one of our own, whose edges are a tuple."""
    if isinstance(graph, Graph):
        raise ModelError(f"from_networkx takes a graph of networkx; found {brief(graph)}.")


@runtime_checkable
class NetworkX(Protocol):
    """A graph of networkx."""

    @property
    def nodes(self) -> Any:
        """Its nodes."""

    def edges(self) -> Any:
        """Its edges."""


class DAG(Graph):
    """A directed acyclic graph.

    Args:
        nodes: names, or anything with a `.name`; nodes that only edges mention are appended in order. A list of pairs
            alone, or a `DiGraph` of networkx, gives the edges.
        edges: pairs `(parent, child)`. A cycle raises an error that names it.

    Reference: Koller & Friedman, section 2.2.

    >>> dag = DAG(["A"], [("A", "B"), ("C", "B")])
    >>> dag.nodes, dag.parents("B"), dag
    (('A', 'B', 'C'), ('A', 'C'), DAG(A -> B; C -> B))
    >>> DAG([("A", "B"), ("C", "B")]) == DAG.parse("A -> B <- C") == dag
    True
    """

    _arrows = ("->", "<-")

    def __init__(self, nodes: NodesOrEdges = (), edges: Iterable[Sequence[Node]] = ()) -> None:
        if is_undirected(nodes):
            raise ModelError("A DAG needs the directions of its edges; found an undirected graph of networkx.")
        self._fill_named(*edges_first(nodes, edges), ())

    @classmethod
    def from_arrays(cls, nodes: Iterable[str], *, sources: ArrayLike, targets: ArrayLike) -> Self:
        """The DAG with an edge from node number `sources[i]` to `targets[i]`, built without a loop over edges.

        >>> DAG.from_arrays("ABC", sources=[0, 2], targets=[1, 1])
        DAG(A -> B; C -> B)
        """
        names = unique_names(nodes)
        return cls._of(names, id_pairs(sources, targets, len(names)), NO_PAIRS)

    @classmethod
    def from_networkx(cls, graph: NetworkX) -> Self:
        """The DAG of a networkx `DiGraph`, its nodes named by `str`."""
        _check_foreign(graph)
        return cls(map(text_of, graph.nodes), ((text_of(a), text_of(b)) for a, b in graph.edges()))

    def to_networkx(self) -> Any:
        """The graph as a networkx `DiGraph`."""
        graph = require("networkx", "networkx", "to_networkx").DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph

    def _check(self) -> None:
        super()._check()
        self.topological_ids  # noqa: B018  # finds the cycle, if there is one

    def parents(self, node: Node) -> tuple[str, ...]:
        """The parents of `node`, in node order."""
        return self._row(self.parent_csr, node)

    def children(self, node: Node) -> tuple[str, ...]:
        """The children of `node`, in node order."""
        return self._row(self.child_csr, node)

    @lazy
    def topological_ids(self) -> Ints:
        """Node ids, parents before children; ties go to the first in node order."""
        if (self._directed[:, 0] < self._directed[:, 1]).all():
            return read_only(np.arange(len(self)))
        order = topological(self.parent_csr, self.child_csr)
        if len(order) < len(self):
            named = " -> ".join(quoted(self.nodes[i]) for i in cycle(self.parent_csr, set(order)))
            raise ModelError(f"The edges contain the directed cycle {named}; remove or reverse one of its edges.")
        return read_only(np.array(order, dtype=np.int64))

    @lazy
    def topological_order(self) -> tuple[str, ...]:
        """The nodes, parents before children; ties go to the first in node order."""
        return tuple(self.nodes[i] for i in self.topological_ids.tolist())

    def with_edge(self, source: Node, target: Node) -> Self:
        """The DAG with `source -> target` added; raises if that closes a cycle.

        >>> DAG.parse("A -> B").with_edge("B", "C")
        DAG(A -> B; B -> C)
        """
        return type(self)(self.nodes, (*self.directed, (source, target)))

    def reverse(self, source: Node, target: Node) -> Self:
        """The DAG with the edge `source -> target` reversed.

        >>> DAG.parse("A -> B").reverse("A", "B")
        DAG(B -> A)
        """
        return self.without_edge(source, target).with_edge(target, source)


def with_directions(value: Any) -> Any:
    """A DAG for a graph of networkx or a list of pairs; anything else as it is.

    >>> with_directions([("A", "B")]), with_directions("A")
    (DAG(A -> B), 'A')
    """
    is_pairs = isinstance(value, list | tuple) and all(isinstance(pair, tuple | list) for pair in value)
    return DAG(value) if is_pairs or type(value).__module__.startswith("networkx.") else value


class UndirectedGraph(Graph):
    """An undirected graph.

    Args:
        nodes: names, or anything with a `.name`; nodes that only edges mention are appended in order.
        edges: pairs of nodes, in either order.

    Reference: Koller & Friedman, section 2.2.

    >>> UndirectedGraph([], [("B", "A"), ("B", "C")]).neighbors("B")
    ('A', 'C')
    """

    _arrows = ("-",)

    def __init__(self, nodes: NodesOrEdges = (), edges: Iterable[Sequence[Node]] = ()) -> None:
        own, pairs = edges_first(nodes, edges)
        self._fill_named(own, (), pairs)

    @classmethod
    def from_arrays(cls, nodes: Iterable[str], *, sources: ArrayLike, targets: ArrayLike) -> Self:
        """The graph that joins node number `sources[i]` and `targets[i]`, built without a loop over edges.

        >>> UndirectedGraph.from_arrays("ABC", sources=[0, 2], targets=[1, 1])
        UndirectedGraph(A - B; B - C)
        """
        names = unique_names(nodes)
        return cls._of(names, NO_PAIRS, id_pairs(sources, targets, len(names)))

    @classmethod
    def from_networkx(cls, graph: NetworkX) -> Self:
        """The undirected graph of a networkx `Graph`, its nodes named by `str`."""
        _check_foreign(graph)
        return cls(map(text_of, graph.nodes), ((text_of(a), text_of(b)) for a, b in graph.edges()))

    def to_networkx(self) -> Any:
        """The graph as a networkx `Graph`."""
        graph = require("networkx", "networkx", "to_networkx").Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph

    def neighbors(self, node: Node) -> tuple[str, ...]:
        """The neighbors of `node`, in node order."""
        return self._row(self.neighbor_csr, node)

    def with_edge(self, source: Node, target: Node) -> Self:
        """The graph with `source - target` added.

        >>> UndirectedGraph.parse("A - B").with_edge("B", "C")
        UndirectedGraph(A - B; B - C)
        """
        return type(self)(self.nodes, (*self.undirected, (source, target)))


class MixedGraph(Graph):
    """A graph with directed and undirected edges, at most one between two nodes: a PDAG, or a chain graph.

    Args:
        nodes: names, or anything with a `.name`; nodes that only edges mention are appended in order.
        directed: pairs `(parent, child)`. Directed cycles are allowed; see `is_chain_graph`.
        undirected: pairs of nodes, in either order.

    Reference: Koller & Friedman, sections 2.2 and 4.6.2.

    >>> graph = MixedGraph([], directed=[("A", "B")], undirected=[("B", "C")])
    >>> graph, graph.is_chain_graph
    (MixedGraph(A -> B; B - C), True)
    """

    _arrows = ("->", "<-", "-")

    def __init__(
        self,
        nodes: Iterable[Node] = (),
        directed: Iterable[Sequence[Node]] = (),
        *,
        undirected: Iterable[Sequence[Node]] = (),
    ) -> None:
        if type(nodes).__module__.startswith("networkx."):
            raise ModelError("Graphs of networkx are read by MixedGraph.from_networkx.")
        self._fill_named(nodes, directed, undirected)

    @classmethod
    def from_arrays(
        cls,
        nodes: Iterable[str],
        *,
        sources: ArrayLike = (),
        targets: ArrayLike = (),
        lefts: ArrayLike = (),
        rights: ArrayLike = (),
    ) -> Self:
        """The graph with edges `sources[i] -> targets[i]` and `lefts[i] - rights[i]` between node numbers.

        >>> MixedGraph.from_arrays("ABC", sources=[0], targets=[1], lefts=[1], rights=[2])
        MixedGraph(A -> B; B - C)
        """
        names = unique_names(nodes)
        return cls._of(names, id_pairs(sources, targets, len(names)), id_pairs(lefts, rights, len(names)))

    @classmethod
    def from_networkx(cls, graph: NetworkX) -> Self:
        """The mixed graph of a networkx `DiGraph`, where a pair of opposite arcs is one undirected edge."""
        _check_foreign(graph)
        arcs = [(text_of(a), text_of(b)) for a, b in graph.edges()]
        both = set(arcs)
        single = [(a, b) for a, b in arcs if (b, a) not in both]
        return cls(map(text_of, graph.nodes), single, undirected=[(a, b) for a, b in arcs if (b, a) in both])

    def to_networkx(self) -> Any:
        """The graph as a networkx `DiGraph`; each undirected edge becomes two opposite arcs."""
        graph = require("networkx", "networkx", "to_networkx").DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        graph.add_edges_from((right, left) for left, right in self.undirected)
        return graph

    def _check(self) -> None:
        super()._check()
        first, second = np.concatenate([np.sort(self._directed, axis=1), self._undirected]).T
        keys = np.sort(first * len(self) + second)
        repeated = keys[1:][keys[1:] == keys[:-1]]
        if len(repeated):
            a, b = (self.nodes[i] for i in divmod(int(repeated[0]), len(self)))
            raise ModelError(f"Two edges join {a!r} and {b!r}; keep one of ->, <- and -.")

    def parents(self, node: Node) -> tuple[str, ...]:
        """The tails of directed edges into `node`, in node order."""
        return self._row(self.parent_csr, node)

    def children(self, node: Node) -> tuple[str, ...]:
        """The heads of directed edges from `node`, in node order."""
        return self._row(self.child_csr, node)

    def neighbors(self, node: Node) -> tuple[str, ...]:
        """The nodes joined to `node` by an undirected edge, in node order."""
        return self._row(self.neighbor_csr, node)

    @property
    def is_chain_graph(self) -> bool:
        """Whether no cycle follows a directed edge: the chain components are then partially ordered.

        >>> MixedGraph.parse("A -> B - C -> A").is_chain_graph
        False
        """
        return self._component_order is not None

    @lazy
    def _component_order(self) -> list[list[int]] | None:
        groups = components(self.neighbor_csr)
        sources, targets = owners(groups)[self._directed].T
        if (sources == targets).any():
            return None
        pairs = sorted_pairs(np.stack([sources, targets], axis=1), len(groups))
        into, out = csr(pairs[:, 1], pairs[:, 0], len(groups)), csr(pairs[:, 0], pairs[:, 1], len(groups))
        order = topological(into, out)
        return [groups[i] for i in order] if len(order) == len(groups) else None

    def with_edge(self, source: Node, target: Node, *, directed: bool = True) -> Self:
        """The graph with `source -> target` added, or `source - target` if `directed` is false.

        >>> MixedGraph.parse("A -> B").with_edge("B", "C", directed=False)
        MixedGraph(A -> B; B - C)
        """
        added = [(source, target)]
        extra: tuple[Any, Any] = (added, []) if directed else ([], added)
        return type(self)(self.nodes, (*self.directed, *extra[0]), undirected=(*self.undirected, *extra[1]))

    def reverse(self, source: Node, target: Node) -> Self:
        """The graph with the directed edge `source -> target` reversed.

        >>> MixedGraph.parse("A -> B").reverse("A", "B")
        MixedGraph(B -> A)
        """
        return self.without_edge(source, target).with_edge(target, source)


@translated
def ancestors(graph: DAG | MixedGraph, nodes: Nodes, *, inclusive: bool = False) -> tuple[str, ...]:
    """The nodes with a directed path to one of `nodes`, in node order; `nodes` themselves only if `inclusive`.

    Reference: Koller & Friedman, section 2.2.
    Guarantee: exact.
    Tested by: graphs/test_graph.py::test_ancestors_and_descendants

    >>> ancestors(DAG.parse("A -> B -> C"), "C")
    ('A', 'B')
    """
    _require_directions(graph)
    return _reached_names(graph, (graph.parent_csr,), nodes, inclusive)


@translated
def descendants(graph: DAG | MixedGraph, nodes: Nodes, *, inclusive: bool = False) -> tuple[str, ...]:
    """The nodes that a directed path from `nodes` reaches, in node order; `nodes` themselves only if `inclusive`.

    Reference: Koller & Friedman, section 2.2.
    Guarantee: exact.
    Tested by: graphs/test_graph.py::test_ancestors_and_descendants

    >>> descendants(DAG.parse("A -> B -> C"), "A")
    ('B', 'C')
    """
    _require_directions(graph)
    return _reached_names(graph, (graph.child_csr,), nodes, inclusive)


def anterior(graph: Graph, nodes: Nodes) -> tuple[str, ...]:
    """The smallest ancestral set that contains `nodes`: all nodes with a path to them that goes against no arrow.

    Reference: Koller & Friedman, section 4.6.2; Lauritzen (1996), section 2.1.1.

    >>> anterior(MixedGraph.parse("A -> B - C -> D"), "C")
    ('A', 'B', 'C')
    """
    required_graph(graph)
    return _reached_names(graph, (graph.parent_csr, graph.neighbor_csr), nodes, True)


@translated
def connected_components(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """The nodes of each connected component, ignoring directions; components and members in node order.

    Reference: Koller & Friedman 2.2.
    Guarantee: exact.
    Tested by: graphs/test_graph.py::test_undirected_graphs_against_networkx

    >>> connected_components(DAG.parse("A -> B; C"))
    (('A', 'B'), ('C',))
    """
    required_graph(graph)
    return tuple(tuple(graph.nodes[i] for i in component) for component in components(graph.adjacent_csr))


@translated
def chain_components(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """The chain components: groups of nodes joined by undirected edges, parents' groups first.

    Reference: Koller & Friedman, section 4.6.2.
    Guarantee: exact.
    Tested by: graphs/test_graph.py::test_chain_graphs

    >>> chain_components(MixedGraph.parse("A -> C - D <- B"))
    (('A',), ('B',), ('C', 'D'))
    """
    found = required_graph(graph)
    order = MixedGraph._of(found.nodes, found._directed, found._undirected)._component_order
    if order is None:
        raise ModelError(
            "The graph is not a chain graph: a cycle follows a directed edge. Remove one edge of that cycle."
        )
    return tuple(tuple(graph.nodes[i] for i in component) for component in order)


@translated
def skeleton(graph: Graph) -> UndirectedGraph:
    """The same edges without directions.

    Reference: Koller & Friedman, section 3.3.4.
    Guarantee: exact.
    Tested by: graphs/test_equivalence.py::test_dags_of_different_classes_are_not_equivalent

    >>> skeleton(DAG.parse("A -> B <- C"))
    UndirectedGraph(A - B; B - C)
    """
    required_graph(graph)
    return UndirectedGraph._of(graph.nodes, NO_PAIRS, np.concatenate([graph._directed, graph._undirected]))


@translated
def moralize(graph: Graph) -> UndirectedGraph:
    """The moral graph: the skeleton, with all parents of each chain component joined (in a DAG: of each node).

    $$X - Y \\iff X, Y \\text{ adjacent, or both in } \\mathrm{Pa}_{\\mathbf K} \\text{ for a component } \\mathbf K$$

    Reference: Koller & Friedman, sections 4.5.1 and 4.6.2.
    Guarantee: exact; minimal I-map.
    Tested by: graphs/test_graph.py::test_the_moral_graph_joins_families,
        graphs/test_equivalence.py::test_the_moral_graph_joins_each_node_to_its_markov_blanket

    >>> moralize(DAG.parse("A -> B <- C"))
    UndirectedGraph(A - B; A - C; B - C)
    """
    required_graph(graph)
    sources, targets = graph._directed.T
    owner = owners(components(graph.neighbor_csr)) if len(graph._undirected) else np.arange(len(graph))
    parents = sorted_pairs(np.stack([owner[targets], sources], axis=1), len(graph))
    pairs = _married(csr(parents[:, 0], parents[:, 1], len(graph)))
    return UndirectedGraph._of(graph.nodes, NO_PAIRS, np.concatenate([graph._directed, graph._undirected, *pairs]))


MOST_EDGES = 2**26
"""The most edges of a moral graph: their arrays take gigabytes."""


def _married(parents: CSR) -> Iterator[Ints]:
    """The pairs of parents, part by part, each once in its part; raises before if there are too many."""
    count, num = np.diff(parents[0]), len(parents[0]) - 1
    most = min(int((count * (count - 1) // 2).sum()), num * (num - 1) // 2)
    if most > MOST_EDGES:
        raise TooLarge(
            f"The moral graph joins all parents of each node: up to {most:,} edges, where at most {MOST_EDGES:,} fit. "
            f"One node has {int(count.max()):,} parents; give it fewer, or a cause in between for groups of them."
        )
    return (sorted_pairs(pairs_within_rows(rows), num) for _, rows in parts_of_pairs(parents))


def _require_directions(graph: Graph) -> None:
    """Raise if no edge of the graph can have a direction: nothing would be found in it, whatever it is."""
    if isinstance(required_graph(graph), UndirectedGraph):
        raise ModelError("Ancestors and descendants are asked of a DAG or a mixed graph; found an undirected graph.")


def _reached_names(graph: Graph, csrs: Iterable[CSR], nodes: Nodes, inclusive: bool) -> tuple[str, ...]:
    starts = graph.ids(nodes)
    found = reached(csrs, starts, len(graph))
    if not inclusive:
        for i in starts:
            found[i] = False
    return tuple(itertools.compress(graph.nodes, found))
