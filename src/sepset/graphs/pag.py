"""Graphs whose edges have a mark at each end, some of them unknown: partial ancestral graphs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np

from sepset.base.arraytypes import Bytes
from sepset.base.display import html_text
from sepset.base.frozen import Frozen, fill, made
from sepset.base.lazy import lazy
from sepset.errors import FileFormatError, ModelError
from sepset.graphs.base import Indexed, Node, name_of, unique_names
from sepset.graphs.graph import Graph, MixedGraph, UndirectedGraph
from sepset.graphs.notation import quoted
from sepset.graphs.pictures.sketch import Sketch, Sketched

__all__ = ["ARROW", "CIRCLE", "NO_EDGE", "PAG", "TAIL"]

NO_EDGE, CIRCLE, ARROW, TAIL = 0, 1, 2, 3
"""The values of `PAG.marks[i, j]`: the mark at the end at node `j` of the edge between nodes `i` and `j`."""

_LEFT = {CIRCLE: "o", ARROW: "<", TAIL: ""}
_RIGHT = {CIRCLE: "o", ARROW: ">", TAIL: ""}
_FROM_LEFT = {text: mark for mark, text in _LEFT.items()}
_FROM_RIGHT = {text: mark for mark, text in _RIGHT.items()}
_TOKEN = re.compile(
    r'\s*(?:(?P<edge>[<o]?-[>o]?)(?=[\s"]|$)|(?P<end>;)|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s;"<>-]+))'
)
_ESCAPE = re.compile(r"\\(.)")
_EDGE = re.compile(r"([<o]?)-([>o]?)")


class PAG(Indexed, Frozen, Sketched):
    r"""A partial ancestral graph: what independences say about causes when some of them may be unobserved.

    Each end of an edge has a mark. At the end at $Y$ of an edge between $X$ and $Y$,

    - an arrowhead says that $Y$ is not an ancestor of $X$,
    - a tail says that $Y$ is an ancestor of $X$, or of a variable that rows were selected by,
    - a circle says that independences leave it open.

    So `X -> Y` is a cause, `X <-> Y` has an unobserved common cause and no other, and `X o-> Y` is one or the other.

    Args:
        nodes: names, or anything with a `.name`; nodes that only edges mention are appended in order.
        edges: triples such as `("A", "o->", "B")`.

    Reference: Zhang (2008), On the completeness of orientation rules for causal discovery.

    >>> pag = PAG([], [("A", "o->", "B"), ("C", "o->", "B"), ("B", "->", "D")])
    >>> pag, pag.mark("A", "B"), pag.mark("B", "A")
    (PAG(A o-> B; B -> D; C o-> B), 'arrow', 'circle')
    """

    nodes: tuple[str, ...]
    marks: Bytes

    def __init__(self, nodes: Iterable[Node] = (), edges: Iterable[Sequence[Node]] = ()) -> None:
        names = dict.fromkeys(unique_names(map(name_of, nodes)))
        read = [_triple(edge) for edge in edges]
        names |= dict.fromkeys(name for x, _, y in read for name in (x, y))
        index = {name: i for i, name in enumerate(names)}
        marks = np.zeros((len(names), len(names)), dtype=np.uint8)
        for x, kind, y in read:
            _put(marks, index[x], index[y], kind, x, y)
        fill(self, nodes=tuple(names), marks=marks)

    @classmethod
    def from_marks(cls, nodes: Iterable[str], marks: Bytes) -> Self:
        """The graph with these marks: `marks[i, j]` at the end at node `j`, of the kinds `NO_EDGE` to `TAIL`.

        >>> PAG.from_marks("AB", np.array([[0, 2], [1, 0]]))
        PAG(A o-> B)
        """
        names = unique_names(nodes)
        found = np.array(marks, dtype=np.uint8)
        if found.shape != (len(names), len(names)) or found.diagonal().any() or (found > TAIL).any():
            raise ModelError(
                f"Marks of {len(names)} nodes are a square array of the numbers 0 to 3, zero for a node itself."
            )
        if ((found == NO_EDGE) != (found.T == NO_EDGE)).any():
            raise ModelError("An edge has a mark at each of its ends; found one with a mark at one end only.")
        return made(cls, nodes=names, marks=found)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The graph that `text` describes: `A o-> B <-> C -> D; D o-o E`; a line, `-`, has two tails.

        Names with spaces or the characters `; " < > -` go in double quotes, and edges between spaces.

        >>> PAG.parse("A o-o B; C").nodes
        ('A', 'B', 'C')
        """
        nodes: list[str] = []
        edges: list[tuple[str, str, str]] = []
        waiting: str | None = None
        for kind, value in _tokens(text):
            if kind == "name":
                if waiting is not None:
                    edges.append((nodes[-1], waiting, value))
                nodes.append(value)
                waiting = None
            elif waiting is not None or (kind == "edge" and not nodes):
                raise FileFormatError(f"{value!r} is between two names; found {text!r}.")
            else:
                waiting = value if kind == "edge" else None
        if waiting is not None:
            raise FileFormatError(f"{waiting!r} is between two names; found {text!r}.")
        return cls(dict.fromkeys(nodes), edges)

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """The marks of a graph without circles: of an arrow tail and head, of a line two tails.

        >>> from sepset.graphs.graph import DAG
        >>> PAG.of(DAG.parse("A -> B"))
        PAG(A -> B)
        """
        arrows = [(x, "->", y) for x, y in graph.directed]
        return cls(graph.nodes, [*arrows, *((x, "-", y) for x, y in graph.undirected)])

    @lazy
    def edges(self) -> tuple[tuple[str, str, str], ...]:
        """The edges as triples in node order: `("A", "o->", "B")`; arrows go from tail to head.

        >>> PAG.parse("B <-o A; D <- C").edges
        (('A', 'o->', 'B'), ('C', '->', 'D'))
        """
        pairs = np.argwhere(np.triu(self.marks)).tolist()
        return tuple(sorted((self._edge(i, j) for i, j in pairs), key=lambda e: (self.index[e[0]], self.index[e[2]])))

    def _edge(self, i: int, j: int) -> tuple[str, str, str]:
        left, right = int(self.marks[j, i]), int(self.marks[i, j])
        if left == ARROW and right != ARROW:
            i, j, left, right = j, i, right, left
        return self.nodes[i], f"{_LEFT[left]}-{_RIGHT[right]}", self.nodes[j]

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return int(np.count_nonzero(self.marks)) // 2

    def mark(self, x: Node, y: Node) -> str:
        """The mark at the end at `y` of the edge between `x` and `y`: `arrow`, `tail`, `circle`, or `none`."""
        return ("none", "circle", "arrow", "tail")[self.marks[self.id(x), self.id(y)]]

    def adjacent(self, node: Node) -> tuple[str, ...]:
        """The nodes joined to `node`, in node order."""
        return tuple(self.nodes[j] for j in np.flatnonzero(self.marks[self.id(node)]))

    def parents(self, node: Node) -> tuple[str, ...]:
        """The nodes with an edge `->` into `node`: its causes for certain, as far as independences say."""
        i = self.id(node)
        return tuple(self.nodes[j] for j in np.flatnonzero((self.marks[:, i] == ARROW) & (self.marks[i] == TAIL)))

    def has_edge(self, x: Node, y: Node) -> bool:
        """Whether `x` and `y` are joined."""
        return bool(self.marks[self.id(x), self.id(y)])

    @property
    def skeleton(self) -> UndirectedGraph:
        """The same edges without marks.

        >>> PAG.parse("A o-> B").skeleton
        UndirectedGraph(A - B)
        """
        left, right = np.nonzero(np.triu(self.marks))
        return UndirectedGraph.from_arrays(self.nodes, sources=left, targets=right)

    def to_mixed(self) -> MixedGraph:
        """The graph with arrows and lines only; refused where an edge has a circle or two arrowheads.

        >>> PAG.parse("A -> B - C").to_mixed()
        MixedGraph(A -> B; B - C)
        """
        kinds: dict[str, list[tuple[str, str]]] = {"->": [], "-": []}
        for x, kind, y in self.edges:
            if kind not in kinds:
                raise ModelError(f"A mixed graph has edges -> and - only; found {x} {kind} {y}.")
            kinds[kind].append((x, y))
        return MixedGraph(self.nodes, kinds["->"], undirected=kinds["-"])

    def __len__(self) -> int:
        return len(self.nodes)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, PAG)
        if set(self.nodes) != set(other.nodes):
            return False
        order = [other.index[name] for name in self.nodes]
        return np.array_equal(self.marks, other.marks[np.ix_(order, order)])

    def __hash__(self) -> int:
        return hash((frozenset(self.nodes), frozenset(frozenset((x, y)) for x, _, y in self.edges)))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).from_marks, (self.nodes, self.marks)

    def __str__(self) -> str:
        joined = [f"{quoted(x)} {kind} {quoted(y)}" for x, kind, y in self.edges]
        return "; ".join([*joined, *(quoted(name) for i, name in enumerate(self.nodes) if not self.marks[i].any())])

    def __repr__(self) -> str:
        return f"PAG({self})" if self.num_edges <= 32 else f"PAG({len(self)} nodes, {self.num_edges} edges)"

    def _sketch(self) -> Sketch:
        return Sketch.of(self.nodes, self.edges)

    def _repr_html_(self) -> str:
        from sepset.graphs.pictures.picture import with_picture

        return with_picture(html_text(repr(self)), len(self), self)


def _triple(edge: Sequence[Node]) -> tuple[str, str, str]:
    if isinstance(edge, str) or len(edge) != 3:
        raise ModelError(f"An edge is a triple such as ('A', 'o->', 'B'); found {edge!r}.")
    x, kind, y = edge
    return name_of(x), str(kind), name_of(y)


def _put(marks: Bytes, i: int, j: int, kind: str, x: str, y: str) -> None:
    """Set the marks of the edge `x kind y`."""
    read = _EDGE.fullmatch(kind)
    if read is None:
        raise ModelError(f"An edge is ->, <-, <->, o->, <-o, o-o, o-, -o or -; found {kind!r} between {x!r} and {y!r}.")
    if i == j:
        raise ModelError(f"Node {x!r} has an edge to itself; remove it.")
    if marks[i, j]:
        raise ModelError(f"Two edges join {x!r} and {y!r}; keep one.")
    marks[j, i], marks[i, j] = _FROM_LEFT[read[1]], _FROM_RIGHT[read[2]]


def _tokens(text: str) -> list[tuple[str, str]]:
    """The names, edges and ends of statements in a text."""
    found: list[tuple[str, str]] = []
    place, text = 0, text.replace("\n", ";").rstrip()
    while place < len(text):
        read = _TOKEN.match(text, place)
        if read is None:
            raise FileFormatError(f"A name, an edge or ';' is wanted at {text[place:].strip()!r}.")
        kind = read.lastgroup or ""
        value = _ESCAPE.sub(_unescaped, read[kind]) if kind == "quoted" else read[kind]
        found.append(("name" if kind in ("quoted", "bare") else kind, value))
        place = read.end()
    return found


def _unescaped(read: re.Match[str]) -> str:
    return "\n" if read[1] == "n" else read[1]
