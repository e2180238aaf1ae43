r"""Dtrees: the decomposition of a model for recursive conditioning, the contexts of its parts, and the cached results.

A dtree instantiates one variable per node. Given the variables above it, a node's subtree is independent of all others,
and depends only on some of them, its *context*. A node is evaluated once for each joint state above it or, if its
results are kept, once for each joint state of its context:

$$\mathrm{visits}(X) = \mathrm{evaluations}(\mathrm{Pa}_X) \cdot |X_{\mathrm{Pa}}|, \qquad
  \mathrm{evaluations}(X) = \begin{cases} |\mathrm{context}(X)| & \text{kept} \\ \mathrm{visits}(X) & \text{not kept}
  \end{cases}$$

With every useful result kept this is the cost of variable elimination; with none, it is exponential in the height.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sepset.base.lazy import lazy
from sepset.base.membership import without
from sepset.graphs.elimination import GraphElimination
from sepset.inference import costs

RESULT_BYTES = 12
"""Bytes of a kept result: a float64 and an int32 exponent."""

Parents = Mapping[str, str | None]
"""For each variable the one instantiated directly before it."""


@dataclass(frozen=True, eq=False)
class Dtree:
    """Variables in the order of their instantiation, parents before children.

    Args:
        names: the variable of each node, followed by the variables fixed from outside.
        cards: the number of states of each of `names`.
        parents: for each node its parent, or -1.
        contexts: for each node the places in `names` that its subtree depends on, ascending.
        homes: for each factor the node that multiplies it, or -1 if only outside variables are in its scope.
    """

    names: tuple[str, ...]
    cards: tuple[int, ...]
    parents: tuple[int, ...]
    contexts: tuple[tuple[int, ...], ...] = field(repr=False)
    homes: tuple[int, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.parents)

    @lazy
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The nodes below each node."""
        rows: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                rows[parent].append(node)
        return tuple(map(tuple, rows))

    @lazy
    def roots(self) -> tuple[int, ...]:
        """The nodes without a parent."""
        return tuple(node for node, parent in enumerate(self.parents) if parent < 0)

    @lazy
    def sizes(self) -> tuple[int, ...]:
        """The joint states of each context: the entries that a node's results take."""
        return tuple(math.prod(self.cards[v] for v in context) for context in self.contexts)

    @property
    def height(self) -> int:
        """The largest number of variables on one path."""
        depth: list[int] = []
        for parent in self.parents:
            depth.append(1 if parent < 0 else depth[parent] + 1)
        return max(depth, default=0)

    def visits(self, kept: Iterable[int] = ()) -> tuple[list[int], list[int]]:
        """The number of visits and of evaluations of each node, if the results of `kept` are kept."""
        chosen = set(kept)
        visits: list[int] = []
        evaluations: list[int] = []
        for node, parent in enumerate(self.parents):
            count = self.sizes[node] if parent < 0 else evaluations[parent] * self.cards[parent]
            visits.append(count)
            evaluations.append(self.sizes[node] if node in chosen else count)
        return visits, evaluations

    def steps(self, kept: Iterable[int] = ()) -> int:
        """The number of states visited if no factor is zero: the time of recursive conditioning."""
        return sum(count * card for count, card in zip(self.visits(kept)[1], self.cards, strict=False))


def elimination_parents(elimination: GraphElimination, outside: Sequence[str] = ()) -> Parents:
    """The dtree of an order: each variable below the one that receives its message."""
    given = set(outside)
    order = elimination.order
    receivers = [order[p] if p >= 0 else None for p in elimination.parents]
    return {v: None if up in given else up for v, up in zip(order, receivers, strict=True) if v not in given}


def balanced_parents(elimination: GraphElimination, outside: Sequence[str] = ()) -> Parents:
    """The dtree that first instantiates a sepset in the middle of the order's tree, then recursively in each part.

    Its height is about the size of the largest sepset times the logarithm of the number of variables.

    Reference: Darwiche (2001), Recursive conditioning, section 5.
    """
    parents: dict[str, str | None] = dict.fromkeys(outside)
    links: list[list[int]] = [[] for _ in elimination.order]
    for i, parent in enumerate(elimination.parents):
        if parent >= 0:
            links[i].append(parent)
            links[parent].append(i)

    def is_open(i: int, j: int) -> bool:
        lower = i if elimination.parents[i] == j else j
        return any(name not in parents for name in elimination.cliques[lower][1:])

    waiting: list[tuple[int, str | None]] = [(i, None) for i in range(len(links) - 1, -1, -1)]
    while waiting:
        start, above = waiting.pop()
        part = _part(start, links, is_open)
        names = _middle(part, elimination) if len(part) > 1 else elimination.cliques[start]
        for name in reversed(names):
            if name not in parents:
                parents[name] = above
                above = name
        if len(part) > 1:
            waiting.extend((node, above) for node, up in reversed(part) if up < 0 or not is_open(node, up))
    return {name: parents[name] for name in without(parents, outside)}


def _part(start: int, links: Sequence[Sequence[int]], is_open: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """The nodes connected to `start` by open edges, each with its predecessor."""
    reached = [(start, -1)]
    for node, above in reached:
        reached.extend((i, node) for i in links[node] if i != above and is_open(node, i))
    return reached


def _middle(part: Sequence[tuple[int, int]], elimination: GraphElimination) -> tuple[str, ...]:
    """The sepset that halves a part best, or the clique of its middle node if each sepset leaves more than 2/3."""
    weight = dict.fromkeys((node for node, _ in part), 1)
    largest = dict.fromkeys(weight, 0)
    best = len(part)
    sepset: tuple[str, ...] = ()
    for node, above in reversed(part):
        largest[node] = max(largest[node], len(part) - weight[node])
        if above < 0:
            continue
        weight[above] += weight[node]
        largest[above] = max(largest[above], weight[node])
        larger = max(weight[node], len(part) - weight[node])
        if larger < best:
            lower = node if elimination.parents[node] == above else above
            best, sepset = larger, elimination.cliques[lower][1:]
    if 3 * best <= 2 * len(part):
        return sepset
    return elimination.cliques[min(weight, key=lambda node: (largest[node], node))]


def make_dtree(
    parents: Parents, scopes: Sequence[Sequence[str]], cards: Mapping[str, int], outside: Sequence[str] = ()
) -> Dtree:
    """The dtree with these parents for factors of these scopes, each of which lies on one path.

    >>> tree = make_dtree({"b": None, "a": "b"}, [("a", "b"), ("b",)], {"a": 2, "b": 3})
    >>> tree.names, tree.contexts, tree.steps()
    (('b', 'a'), ((), (0,)), 9)
    """
    below: dict[str | None, list[str]] = {}
    for name, parent in parents.items():
        below.setdefault(parent, []).append(name)
    order: list[str] = []
    stack = list(reversed(below.get(None, [])))
    while stack:
        order.append(stack.pop())
        stack.extend(reversed(below.get(order[-1], [])))
    names = (*order, *outside)
    place = {name: i for i, name in enumerate(names)}
    num = len(order)
    numbered = [[place[name] for name in scope] for scope in scopes]
    homes = tuple(max((v for v in scope if v < num), default=-1) for scope in numbered)
    up = tuple(-1 if (parent := parents[name]) is None else place[parent] for name in order)
    contexts = _contexts(up, numbered, homes)
    return Dtree(names, tuple(cards[name] for name in names), up, contexts, homes)


def _contexts(
    parents: Sequence[int], scopes: Sequence[Sequence[int]], homes: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """For each node the variables outside its subtree in the scopes of the subtree's factors."""
    found: list[set[int]] = [set() for _ in parents]
    for scope, home in zip(scopes, homes, strict=True):
        if home >= 0:
            found[home].update(scope)
    for node in range(len(parents) - 1, -1, -1):
        found[node].discard(node)
        if parents[node] >= 0:
            found[parents[node]] |= found[node]
    return tuple(tuple(sorted(context)) for context in found)


def useful(tree: Dtree) -> tuple[int, ...]:
    """The nodes worth keeping with unlimited memory: those visited more often than their context has states."""
    kept: list[int] = []
    evaluations: list[int] = []
    for node, parent in enumerate(tree.parents):
        count = tree.sizes[node] if parent < 0 else evaluations[parent] * tree.cards[parent]
        if count > tree.sizes[node]:
            kept.append(node)
        evaluations.append(tree.sizes[node])
    return tuple(kept)


def choose_kept(tree: Dtree, entries: int, most: float = math.inf) -> tuple[int, ...]:
    """The nodes whose results to keep within this many entries: those that save the most steps per entry first.

    Args:
        most: the number of steps from which there is nothing to choose: if all results together leave more, the
            smallest are kept.

    Cost: one pass over the tree for each kept node; in a large tree several are kept in a pass.
    Reference: Allen and Darwiche (2003), Optimal time-space tradeoff in probabilistic inference; here greedily.
    Guarantee: within the memory; greedy.
    Tested by: inference/exact/test_dtree.py::test_more_memory_never_takes_more_time_on_a_grid_and_ends_as_elimination
    """
    best = useful(tree)
    if sum(tree.sizes[node] for node in best) <= entries:
        return best
    kept: dict[int, None] = {}
    in_vain = tree.steps(best) > most
    at_once = len(best) if in_vain else -(-len(best) * len(tree) // costs.VISITS_TO_CHOOSE_RESULTS)
    while nodes := _most_saving(tree, kept, entries, at_once):
        for node in nodes:
            if tree.sizes[node] <= entries:
                kept[node] = None
                entries -= tree.sizes[node]
        if in_vain:
            break
    return tuple(sorted(kept))


def _most_saving(tree: Dtree, kept: Mapping[int, None], entries: int, num: int) -> list[int]:
    """The nodes to keep next: their evaluations, and those of descendants down to kept ones, decrease the most."""
    visits, evaluations = tree.visits(kept)
    region = [count * card for count, card in zip(evaluations, tree.cards, strict=False)]
    for node in range(len(tree) - 1, -1, -1):
        if tree.parents[node] >= 0 and node not in kept:
            region[tree.parents[node]] += region[node]
    scores = []
    for node, size in enumerate(tree.sizes):
        if size <= entries and visits[node] > size and node not in kept:
            score = region[node] * (visits[node] - size) // visits[node] // size
            if score > 0:
                scores.append((-score, node))
    return [node for _, node in heapq.nsmallest(num, scores)]
