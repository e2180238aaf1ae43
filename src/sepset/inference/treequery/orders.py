r"""Merge orders of a tree query: their costs, and greedy ones.

An order contains each edge once. Merging the cliques at its ends costs $|\mathrm{Val}(\mathbf C_i \cup \mathbf C_j)|$
multiplications, after which the new clique is marginalized to the query and the sepsets around it.

Reference: El-Hay (2001), sections 4.1.2, 4.1.3 and 4.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from sepset.base.checks import number
from sepset.base.display import Plain, Worded
from sepset.base.lazy import lazy
from sepset.base.text import counted
from sepset.base.threads import NEVER
from sepset.errors import ModelError
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.ordering import OrderingMethod, OrderingTask, elimination_order
from sepset.inference.treequery.query import CliqueSubtree, Subtree, bits

__all__ = [
    "LeastFill",
    "MergeOrder",
    "MergeStep",
    "cheapest_first",
    "divided",
    "eliminated",
    "greedy_estimate",
    "greedy_orders",
    "widest_last",
]

_SHOWN_MERGES = 12
_TIE_WEIGHT = 2.0**-24  # of table sizes relative to fill edges: they only break ties


@dataclass(frozen=True, slots=True)
class MergeStep:
    """One merge: the scopes at the ends of an edge, the kept part of their union, and the multiplications."""

    edge: int
    left: int
    right: int
    kept: int
    cost: int


@dataclass(frozen=True, eq=False)
class MergeOrder(Worded, Plain):
    """Edges of a tree query in merge order, and the cost of merging them.

    Attributes:
        query: the tree.
        edges: every edge once.
        name: how the order was found.
        absorb: whether a clique that equals its sepset merges at no cost.

    Reference: El-Hay (2001) 4.1.2, 4.1.3.
    Guarantee: exact cost.
    Tested by: inference/treequery/test_orders.py::test_two_published_orders_of_one_tree

    >>> from sepset.graphs.clusters import ClusterTree
    >>> from sepset.inference.treequery.query import tree_query
    >>> tree = ClusterTree([("A", "B"), ("B", "C"), ("C", "D")], [(0, 1), (1, 2)])
    >>> order = MergeOrder(tree_query(tree, ["A", "D"], cards=dict(A=9, B=2, C=2, D=2)), (1, 0))
    >>> order.cost, order.largest
    (44, 36)
    """

    query: CliqueSubtree
    edges: tuple[int, ...]
    _: KW_ONLY
    name: str = "given"
    absorb: bool = True

    def __post_init__(self) -> None:
        if sorted(self.edges) != list(range(len(self.query.edges))):
            raise ModelError(f"An order contains each of {len(self.query.edges)} edges once; found {self.edges}.")

    @lazy
    def steps(self) -> tuple[MergeStep, ...]:
        """The merges, in order."""
        merging = Merging(self.query, absorb=self.absorb)
        return tuple(merging.merge(edge) for edge in self.edges)

    @lazy
    def cost(self) -> int:
        """The multiplications of all merges together."""
        return sum(step.cost for step in self.steps)

    @property
    def largest(self) -> int:
        """The entries of the largest table: a clique that is read, or the product of a merge."""
        cliques = map(self.query.size, self.query.cliques)
        return max((*cliques, *(self.query.size(s.left | s.right) for s in self.steps)), default=1)

    def break_even(self, other: MergeOrder, search: float) -> float:
        """The number of questions from which on the search for this order costs less than asking by another one.

        Args:
            other: an order of the same tree that needs no search.
            search: the cost of the search, in the time of so many multiplications.

        Infinite where the other order costs no more, so that it should be kept.

        Reference: El-Hay (2001), section 4.4.
        Guarantee: exact.
        Tested by: inference/treequery/test_orders.py::test_a_search_pays_after_some_questions
        """
        saved = other.cost - self.cost
        return number("search", search, least=0) / saved if saved > 0 else math.inf

    def __str__(self) -> str:
        query, shown = self.query, [step for step in self.steps if step.cost]
        lines = [
            f"{', '.join(query.scope_names(s.left))} + {', '.join(query.scope_names(s.right))} -> "
            f"{', '.join(query.scope_names(s.kept))}: {s.cost:,}"
            for s in shown[:_SHOWN_MERGES]
        ]
        more = [f"... ({len(shown)} merges in all)"] if len(shown) > _SHOWN_MERGES else []
        return "\n".join([f"{self.name} order: {self.cost:,} multiplications", *lines, *more])

    def __repr__(self) -> str:
        return f"MergeOrder({self.name}, {counted(len(self.edges), 'edge')}, cost {self.cost:,})"


@dataclass(frozen=True, slots=True)
class LeastFill:
    r"""Eliminates the variable that adds the fewest fill edges, ties by its table; or only the smallest table.

    Its table is over the variable and its neighbors, $|\mathrm{Val}(X)| \prod_{A \in \mathrm{Nb}} |\mathrm{Val}(A)|$.

    Args:
        fill: False uses only the table.

    Reference: El-Hay (2001), section 4.1.2.

    >>> from sepset.graphs.graph import UndirectedGraph
    >>> chain = UndirectedGraph.parse("A - B - C - D")
    >>> cards = {"A": 9, "B": 2, "C": 2, "D": 2}
    >>> elimination_order(chain, cards, method=LeastFill(), last=["A", "D"]).order
    ('C', 'B', 'A', 'D')
    """

    fill: bool = True

    def arrange(self, task: OrderingTask) -> Sequence[int]:
        """The node numbers, first eliminated first."""
        from sepset.kernels.graphs.ordering import greedy_order

        logs = task.logs
        # The smaller table decides only between equal numbers of fill edges.
        mix, bias = (np.array([1.0, _TIE_WEIGHT]), _TIE_WEIGHT * logs) if self.fill else (np.array([0.0, 1.0]), logs)
        even, numbers = np.ones(len(logs)), np.arange(len(logs), dtype=np.float64)
        order, *_ = greedy_order(
            task.indptr, task.indices, even, logs, task.group, mix, bias, numbers, np.inf, 0, NEVER
        )
        return [int(i) for i in order]


class Merging:
    """A tree query while its cliques merge: the scope of each, and the edges around it."""

    def __init__(self, query: CliqueSubtree, *, absorb: bool) -> None:
        self.query = query
        self.absorb = absorb
        self._home = list(range(len(query.cliques)))
        self._scopes = list(query.cliques)
        self._around = [set(edges) for edges in query.incident]

    def ends(self, edge: int) -> tuple[int, int]:
        """The current cliques at the ends of an edge."""
        a, b = self.query.edges[edge]
        return self._find(a), self._find(b)

    def _find(self, node: int) -> int:
        while self._home[node] != node:
            self._home[node] = self._home[self._home[node]]
            node = self._home[node]
        return node

    def around(self, edge: int) -> list[int]:
        """The remaining edges around the clique that an edge merged."""
        return sorted(self._around[self.ends(edge)[0]])

    def price(self, edge: int) -> int:
        """The multiplications of merging over an edge now."""
        a, b = self.ends(edge)
        return self.query.price(self._scopes[a], self._scopes[b], edge=edge, absorb=self.absorb)

    def growth(self, edge: int) -> int:
        """The number of entries by which tables grow if an edge merges now."""
        a, b = self.ends(edge)
        left, right = self._scopes[a], self._scopes[b]
        size = self.query.size
        return size(self._kept(edge, a, b)) - size(left) - size(right)

    def _kept(self, edge: int, a: int, b: int) -> int:
        needed = self.query.targets
        for e in self._around[a] | self._around[b]:
            if e != edge:
                needed |= self.query.sepsets[e]
        return needed & (self._scopes[a] | self._scopes[b])

    def merge(self, edge: int) -> MergeStep:
        """Merge over an edge."""
        a, b = self.ends(edge)
        cost = self.price(edge)
        step = MergeStep(edge, self._scopes[a], self._scopes[b], self._kept(edge, a, b), cost)
        self._home[b] = a
        self._scopes[a] = step.kept
        self._around[a] = (self._around[a] | self._around[b]) - {edge}
        return step


def cheapest_first(
    query: CliqueSubtree, *, by: Literal["price", "growth"] = "price", absorb: bool = True
) -> MergeOrder:
    """The greedy order by the cost of the next merge or, with `by="growth"`, by the growth of tables.

    >>> from sepset.graphs.clusters import ClusterTree
    >>> from sepset.inference.treequery.query import tree_query
    >>> tree = ClusterTree([("A", "B"), ("B", "C"), ("C", "D")], [(0, 1), (1, 2)])
    >>> cheapest_first(tree_query(tree, ["A", "D"], cards=dict(A=9, B=2, C=2, D=2))).edges
    (1, 0)
    """
    merging = Merging(query, absorb=absorb)
    judge = merging.price if by == "price" else merging.growth
    left = {e: judge(e) for e in range(len(query.edges))}
    edges: list[int] = []
    while left:
        edge = min(left, key=lambda e: (left[e], e))
        del left[edge]
        merging.merge(edge)
        edges.append(edge)
        left.update((e, judge(e)) for e in merging.around(edge))
    return MergeOrder(query, tuple(edges), name="cheapest first" if by == "price" else "least growth", absorb=absorb)


def divided(query: CliqueSubtree, *, absorb: bool = True) -> MergeOrder:
    r"""The order GR0: the edge merged last is the one whose two sides are smallest, recursively within each side.

    $$\arg\min_e |\mathrm{Val}(\mathbf C_{T_1})| + |\mathrm{Val}(\mathbf C_{T_2})|$$

    Reference: El-Hay (2001), section 4.4.

    >>> from sepset.graphs.clusters import ClusterTree
    >>> from sepset.inference.treequery.query import tree_query
    >>> tree = ClusterTree([("A", "B"), ("B", "C"), ("C", "D")], [(0, 1), (1, 2)])
    >>> divided(tree_query(tree, ["A", "D"], cards=dict(A=9, B=2, C=2, D=2))).edges
    (1, 0)
    """
    backwards: list[int] = []
    stack = [query.whole]
    while stack:
        part = stack.pop()
        best: tuple[int, int, Subtree, Subtree] | None = None
        for e in bits(part.edges):
            left, right = query.split(part, e)
            measure = query.size(left.scope) + query.size(right.scope)
            if best is None or measure < best[0]:
                best = (measure, e, left, right)
        if best is not None:
            backwards.append(best[1])
            stack += best[2:]
    return MergeOrder(query, tuple(reversed(backwards)), name="divided", absorb=absorb)


def widest_last(query: CliqueSubtree, *, absorb: bool = True) -> MergeOrder:
    """The order by the size of the sepset, smallest first: fast to find, and often poor.

    Reference: El-Hay (2001), section 4.4, which rejects it.
    """
    edges = sorted(range(len(query.edges)), key=lambda e: (query.size(query.sepsets[e]), e))
    return MergeOrder(query, tuple(edges), name="widest last", absorb=absorb)


def eliminated(query: CliqueSubtree, method: OrderingMethod | None = None, *, absorb: bool = True) -> MergeOrder:
    """The order GR1: variables outside the query are eliminated one by one, each after all cliques with it have merged.

    Args:
        query: the tree.
        method: the elimination order on the graph that joins the variables of each clique; `LeastFill()` by default.
        absorb: whether a clique that equals its sepset merges at no cost.

    Reference: El-Hay (2001), sections 4.1.2 and 4.4.

    >>> from sepset.graphs.clusters import ClusterTree
    >>> from sepset.inference.treequery.query import tree_query
    >>> tree = ClusterTree([("A", "B"), ("B", "C"), ("C", "D")], [(0, 1), (1, 2)])
    >>> eliminated(tree_query(tree, ["A", "D"], cards=dict(A=9, B=2, C=2, D=2))).cost
    44
    """
    merging = Merging(query, absorb=absorb)
    left = dict.fromkeys(range(len(query.edges)))
    edges: list[int] = []
    bit = {name: 1 << i for i, name in enumerate(query.names)}
    hidden = [bit[name] for name in _eliminate(query, query.whole, method)[1]]
    for mask in (*hidden, 0):
        waiting = [e for e in left if query.sepsets[e] & mask == mask]
        while waiting:
            edge = min(waiting, key=lambda e: (merging.price(e), e))
            waiting.remove(edge)
            del left[edge]
            merging.merge(edge)
            edges.append(edge)
    name = "elimination" if method is None else f"{type(method).__name__} elimination"
    return MergeOrder(query, tuple(edges), name=name, absorb=absorb)


def _eliminate(query: CliqueSubtree, part: Subtree, method: OrderingMethod | None) -> tuple[int, tuple[str, ...]]:
    r"""$\sum_i |\mathrm{Val}(\mathbf C_i)|$ over the variables that are eliminated, and their order."""
    scopes = [query.cliques[node] for node in bits(part.nodes)]
    names, pairs = _co_occurrences(query, scopes)
    if not names:
        return 0, ()
    kept = set(query.scope_names(part.scope))
    groups = [[name for name in names if name not in kept], [name for name in names if name in kept]]
    place = {name: i for i, name in enumerate(names)}
    ends = np.array([(place[a], place[b]) for a, b in pairs], dtype=np.int64).reshape(-1, 2)
    graph = UndirectedGraph.from_arrays(names, sources=ends[:, 0], targets=ends[:, 1])
    cards = dict(zip(query.names, query.cards, strict=True))
    found = elimination_order(
        graph, {name: cards[name] for name in names}, method=method or LeastFill(), groups=[g for g in groups if g]
    )
    count = len(groups[0])
    return sum(found.sizes[:count]), found.order[:count]


def _co_occurrences(query: CliqueSubtree, scopes: Iterable[int]) -> tuple[list[str], list[tuple[str, str]]]:
    """The variables of these scopes, and the pairs that share one."""
    pairs: set[tuple[int, int]] = set()
    seen = 0
    for scope in scopes:
        members = list(bits(scope))
        seen |= scope
        pairs.update((a, b) for i, a in enumerate(members) for b in members[i + 1 :])
    return list(query.scope_names(seen)), [(query.names[a], query.names[b]) for a, b in sorted(pairs)]


def greedy_estimate(query: CliqueSubtree, part: Subtree | None = None, method: OrderingMethod | None = None) -> int:
    r"""The cost of eliminating all but the part's scope, one table per variable: $\sum_i |\mathrm{Val}(\mathbf C_i)|$.

    Not a bound on merging: products of three or more tables and the last product are not counted.

    Reference: El-Hay (2001), section 4.1.2, with section 4.3.3 corrected: it is not an upper bound.

    >>> from sepset.graphs.clusters import ClusterTree
    >>> from sepset.inference.treequery.query import tree_query
    >>> tree = ClusterTree([("A", "B"), ("B", "C"), ("C", "D")], [(0, 1), (1, 2)])
    >>> greedy_estimate(tree_query(tree, ["A", "D"], cards=dict(A=9, B=2, C=2, D=2)))
    44
    """
    return _eliminate(query, query.whole if part is None else part, method)[0]


def greedy_orders(query: CliqueSubtree, *, absorb: bool = True) -> Sequence[MergeOrder]:
    """Every greedy order, the baseline GR0 first.

    Reference: El-Hay (2001) 4.4.
    Guarantee: heuristic, deterministic.
    Tested by: inference/treequery/test_orders.py::test_greedy_orders_are_orders_and_absorption_never_costs
    """
    return (
        divided(query, absorb=absorb),
        eliminated(query, absorb=absorb),
        eliminated(query, LeastFill(fill=False), absorb=absorb),
        cheapest_first(query, absorb=absorb),
        cheapest_first(query, by="growth", absorb=absorb),
        widest_last(query, absorb=absorb),
    )
