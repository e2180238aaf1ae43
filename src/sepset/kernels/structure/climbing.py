r"""The best change of one edge of a DAG: to add, delete or reverse it.

`gains[x, y]` is the change of the score of $y$'s family as $x$ is added to its parents or removed from them, minus
infinity where constraints forbid that. Reversing $x \to y$ gains `gains[x, y] + gains[y, x]`. Ancestors are sets of
bits: adding $x \to y$ closes a cycle if $y$ is an ancestor of $x$.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints, UInt64s
from sepset.kernels.kernel import kernel, sizes

ADD, DELETE, REVERSE = range(3)
"""The kinds of moves."""


@kernel(work=sizes)
def ancestors(edges: Bools, out: UInt64s) -> bool:
    """The ancestors of every node; False if the edges contain a cycle."""
    n = len(edges)
    left = np.zeros(n, np.int64)
    for x in range(n):
        for y in range(n):
            left[y] += edges[x, y]
    order = np.empty(n, np.int64)
    count = 0
    for y in range(n):
        if left[y] == 0:
            order[count] = y
            count += 1
    out[:] = np.uint64(0)
    done = 0
    while done < count:
        x = order[done]
        done += 1
        for y in range(n):
            if edges[x, y]:
                for w in range(out.shape[1]):
                    out[y, w] |= out[x, w]
                out[y, x >> 6] |= np.uint64(1) << np.uint64(x & 63)
                left[y] -= 1
                if left[y] == 0:
                    order[count] = y
                    count += 1
    return bool(count == n)


@kernel(work=sizes)
def add_ancestors(above: UInt64s, x: int, y: int) -> None:
    """Update the ancestors for a new edge from `x` to `y`."""
    for v in range(len(above)):
        if v == y or is_ancestor(above, y, v):
            for w in range(above.shape[1]):
                above[v, w] |= above[x, w]
            above[v, x >> 6] |= np.uint64(1) << np.uint64(x & 63)


@kernel(borrows=True)
def is_ancestor(above: UInt64s, x: int, y: int) -> bool:
    """Whether `x` is an ancestor of `y`."""
    return bool((above[y, x >> 6] >> np.uint64(x & 63)) & np.uint64(1))


@kernel(borrows=True)
def has_other_path(edges: Bools, above: UInt64s, x: int, y: int) -> bool:
    """Whether a directed path other than the edge leads from `x` to `y`."""
    for p in range(len(edges)):
        if edges[p, y] and p != x and is_ancestor(above, x, p):
            return True
    return False


@kernel(work=sizes)
def best_move(
    gains: Floats,
    edges: Bools,
    above: UInt64s,
    indegree: Ints,
    max_parents: int,
    barred: Ints,
    step: int,
    aspiration: float,
    tolerance: float,
    out: Ints,
) -> float:
    """The gain of the best legal move, which `out` receives as kind, source and target; minus infinity if none is.

    Moves compete in the order of additions, deletions, reversals, each by source and then target; a later one wins only
    if it gains more by the tolerance. A move barred beyond `step` counts only if it gains more than `aspiration`.
    """
    n, best, threshold = len(gains), -np.inf, -np.inf
    present = np.empty((indegree.sum(), 2), np.int64)
    count = 0
    for x in range(n):
        for y in range(n):
            if edges[x, y]:
                present[count, 0], present[count, 1] = x, y
                count += 1
            elif gains[x, y] > threshold and not (barred[x, y] > step and not gains[x, y] > aspiration):
                if not (edges[y, x] or indegree[y] >= max_parents or is_ancestor(above, y, x)):
                    best = gains[x, y]
                    threshold = best + tolerance
                    out[0], out[1], out[2] = ADD, x, y
    for kind in (DELETE, REVERSE):
        for k in range(count):
            x, y = present[k, 0], present[k, 1]
            gain = gains[x, y] if kind == DELETE else gains[x, y] + gains[y, x]
            if not gain > threshold:
                continue
            if (barred[x, y] > step or (kind == REVERSE and barred[y, x] > step)) and not gain > aspiration:
                continue
            if kind == REVERSE and (indegree[x] >= max_parents or has_other_path(edges, above, x, y)):
                continue
            best = gain
            threshold = best + tolerance
            out[0], out[1], out[2] = kind, x, y
    return best
