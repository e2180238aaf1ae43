"""Exact search for an elimination order of bounded width, over sets of eliminated nodes as bit masks."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Ints
from sepset.kernels.kernel import kernel


@kernel
def has_width(neighbors: Ints, k: int, seen: Bytes, cancel: Bytes) -> int:
    """1 if some elimination order has width at most k, 0 if none has, -1 if the search was canceled.

    The graph that remains depends only on the set eliminated, so every set is tried once; `seen` has a bit for each.
    """
    n = len(neighbors)
    rows = np.empty((n + 1, n), np.int64)
    gone = np.zeros(n + 1, np.int64)
    choices = np.zeros(n + 1, np.int64)
    for v in range(n):
        rows[0, v] = neighbors[v]
    if n <= k + 1:
        return 1
    choices[0] = _choices(rows[0], 0, k)
    depth = 0
    while depth >= 0:
        if cancel[0]:
            return -1
        if choices[depth] == 0:
            depth -= 1
            continue
        bit = choices[depth] & -choices[depth]
        choices[depth] ^= bit
        after = gone[depth] | bit
        if seen[after >> 3] & (1 << (after & 7)):
            continue
        seen[after >> 3] |= 1 << (after & 7)
        if n - depth - 1 <= k + 1:
            return 1
        _eliminate(rows[depth], rows[depth + 1], bit)
        depth += 1
        gone[depth] = after
        choices[depth] = _choices(rows[depth], after, k)
    return 0


@kernel(borrows=True)
def _eliminate(before: Ints, after: Ints, bit: int) -> None:
    v = 0
    while (bit >> v) != 1:
        v += 1
    for u in range(len(before)):
        if before[u] & bit:
            after[u] = (before[u] | before[v]) & ~bit & ~(1 << u)
        else:
            after[u] = before[u]


@kernel(borrows=True)
def _choices(rows: Ints, gone: int, k: int) -> int:
    """The nodes of degree at most k as a mask; only one if it is simplicial or almost simplicial, and so safe."""
    found = 0
    for v in range(len(rows)):
        if (gone >> v) & 1:
            continue
        degree = 0
        rest = rows[v]
        while rest:
            rest &= rest - 1
            degree += 1
        if degree <= k:
            if _almost_simplicial(rows, v):
                return 1 << v
            found |= 1 << v
    return found


@kernel(borrows=True)
def _almost_simplicial(rows: Ints, v: int) -> bool:
    """Whether the neighbors of v, except for at most one, are a clique: that one is the first with a missing edge, or
    the other end of its only missing edge."""
    first, other = -1, 0
    for u in range(len(rows)):
        if (rows[v] >> u) & 1:
            missing = rows[v] & ~rows[u] & ~(1 << u)
            if missing and first < 0:
                first, other = 1 << u, missing
    if first < 0:
        return True
    return _clique_without(rows, rows[v] & ~first) or (
        other & (other - 1) == 0 and _clique_without(rows, rows[v] & ~other)
    )


@kernel(borrows=True)
def _clique_without(rows: Ints, members: int) -> bool:
    for u in range(len(rows)):
        if (members >> u) & 1 and members & ~rows[u] & ~(1 << u):
            return False
    return True
