"""Graph elimination: the cliques, messages, fill edges and cost that an elimination order induces.

Eliminating a node joins its remaining neighbors and removes it. The node with those neighbors is its *elimination
clique*: the scope that variable elimination multiplies together; the neighbors alone are the scope of its message.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TypeAlias

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.display import Plain, Worded
from sepset.base.foreign import translated
from sepset.base.text import listing, nearest
from sepset.errors import ScopeError, StateError, TooLarge
from sepset.graphs.columncounts import message_sizes
from sepset.graphs.graph import Graph, Node, Nodes, UndirectedGraph
from sepset.graphs.kinds import undirected

__all__ = [
    "Cards",
    "GraphElimination",
    "card_list",
    "checked_order",
    "eliminate_graph",
    "eliminated",
    "fill_in",
    "induced_width",
]

Cards: TypeAlias = Mapping[str, int] | int | None

SMALL_GRAPH = 4096
"""The number of nodes up to which cliques are found without a look at their sizes: they have few members."""

MOST_MEMBERS = SMALL_GRAPH**2 // 2
"""The number of members that the cliques of an order may have together: those of a complete graph of that size."""


@dataclass(frozen=True, slots=True)
class GraphElimination(Worded, Plain):
    r"""The result of eliminating the nodes of a graph in `order`.

    $$\mathbf C_i = \{X_i\} \cup \mathrm{Nb}_i, \qquad
      \text{width} = \max_i |\mathbf C_i| - 1, \qquad
      \text{total size} = \sum_{\mathbf C \text{ maximal}} \prod_{X \in \mathbf C} |\mathrm{Val}(X)|$$

    Attributes:
        order: the names, first eliminated first.
        cliques: for each name its elimination clique: the name itself, then the others in node order.
        sizes: the number of table entries of each elimination clique.
        fill_edges: the pairs that elimination joined, sorted by node order.
        parents: for each position the position that receives its message, or -1 if none does.
        absorbed: for each position, that of a maximal clique that contains its clique: itself if it is maximal.

    Reference: Koller & Friedman, sections 9.4.2 and 9.4.3.

    >>> order = eliminate_graph(UndirectedGraph.parse("A - B - C - D - A"), "ABCD")
    >>> print(order)
    4 variables, width 2; 16 table entries in 2 maximal cliques, the largest 8; 1 fill edge
    order: A, B, C, D
    """

    order: tuple[str, ...]
    cliques: tuple[tuple[str, ...], ...] = field(repr=False)
    _: KW_ONLY
    sizes: tuple[int, ...] = field(repr=False)
    fill_edges: tuple[tuple[str, str], ...] = field(repr=False)
    parents: tuple[int, ...] = field(repr=False)
    absorbed: tuple[int, ...] = field(repr=False)

    @property
    def messages(self) -> tuple[tuple[str, ...], ...]:
        """The scope of the message that each elimination sends: its clique without the eliminated name."""
        return tuple(clique[1:] for clique in self.cliques)

    @property
    def maximal(self) -> tuple[int, ...]:
        """The positions whose elimination clique is maximal: those that a clique tree keeps."""
        return tuple(i for i, keeper in enumerate(self.absorbed) if keeper == i)

    @property
    def width(self) -> int:
        """The induced width: the number of names in the largest clique, less one."""
        return max((len(clique) - 1 for clique in self.cliques), default=0)

    @property
    def total_size(self) -> int:
        """The number of table entries of all maximal cliques together."""
        return sum(self.sizes[i] for i in self.maximal)

    @property
    def largest(self) -> int:
        """The number of table entries of the largest clique."""
        return max(self.sizes, default=1)

    def cost(self, scopes: Iterable[Iterable[str]] | None = None) -> int:
        r"""The number of multiplications of variable elimination in this order.

        $$\sum_i k_i \prod_{X \in \mathbf C_i} |\mathrm{Val}(X)|$$

        where $k_i$ is the number of factors multiplied in step i: messages that arrive, and factors of `scopes`
        that are first used there. The eliminated variable counts in the product.

        Args:
            scopes: the scopes of the factors; without them every step has one factor of its own.

        Reference: Koller & Friedman, section 9.4.2.
        Guarantee: exact.
        Tested by: graphs/test_elimination.py::test_cost_of_a_chain

        >>> chain = eliminate_graph(UndirectedGraph.parse("A - B - C"), "ABC")
        >>> chain.cost([("A",), ("A", "B"), ("B", "C")])
        18
        """
        position = {name: i for i, name in enumerate(self.order)}
        counts = [int(scopes is None)] * len(self.order)
        for scope in () if scopes is None else scopes:
            first = min((position[name] for name in scope if name in position), default=-1)
            if first >= 0:
                counts[first] += 1
        for parent in self.parents:
            if parent >= 0:
                counts[parent] += 1
        return sum(count * size for count, size in zip(counts, self.sizes, strict=True))

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        return f"GraphElimination({len(self)} variables, width {self.width}, total size {self.total_size:,})"

    def __str__(self) -> str:
        fill, cliques = len(self.fill_edges), len(self.maximal)
        shown = ", ".join(self.order[:20]) + (", ..." if len(self) > 20 else "")
        return (
            f"{len(self)} variables, width {self.width}; {self.total_size:,} table entries in {cliques} maximal "
            f"clique{'s' * (cliques != 1)}, the largest {self.largest:,}; {fill} fill edge{'s' * (fill != 1)}\n"
            f"order: {shown}"
        )


@translated
def eliminate_graph(graph: Graph, order: Iterable[Node], *, cards: Cards = None, keep: Nodes = ()) -> GraphElimination:
    """The result of eliminating `order` from `graph`: cliques, messages, fill edges, width and table sizes.

    Args:
        graph: an undirected graph, such as a moral graph.
        order: every node once, except those of `keep`.
        cards: the number of states by name, or one number for all; two each by default.
        keep: nodes that are never eliminated, such as query variables.

    Cost: linear in the total size of the cliques.
    Reference: Koller & Friedman, section 9.4.2.
    Guarantee: exact.
    Tested by: graphs/test_elimination.py::test_elimination_by_definition

    >>> eliminate_graph(UndirectedGraph.parse("A - B - C"), ["C", "B"], keep=["A"]).messages
    (('B',), ('A',))
    """
    graph = undirected(graph)
    kept = graph.ids(keep)
    ids = checked_order(graph, [graph.id(node) for node in order], kept)
    return eliminated(graph, ids, card_list(graph.nodes, cards), kept)


@translated
def induced_width(graph: Graph, order: Iterable[Node]) -> int:
    """The induced width of `order`: the largest number of neighbors that a node has when it is eliminated.

    Reference: Koller & Friedman, section 9.4.2.
    Guarantee: exact.
    Tested by: graphs/test_elimination.py::test_how_wide_all_orders_of_the_trace_are

    >>> induced_width(UndirectedGraph.parse("A - B - C - D - A"), "ABCD")
    2
    """
    graph = undirected(graph)
    return eliminate_graph(graph, order).width


@translated
def fill_in(graph: Graph, order: Iterable[Node]) -> tuple[tuple[str, str], ...]:
    """The fill edges that eliminating `order` adds, sorted by node order.

    Reference: Koller & Friedman, section 9.4.2.
    Guarantee: exact.
    Tested by: graphs/test_elimination.py::test_fill_edges_are_sorted

    >>> fill_in(UndirectedGraph.parse("A - B - C - D - A"), "ABCD")
    (('B', 'D'),)
    """
    graph = undirected(graph)
    return eliminate_graph(graph, order).fill_edges


def card_list(nodes: Sequence[str], cards: Cards) -> list[int]:
    """The number of states of each node; raises unless every name has a positive integer.

    >>> card_list(["A", "B"], {"B": 3, "A": 2})
    [2, 3]
    """
    if cards is None or isinstance(cards, int):
        found = [2 if cards is None else cards] * len(nodes)
    else:
        missing = [name for name in nodes if name not in cards]
        if missing:
            raise ScopeError(
                f"No number of states for {listing(missing)}; give one for every node."
                f"{nearest(missing[0], list(cards))}"
            )
        found = [int(cards[name]) for name in nodes]
    for name, card in zip(nodes, found, strict=True):
        if card < 1:
            raise StateError(f"A variable has at least one state; found {card} for {name!r}.")
    return found


def checked_order(graph: UndirectedGraph, order: Iterable[int], kept: Sequence[int] = ()) -> list[int]:
    """The node numbers of an order; raises unless each node is either in it, once, or kept."""
    ids = [int(i) for i in order]
    if not kept and sorted(ids) == list(range(len(graph))):
        return ids
    seen = set(kept)
    for i in ids:
        if i in seen:
            both = "also in `keep`" if i in kept else "listed twice"
            raise ScopeError(f"Node {graph.nodes[i]!r} of the elimination order is {both}; eliminate each node once.")
        seen.add(i)
    if len(seen) < len(graph):
        missing = [name for i, name in enumerate(graph.nodes) if i not in seen]
        raise ScopeError(
            f"The elimination order leaves out {listing(missing)}; eliminate them too, or name them in `keep`."
        )
    return ids


def eliminated(
    graph: UndirectedGraph, ids: Sequence[int], cards: Sequence[int], kept: Sequence[int] = ()
) -> GraphElimination:
    """The result of eliminating the nodes of these numbers, all but those `kept`; nothing is checked."""
    if len(graph) > SMALL_GRAPH:
        _check_members(graph, ids, kept)
    indptr, indices = (array.tolist() for array in graph.neighbor_csr)
    rows = [set(indices[start:stop]) for start, stop in itertools.pairwise(indptr)]
    position = dict(zip([*ids, *kept], range(len(graph)), strict=True))
    scopes, parents = _messages(ids, rows, position)
    names = graph.nodes
    return GraphElimination(
        order=tuple(names[v] for v in ids),
        cliques=tuple((names[v], *(names[u] for u in scopes[i])) for i, v in enumerate(ids)),
        sizes=tuple(cards[v] * math.prod(cards[u] for u in scopes[i]) for i, v in enumerate(ids)),
        fill_edges=tuple((names[a], names[b]) for a, b in _fill(ids, scopes, rows)),
        parents=tuple(parents),
        absorbed=_absorbed(scopes, parents),
    )


def _check_members(graph: UndirectedGraph, ids: Sequence[int], kept: Sequence[int]) -> None:
    """Raise if the cliques of an order have too many members together."""
    rank = np.empty(len(graph), np.int64)
    rank[[*ids, *kept]] = np.arange(len(graph))
    indptr, indices = graph.neighbor_csr
    own, other = np.repeat(rank, np.diff(indptr)), rank[indices]
    earlier, later = (_lists(own[side], other[side], len(graph)) for side in (other < own, other > own))
    sizes = message_sizes(earlier, later)[: len(ids)]
    if sum(sizes) > MOST_MEMBERS:
        raise TooLarge(
            f"The cliques of this elimination order have {sum(sizes):,} members together, the largest "
            f"{max(sizes) + 1:,}; the limit is {MOST_MEMBERS:,}. Use another order (elimination_order), or a smaller "
            "graph."
        )


def _lists(place: Ints, members: Ints, num: int) -> list[list[int]]:
    """The members at each of so many places."""
    found, ends = (
        members[np.argsort(place, kind="stable")].tolist(),
        np.bincount(place, minlength=num).cumsum().tolist(),
    )
    return [found[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _messages(ids: Sequence[int], rows: list[set[int]], position: dict[int, int]) -> tuple[list[list[int]], list[int]]:
    """Each message's scope, the union of later neighbors and arriving messages; and its receiver, the first member."""
    arriving: list[list[int]] = [[] for _ in ids]
    scopes: list[list[int]] = []
    parents: list[int] = []
    for i, v in enumerate(ids):
        scope = {u for u in rows[v] if position[u] > i}
        for child in arriving[i]:
            scope.update(scopes[child])
        scope.discard(v)
        scopes.append(sorted(scope))
        parent = min((position[u] for u in scope), default=len(ids))
        parents.append(parent if parent < len(ids) else -1)
        if parent < len(ids):
            arriving[parent].append(i)
    return scopes, parents


def _fill(ids: Sequence[int], scopes: list[list[int]], rows: list[set[int]]) -> list[tuple[int, int]]:
    pairs = {(min(u, v), max(u, v)) for v, scope in zip(ids, scopes, strict=True) for u in scope if u not in rows[v]}
    gone = set(ids)
    for scope in scopes if len(gone) < len(rows) else ():
        if scope and gone.isdisjoint(scope):
            pairs.update((a, b) for a, b in itertools.combinations(scope, 2) if b not in rows[a])
    return sorted(pairs)


def _absorbed(scopes: list[list[int]], parents: list[int]) -> tuple[int, ...]:
    """For each clique a maximal one that contains it: a clique is contained in another iff it equals a message."""
    keeper = list(range(len(scopes)))
    for i, parent in enumerate(parents):
        if parent >= 0 and keeper[parent] == parent and len(scopes[i]) == len(scopes[parent]) + 1:
            keeper[parent] = keeper[i]
    return tuple(keeper)
