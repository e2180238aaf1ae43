"""A* over the sets of columns that come first in an order: pattern databases, and the expansion of sets best first.

The table of known sets is a hash table with open addressing: its keys are masks plus one, zero for an empty slot.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.structure.tables import best_in

FINISHED, PAUSED, FULL = 0, 1, 2


@kernel(inline=True)
def _cost(starts: Ints, masks: Ints, scores: Floats, child: int, inside: int) -> float:
    i = best_in(starts, masks, child, inside)
    return -scores[i] if i >= 0 else np.inf


def _sets_of_group(starts: Ints, masks: Ints, scores: Floats, group: Ints, *_: object) -> float:
    return float(2.0**group.size * group.size * 8)


@kernel(work=_sets_of_group)
def pattern_costs(starts: Ints, masks: Ints, scores: Floats, group: Ints, costs: Floats, cancel: Bytes) -> None:
    """The least cost of placing each subset R of a group last, parents outside the group being free.

    p(R) = min over v in R, the first of R to be placed, of cost(v | all but R) + p(R - v).
    """
    n = starts.size - 1
    full = (1 << n) - 1
    costs[0] = 0.0
    for r in range(1, 1 << group.size):
        if cancel[0]:
            return
        inside = full
        for i in range(group.size):
            if r >> i & 1:
                inside ^= 1 << group[i]
        least = np.inf
        for i in range(group.size):
            if r >> i & 1:
                found = _cost(starts, masks, scores, group[i], inside) + costs[r ^ (1 << i)]
                least = min(least, found)
        costs[r] = least


@kernel(inline=True)
def _estimate(left: int, groups: Ints, ends: Ints, patterns: Floats, offsets: Ints) -> float:
    """The sum over groups of the cost of their columns that are still to be placed."""
    total = 0.0
    start = 0
    for g in range(ends.size):
        r = 0
        for i in range(start, ends[g]):
            if left >> groups[i] & 1:
                r |= 1 << (i - start)
        total += patterns[offsets[g] + r]
        start = ends[g]
    return total


@kernel(inline=True)
def _slot(keys: Ints, mask: int) -> int:
    """Where a set is in the hash table, or the empty slot where it belongs."""
    size = keys.size - 1
    at = (mask * 0x9E3779B97F4A7C1) ^ (mask >> 17)
    at = (at ^ (at >> 29)) & size
    while keys[at] != 0 and keys[at] != mask + 1:
        at = (at + 1) & size
    return at


@kernel
def _push(heap: Floats, items: Ints, count: int, value: float, item: int) -> None:
    i = count
    while i > 0:
        up = (i - 1) >> 1
        if heap[up] <= value:
            break
        heap[i] = heap[up]
        items[i] = items[up]
        i = up
    heap[i] = value
    items[i] = item


@kernel
def _pop(heap: Floats, items: Ints, count: int) -> None:
    """Remove the first entry; the last one takes its place and sinks."""
    value, item = heap[count - 1], items[count - 1]
    count -= 1
    i = 0
    while True:
        down = 2 * i + 1
        if down >= count:
            break
        if down + 1 < count and heap[down + 1] < heap[down]:
            down += 1
        if heap[down] >= value:
            break
        heap[i] = heap[down]
        items[i] = items[down]
        i = down
    heap[i] = value
    items[i] = item


@kernel(inline=True)
def _offer(
    mask: int, column: int, cost: float, total: float, keys: Ints, costs: Floats, last: Bytes, heap: Floats,
    items: Ints, counts: Ints,
) -> None:  # fmt: skip
    """Let a set wait to be expanded, unless it is known at no larger cost."""
    to = _slot(keys, mask)
    if keys[to] == 0:
        keys[to] = mask + 1
        counts[0] += 1
    elif costs[to] <= cost:
        return
    costs[to] = cost
    last[to] = column
    _push(heap, items, counts[1], total, mask)
    counts[1] += 1


def _limit(*args: object) -> float:
    return float(50 * args[-2] * np.size(args[0]))  # type: ignore[operator, arg-type]  # a number and an array


@kernel(work=_limit)
def expand(
    starts: Ints, masks: Ints, scores: Floats, groups: Ints, ends: Ints, patterns: Floats, offsets: Ints, keys: Ints,
    costs: Floats, last: Bytes, heap: Floats, items: Ints, counts: Ints, ceiling: float, limit: int, cancel: Bytes,
) -> int:  # fmt: skip
    """Expand sets in the order of their estimated total cost, at most `limit` of them.

    Args:
        starts, masks, scores: the score table.
        groups, ends, patterns, offsets: the pattern databases.
        keys, costs, last: the hash table: sets, their least cost so far, the column placed last (255: expanded).
        heap, items: estimates and sets that are waiting.
        counts: sets known, sets waiting, sets expanded.
        ceiling: the cost of a DAG that is known; sets that cannot be below it are left out.

    Returns:
        FINISHED: the full set is first, or nothing is waiting; PAUSED; FULL: the tables need more room.
    """
    n = starts.size - 1
    full = (1 << n) - 1
    for _ in range(limit):
        if cancel[0]:
            return PAUSED
        if counts[1] == 0:
            return FINISHED
        if 2 * (counts[0] + n) > keys.size or counts[1] + n > heap.size:
            return FULL
        estimate, mask = heap[0], items[0]
        if mask == full:
            return FINISHED
        _pop(heap, items, counts[1])
        counts[1] -= 1
        at = _slot(keys, mask)
        left = full ^ mask
        here = costs[at]
        if last[at] >= 128 or estimate > here + _estimate(left, groups, ends, patterns, offsets) + 1e-9 * (
            1.0 + abs(here)
        ):
            continue
        last[at] |= 128
        counts[2] += 1
        for v in range(n):
            if left >> v & 1:
                found = here + _cost(starts, masks, scores, v, mask)
                total = found + _estimate(left ^ (1 << v), groups, ends, patterns, offsets)
                if total < ceiling:
                    _offer(mask | 1 << v, v, found, total, keys, costs, last, heap, items, counts)
    return PAUSED


@kernel
def rehash(keys: Ints, costs: Floats, last: Bytes, new_keys: Ints, new_costs: Floats, new_last: Bytes) -> None:
    """Copy a hash table into a larger one."""
    for i in range(keys.size):
        if keys[i] != 0:
            at = _slot(new_keys, keys[i] - 1)
            new_keys[at] = keys[i]
            new_costs[at] = costs[i]
            new_last[at] = last[i]
