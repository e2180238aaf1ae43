"""Loops over score tables: best sets inside a mask, sets without a better subset, orders that are improved."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel, sizes


@kernel(work=sizes)
def best_in(starts: Ints, masks: Ints, child: int, inside: int) -> int:
    """The place of the child's best parent set inside a mask, -1 if there is none; sets come best first."""
    for i in range(starts[child], starts[child + 1]):
        if masks[i] & ~inside == 0:
            return i
    return -1


def _all_pairs(starts: Ints, *_: object) -> float:
    return float(np.square(np.diff(starts).astype(np.float64)).sum())


@kernel(work=_all_pairs)
def undominated(starts: Ints, masks: Ints, scores: Floats) -> Bytes:
    """1 for every set that no proper subset equals or exceeds in score."""
    keep = np.ones(masks.size, dtype=np.uint8)
    for child in range(starts.size - 1):
        kept = np.empty(starts[child + 1] - starts[child], dtype=np.int64)
        count = 0
        i = starts[child]
        while i < starts[child + 1]:
            end = i
            while end < starts[child + 1] and scores[end] == scores[i]:
                end += 1
            for j in range(i, end):
                for k in range(count):
                    if kept[k] & ~masks[j] == 0:
                        keep[j] = 0
                        break
                if keep[j]:
                    for k in range(i, end):
                        if k != j and masks[k] & ~masks[j] == 0:
                            keep[j] = 0
                            break
            for j in range(i, end):
                if keep[j]:
                    kept[count] = masks[j]
                    count += 1
            i = end
    return keep


def _sweeps(starts: Ints, masks: Ints, *_: object) -> float:
    return float(starts.size * masks.size)


@kernel(work=_sweeps)
def improve_order(starts: Ints, masks: Ints, scores: Floats, order: Ints, cancel: Bytes) -> float:
    """The score of the best DAG along an order, after each column was moved to its best place until none improves."""
    n = order.size
    local = np.empty(n)
    score = _along(starts, masks, scores, order, local)
    improved = True
    while improved and not cancel[0]:
        improved = False
        for at in range(n):
            place, gain = _best_place(starts, masks, scores, order, local, at)
            if gain > 1e-9 * (1.0 + abs(score)):
                _move(order, at, place)
                score = _along(starts, masks, scores, order, local)
                improved = True
    return score


@kernel
def _value(starts: Ints, masks: Ints, scores: Floats, child: int, inside: int) -> float:
    i = best_in(starts, masks, child, inside)
    return scores[i] if i >= 0 else -1e300


@kernel
def _along(starts: Ints, masks: Ints, scores: Floats, order: Ints, local: Floats) -> float:
    before = 0
    total = 0.0
    for v in order:
        local[v] = _value(starts, masks, scores, v, before)
        total += local[v]
        before |= 1 << v
    return total


@kernel
def _best_place(starts: Ints, masks: Ints, scores: Floats, order: Ints, local: Floats, at: int) -> tuple[int, float]:
    """The place in the order where a column gains most, and the gain; it trades places with one after another."""
    v = order[at]
    best, gain = at, 0.0
    before = 0
    for i in range(at):
        before |= 1 << order[i]
    change, inside = 0.0, before
    for i in range(at - 1, -1, -1):
        u = order[i]
        inside ^= 1 << u
        change += _value(starts, masks, scores, u, inside | 1 << v) - local[u]
        found = change + _value(starts, masks, scores, v, inside) - local[v]
        if found > gain:
            best, gain = i, found
    change, inside = 0.0, before
    for i in range(at + 1, order.size):
        u = order[i]
        change += _value(starts, masks, scores, u, inside) - local[u]
        inside |= 1 << u
        found = change + _value(starts, masks, scores, v, inside) - local[v]
        if found > gain:
            best, gain = i, found
    return best, gain


@kernel
def _move(order: Ints, source: int, target: int) -> None:
    v = order[source]
    step = 1 if target > source else -1
    i = source
    while i != target:
        order[i] = order[i + step]
        i += step
    order[target] = v
