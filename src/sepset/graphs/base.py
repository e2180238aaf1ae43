"""The base class of graphs: named nodes in order, edges as arrays of node ids, equality by value."""

from __future__ import annotations

import itertools
from abc import ABC
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, Self, TypeAlias, cast, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.display import html_text
from sepset.base.foreign import often
from sepset.base.frozen import Frozen, fill, made
from sepset.base.lazy import lazy
from sepset.base.text import brief, listing, nearest
from sepset.errors import ModelError, ScopeError
from sepset.graphs.csr import CSR, csr, row, sorted_pairs
from sepset.graphs.notation import parse_statements, statements
from sepset.graphs.pictures.sketch import Sketch, Sketched


@runtime_checkable
class Named(Protocol):
    """Anything with a name, such as a variable."""

    @property
    def name(self) -> str:
        """The name that a graph uses for it."""


Node: TypeAlias = str | Named
Nodes: TypeAlias = Node | Iterable[Node]
Edge: TypeAlias = tuple[str, str]
NodesOrEdges: TypeAlias = Iterable[Node] | Iterable[tuple[Node, Node]]

_SHOWN = 8


class Indexed:
    """Named nodes in order, found by name."""

    nodes: tuple[str, ...]

    @lazy
    def index(self) -> Mapping[str, int]:
        """Each node's position in `nodes`."""
        return MappingProxyType({name: i for i, name in enumerate(self.nodes)})

    @often
    def id(self, node: Node) -> int:
        """The position of `node` in `nodes`; an unknown name raises an error that suggests the nearest one."""
        name = name_of(node)
        found = self.index.get(name)
        if found is None:
            raise ScopeError(f"Unknown node {name!r}; the nodes are {listing(self.nodes)}.{nearest(name, self.nodes)}")
        return found


class Graph(Indexed, Frozen, Sketched, ABC):
    """Shared parts of the three kinds of graph: named nodes in order, and edges as sorted arrays of node ids.

    Two graphs are equal if they are of the same kind and have the same nodes and the same edges, in any order.
    """

    _arrows: tuple[str, ...]
    nodes: tuple[str, ...]
    _directed: Ints
    _undirected: Ints

    def _fill(self, nodes: tuple[str, ...], directed: Ints, undirected: Ints) -> None:
        """Set nodes and edges, each `[m, 2]` in any order, duplicates allowed; they are checked only here."""
        lines = sorted_pairs(np.sort(undirected, axis=1), len(nodes))
        fill(self, nodes=nodes, _directed=sorted_pairs(directed, len(nodes)), _undirected=lines)
        self._check()

    def _fill_named(
        self, nodes: Iterable[Node], directed: Iterable[Sequence[Node]], undirected: Iterable[Sequence[Node]]
    ) -> None:
        names = unique_names(map(name_of, nodes))
        index = {name: i for i, name in enumerate(names)}
        arrays = [_named_pairs(edges, index) for edges in (directed, undirected)]
        self._fill(tuple(index), *arrays)

    @classmethod
    def _of(cls, nodes: tuple[str, ...], directed: Ints, undirected: Ints) -> Self:
        graph = made(cls)
        graph._fill(nodes, directed, undirected)
        return graph

    def _check(self) -> None:
        for pairs in (self._directed, self._undirected):
            loops = pairs[pairs[:, 0] == pairs[:, 1]]
            if len(loops):
                name = self.nodes[loops[0, 0]]
                raise ModelError(f"Node {name!r} has an edge to itself; remove it.")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The graph that `text` describes: `A -> B <- C`, `C - D`, isolated `E`; `;` or a new line ends a statement.

        Names with spaces or the characters `; " < > -` go in double quotes.

        >>> from sepset.graphs.graph import MixedGraph
        >>> MixedGraph.parse('A -> B <- C; C - "my node"').undirected
        (('C', 'my node'),)
        """
        stated = parse_statements(text, cls._arrows)
        graph = made(cls)
        graph._fill_named(stated.nodes, stated.directed, stated.undirected)
        return graph

    @lazy
    def directed(self) -> tuple[Edge, ...]:
        """The directed edges, sorted by node order."""
        return self._names_of(self._directed)

    @lazy
    def undirected(self) -> tuple[Edge, ...]:
        """The undirected edges, each in node order, sorted by node order."""
        return self._names_of(self._undirected)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Every edge: the directed ones, then the undirected ones."""
        return self.directed + self.undirected

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return len(self._directed) + len(self._undirected)

    @lazy
    def parent_csr(self) -> CSR:
        """The parents of every node id as `(indptr, indices)`, each row sorted."""
        return csr(self._directed[:, 1], self._directed[:, 0], len(self))

    @lazy
    def child_csr(self) -> CSR:
        """The children of every node id as `(indptr, indices)`, each row sorted."""
        return csr(self._directed[:, 0], self._directed[:, 1], len(self))

    @lazy
    def neighbor_csr(self) -> CSR:
        """The undirected neighbors of every node id as `(indptr, indices)`, each row sorted."""
        left, right = self._undirected.T
        return csr(np.concatenate([left, right]), np.concatenate([right, left]), len(self))

    @lazy
    def adjacent_csr(self) -> CSR:
        """The nodes joined to every node id by an edge of any kind, as `(indptr, indices)`, each row sorted."""
        left, right = np.concatenate([self._directed, self._undirected]).T
        return csr(np.concatenate([left, right]), np.concatenate([right, left]), len(self))

    def adjacent(self, node: Node) -> tuple[str, ...]:
        """The nodes joined to `node` by an edge of any kind, in node order."""
        return self._row(self.adjacent_csr, node)

    def has_edge(self, source: Node, target: Node) -> bool:
        """Whether `source -> target` or `source - target` is an edge."""
        s, t = self.id(source), self.id(target)
        return t in row(self.child_csr, s) or t in row(self.neighbor_csr, s)

    @often
    def ids(self, nodes: Nodes) -> list[int]:
        """The positions of one node or several, each once, in the order given."""
        return list(dict.fromkeys(map(self.id, each(nodes))))

    def subgraph(self, nodes: Nodes) -> Self:
        """The induced subgraph: these nodes, in this graph's order, and every edge between them.

        >>> from sepset.graphs.graph import DAG
        >>> DAG.parse("A -> B -> C").subgraph(["C", "B"])
        DAG(B -> C)
        """
        kept = np.zeros(len(self), dtype=bool)
        kept[self.ids(nodes)] = True
        renumber = np.cumsum(kept) - 1
        names = tuple(itertools.compress(self.nodes, kept))
        return self._of(names, *(renumber[p[kept[p].all(axis=1)]] for p in (self._directed, self._undirected)))

    def without_edge(self, source: Node, target: Node) -> Self:
        """The graph without the edge from `source` to `target`; raises if there is none.

        >>> from sepset.graphs.graph import DAG
        >>> DAG.parse("A -> B -> C").without_edge("A", "B")
        DAG(B -> C; A)
        """
        s, t = self.id(source), self.id(target)
        directed = self._directed[~(self._directed == (s, t)).all(axis=1)]
        undirected = self._undirected[~(self._undirected == (min(s, t), max(s, t))).all(axis=1)]
        if len(directed) + len(undirected) == self.num_edges:
            raise ModelError(f"There is no edge from {self.nodes[s]!r} to {self.nodes[t]!r} to remove.")
        return self._of(self.nodes, directed, undirected)

    def _row(self, csr: CSR, node: Node) -> tuple[str, ...]:
        return tuple(self.nodes[i] for i in row(csr, self.id(node)))

    def _names_of(self, pairs: Ints) -> tuple[Edge, ...]:
        names = self.nodes
        return tuple((names[a], names[b]) for a, b in pairs.tolist())

    def _isolated(self) -> Iterator[str]:
        return itertools.compress(self.nodes, np.diff(self.adjacent_csr[0]) == 0)

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        return getattr(node, "name", node) in self.index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        if type(other) is not type(self):
            return False
        if self.nodes == other.nodes:
            same = np.array_equal(self._directed, other._directed)
            return bool(same and np.array_equal(self._undirected, other._undirected))
        return self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    @lazy
    def _value(self) -> tuple[object, ...]:
        return frozenset(self.nodes), frozenset(self.directed), frozenset(map(frozenset, self.undirected))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self)._of, (self.nodes, self._directed, self._undirected)

    def __str__(self) -> str:
        return "; ".join(statements(self.directed, self.undirected, self._isolated()))

    def __repr__(self) -> str:
        if len(self) + self.num_edges <= 4 * _SHOWN:
            return f"{type(self).__name__}({self})"
        directed, undirected = (self._names_of(pairs[:_SHOWN]) for pairs in (self._directed, self._undirected))
        shown = "; ".join(itertools.islice(statements(directed, undirected, self._isolated()), _SHOWN))
        return f"{type(self).__name__}({shown}; ...: {len(self)} nodes, {self.num_edges} edges)"

    def _sketch(self) -> Sketch:
        arrows = [(a, "->", b) for a, b in self.directed]
        return Sketch.of(self.nodes, [*arrows, *((a, "-", b) for a, b in self.undirected)])

    def _repr_html_(self) -> str:
        from sepset.graphs.pictures.picture import with_picture

        return with_picture(html_text(repr(self)), len(self), self)


def required_graph(value: object) -> Graph:
    """The value, where it is a graph; a model is refused with where its graph is.

    >>> required_graph("A -> B")
    Traceback (most recent call last):
    ...
    sepset.errors.ModelError: A graph is wanted; found a str. Texts are read by DAG.parse, UndirectedGraph.parse and \
MixedGraph.parse.
    """
    if isinstance(value, Graph):
        return value
    raise ModelError(f"A graph is wanted; found a {type(value).__name__}.{way_to_graph(value)}")


def way_to_graph(value: object) -> str:
    """A clause that says how a graph is made of what was given instead of one.

    >>> way_to_graph(3)
    ' Make one by DAG, UndirectedGraph or MixedGraph.'
    """
    if isinstance(value, str):
        return " Texts are read by DAG.parse, UndirectedGraph.parse and MixedGraph.parse."
    if type(value).__module__.startswith("networkx."):
        return " Graphs of networkx are read by DAG.from_networkx and UndirectedGraph.from_networkx."
    own = [name for name in ("dag", "graph") if isinstance(getattr(value, name, None), Graph)]
    return f" Give its graph: .{own[0]}" if own else " Make one by DAG, UndirectedGraph or MixedGraph."


def is_undirected(value: object) -> bool:
    """Whether a value is a graph of networkx without directions.

    >>> is_undirected("AB")
    False
    """
    return type(value).__module__.startswith("networkx.") and not value.is_directed()  # type: ignore[attr-defined]


def edges_first(nodes: NodesOrEdges, edges: Iterable[Sequence[Node]]) -> tuple[Any, Iterable[Any]]:
    """Nodes and edges, where edges may be given in place of the nodes: pairs, rows by node, or a graph of networkx.

    >>> edges_first([("A", "B"), ("B", "C")], ())
    ((), [('A', 'B'), ('B', 'C')])
    """
    if type(nodes).__module__.startswith("networkx."):
        return map(text_of, nodes.nodes), [(text_of(a), text_of(b)) for a, b in nodes.edges()]  # type: ignore[union-attr]
    if isinstance(nodes, str) and ("->" in nodes or "<-" in nodes or " - " in nodes):
        raise ModelError(f"Nodes are wanted; found the text {nodes!r}, which DAG.parse or UndirectedGraph.parse reads.")
    if isinstance(nodes, str) or (isinstance(edges, Sequence) and len(edges)):
        return nodes, edges
    if isinstance(nodes, Mapping) and nodes and all(isinstance(row, list | tuple | set) for row in nodes.values()):
        return list(nodes), [(node, other) for node, row in nodes.items() for other in row]
    listed = list(nodes)
    return ((), listed) if listed and all(isinstance(node, tuple | list) for node in listed) else (listed, edges)


def each(nodes: Nodes) -> list[Node]:
    """One node or several, as a list."""
    if isinstance(nodes, str) or hasattr(nodes, "name"):
        return [cast(Node, nodes)]
    if not isinstance(nodes, Iterable) or (isinstance(nodes, np.ndarray) and not nodes.ndim):
        raise ScopeError(f"Nodes are named by one name, or by several in a list; found {brief(nodes)}.")
    return list(nodes)


def name_of(node: Node) -> str:
    """The node's name."""
    if isinstance(node, str):
        return node
    name = getattr(node, "name", None)
    if not isinstance(name, str):
        edges = " Give nodes and edges apart: DAG(nodes, edges)." if isinstance(node, tuple) else ""
        raise ScopeError(f"A node is a name or has one; found {node!r} of type {type(node).__name__}.{edges}")
    return name


def text_of(node: object) -> str:
    """The name of a node of another library's graph."""
    name = getattr(node, "name", node)
    return name if isinstance(name, str) else str(name)


def unique_names(nodes: Iterable[str]) -> tuple[str, ...]:
    """The names as a tuple; raises if one is repeated."""
    names = tuple(nodes)
    for name in names:
        if not isinstance(name, str):
            name_of(name)  # which says what a node is
            raise ScopeError(f"Nodes are given by name here; found {name!r}.")
    if len(set(names)) != len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise ScopeError(f"Node {repeated!r} is listed twice; name each node once.")
    return names


def _named_pairs(edges: Iterable[Sequence[Node]], index: dict[str, int]) -> Ints:
    ids = [
        index.setdefault(end if type(end) is str else name_of(end), len(index)) for pair in edges for end in _pair(pair)
    ]
    return np.array(ids, dtype=np.int64).reshape(-1, 2)


def _pair(edge: Sequence[Node]) -> Sequence[Node]:
    if isinstance(edge, str) or not hasattr(edge, "__len__") or len(edge) != 2:
        raise ModelError(f"An edge is a pair of nodes; found {edge!r}. For the notation `A -> B`, use parse.")
    return edge
