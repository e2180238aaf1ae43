"""Symbolic elimination: the result of an elimination order, in integers; names are looked up only on access."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.errors import ScopeError
from sepset.graphs import costs
from sepset.graphs.elimination import GraphElimination, eliminate_graph
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.ordering import OrderingMethod, OrderingTask, hopeless

__all__ = ["SymbolicElimination", "symbolic_elimination"]


EXACT = 2.0**50
"""Sums of sizes below this are exact in float64."""


@dataclass(frozen=True, eq=False)
class SymbolicElimination:
    """The result of eliminating a graph in `order`; variables are then identified by rank, their position in it.

    Attributes:
        nodes: the names.
        rows: the graph's neighbors as compressed rows.
        cards: the number of states of each node.
        order: node numbers, first eliminated first.
        start, scopes: the scope of each message, as ranks, ascending, in compressed rows.
        parents: the rank that receives each message, or -1.
        absorbed: for each rank, that of a maximal clique that contains its clique.
        rounded: the number of table entries of each clique; exact below 2**53.
        ranked_cards: the number of states by rank.
        rounded_total: the entries of all maximal cliques together; exact below 2**50.

    Reference: Koller & Friedman, section 9.4.2.
    """

    nodes: Sequence[str] = field(repr=False)
    rows: tuple[Ints, Ints] = field(repr=False)
    cards: Sequence[int] | Ints = field(repr=False)
    order: Ints
    start: Ints = field(repr=False)
    scopes: Ints = field(repr=False)
    parents: Ints = field(repr=False)
    absorbed: Ints = field(repr=False)
    rounded: Floats = field(repr=False)
    ranked_cards: Floats = field(repr=False)
    rounded_total: float = field(repr=False)

    @lazy
    def sizes(self) -> Sequence[int]:
        """The exact number of table entries of each elimination clique."""
        if len(self.order) and self.rounded.max() < EXACT:
            return self.rounded.astype(np.int64).tolist()  # type: ignore[no-any-return]  # numpy's tolist is untyped
        cards = [int(self.cards[i]) for i in self.order.tolist()]
        return [self._size(cards, i) for i in range(len(cards))]

    @property
    def width(self) -> int:
        """The induced width."""
        return int(np.diff(self.start).max(initial=0))

    @lazy
    def largest(self) -> int:
        """The entries of the largest clique."""
        if not len(self.order) or self.rounded.max() < EXACT:
            return int(self.rounded.max(initial=1.0))
        logs = np.log2(self.ranked_cards)
        bits = logs + np.bincount(self.receivers, weights=logs[self.scopes], minlength=len(self.order))
        cards = [int(self.cards[i]) for i in self.order.tolist()]
        close = np.flatnonzero(bits >= bits.max() - 1e-6).tolist()
        return max({self._size(cards, i) for i in close[:1000]})

    @property
    def receivers(self) -> Ints:
        """For each entry of `scopes` the rank whose message has it in scope."""
        return np.repeat(np.arange(len(self.order)), np.diff(self.start))

    def _size(self, cards: Sequence[int], i: int) -> int:
        members: list[int] = self.scopes[self.start[i] : self.start[i + 1]].tolist()
        return cards[i] * math.prod(cards[r] for r in members)

    @lazy
    def total_size(self) -> int:
        """The entries of all maximal cliques together."""
        if self.rounded_total < EXACT:
            return int(self.rounded_total)
        maximal = np.flatnonzero(self.absorbed == np.arange(len(self.order)))
        return sum(self.sizes[i] for i in maximal.tolist())

    def cost(self, firsts: Ints) -> int:
        """Multiplications of variable elimination, given the first rank of each factor."""
        messages = self.parents[self.parents >= 0]
        counts = np.bincount(np.concatenate([firsts, messages]), minlength=len(self.order))
        total = float(counts @ self.rounded)
        if total < EXACT:
            return int(total)
        return sum(count * size for count, size in zip(counts.tolist(), self.sizes, strict=True))

    @lazy
    def names(self) -> tuple[str, ...]:
        """The names in elimination order."""
        return tuple(self.nodes[i] for i in self.order.tolist())

    @lazy
    def named(self) -> GraphElimination:
        """The same with names: cliques, fill edges, width and sizes."""
        start, neighbors = self.rows
        sources = np.repeat(np.arange(len(self.nodes)), np.diff(start))
        once = sources < neighbors
        names = tuple(self.nodes)
        graph = UndirectedGraph.from_arrays(names, sources=sources[once], targets=neighbors[once])
        return eliminate_graph(graph, self.names, cards=dict(zip(names, map(int, self.cards), strict=True)))


def _floats(cards: Sequence[int] | Ints) -> Floats:
    """Numbers of states as floats, clipped to the largest float."""
    try:
        return np.array(cards, dtype=np.float64)
    except OverflowError:
        return np.array([min(int(card), 2**1000) for card in cards], dtype=np.float64)


def symbolic_elimination(
    nodes: Sequence[str],
    rows: tuple[Ints, Ints],
    cards: Sequence[int] | Ints,
    group: Ints,
    method: OrderingMethod,
    limit: float = math.inf,
    last: Ints | None = None,
    patience: int | None = None,
    effort: float = 1.0,
    along: Callable[[], Floats] | None = None,
    has_tables: bool = False,
) -> SymbolicElimination:
    """The elimination of a graph in the order that `method` finds.

    Args:
        rows: neighbors as compressed rows, ascending.
        group: nodes of a smaller group are eliminated before those of a larger one.
        limit: log2 of the largest number of entries that all tables may have together.
        last: the order of the nodes that come last, if it is given.
        patience: the work done before an order far beyond the limit is refused.
        effort: how long to search for an order, in passes over the best tables so far.
        along: the rank of each node in an order that is worth a try where tables are large; nan for nodes without one.
        has_tables: whether cliques become tables, so that an order from side to side is worth a try too.

    >>> from sepset.graphs.ordering import MinFill
    >>> rows = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1])
    >>> symbolic_elimination(("A", "B", "C"), rows, (2, 2, 2), np.zeros(3, np.int64), MinFill()).names
    ('A', 'B', 'C')
    """
    from sepset.kernels.compiled.planning import eliminate

    start, neighbors = rows
    weights = _floats(cards)
    if patience is None:
        patience = costs.READS_OF_A_PLAN if limit == math.inf else costs.READS_BEFORE_REFUSAL
    indices, search = neighbors.astype(np.int32), {"effort": effort, "along": along, "has_tables": has_tables}
    task = OrderingTask(nodes, start, indices, weights, group, limit, patience, **search)  # type: ignore[arg-type]
    order = np.array(method.arrange(task), dtype=np.int64)
    if last is not None and len(last) and len(order) == len(nodes):
        order[-len(last) :] = last
    found = eliminate(start, neighbors, order, weights, task.hopeless, patience)
    if found[-1] == math.inf and not len(found[0]):
        raise hopeless(task, 0)
    if not len(found[0]):
        raise ScopeError(f"{method!r} must arrange each of the {len(nodes)} nodes once; found {order.tolist()[:20]}.")
    return SymbolicElimination(nodes, rows, cards, order, *found)
