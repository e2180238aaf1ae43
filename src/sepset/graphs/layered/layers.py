r"""The layer of each node: every edge goes down, and edges are short in total.

$$\min_d \sum_{(a, b)} (d_b - d_a) \quad\text{with}\quad d_b - d_a \ge 1$$

Arrows go down, unless they form a cycle; lines go down along an order of the nodes. The linear program is solved by
network simplex: a spanning tree of tight edges is improved by exchanging one edge at a time.

Reference: Gansner, Koutsofios, North & Vo (1993), section 2.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from sepset.base.arraytypes import Ints

Pair = tuple[int, int]

MOST_EXCHANGES = 2000
"""The exchanges of network simplex after which its layers are taken as they are."""


def downward(count: int, arrows: Sequence[Pair], lines: Sequence[Pair]) -> list[Pair]:
    """The edges, arrows first, each as its upper and its lower node; they make no cycle.

    >>> downward(3, [(0, 1), (1, 2), (2, 0)], [])
    [(0, 1), (1, 2), (0, 2)]
    >>> downward(3, [], [(0, 1), (2, 1)])
    [(1, 0), (1, 2)]
    """
    order = _along_arrows(count, arrows, lines) if arrows else _from_root(count, lines)
    rank = {node: place for place, node in enumerate(order)}
    return [(a, b) if rank[a] < rank[b] else (b, a) for a, b in (*arrows, *lines)]


def neighbors(count: int, pairs: Iterable[Pair]) -> list[list[int]]:
    """The nodes joined to each node, in the order of the pairs."""
    found: list[list[int]] = [[] for _ in range(count)]
    for a, b in pairs:
        found[a].append(b)
        found[b].append(a)
    return found


def _along_arrows(count: int, arrows: Sequence[Pair], lines: Sequence[Pair]) -> list[int]:
    """An order along the arrows; nodes joined by lines follow each other; cycles are cut where most arrows go out."""
    children: list[list[int]] = [[] for _ in range(count)]
    waiting, joined = [0] * count, neighbors(count, lines)
    for a, b in arrows:
        children[a].append(b)
        waiting[b] += 1
    near, placed, order = [0] * count, [False] * count, list[int]()
    heap = [(0, node) for node in range(count) if not waiting[node]]
    while len(order) < count:
        if not heap:
            open_ = (node for node in range(count) if not placed[node])
            heap.append((0, min(open_, key=lambda node: (waiting[node] - len(children[node]), node))))
        node = heapq.heappop(heap)[1]
        if placed[node]:
            continue
        placed[node] = True
        order.append(node)
        for other in joined[node]:
            near[other] -= 1
            if not placed[other] and not waiting[other]:
                heapq.heappush(heap, (near[other], other))
        for child in children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(heap, (near[child], child))
    return order


def _from_root(count: int, lines: Sequence[Pair]) -> list[int]:
    """An order by distance: of a tree from its center, of other graphs from an end, so that layers are narrow."""
    joined = neighbors(count, lines)
    reached: set[int] = set()
    order: list[int] = []
    for node in range(count):
        if node not in reached:
            first = _distances(node, joined)
            far = _distances(max(first, key=lambda n: (first[n], -len(joined[n]), -n)), joined)
            is_tree = sum(len(joined[n]) for n in far) == 2 * (len(far) - 1)
            part = list(_distances(_center(far, joined) if is_tree else next(iter(far)), joined))
            reached.update(part)
            order += part
    return order


def _distances(root: int, joined: Sequence[Sequence[int]]) -> dict[int, int]:
    """The distances from a root, nearest first."""
    found, queue = {root: 0}, [root]
    for node in queue:
        for other in joined[node]:
            if other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    return found


def _center(far: dict[int, int], joined: Sequence[Sequence[int]]) -> int:
    """The middle of a longest path of a tree, given distances from one end of it."""
    node = max(far, key=lambda n: far[n])
    for _ in range(far[node] // 2):
        node = next(other for other in joined[node] if far[other] < far[node])
    return node


def layers(count: int, edges: Sequence[Pair]) -> list[int]:
    """The layer of each node of a connected graph, from 0 at the top, with the least total length of edges.

    Args:
        count: the number of nodes.
        edges: pairs of an upper and a lower node; they make no cycle.

    >>> layers(4, [(0, 1), (1, 2), (3, 2)])
    [0, 1, 2, 1]
    """
    weights = Counter(edges)
    if count < 2 or not weights:
        return [0] * count
    pairs = np.array(list(weights))
    rank = _longest_paths(count, pairs)
    net = np.zeros(count)
    np.add.at(net, pairs[:, 0], list(weights.values()))
    np.subtract.at(net, pairs[:, 1], list(weights.values()))
    tree = _tight_tree(pairs, rank)
    for _ in range(MOST_EXCHANGES):
        if not _exchange(pairs, rank, tree, net):
            break
    rank -= rank.min()
    _balance(pairs, rank, net)
    return [int(r) for r in rank]


def _longest_paths(count: int, pairs: Ints) -> Ints:
    """The length of the longest path to each node."""
    rank = np.zeros(count, dtype=np.int64)
    for _ in range(count):
        least = rank.copy()
        np.maximum.at(least, pairs[:, 1], rank[pairs[:, 0]] + 1)
        if (least == rank).all():
            break
        rank = least
    return rank


def _tight_tree(pairs: Ints, rank: Ints) -> list[int]:
    """The edges, by number, of a spanning tree of tight edges; layers move until there is one."""
    inside = np.zeros(len(rank), dtype=bool)
    inside[0] = True
    tree: list[int] = []
    while len(tree) < len(rank) - 1:
        slack = rank[pairs[:, 1]] - rank[pairs[:, 0]] - 1
        border = np.flatnonzero(inside[pairs[:, 0]] != inside[pairs[:, 1]])
        best = int(border[np.argmin(slack[border])])
        if slack[best]:
            rank[inside] += slack[best] if inside[pairs[best, 0]] else -slack[best]
            continue
        inside[pairs[best]] = True
        tree.append(best)
    return tree


def _exchange(pairs: Ints, rank: Ints, tree: list[int], net: np.ndarray) -> bool:
    """Exchange the tree edge whose two sides gain most by moving apart; whether there is one.

    The edges into the lower side less those out of it, which is the sum of `net` on one side, is the gain.
    """
    order, edge, parent, size = _rooted(pairs, tree, len(rank))
    gains = net.tolist()
    for node in reversed(order[1:]):
        gains[parent[node]] += gains[node]
    nodes = np.array(order[1:])
    upper = pairs[[edge[node] for node in order[1:]], 0] == nodes
    sums = np.array(gains)[nodes]
    cuts = np.where(upper, sums, -sums)
    worst = int(np.argmin(cuts))
    if cuts[worst] >= 0:
        return False
    node = order[1 + worst]
    below = np.zeros(len(rank), dtype=bool)
    below[order[1 + worst : 1 + worst + size[node]]] = True
    tails, heads = (
        (below[pairs[:, 0]], below[pairs[:, 1]]) if upper[worst] else (~below[pairs[:, 0]], ~below[pairs[:, 1]])
    )
    entering = np.flatnonzero(~tails & heads)
    slack = rank[pairs[entering, 1]] - rank[pairs[entering, 0]] - 1
    chosen = int(np.argmin(slack))
    rank[below if upper[worst] else ~below] -= slack[chosen]
    tree[tree.index(edge[node])] = int(entering[chosen])
    return True


def _rooted(pairs: Ints, tree: Sequence[int], count: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """The nodes of a tree in preorder; of each, the edge to its parent, its parent, and the size of its subtree."""
    joined: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for number, (a, b) in zip(tree, pairs[tree].tolist(), strict=True):
        joined[a].append((b, number))
        joined[b].append((a, number))
    order, edge, parent, size, stack = list[int](), [-1] * count, [-1] * count, [1] * count, [0]
    while stack:
        node = stack.pop()
        order.append(node)
        for other, number in joined[node]:
            if number != edge[node]:
                edge[other], parent[other] = number, node
                stack.append(other)
    for node in reversed(order[1:]):
        size[parent[node]] += size[node]
    return order, edge, parent, size


def _balance(pairs: Ints, rank: Ints, net: np.ndarray) -> None:
    """Move nodes with as many edges up as down to the emptiest layer between their neighbors."""
    crowd = np.bincount(rank)
    for node in np.flatnonzero(net == 0).tolist():
        above, under = pairs[pairs[:, 1] == node, 0], pairs[pairs[:, 0] == node, 1]
        low, high = int(rank[above].max()) + 1, int(rank[under].min())
        best = low + int(np.argmin(crowd[low:high]))
        if crowd[best] < crowd[rank[node]] - 1:
            crowd[rank[node]] -= 1
            crowd[best] += 1
            rank[node] = best
