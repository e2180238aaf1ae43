r"""The cheapest merge order: dynamic programming, best-first search, and improvement of greedy orders in windows.

The edge merged last splits a part of the tree into two smaller problems, so with $d$ the price of the last merge

$$c(T') = \min_{e \in T'} c(T_1) + c(T_2) + d(\mathbf C_{T_1}, \mathbf C_{T_2}), \qquad c(\text{one clique}) = 0.$$

Reference: El-Hay (2001), sections 4.2 and 4.3.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sepset.base.foreign import translated
from sepset.inference import costs
from sepset.inference.treequery.orders import MergeOrder, greedy_orders
from sepset.inference.treequery.query import CliqueSubtree, Subtree, bits

__all__ = ["best_first_merge_order", "choose_merge_order", "lower_bound", "optimal_merge_order", "refined"]

Heuristic = Callable[[CliqueSubtree, Subtree], int]


class Connector(NamedTuple):
    """The split of a part at the edge that merges last."""

    edge: int
    left: Subtree
    right: Subtree
    price: int


Merges = dict[int, Connector]
"""For each part of a merge tree, by its nodes, the split it is made from."""

_Part = tuple[int, int, int]
"""A subtree as a plain tuple: nodes, edges and scope."""

_Split = tuple[int, int, int, int]
"""A split as a plain tuple: the edge, the nodes on either side, and the price."""


def _splits(query: CliqueSubtree, part: _Part, absorb: bool) -> tuple[list[_Split], list[_Part]]:
    """Every split of a part, and all their sides.

    In plain tuples of integers: one order looks at thousands, and the garbage collector has no need to.
    """
    nodes, edges, scope = part
    size, sides, sepsets = query.size, query.sides, query.sepsets
    splits: list[_Split] = []
    parts: list[_Part] = []
    for edge in bits(edges):
        (near, near_edges, near_scope), (far, far_edges, far_scope) = sides[edge]
        sepset = sepsets[edge]
        left, right = (scope | sepset) & near_scope, (scope | sepset) & far_scope
        first, second, shared = size(left), size(right), size(sepset)
        price = 0 if absorb and shared in (first, second) else first * second // shared
        splits.append((edge, nodes & near, nodes & far, price))
        parts.append((nodes & near, edges & near_edges, left))
        parts.append((nodes & far, edges & far_edges, right))
    return splits, parts


def _ordered(query: CliqueSubtree, last: Mapping[int, int]) -> tuple[int, ...]:
    """The order in which the edge of each part, by its nodes, is merged last: parts before the whole."""
    backwards: list[int] = []
    stack = [query.whole]
    while stack:
        part = stack.pop()
        if part.edges:
            backwards.append(last[part.nodes])
            stack += query.split(part, backwards[-1])
    return tuple(reversed(backwards))


@translated
def optimal_merge_order(query: CliqueSubtree, *, absorb: bool = True) -> MergeOrder:
    r"""The cheapest order of all, by dynamic programming over the connected parts of the tree.

    Cost: at most $n$ splits for each of $S$ parts; with $d$ leaves $S \le \sum_{i \le d} \binom{n}{i}$.
    Reference: El-Hay (2001), section 4.2.2.
    Guarantee: optimal.
    Tested by: inference/treequery/test_search.py::test_programming_and_best_first_search_find_the_least_of_all_orders

    >>> from sepset.graphs.clusters import ClusterTree
    >>> from sepset.inference.treequery.query import tree_query
    >>> tree = ClusterTree([("A", "B"), ("B", "C"), ("C", "D")], [(0, 1), (1, 2)])
    >>> optimal_merge_order(tree_query(tree, ["A", "D"], cards=dict(A=9, B=2, C=2, D=2))).cost
    44
    """
    last = _merged_last(_splits_of_parts(query, absorb))
    return MergeOrder(query, _ordered(query, last), name="optimal", absorb=absorb)


def _splits_of_parts(query: CliqueSubtree, absorb: bool) -> dict[int, list[_Split]]:
    """Every split of every part that has edges, by its nodes."""
    splits: dict[int, list[_Split]] = {}
    stack: list[_Part] = [query.whole]
    while stack:
        part = stack.pop()
        if part[1] and part[0] not in splits:
            splits[part[0]], sides = _splits(query, part, absorb)
            stack += sides
    return splits


def _merged_last(splits: dict[int, list[_Split]]) -> dict[int, int]:
    """For each part the edge merged last in its cheapest order; of equal ones the first."""
    costs: dict[int, int] = {}
    last: dict[int, int] = {}
    for nodes in sorted(splits, key=int.bit_count):
        best = -1
        for edge, left, right, price in splits[nodes]:
            cost = costs.get(left, 0) + costs.get(right, 0) + price
            if best < 0 or cost < best:
                best, last[nodes] = cost, edge
        costs[nodes] = best
    return last


def lower_bound(query: CliqueSubtree, part: Subtree, *, absorb: bool = True) -> int:
    r"""A lower bound on the cost of all orders of the part.

    The last merge that is not free has at least $|\mathrm{Val}(\mathbf C_{T'})|$ entries; if some clique covers
    $\mathbf C_{T'}$ already and absorption is free, there may be no such merge.

    Reference: El-Hay (2001), section 4.3.3, corrected for absorption.

    >>> from sepset.graphs.clusters import ClusterTree
    >>> from sepset.inference.treequery.query import tree_query
    >>> tree = ClusterTree([("A", "B"), ("B", "C"), ("C", "D")], [(0, 1), (1, 2)])
    >>> query = tree_query(tree, ["A", "D"], cards=dict(A=9, B=2, C=2, D=2))
    >>> lower_bound(query, query.whole)
    18
    """
    if not part.edges:
        return 0
    if absorb and any(not part.scope & ~query.cliques[node] for node in bits(part.nodes)):
        return 0
    return query.size(part.scope)


@dataclass(slots=True)
class _Goal:
    """A part under search: the estimate of its cost, and its splits so far."""

    part: Subtree
    estimate: int
    solved: bool
    splits: list[_Split] = field(default_factory=list)
    marked: _Split | None = None
    above: list[int] = field(default_factory=list)


class _BestFirst:
    """AO* search: the graph of parts so far, with the best split of each marked."""

    def __init__(self, query: CliqueSubtree, heuristic: Heuristic, absorb: bool) -> None:
        self.query, self.heuristic, self.absorb = query, heuristic, absorb
        self.goals: dict[int, _Goal] = {}
        self.looked = 0
        self.root = self._goal(query.whole)

    def _goal(self, part: _Part) -> _Goal:
        goal = self.goals.get(part[0])
        if goal is None:
            known = Subtree(*part)
            estimate = self.heuristic(self.query, known) if known.edges else 0
            goal = self.goals[known.nodes] = _Goal(known, estimate, not known.edges)
        return goal

    def frontier(self) -> _Goal:
        """A part without splits, reached from the root by marked splits that are not solved."""
        goal = self.root
        while goal.marked is not None:
            sides = (self.goals[side] for side in goal.marked[1:3])
            goal = max((side for side in sides if not side.solved), key=lambda side: side.estimate)
        return goal

    def expand(self, goal: _Goal) -> None:
        """Examine every split of a part, and revise the estimates of the parts above it."""
        goal.splits, sides = _splits(self.query, goal.part, self.absorb)
        self.looked += len(goal.splits)
        for side in sides:
            self._goal(side).above.append(goal.part.nodes)
        waiting = [(goal.part.nodes.bit_count(), goal.part.nodes)]
        queued = {goal.part.nodes}
        while waiting:
            _, nodes = heapq.heappop(waiting)
            queued.discard(nodes)
            if self._revise(self.goals[nodes]):
                for above in self.goals[nodes].above:
                    if above not in queued:
                        queued.add(above)
                        heapq.heappush(waiting, (above.bit_count(), above))

    @property
    def last(self) -> dict[int, int]:
        """For each part with a marked split, its edge."""
        return {nodes: goal.marked[0] for nodes, goal in self.goals.items() if goal.marked is not None}

    def _revise(self, goal: _Goal) -> bool:
        """Mark the best split again; True if the estimate changed or the part is now solved."""
        before, goals, best = (goal.estimate, goal.solved), self.goals, -1
        for split in goal.splits:
            _, left, right, price = split
            value = price + goals[left].estimate + goals[right].estimate
            if best < 0 or value < best:
                best, goal.marked = value, split
        goal.estimate = best
        goal.solved = goal.marked is not None and all(goals[side].solved for side in goal.marked[1:3])
        return (goal.estimate, goal.solved) != before


@translated
def best_first_merge_order(
    query: CliqueSubtree,
    *,
    heuristic: Heuristic | None = None,
    absorb: bool = True,
    below: int | None = None,
    budget: int | None = None,
) -> MergeOrder | None:
    """An order by AO*: the cheapest if the heuristic never overestimates; None if there is none within the limits.

    Args:
        query: the tree.
        heuristic: an estimate of a part's cost; `lower_bound` by default, with which the result is optimal. With
            `greedy_estimate` the search is faster, and the result is not always optimal.
        absorb: whether a clique that equals its sepset merges at no cost.
        below: stop if no order is cheaper than this.
        budget: the largest number of splits examined.

    Reference: El-Hay (2001), section 4.3.2.
    Guarantee: optimal with a heuristic that never overestimates.
    Tested by: inference/treequery/test_search.py::test_programming_and_best_first_search_find_the_least_of_all_orders

    >>> from sepset.graphs.clusters import ClusterTree
    >>> from sepset.inference.treequery.query import tree_query
    >>> tree = ClusterTree([("A", "B"), ("B", "C"), ("C", "D")], [(0, 1), (1, 2)])
    >>> best_first_merge_order(tree_query(tree, ["A", "D"], cards=dict(A=9, B=2, C=2, D=2)))
    MergeOrder(best-first, 2 edges, cost 44)
    """
    chosen = heuristic or (lambda query, part: lower_bound(query, part, absorb=absorb))
    search = _BestFirst(query, chosen, absorb)
    while below is None or search.root.estimate < below:
        if search.root.solved:
            return MergeOrder(query, _ordered(query, search.last), name="best-first", absorb=absorb)
        if budget is not None and search.looked > budget:
            break
        search.expand(search.frontier())
    return None


def merge_tree(order: MergeOrder) -> Merges:
    """The splits of an order, that of the whole tree first: the edge merged last splits it, and so on recursively."""
    query, rank = order.query, {e: i for i, e in enumerate(order.edges)}
    merges: Merges = {}
    stack = [query.whole]
    while stack:
        part = stack.pop()
        if part.edges:
            edge = max(bits(part.edges), key=rank.__getitem__)
            left, right = query.split(part, edge)
            price = query.price(left.scope, right.scope, edge=edge, absorb=order.absorb)
            merges[part.nodes] = Connector(edge, left, right, price)
            stack += (left, right)
    return merges


def refined(order: MergeOrder, *, window: int = 10, budget: int = costs.SPLITS_PER_MERGE_SEARCH) -> MergeOrder:
    """An order at most as costly: parts of its merge tree are replaced by optimal ones until none improves.

    Args:
        order: the initial order.
        window: the number of pieces into which a part is cut before they are merged optimally.
        budget: the largest number of splits examined.

    >>> from sepset.graphs.clusters import ClusterTree
    >>> from sepset.inference.treequery.query import tree_query
    >>> tree = ClusterTree([("A", "B"), ("B", "C"), ("C", "D")], [(0, 1), (1, 2)])
    >>> refined(MergeOrder(tree_query(tree, ["A", "D"], cards=dict(A=9, B=2, C=2, D=2)), (0, 1)))
    MergeOrder(refined given, 2 edges, cost 44)
    """
    merges, left, changed = merge_tree(order), budget, True
    while changed and left > 0:
        changed = False
        for part in _costly(merges, order.query.whole):
            if left <= 0:
                break
            if part.nodes in merges:
                gain, looked = _improve(order, merges, part, window)
                left -= looked
                changed |= gain > 0
    edges = _ordered(order.query, {nodes: split.edge for nodes, split in merges.items()})
    return MergeOrder(order.query, edges, name=f"refined {order.name}", absorb=order.absorb)


def _costly(merges: Merges, whole: Subtree) -> list[Subtree]:
    """The parts of the merge tree, the most expensive merge first, without negligible ones."""
    parts, stack = [], [whole]
    while stack:
        part = stack.pop()
        if part.edges:
            parts.append(part)
            stack += merges[part.nodes][1:3]
    least = sum(merges[part.nodes].price for part in parts) // 1000
    parts.sort(key=lambda part: -merges[part.nodes].price)
    return [part for part in parts if merges[part.nodes].price > least]


def _improve(order: MergeOrder, merges: Merges, part: Subtree, window: int) -> tuple[int, int]:
    """Replace the top of a part's merge tree by the optimum over its pieces; the gain, and the splits examined."""
    pieces, inner = [part], []
    while len(pieces) < window:
        widest = max((p for p in pieces if p.edges), key=lambda p: merges[p.nodes].price, default=None)
        if widest is None:
            break
        pieces.remove(widest)
        inner.append(widest)
        pieces += merges[widest.nodes][1:3]
    smaller, edges = order.query.contracted(pieces, part.scope)
    before = sum(merges[p.nodes].price for p in inner)
    better = optimal_merge_order(smaller, absorb=order.absorb)
    looked = smaller.num_subtrees * len(edges) // 2
    if better.cost < before:
        for p in inner:
            del merges[p.nodes]
        merges.update(_replaced(order, part, [edges[e] for e in better.edges]))
        return before - better.cost, looked
    return 0, looked


def _replaced(order: MergeOrder, part: Subtree, edges: list[int]) -> Merges:
    """The splits of a part at these edges, the last first."""
    merges: Merges = {}
    pieces = [part]
    for edge in reversed(edges):
        piece = next(p for p in pieces if p.edges >> edge & 1)
        left, right = order.query.split(piece, edge)
        price = order.query.price(left.scope, right.scope, edge=edge, absorb=order.absorb)
        merges[piece.nodes] = Connector(edge, left, right, price)
        pieces.remove(piece)
        pieces += (left, right)
    return merges


@translated
def choose_merge_order(query: CliqueSubtree, *, budget: int = costs.SPLITS_PER_MERGE_SEARCH) -> MergeOrder:
    """A cheap order within a budget: optimal if that is affordable, and never more expensive than the greedy ones.

    Dynamic programming for few parts, best-first search for not too many, otherwise the best greedy order, refined in
    windows. Cliques around a common sepset may merge before the clique they surround.

    Args:
        query: the tree.
        budget: the largest number of splits examined.

    Reference: El-Hay (2001), sections 4.2 to 4.4.
    Guarantee: never above the greedy ones.
    Tested by: inference/treequery/test_search.py::test_the_chosen_order_is_never_above_a_greedy_one

    >>> from sepset.graphs.clusters import ClusterTree
    >>> from sepset.inference.treequery.query import tree_query
    >>> tree = ClusterTree([("A", "B"), ("B", "C"), ("C", "D")], [(0, 1), (1, 2)])
    >>> print(choose_merge_order(tree_query(tree, ["A", "D"], cards=dict(A=9, B=2, C=2, D=2))))
    optimal order: 44 multiplications
    B, C + C, D -> B, D: 8
    A, B + B, D -> A, D: 36
    """
    hubs = query.with_hubs()
    if len(hubs.cliques) > len(query.cliques):
        return min(_chosen(query, budget // 2), _chosen(hubs, budget // 2), key=lambda order: order.cost)
    return _chosen(query, budget)


def _chosen(query: CliqueSubtree, budget: int) -> MergeOrder:
    splits = query.num_subtrees * len(query.edges)
    if splits <= budget:
        return optimal_merge_order(query)
    greedy = min(greedy_orders(query), key=lambda order: order.cost)
    if greedy.cost == lower_bound(query, query.whole):
        return greedy
    better = refined(greedy, budget=budget)
    found = best_first_merge_order(query, below=better.cost, budget=budget // 4) if splits <= 4 * budget else None
    return better if found is None else found
