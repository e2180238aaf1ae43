"""An order of the nodes of a graph from one side to the other, by counts of neighbors that are not reached yet."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats, Int32s, Ints
from sepset.kernels.graphs.ordering import _replay
from sepset.kernels.kernel import kernel, times


@kernel(work=times(20))
def sweep(indptr: Ints, indices: Int32s, firsts: Ints) -> Ints:
    """The nodes in order, component by component, each beginning far from others; see `graphs.sweeps`.

    Open nodes are the leaves of a tournament tree: leaf `half + v` is v if it is open, else -1, and `tree[1]` has the
    fewest unreached neighbors, `rank[1]`, and was reached first, `rank[2]`.

    Args:
        firsts: all nodes; a component is looked for from its first node here.
    """
    n = len(indptr) - 1
    half = 1
    while half < n:
        half *= 2
    tree, rank = np.full(2 * half, -1), np.zeros((3, n))
    order, queue, seen, reached = np.empty(n, np.int64), np.empty(n, np.int64), np.full(n, -1), 0
    for v in range(n):
        rank[1, v], rank[2, v] = indptr[v + 1] - indptr[v], -1.0
    count, stamp = 0, 0
    for first in firsts:
        if rank[2, first] >= 0.0:
            continue
        start, stamp = _far(indptr, indices, first, queue, seen, stamp)
        reached = _reach(indptr, indices, start, reached, rank, tree)
        while tree[1] >= 0:
            v = tree[1]
            tree[half + v] = -1
            _replay(tree, half + v, rank)
            order[count] = v
            count += 1
            for k in range(indptr[v], indptr[v + 1]):
                if rank[2, indices[k]] < 0.0:
                    reached = _reach(indptr, indices, indices[k], reached, rank, tree)
    return order


@kernel(inline=True)
def _reach(indptr: Ints, indices: Int32s, u: int, reached: int, rank: Floats, tree: Ints) -> int:
    """Open a node: it is no longer unreached for its neighbors. Returns the number of nodes reached."""
    half = len(tree) // 2
    rank[2, u] = reached
    tree[half + u] = u
    _replay(tree, half + u, rank)
    for k in range(indptr[u], indptr[u + 1]):
        w = indices[k]
        rank[1, w] -= 1.0
        if tree[half + w] >= 0:
            _replay(tree, half + w, rank)
    return reached + 1


@kernel(inline=True)
def _far(indptr: Ints, indices: Int32s, first: int, queue: Ints, seen: Ints, stamp: int) -> tuple[int, int]:
    """A node far from another, and the next unused stamp: one of least degree in the last level of a breadth-first
    search from the node before, while levels become more."""
    depth, node = -1, first
    while True:
        found, last = _levels(indptr, indices, node, queue, seen, stamp)
        stamp += 1
        if found <= depth:
            return node, stamp
        depth, node = found, last


@kernel(inline=True)
def _levels(indptr: Ints, indices: Int32s, first: int, queue: Ints, seen: Ints, stamp: int) -> tuple[int, int]:
    """The number of levels of a breadth-first search, and the node of least degree in the last one."""
    queue[0], seen[first] = first, stamp
    begin, end, depth = 0, 1, -1
    while begin < end:
        level, top = begin, end
        depth += 1
        for i in range(level, top):
            for k in range(indptr[queue[i]], indptr[queue[i] + 1]):
                u = indices[k]
                if seen[u] != stamp:
                    seen[u] = stamp
                    queue[end] = u
                    end += 1
        begin = top
    best = queue[level]
    for i in range(level, top):
        v = queue[i]
        more = (indptr[v + 1] - indptr[v]) - (indptr[best + 1] - indptr[best])
        if more < 0 or (more == 0 and v < best):
            best = v
    return depth, best
