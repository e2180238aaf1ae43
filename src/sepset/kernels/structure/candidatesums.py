"""Sums over parent sets from a table of candidates: among columns that come before, and touching the level before.

The parent sets of a column are the subsets of its candidates, alone or with one further column ("plus one"). Block `j`
of a column has one entry for each subset of candidates: `j = 0` without a further column, `j >= 1` with the j-th of
`outs`. `scores` has the families, `sums` the log sums over subsets inside each block.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.structure.subsets import log_add, log_subtract


@kernel
def sum_before(v: int, inside: Bytes, cands: Ints, outs: Ints, sums: Floats, start: int) -> float:
    """The log sum over the parent sets of a column inside a set of columns (one flag each)."""
    mask = 0
    width = 0
    for i in range(cands.shape[1]):
        u = cands[v, i]
        if u < 0:
            break
        width += 1
        if inside[u]:
            mask |= 1 << i
    size = 1 << width
    total = float(sums[start + mask])
    for j in range(outs.shape[1]):
        u = outs[v, j]
        if u < 0:
            break
        if inside[u]:
            total = log_add(total, sums[start + (j + 1) * size + mask])
    return total


@kernel
def score_family(v: int, parents: Bytes, cands: Ints, outs: Ints, scores: Floats, start: int) -> float:
    """The score of a family given as one flag per column; minus infinity if the table does not have it."""
    mask = 0
    width = 0
    known = 0
    for i in range(cands.shape[1]):
        u = cands[v, i]
        if u < 0:
            break
        width += 1
        if parents[u]:
            mask |= 1 << i
            known += 1
    total = 0
    for u in range(parents.size):
        total += parents[u]
    if total == known:
        return float(scores[start + mask])
    if total > known + 1:
        return -np.inf
    for j in range(outs.shape[1]):
        u = outs[v, j]
        if u < 0:
            break
        if parents[u]:
            return float(scores[start + (j + 1) * (1 << width) + mask])
    return -np.inf


@kernel
def add_edges(
    v: int,
    inside: Bytes,
    level: Bytes,
    is_level: bool,
    cands: Ints,
    outs: Ints,
    sums: Floats,
    start: int,
    edges: Floats,
) -> None:
    """Add the probability of each parent of a column, given the columns it may have and, if asked, must touch."""
    n = inside.size
    outside = inside.copy()
    if is_level:
        for u in range(n):
            if level[u]:
                outside[u] = 0
    total = sum_before(v, inside, cands, outs, sums, start)
    apart = sum_before(v, outside, cands, outs, sums, start) if is_level else -np.inf
    norm = log_subtract(total, apart)
    for u in range(n):
        if inside[u]:
            inside[u] = 0
            without = sum_before(v, inside, cands, outs, sums, start)
            inside[u] = 1
            found = log_subtract(total, without)
            if is_level and not level[u]:
                outside[u] = 0
                without = sum_before(v, outside, cands, outs, sums, start)
                outside[u] = 1
                found = log_subtract(found, log_subtract(apart, without))
            edges[u, v] += math.exp(found - norm)


@kernel
def draw_parents(
    v: int,
    inside: Bytes,
    level: Bytes,
    is_level: bool,
    cands: Ints,
    outs: Ints,
    scores: Floats,
    start: int,
    uniform: float,
    graph: Bytes,
) -> None:
    """Draw the parents of a column in proportion to their scores, among sets inside and, if asked, touching a level."""
    n = inside.size
    for u in range(n):
        graph[u, v] = 0
    width = 0
    mask = 0
    touch = 0
    for i in range(cands.shape[1]):
        u = cands[v, i]
        if u < 0:
            break
        width += 1
        if inside[u]:
            mask |= 1 << i
            if level[u]:
                touch |= 1 << i
    size = 1 << width
    top = -np.inf
    for turn in range(2):  # the largest score, then the draw
        left = 0.0
        if turn == 1:
            left = uniform * _mass(v, inside, level, is_level, outs, scores, start, size, mask, touch, top)
        for j in range(outs.shape[1] + 1):
            if j > 0:
                if outs[v, j - 1] < 0:
                    break
                if not inside[outs[v, j - 1]]:
                    continue
            free = not is_level or (j > 0 and level[outs[v, j - 1]])
            sub = mask
            while True:
                if free or sub & touch:
                    found = scores[start + j * size + sub]
                    if turn == 0:
                        top = max(top, found)
                    elif found > -np.inf:
                        left -= math.exp(found - top)
                        if left <= 0.0:
                            _set_parents(v, cands, outs, sub, j, graph)
                            return
                if sub == 0:
                    break
                sub = (sub - 1) & mask


@kernel
def _mass(
    v: int,
    inside: Bytes,
    level: Bytes,
    is_level: bool,
    outs: Ints,
    scores: Floats,
    start: int,
    size: int,
    mask: int,
    touch: int,
    top: float,
) -> float:
    """The summed exponentials of all scores that may be drawn, relative to the largest; a little less, for rounding."""
    total = 0.0
    for j in range(outs.shape[1] + 1):
        if j > 0:
            if outs[v, j - 1] < 0:
                break
            if not inside[outs[v, j - 1]]:
                continue
        free = not is_level or (j > 0 and level[outs[v, j - 1]])
        sub = mask
        while True:
            if free or sub & touch:
                total += math.exp(scores[start + j * size + sub] - top)
            if sub == 0:
                break
            sub = (sub - 1) & mask
    return total * (1.0 - 1e-12)


@kernel
def _set_parents(v: int, cands: Ints, outs: Ints, sub: int, j: int, graph: Bytes) -> None:
    for i in range(cands.shape[1]):
        if cands[v, i] >= 0 and sub >> i & 1:
            graph[cands[v, i], v] = 1
    if j > 0:
        graph[outs[v, j - 1], v] = 1
