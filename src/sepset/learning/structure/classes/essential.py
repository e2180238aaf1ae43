r"""Essential graphs: equivalence classes of DAGs under search, each with one of its members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.graphs.graph import MixedGraph
from sepset.kernels.structure.classes import adjacency, direct_component, essential, semi_directed_path


class EssentialGraph:
    r"""The class of a DAG; it changes in place.

    An edge is directed if all members direct it alike. With interventions, members also agree on the edges between two
    nodes of which some intervention sets exactly one.

    Args:
        parents_of: the parents of each column in one member.
        cut: from row to column, whether an intervention sets exactly one of the two.

    Attributes:
        edges: of a member.
        arcs: `arcs[x, y]` alone is $x \to y$, with `arcs[y, x]` it is $x - y$.
        parents: of each node, those that all members have.
        parents_of: of each node in the kept member.
        neighbors: of each node, along undirected edges.
        adjacent: of each node.

    >>> graph = EssentialGraph([[], [0], [1]])
    >>> graph.parents[2], graph.neighbors[1]
    (set(), {0, 2})
    """

    def __init__(self, parents_of: Sequence[Iterable[int]], cut: Bools | None = None) -> None:
        n = len(parents_of)
        self.n = n
        self.cut: Bools = np.zeros((n, n), np.bool_) if cut is None else cut
        self.edges: Bools = np.zeros((n, n), np.bool_)
        self.parents_of: list[list[int]] = [[] for _ in range(n)]
        self.arcs: Bools = np.zeros((n, n), np.bool_)
        self.parents: list[set[int]] = [set() for _ in range(n)]
        self.neighbors: list[set[int]] = [set() for _ in range(n)]
        self.adjacent: list[set[int]] = [set() for _ in range(n)]
        self._before = np.empty(n, np.int64)
        edges = self.edges.copy()
        for child, given in enumerate(parents_of):
            edges[list(given), child] = True
        self.become(edges)

    def class_of(self, edges: Bools) -> Bools:
        """The marks of the class of a DAG."""
        return self._class_of(edges, *self._adjacency(edges))

    def _adjacency(self, edges: Bools) -> tuple[Ints, Ints]:
        sources, targets = np.divmod(np.flatnonzero(edges), self.n)
        return adjacency(self.n, sources, targets)

    def _class_of(self, edges: Bools, start: Ints, near: Ints) -> Bools:
        arcs = edges.copy()
        is_acyclic = essential(edges, self.cut, start, near, arcs)
        assert is_acyclic, "a member of a class is a DAG"
        return arcs

    def become(self, edges: Bools) -> list[int]:
        """Change to the class of a DAG; the nodes whose marks changed."""
        self._start, self._near = self._adjacency(edges)
        arcs = self._class_of(edges, self._start, self._near)
        changed = sorted({end for pair in self._places(arcs != self.arcs) for end in pair})
        self.parents_of = self.parents_of.copy()
        for child in {child for _, child in self._places(edges != self.edges)}:
            self.parents_of[child] = np.flatnonzero(edges[:, child]).tolist()
        self.edges, self.arcs = edges, arcs
        for x in changed:
            into, out = arcs[:, x], arcs[x]
            self.parents[x] = set(np.flatnonzero(into & ~out).tolist())
            self.neighbors[x] = set(np.flatnonzero(into & out).tolist())
            self.adjacent[x] = set(np.flatnonzero(into | out).tolist())
        return changed

    def _places(self, marks: Bools) -> list[tuple[int, int]]:
        return [divmod(place, self.n) for place in np.flatnonzero(marks).tolist()]

    def member(self, *first: Sequence[int]) -> Bools:
        """The edges of a member in which the chain component of each sequence is ordered to begin with it."""
        edges = self.edges.copy()
        for nodes in first:
            direct_component(self.arcs, np.array(nodes, np.int64), edges)
        return edges

    def path(self, source: int, target: int, blocked: Iterable[int], *, through_edge: bool = True) -> list[int]:
        """A semi-directed path from source to target that meets no blocked node; empty if there is none."""
        avoided = np.zeros(self.n, np.bool_)
        avoided[list(blocked)] = True
        if not semi_directed_path(
            self.arcs, self._start, self._near, source, target, avoided, through_edge, self._before
        ):
            return []
        found = [target]
        while found[-1] != source:
            found.append(int(self._before[found[-1]]))
        return found

    def graph(self, names: Sequence[str]) -> MixedGraph:
        """The class with names."""
        return graph_of(self.arcs, names)


def graph_of(arcs: Bools, names: Sequence[str]) -> MixedGraph:
    """The graph with these marks."""
    directed = np.argwhere(arcs & ~arcs.T)
    undirected = np.argwhere(np.triu(arcs & arcs.T))
    return MixedGraph.from_arrays(
        names, sources=directed[:, 0], targets=directed[:, 1], lefts=undirected[:, 0], rights=undirected[:, 1]
    )


def cliques(nodes: Iterable[int], adjacent: Sequence[set[int]], most: int) -> Iterator[tuple[int, ...]]:
    """All sets of pairwise adjacent nodes among some, of at most so many, the empty one first.

    >>> list(cliques([0, 1, 2], [{1}, {0}, set()], 2))
    [(), (0,), (0, 1), (1,), (2,)]
    """

    def extended(chosen: tuple[int, ...], left: list[int]) -> Iterator[tuple[int, ...]]:
        yield chosen
        if len(chosen) < most:
            for k, x in enumerate(left):
                yield from extended((*chosen, x), [y for y in left[k + 1 :] if y in adjacent[x]])

    if most >= 0:
        yield from extended((), sorted(nodes))
