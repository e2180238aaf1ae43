"""Elimination orders: the greedy heuristics, and the portfolio that tries many and keeps the smallest tables.

Each method is a frozen value with one operation, `arrange(task)`; any object that has it can be passed as `method=`.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Floats, Int32s, Ints
from sepset.base.checks import generator, number, whole
from sepset.base.foreign import translated
from sepset.base.frozen import fill
from sepset.base.text import nearest, readable
from sepset.base.threads import NEVER, interruptible
from sepset.errors import ModelError, ScopeError, TooLarge
from sepset.graphs import costs
from sepset.graphs.base import name_of
from sepset.graphs.csr import by_cardinality, has_large_core, near_hub
from sepset.graphs.elimination import Cards, GraphElimination, card_list, checked_order, eliminated
from sepset.graphs.graph import Graph, Node, Nodes, UndirectedGraph
from sepset.graphs.kinds import undirected
from sepset.graphs.names import Names
from sepset.graphs.sweeps import beside, side_to_side

__all__ = [
    "DEFAULT_ORDER",
    "GivenOrder",
    "MaxCardinality",
    "MinFill",
    "MinNeighbors",
    "MinWeight",
    "OrderingMethod",
    "OrderingTask",
    "Portfolio",
    "SideToSide",
    "WeightedMinFill",
    "elimination_order",
    "refuse_hopeless",
    "refuse_matrices",
]


@dataclass(frozen=True, slots=True)
class OrderingTask:
    """The input of an ordering method: a graph as compressed rows, numbers of states, and the group of each node.

    Attributes:
        nodes: the names.
        indptr: where each node's neighbors begin in `indices`.
        indices: the neighbors.
        cards: the number of states of each node.
        group: nodes of a smaller group are eliminated before those of a larger one.
        limit: log2 of the largest number of entries that all tables may have together; a method that finds no order
            within a thousand times that raises `TooLarge`.
        patience: the work, in array reads, that is done before anything is refused; without a limit too, unless zero.
        has_tables: whether cliques become tables, so that their total size is all that counts. Programs of contractions
            hold separators only, of which an order from side to side has as many large ones as there are nodes.
        effort: how long to search, in passes over the best tables so far.
        along: the rank of each node in an order that is worth a try where tables are large; nan for nodes without one.
    """

    nodes: Sequence[str]
    indptr: Ints
    indices: Int32s
    cards: Floats
    group: Ints
    limit: float = math.inf
    patience: int = 0
    has_tables: bool = False
    effort: float = 1.0
    along: Callable[[], Floats] | None = None

    def __len__(self) -> int:
        return len(self.cards)

    @property
    def hopeless(self) -> float:
        """log2 of the number of entries from which the tables of an order are hopeless."""
        without = costs.BITS_OF_ANY_MEMORY if self.patience else math.inf
        return self.limit + costs.HOPELESS_BITS if self.limit < math.inf else without

    @property
    def is_swept(self) -> bool:
        """Whether an order from side to side is worth a try."""
        return self.has_tables and len(self) >= costs.SWEPT_NODES

    @property
    def logs(self) -> Floats:
        """log2 of the number of states, rounded so that sums are exact and equal costs tie."""
        return np.asarray(np.rint(np.log2(self.cards) * 2.0**20) / 2.0**20)


@runtime_checkable
class OrderingMethod(Protocol):
    """A method that arranges the nodes of a task in an elimination order."""

    def arrange(self, task: OrderingTask) -> Sequence[int] | Ints:
        """The node numbers, first eliminated first; groups in ascending order."""


@dataclass(frozen=True, slots=True)
class MinFill:
    """Eliminates the node that adds the fewest fill edges.

    Reference: Koller & Friedman, section 9.4.3.2.
    Guarantee: heuristic, deterministic.
    Tested by: graphs/test_ordering.py::test_greedy_takes_the_cheapest_node_each_time

    >>> elimination_order(UndirectedGraph.parse("A - B - C - D - A; A - C"), method=MinFill()).order
    ('B', 'A', 'C', 'D')
    """

    def arrange(self, task: OrderingTask) -> Sequence[int]:
        """The node numbers, first eliminated first."""
        return _greedy(task, np.ones(len(task)), task.logs, (1.0, 0.0))


@dataclass(frozen=True, slots=True)
class WeightedMinFill:
    r"""Eliminates the node with the smallest weight of fill edges, $\sum_{A - B} |\mathrm{Val}(A)|\,|\mathrm{Val}(B)|$.

    Reference: Koller & Friedman, section 9.4.3.2.
    Guarantee: heuristic, deterministic.
    Tested by: graphs/test_ordering.py::test_greedy_takes_the_cheapest_node_each_time

    >>> square = UndirectedGraph.parse("A - B - C - D - A")
    >>> elimination_order(square, {"A": 9, "B": 2, "C": 9, "D": 2}, method=WeightedMinFill()).order[0]
    'A'
    """

    def arrange(self, task: OrderingTask) -> Sequence[int]:
        """The node numbers, first eliminated first."""
        return _greedy(task, task.cards, task.logs, (1.0, 0.0))


@dataclass(frozen=True, slots=True)
class MinWeight:
    r"""Eliminates the node with the smallest message, $\prod_{A \in \mathrm{Nb}} |\mathrm{Val}(A)|$.

    Reference: Koller & Friedman, section 9.4.3.2.
    Guarantee: heuristic, deterministic.
    Tested by: graphs/test_ordering.py::test_greedy_takes_the_cheapest_node_each_time

    >>> star = UndirectedGraph.parse("A - B; A - C")
    >>> elimination_order(star, {"A": 9, "B": 2, "C": 2}, method=MinWeight()).order
    ('A', 'B', 'C')
    """

    def arrange(self, task: OrderingTask) -> Sequence[int]:
        """The node numbers, first eliminated first."""
        return _greedy(task, np.ones(len(task)), task.logs, (0.0, 1.0))


@dataclass(frozen=True, slots=True)
class MinNeighbors:
    """Eliminates the node with the fewest neighbors.

    Reference: Koller & Friedman, section 9.4.3.2.
    Guarantee: heuristic, deterministic.
    Tested by: graphs/test_ordering.py::test_greedy_takes_the_cheapest_node_each_time

    >>> elimination_order(UndirectedGraph.parse("A - B; A - C"), method=MinNeighbors()).order
    ('B', 'A', 'C')
    """

    def arrange(self, task: OrderingTask) -> Sequence[int]:
        """The node numbers, first eliminated first."""
        ones = np.ones(len(task))
        return _greedy(task, ones, ones, (0.0, 1.0))


@dataclass(frozen=True, slots=True)
class MaxCardinality:
    """Numbers next the node with the most numbered neighbors, and eliminates in reverse: perfect on chordal graphs.

    Reference: Koller & Friedman, section 9.4.3.1.
    Guarantee: perfect on chordal graphs.
    Tested by: graphs/test_ordering.py::test_max_cardinality_is_perfect_on_chordal_graphs

    >>> elimination_order(UndirectedGraph.parse("A - B - C"), method=MaxCardinality()).order
    ('C', 'B', 'A')
    """

    def arrange(self, task: OrderingTask) -> Sequence[int]:
        """The node numbers, first eliminated first."""
        rows = task.indptr.tolist(), task.indices.tolist()
        order: list[int] = []
        seen = [0] * len(task)
        for group in np.unique(task.group)[::-1].tolist():
            members = np.flatnonzero(task.group == group).tolist()
            order += by_cardinality(rows, members, seen)
        return order[::-1]


@dataclass(frozen=True, slots=True, init=False)
class GivenOrder:
    """An order given by the user, with every node once.

    Guarantee: as given.
    Tested by: graphs/test_ordering.py::test_given_orders

    >>> elimination_order(UndirectedGraph.parse("A - B"), method=GivenOrder(["B", "A"])).order
    ('B', 'A')
    """

    order: tuple[str, ...]

    def __init__(self, order: Iterable[Node]) -> None:
        fill(self, order=tuple(map(name_of, order)))

    def arrange(self, task: OrderingTask) -> Sequence[int]:
        """The node numbers, first eliminated first."""
        index = {name: i for i, name in enumerate(task.nodes)}
        for name in self.order:
            if name not in index:
                raise ScopeError(f"Unknown node {name!r} in the given order.{nearest(name, task.nodes)}")
        ids = [index[name] for name in self.order]
        for first, second in itertools.pairwise(ids):
            if task.group[first] > task.group[second]:
                raise ModelError(
                    f"The given order eliminates {task.nodes[first]!r} before {task.nodes[second]!r}, "
                    "which belongs to an earlier group; eliminate group by group."
                )
        return ids


@dataclass(frozen=True, slots=True)
class Portfolio:
    r"""The best of many greedy orders, by the total size of the maximal cliques' tables.

    Simplicial nodes go first: some clique of every triangulation contains each of them with its neighbors, so this is
    safe (among variables of two states or more). The rest is ordered repeatedly by fill, weighted fill, message size
    and blends of them, with noise added to the costs; a large graph of tables also from one side to the
    other (King); and the best order so far is varied. A run stops as soon as its
    tables exceed the best. The result depends only on the seed, unless `seconds` sets the budget. If the first orders
    (one on a large graph, or on a part of it) are a thousand times beyond the task's limit, the search ends there.

    Args:
        restarts: the number of orders tried; by default, without `seconds`, as many as take no longer than a pass over
            the best tables so far (or the passes that the task allows), estimated from the work done, and at most 128.
        seconds: no further order is tried after this time.
        seed: the seed of the noise.

    Reference: Koller & Friedman, section 9.4.3.2.
    Guarantee: never worse than its members, deterministic.
    Tested by: graphs/test_ordering.py::test_the_portfolio_is_never_worse_than_its_members

    >>> elimination_order(UndirectedGraph.parse("A - B - C - D - A"), method=Portfolio(seed=1)).width
    2
    """

    restarts: int | None = None
    seconds: float | None = field(default=None, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if self.restarts is not None:
            whole("restarts", self.restarts, otherwise="None")
        if self.seconds is not None:
            number("seconds", self.seconds, least=0, finite=False, otherwise="None")

    def arrange(self, task: OrderingTask) -> Sequence[int] | Ints:
        """The node numbers, first eliminated first."""
        if len(task) <= costs.SMALL_GRAPH and self == DEFAULT_ORDER:
            order, total, work = _run(
                task, task.cards, task.logs, _BLENDS[0].mix, np.zeros(len(task)), _index(task), math.inf
            )
            if _spent(work, 1) >= _worth(task, total):
                return order
        _refuse_parts(task)
        first = _simplicial(task)
        if len(first) == len(task):
            return first.tolist()  # type: ignore[no-any-return]  # numpy's tolist is untyped
        core, rest = _without(task, first)
        return [*first.tolist(), *rest[self._search(core)].tolist()]

    def _search(self, task: OrderingTask) -> Ints:
        search, step = _Search(task, generator(self.seed)), 0
        end = None if self.seconds is None else time.monotonic() + self.seconds
        while step == 0 or (self._goes_on(step, search, end) and not search.is_hopeless(step)):
            search.try_one(step)
            step += 1
            if step == 1 and search.total > costs.SWEPT_BITS:
                search.try_along()
        if task.is_swept and search.total > costs.SWEPT_BITS:
            search.try_across()
        if not len(search.order):
            raise hopeless(task, step)
        return search.order

    def _goes_on(self, step: int, search: _Search, end: float | None) -> bool:
        if not len(search.order):
            return True
        if self.restarts is None and end is None:
            return step < costs.MOST_TRIES and search.work < costs.MOST_READS and search.is_worth_more(step)
        return (self.restarts is None or step < self.restarts) and (end is None or time.monotonic() < end)


class _Blend(NamedTuple):
    """The costs of a greedy pass: whether edges are weighted by states; the coefficients of log fill and of the log
    message size; and that of the log number of states."""

    is_weighted: bool
    mix: Floats
    states: float


def _blend(is_weighted: bool, fill: float, message: float, states: float) -> _Blend:
    return _Blend(is_weighted, np.array([fill, message]), states)


_BLENDS = (
    _blend(True, 1.0, 0.0, 0.0),
    _blend(False, 1.0, 0.0, 0.0),
    _blend(True, 1.0, 0.0, -1.0),
    _blend(True, 1.0, 1.0, 1.0),
    _blend(False, 1.0, 1.0, 0.0),
    _blend(False, 0.0, 1.0, 1.0),
)
_SWEEP = _blend(True, 0.0, 0.0, 0.0)
_NOISES = (0.0, 0.3, 0.1, 0.6)
# Three of every four tries vary the best order's costs, at all or some of the nodes; the fourth starts from scratch.
_SPREADS = (1.0, 0.3, 0.1)


DEFAULT_ORDER = Portfolio()
"""The ordering method used by default."""


@dataclass(frozen=True, slots=True)
class SideToSide:
    """From one side of the graph to the other, as the portfolio tries it: one pass, without a search."""

    def arrange(self, task: OrderingTask) -> Ints:
        """The node numbers, first eliminated first."""
        search = _Search(task, generator(0))
        search.try_across()
        if not len(search.order):
            raise hopeless(task, 0)
        return search.order


def _spent(work: int, step: int) -> float:
    """The estimated nanoseconds that a search has taken so far."""
    return costs.NANOSECONDS_PER_READ * work + costs.NANOSECONDS_PER_TRY * step


def _worth(task: OrderingTask, total: float) -> float:
    """The nanoseconds to search for if tables have 2 to the power `total` entries: of the task's number of passes."""
    return float(task.effort * costs.NANOSECONDS_PER_ENTRY * 2.0 ** min(total, 64.0))


def _index(task: OrderingTask) -> Floats:
    return np.arange(len(task), dtype=np.float64)


class _Search:
    """The best order so far, with the costs that led to it."""

    def __init__(self, task: OrderingTask, rng: np.random.Generator) -> None:
        self.task, self.rng, self.logs = task, rng, task.logs
        self.weights = {True: task.cards, False: np.ones(len(task))}
        self.order = np.empty(0, np.int64)
        self.total = task.hopeless
        self.work = 0
        self.blend = _BLENDS[0]
        self.bias = np.zeros(len(task))

    def is_worth_more(self, step: int) -> bool:
        """Whether the search so far took less time than the task's passes over the best tables will take."""
        return _spent(self.work, step) < _worth(self.task, self.total)

    def is_hopeless(self, step: int) -> bool:
        """Whether no order came near the limit although each blend was tried, or much work was done."""
        return not len(self.order) and (step >= len(_BLENDS) or self.work > costs.MOST_READS // 8)

    def try_one(self, step: int) -> None:
        blend, bias = self._fresh(step) if step < 2 * len(_BLENDS) or step % 4 == len(_SPREADS) else self._varied(step)
        tie = self.rng.random(len(bias))
        patience = 0 if len(self.order) else self.task.patience
        order, total, work = _run(
            self.task, self.weights[blend.is_weighted], self.logs, blend.mix, bias, tie, self.total, patience
        )
        self.work += work
        self._keep(order, total, blend, bias)

    def _keep(self, order: Ints, total: float, blend: _Blend, bias: Floats) -> None:
        """Keep a finished order if it is the best; later tries also vary one that is as good."""
        is_first = not len(self.order)
        if len(order) == len(bias) and (total <= self.total or is_first):
            self.order = order if total < self.total or is_first else self.order
            self.total, self.blend, self.bias = total, blend, bias

    def try_along(self) -> None:
        """The order that the task has."""
        task = self.task
        if task.along is not None and not np.isnan(known := task.along()).all():
            self._sweep(beside(task.indptr, task.indices, known))

    def try_across(self) -> None:
        """From one side of the graph to the other."""
        ranks = np.empty(len(self.logs))
        ranks[side_to_side(self.task.indptr, self.task.indices)] = np.arange(len(ranks))
        self._sweep(ranks)

    def _sweep(self, bias: Floats) -> None:
        """Node by node by rank, as a grid is eliminated row by row."""
        patience = 0 if len(self.order) else self.task.patience
        order, total, work = _run(
            self.task, self.weights[True], self.logs, _SWEEP.mix, bias, bias, self.total, patience
        )
        self.work += work
        self._keep(order, total, _SWEEP, bias)

    def _fresh(self, step: int) -> tuple[_Blend, Floats]:
        blend = _BLENDS[step % len(_BLENDS)]
        noise = _NOISES[step // len(_BLENDS) % len(_NOISES)]
        return blend, blend.states * self.logs + noise * self.rng.standard_normal(len(self.logs))

    def _varied(self, step: int) -> tuple[_Blend, Floats]:
        n = len(self.bias)
        chosen = self.rng.random(n) < _SPREADS[step % 4]
        size = (0.3, 1.0)[step // 4 % 2]
        return self.blend, self.bias + size * self.rng.standard_normal(n) * chosen


@translated
def elimination_order(
    graph: Graph,
    cards: Cards = None,
    *,
    method: OrderingMethod | None = None,
    last: Nodes = (),
    groups: Iterable[Nodes] = (),
) -> GraphElimination:
    """A good elimination order of `graph`, with its cliques, width and table sizes.

    Args:
        graph: an undirected graph, such as a moral graph.
        cards: the number of states by name, or one number for all; two each by default.
        method: the heuristic; `Portfolio()` by default.
        last: nodes eliminated after all others, such as the query or the maximized variables of marginal MAP.
        groups: nodes eliminated group by group, those in no group first and `last` at the end.

    Reference: Koller & Friedman, section 9.4.3; for constrained orders sections 13.2.3 and 14.3.4.3.
    Guarantee: as the method.
    Tested by: graphs/test_ordering.py::test_groups_are_eliminated_one_after_the_other

    >>> elimination_order(UndirectedGraph.parse("A - B - C"), last="B").order
    ('A', 'C', 'B')
    """
    graph = undirected(graph)
    found = card_list(graph.nodes, cards)
    group = _groups(graph, [*groups, last])
    # Kernels are given writable arrays, so that each is compiled only once.
    indptr, indices = graph.neighbor_csr
    weights = np.minimum(np.array(found, dtype=object), 2**1000).astype(np.float64)
    rows, patience = (indptr.copy(), indices.copy()), costs.READS_OF_A_PLAN
    task = OrderingTask(graph.nodes, *rows, weights, group, patience=patience, has_tables=True)
    ids = (DEFAULT_ORDER if method is None else method).arrange(task)
    return eliminated(graph, checked_order(graph, ids), found)


def _groups(graph: UndirectedGraph, groups: list[Nodes]) -> Ints:
    group = np.zeros(len(graph), np.int64)
    for place, members in enumerate(groups, start=1):
        for i in graph.ids(members):
            if group[i]:
                raise ScopeError(f"Node {graph.nodes[i]!r} is in two groups of the order; name it in one.")
            group[i] = place
    return group


def _run(
    task: OrderingTask,
    weight: Floats,
    logs: Floats,
    mix: Floats,
    bias: Floats,
    tie: Floats,
    limit: float,
    patience: int = 0,
) -> tuple[Ints, float, int]:
    """One compiled greedy pass: the order, log2 of its total table size, and the work done."""
    from sepset.kernels.graphs.ordering import greedy_order

    arguments = task.indptr, task.indices, weight, logs, task.group, mix, bias, tie, limit, patience
    if len(task.indices) <= costs.EDGES_UNINTERRUPTED:
        return greedy_order(*arguments, NEVER)
    return interruptible(lambda cancel: greedy_order(*arguments, cancel))


def _simplicial(task: OrderingTask) -> Ints:
    """The nodes that can be eliminated first, one after the other, without adding a fill edge."""
    blank = np.zeros(len(task))
    return _run(task, np.ones(len(task)), task.logs, _BLENDS[0].mix, blank, blank, -np.inf)[0]


def _greedy(task: OrderingTask, weight: Floats, logs: Floats, mix: tuple[float, float]) -> Sequence[int]:
    n = len(task)
    if task.limit == math.inf:
        _refuse_parts(task)
    order, *_ = _run(task, weight, logs, np.array(mix), np.zeros(n), _index(task), task.hopeless, task.patience)
    if len(order) < n:
        raise hopeless(task)
    return order.tolist()  # type: ignore[no-any-return]  # numpy's tolist is untyped


def hopeless(task: OrderingTask, tried: int = 1) -> TooLarge:
    """The refusal of a task whose orders are far beyond its limit."""
    orders = "The greedy elimination order needs" if tried == 1 else f"All {tried} elimination orders tried need"
    orders = orders if tried else "The elimination order needs"
    limit = f"the limit is 2^{task.limit:.0f}" if task.limit < math.inf else "no machine has these"
    return TooLarge(
        f"{orders} tables of more than 2^{task.hopeless:.0f} entries ({readable(2.0 ** (task.hopeless + 3))} at 8 "
        f"bytes each); {limit}. Observe more variables, ask for fewer targets, or use a method that trades time for "
        "memory (RecursiveConditioning, CutsetConditioning) or exactness for both."
    )


def _without(task: OrderingTask, gone: Ints) -> tuple[OrderingTask, Ints]:
    """The task on the graph without these node numbers, and the remaining numbers."""
    from sepset.kernels.graphs.ordering import without_nodes

    kept, indptr, indices = without_nodes(task.indptr, task.indices, gone)
    names = Names(task.nodes.__getitem__, kept)
    known = task.along
    along = None if known is None else lambda: known()[kept]
    rows: dict[str, Any] = {"indptr": indptr, "indices": indices, "along": along}
    return replace(task, nodes=names, cards=task.cards[kept], group=task.group[kept], **rows), kept


def refuse_hopeless(task: OrderingTask) -> None:
    """Raise if orders are far beyond the limit: of the graph, or of parts of a large one.

    >>> cards = np.full(3, 2.0)
    >>> refuse_hopeless(OrderingTask("abc", np.zeros(4, np.int64), np.zeros(0, np.int32), cards, np.zeros(3, np.int64)))
    """
    if len(task) < costs.TIMES_OF_PART * costs.PARTS_OF_LARGE_GRAPH[0]:
        DEFAULT_ORDER.arrange(task)
    else:
        _refuse_parts(task)


def _refuse_parts(task: OrderingTask) -> None:
    """Raise if a part of a large graph is already too large: an order of the whole is no smaller on the part.

    Without a limit, as where a plan is only looked at, this is for graphs whose order would take longer than that.
    """
    if task.limit == math.inf and (len(task) < costs.NODES_LOOKED_AT or not task.patience):
        return
    for size in costs.PARTS_OF_LARGE_GRAPH:
        if len(task) >= costs.TIMES_OF_PART * size:
            part = replace(_ball(task, size), patience=1)
            if has_large_core(part.indptr, part.indices, part.logs, part.hopeless):
                raise hopeless(part, tried=0)
            if not _is_swept(part):
                _greedy(part, part.cards, part.logs, (1.0, 0.0))


def _is_swept(task: OrderingTask) -> bool:
    """Whether an order from side to side, if there may be one, is not hopeless."""
    search = _Search(task, generator(0))
    search.try_along()
    if task.is_swept:
        search.try_across()
    return len(search.order) > 0


def refuse_matrices(task: OrderingTask, discrete: Ints) -> None:
    """Raise if real variables, whose cliques are matrices, have hopeless ones: in a part of a large graph, or all."""
    if len(task) - len(discrete) <= costs.SWEPT_REALS:
        return
    task = _without(task, discrete)[0]
    limits = zip(costs.PARTS_OF_LARGE_GRAPH, costs.READS_OF_MATRICES, strict=True)
    parts = [(_ball(task, size), reads) for size, reads in limits if len(task) >= costs.TIMES_OF_PART * size]
    for part, reads in (*parts, (task, costs.MOST_OF_MATRICES)):
        greedy = np.array([1.0, 0.0]), np.zeros(len(part)), _index(part)
        if len(_run(part, part.cards, part.logs, *greedy, limit=-1.0, patience=reads)[0]) < len(part):  # so many read
            raise TooLarge(
                f"The elimination of {len(task):,} real variables that depend on each other needs matrices of more "
                f"than {costs.MOST_OF_MATRICES:,} entries in all. Observe more, ask for fewer, or state an order."
            )


def _ball(task: OrderingTask, size: int) -> OrderingTask:
    """The task on so many nodes nearest to one of largest degree."""
    outside = np.ones(len(task), bool)
    outside[near_hub((task.indptr, task.indices), size)] = False
    return _without(task, np.flatnonzero(outside))[0]
