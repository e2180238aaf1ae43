"""Sums over parent sets from a table of candidates: among columns that come before, and touching the level before.

The parent sets of a column are the subsets of its candidates, alone or with one further column ("plus one"). Block `j`
of a column has one entry for each subset of candidates: `j = 0` without a further column, `j >= 1` with the j-th of
`outs`. `scores` has the families, the first row of `sums` the log sums over subsets inside each block. Its second row
has the same sums by subset: the largest one, and each further column's sum relative to it, so that they can be added.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.structure.subsets import log_add, log_subtract

FEW_SETS = 512
"""Up to so many parent sets, a draw lists them all; among more it goes down from the largest score."""

LOST = 1e-10
"""The share of a sum below which a difference of two has lost too many digits to be used."""

SMALLEST = float(np.finfo(np.float64).tiny)
"""The smallest number that has all its digits."""


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
    count = 0
    while count < outs.shape[1] and outs[v, count] >= 0:
        count += 1
    alone = float(sums[0, start + mask])
    if count == 0:
        return alone
    group = start + mask * (count + 1)
    top = float(sums[1, group])
    if top == -np.inf:
        return top
    total = math.exp(alone - top)
    for j in range(count):
        total += int(inside[outs[v, j]]) * sums[1, group + 1 + j]
    if total >= SMALLEST:
        return top + math.log(total)
    return _log_sum_before(v, inside, outs, sums, start, mask, 1 << width)


@kernel
def _log_sum_before(v: int, inside: Bytes, outs: Ints, sums: Floats, start: int, mask: int, size: int) -> float:
    """The same in logarithms, where all relative sums are too small to have all their digits."""
    total = float(sums[0, start + mask])
    for j in range(outs.shape[1]):
        if outs[v, j] >= 0 and inside[outs[v, j]]:
            total = log_add(total, sums[0, start + (j + 1) * size + mask])
    return total


@kernel
def _masks(v: int, inside: Bytes, level: Bytes, cands: Ints) -> tuple[int, int, int]:
    """The number of candidates of a column, and the masks of those inside, and of those on the level before."""
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
    return width, mask, touch


@kernel
def _bits(mask: int) -> int:
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@kernel
def score_family(v: int, parents: Bytes, cands: Ints, outs: Ints, scores: Floats, start: int) -> float:
    """The score of a family given as one flag per column; minus infinity if the table does not have it."""
    width, mask, _ = _masks(v, parents, parents, cands)
    known = _bits(mask)
    total = 0
    for u in range(parents.size):
        total += int(parents[u])
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
def sum_touching(
    v: int, inside: Bytes, level: Bytes, is_level: bool, cands: Ints, outs: Ints, sums: Floats, start: int
) -> float:
    """The log sum over the parent sets of a column inside a set of columns and, if asked, touching some of them.

    It is minus infinity where the sets that touch them have less than `LOST` of the sum over all sets inside.
    """
    total = sum_before(v, inside, cands, outs, sums, start)
    if not is_level:
        return total
    apart = inside.copy()
    for u in range(inside.size):
        if level[u]:
            apart[u] = 0
    rest = sum_before(v, apart, cands, outs, sums, start)
    return -np.inf if rest - total > -LOST else log_subtract(total, rest)


@kernel
def draw_parents(
    v: int,
    inside: Bytes,
    level: Bytes,
    is_level: bool,
    cands: Ints,
    outs: Ints,
    scores: Floats,
    ranked: Int32s,
    first: int,
    last: int,
    total: float,
    uniform: float,
    graph: Bytes,
) -> None:
    """Draw the parents of a column in proportion to their scores, among sets inside and, if asked, touching a level.

    Args:
        ranked: the places of each column's scores, the largest first, so that a draw ends after few of them.
        first, last: where the column's scores begin and end.
        total: the log sum of the sets that may be drawn.
    """
    width, mask, touch = _masks(v, inside, level, cands)
    further = 0
    for j in range(outs.shape[1]):
        if outs[v, j] >= 0 and inside[outs[v, j]]:
            further += 1
    if (1 + further) << _bits(mask) <= FEW_SETS:
        chosen = _drawn_subset(v, inside, level, is_level, outs, scores, first, width, mask, touch, total, uniform)
    else:
        chosen = _drawn_by_rank(
            v, inside, level, is_level, outs, scores, ranked, first, last, width, mask, touch, total, uniform
        )
    _set_parents(v, cands, outs, width, chosen, graph)


@kernel
def take_best_parents(
    v: int, inside: Bytes, level: Bytes, is_level: bool, cands: Ints, outs: Ints, scores: Floats, ranked: Int32s,
    first: int, last: int, graph: Bytes,
) -> None:  # fmt: skip
    """Give a column the parents with the largest score, among the sets that `draw_parents` draws from."""
    width, mask, touch = _masks(v, inside, level, cands)
    chosen = _drawn_by_rank(v, inside, level, is_level, outs, scores, ranked, first, last, width, mask, touch, 0.0, 0.0)
    _set_parents(v, cands, outs, width, chosen, graph)


@kernel
def _drawn_by_rank(
    v: int, inside: Bytes, level: Bytes, is_level: bool, outs: Ints, scores: Floats, ranked: Int32s, first: int,
    last: int, width: int, mask: int, touch: int, total: float, uniform: float,
) -> int:  # fmt: skip
    """The place of a set drawn by going down from the largest score; -1 if there is none."""
    left = uniform
    chosen = -1
    for place in range(first, last):
        found = ranked[place]
        j, sub = found >> width, found & ((1 << width) - 1)
        if sub & ~mask or (j > 0 and not inside[outs[v, j - 1]]):
            continue
        if is_level and not sub & touch and not (j > 0 and level[outs[v, j - 1]]):
            continue
        if scores[first + found] == -np.inf:
            break
        chosen = found
        left -= math.exp(scores[first + found] - total)
        if left <= 0.0:
            break
    return chosen


@kernel
def _drawn_subset(
    v: int, inside: Bytes, level: Bytes, is_level: bool, outs: Ints, scores: Floats, first: int,
    width: int, mask: int, touch: int, total: float, uniform: float,
) -> int:  # fmt: skip
    """The place of a set drawn by listing all subsets of those inside; -1 if there is none."""
    left = uniform
    chosen = -1
    for j in range(outs.shape[1] + 1):
        if j > 0 and (outs[v, j - 1] < 0 or not inside[outs[v, j - 1]]):
            continue
        is_free = not is_level or (j > 0 and level[outs[v, j - 1]])
        sub = mask
        while True:
            found = (j << width) | sub
            if (is_free or sub & touch) and scores[first + found] > -np.inf:
                chosen = found
                left -= math.exp(scores[first + found] - total)
                if left <= 0.0:
                    return chosen
            if sub == 0:
                break
            sub = (sub - 1) & mask
    return chosen


@kernel
def _set_parents(v: int, cands: Ints, outs: Ints, width: int, chosen: int, graph: Bytes) -> None:
    """Write the parents of a column: the set at a place of its scores, none at -1."""
    for u in range(len(graph)):
        graph[u, v] = 0
    if chosen < 0:
        return
    for i in range(width):
        if chosen >> i & 1:
            graph[cands[v, i], v] = 1
    if chosen >> width:
        graph[outs[v, (chosen >> width) - 1], v] = 1
