"""Nested loops over groups of axes: sums, maxima and products of two operands, and copies; and their order.

Common patterns of strides have innermost loops of their own, which vectorize.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.kernels.compiled.costs import (
    CACHED_ENTRIES,
    INNER_LOOP,
    LINE_ENTRIES,
    LOOP_PRODUCT,
    NEAR_ENTRIES,
    NEAR_PASSES,
    OTHER_STRIDES,
    STEP_BEYOND_CACHE,
    STEP_BEYOND_LINE,
    STEP_IN_LINE,
    STEP_TO_MEMORY,
    STEP_TO_NEIGHBOR,
    THREE_LOOPS,
)
from sepset.kernels.compiled.instructions import SIZE_OF, STRIDE_A, STRIDE_D
from sepset.kernels.compiled.tiles import advance, copy_tiles
from sepset.kernels.kernel import kernel

SUM, MAX, COPY, SET = 0, 1, 2, 3

# Products of the innermost loops between two looks at Ctrl-C: a fraction of a second.
PIECE = np.uint64(2**25)

# Entries of a copy from which it runs by tiles; of runs of neighbors that need no tiles, if both sides have them or if
# the whole stays in a cache.
TILED, RUN, CACHED = 4096, 8, 2**17


@kernel(reassociate=True, borrows=True)
def _sum_block(
    w: Any,
    d: Any,
    a: Any,
    b: Any,
    n3: Any,
    a3: Any,
    b3: Any,
    d3: Any,
    n2: Any,
    a2: Any,
    b2: Any,
    d2: Any,
    n1: Any,
    a1: Any,
    b1: Any,
    d1: Any,
) -> None:
    """Add the products of three innermost groups; common stride patterns have loops of their own, which vectorize."""
    for _ in range(n3):
        for _ in range(n2):
            if d1 == 0:
                total = 0.0
                if a1 == 1 and b1 == 1:
                    for i in range(n1):
                        total += w[a + i] * w[b + i]
                else:
                    for i in range(n1):
                        total += w[a + i * a1] * w[b + i * b1]
                w[d] += total
            elif d1 == 1 and a1 == 1 and b1 == 1:
                for i in range(n1):
                    w[d + i] += w[a + i] * w[b + i]
            elif d1 == 1 and a1 == 1 and b1 == 0:
                s = w[b]
                for i in range(n1):
                    w[d + i] += w[a + i] * s
            elif d1 == 1 and a1 == 0 and b1 == 1:
                s = w[a]
                for i in range(n1):
                    w[d + i] += w[b + i] * s
            else:
                for i in range(n1):
                    w[d + i * d1] += w[a + i * a1] * w[b + i * b1]
            d += d2
            a += a2
            b += b2
        d += d3 - n2 * d2
        a += a3 - n2 * a2
        b += b3 - n2 * b2


@kernel(reassociate=True, borrows=True)
def _sum_rows(
    w: Any, d: Any, a: Any, b: Any, n3: Any, a3: Any, b3: Any, d3: Any, n2: Any, b2: Any, d2: Any, n1: Any
) -> None:
    """Add the products of runs of neighbors, where the first operand has one run for all that the second steps through:
    four sums at a time, for which it is read once."""
    whole = n2 // np.uint64(4) * np.uint64(4)
    for _ in range(n3):
        for j in range(np.uint64(0), whole, np.uint64(4)):
            x, to = b + j * b2, d + j * d2
            y, z, v = x + b2, x + np.uint64(2) * b2, x + np.uint64(3) * b2
            first = second = third = fourth = 0.0
            for i in range(n1):
                s = w[a + i]
                first += s * w[x + i]
                second += s * w[y + i]
                third += s * w[z + i]
                fourth += s * w[v + i]
            w[to] += first
            w[to + d2] += second
            w[to + np.uint64(2) * d2] += third
            w[to + np.uint64(3) * d2] += fourth
        for j in range(whole, n2):
            total = 0.0
            for i in range(n1):
                total += w[a + i] * w[b + j * b2 + i]
            w[d + j * d2] += total
        d += d3
        a += a3
        b += b3


@kernel(inline=True)
def _set_block(
    w: Any,
    d: Any,
    a: Any,
    b: Any,
    n3: Any,
    a3: Any,
    b3: Any,
    d3: Any,
    n2: Any,
    a2: Any,
    b2: Any,
    d2: Any,
    n1: Any,
    a1: Any,
    b1: Any,
    d1: Any,
) -> None:
    """Write the products of three innermost groups."""
    for _ in range(n3):
        for _ in range(n2):
            if d1 == 1 and a1 == 1 and b1 == 1:
                for i in range(n1):
                    w[d + i] = w[a + i] * w[b + i]
            elif d1 == 1 and a1 == 1 and b1 == 0:
                s = w[b]
                for i in range(n1):
                    w[d + i] = w[a + i] * s
            elif d1 == 1 and a1 == 0 and b1 == 1:
                s = w[a]
                for i in range(n1):
                    w[d + i] = w[b + i] * s
            else:
                for i in range(n1):
                    w[d + i * d1] = w[a + i * a1] * w[b + i * b1]
            d += d2
            a += a2
            b += b2
        d += d3 - n2 * d2
        a += a3 - n2 * a2
        b += b3 - n2 * b2


@kernel(borrows=True)
def _largest(w: Any, a: Any, a1: Any, b: Any, b1: Any, n: Any) -> float:
    """The largest product of two rows, at least zero, by four maxima that do not wait for each other."""
    first = second = third = fourth = 0.0
    whole = n // np.uint64(4) * np.uint64(4)
    step, other = np.uint64(4) * a1, np.uint64(4) * b1
    for _ in range(np.uint64(0), whole, np.uint64(4)):
        first = max(first, w[a] * w[b])
        second = max(second, w[a + a1] * w[b + b1])
        third = max(third, w[a + np.uint64(2) * a1] * w[b + np.uint64(2) * b1])
        fourth = max(fourth, w[a + np.uint64(3) * a1] * w[b + np.uint64(3) * b1])
        a += step
        b += other
    for i in range(n - whole):
        first = max(first, w[a + i * a1] * w[b + i * b1])
    return max(max(first, second), max(third, fourth))


@kernel(inline=True)
def _max_block(
    w: Any,
    d: Any,
    a: Any,
    b: Any,
    n3: Any,
    a3: Any,
    b3: Any,
    d3: Any,
    n2: Any,
    a2: Any,
    b2: Any,
    d2: Any,
    n1: Any,
    a1: Any,
    b1: Any,
    d1: Any,
) -> None:
    """Keep the largest products of three innermost groups; common stride patterns have loops of their own."""
    for _ in range(n3):
        for _ in range(n2):
            if d1 == 0:
                w[d] = max(w[d], _largest(w, a, a1, b, b1, n1))
            elif d1 == 1 and a1 == 1 and b1 == 1:
                for i in range(n1):
                    value, kept = w[a + i] * w[b + i], w[d + i]
                    w[d + i] = value if value > kept else kept
            elif d1 == 1 and a1 == 1 and b1 == 0:
                s = w[b]
                for i in range(n1):
                    value, kept = w[a + i] * s, w[d + i]
                    w[d + i] = value if value > kept else kept
            elif d1 == 1 and a1 == 0 and b1 == 1:
                s = w[a]
                for i in range(n1):
                    value, kept = w[b + i] * s, w[d + i]
                    w[d + i] = value if value > kept else kept
            else:
                for i in range(n1):
                    value = w[a + i * a1] * w[b + i * b1]
                    if value > w[d + i * d1]:
                        w[d + i * d1] = value
            d += d2
            a += a2
            b += b2
        d += d3 - n2 * d2
        a += a3 - n2 * a2
        b += b3 - n2 * b2


@kernel(inline=True)
def _copy_block(
    w: Any, d: Any, a: Any, n3: Any, a3: Any, d3: Any, n2: Any, a2: Any, d2: Any, n1: Any, a1: Any, d1: Any
) -> None:
    """Copy three innermost groups."""
    for _ in range(n3):
        for _ in range(n2):
            for i in range(n1):
                w[d + i * d1] = w[a + i * a1]
            d += d2
            a += a2
        d += d3 - n2 * d2
        a += a3 - n2 * a2


@kernel(inner=True)
def copy(w: Any, d: int, a: int, groups: Any, first: int, count: int, counter: Any, cancel: Any) -> None:
    """Copy a tensor with its axes in another order."""
    size = 1
    for g in range(first, first + count):
        size *= groups[g, SIZE_OF]
    last = first + count - 1
    is_run = groups[last, SIZE_OF] >= RUN and groups[last, STRIDE_D] == 1
    if size < TILED or (is_run and (size <= CACHED or groups[last, STRIDE_A] == 1)):
        loops(w, d, a, 0, groups, first, count, COPY, counter, cancel)
    else:
        copy_tiles(w, d, a, groups, first, count, cancel)


@kernel(inline=True)
def _unsigned(groups: Any, row: int) -> Any:
    return np.uint64(groups[row, 0]), np.uint64(groups[row, 1]), np.uint64(groups[row, 2]), np.uint64(groups[row, 3])


@kernel(borrows=True, inner=True)
def loops(
    w: Any, d: int, a: int, b: int, groups: Any, first: int, count: int, mode: int, counter: Any, cancel: Any
) -> None:
    """Run groups `first` to `first + count` as nested loops, to sum, maximize, copy a to d, or write products.

    The innermost three run on unsigned numbers, whose indices need no test for negative values, and so vectorize. Long
    ones run in pieces, before each of which `cancel` ends the loops.
    """
    last = first + count - 1
    n1, a1, b1, d1 = _unsigned(groups, last)
    n2, a2, b2, d2 = _unsigned(groups, last - 1)
    n3, a3, b3, d3 = np.uint64(1), np.uint64(0), np.uint64(0), np.uint64(0)
    outer = count - 2
    if outer > 0:
        outer -= 1
        n3, a3, b3, d3 = _unsigned(groups, last - 2)
    for g in range(outer):
        counter[g] = 0
    most = max(np.uint64(1), PIECE // (n2 * n1))
    while True:
        to, x, y, left = np.uint64(d), np.uint64(a), np.uint64(b), n3
        while left > np.uint64(0) and cancel[0] == 0:
            n = min(left, most)
            if mode == SUM and d1 == 0 and a1 == 1 and b1 == 1 and a2 == 0:
                _sum_rows(w, to, x, y, n, a3, b3, d3, n2, b2, d2, n1)
            elif mode == SUM and d1 == 0 and a1 == 1 and b1 == 1 and b2 == 0:
                _sum_rows(w, to, y, x, n, b3, a3, d3, n2, a2, d2, n1)
            elif mode == SUM:
                _sum_block(w, to, x, y, n, a3, b3, d3, n2, a2, b2, d2, n1, a1, b1, d1)
            elif mode == SET:
                _set_block(w, to, x, y, n, a3, b3, d3, n2, a2, b2, d2, n1, a1, b1, d1)
            elif mode == MAX:
                _max_block(w, to, x, y, n, a3, b3, d3, n2, a2, b2, d2, n1, a1, b1, d1)
            else:
                _copy_block(w, to, x, n, a3, d3, n2, a2, d2, n1, a1, d1)
            to, x, y, left = to + n * d3, x + n * a3, y + n * b3, left - n
        g, a, b, d = advance(groups, first, outer, counter, a, b, d)
        if g < 0 or cancel[0] != 0:
            return


@kernel(borrows=True)
def _reach(stride: int, far: float) -> float:
    """Nanoseconds to step an operand by a stride: a neighbor, within a cache line, or further."""
    if stride <= 1:
        return STEP_TO_NEIGHBOR * stride
    return STEP_IN_LINE if stride <= LINE_ENTRIES else far


@kernel(borrows=True)
def _inner_cost(groups: Any, g: int, far: float) -> float:
    """Nanoseconds per product if this group is innermost."""
    is_plain = groups[g, 3] == 0 or (groups[g, 3] == 1 and groups[g, 1] <= 1 and groups[g, 2] <= 1)
    start = INNER_LOOP if is_plain else INNER_LOOP + OTHER_STRIDES
    steps = _reach(groups[g, 1], far) + _reach(groups[g, 2], far) + _reach(groups[g, 3], far)
    return float(LOOP_PRODUCT + steps + start / groups[g, 0])


@kernel(borrows=True, inner=True)
def line_cost(groups: Any, first: int, count: int, column: int, entries: float) -> float:
    """Nanoseconds per product to read or write the lines of a large operand that are not used as wholes, one entry
    soon after the other."""
    run, passes = 1, 1
    for g in range(first + count - 1, first - 1, -1):
        if entries <= NEAR_ENTRIES or run >= LINE_ENTRIES or passes > NEAR_PASSES:
            break
        run *= groups[g, 0] if groups[g, column] == run else 1
        passes *= groups[g, 0] if run < LINE_ENTRIES else 1
    return STEP_TO_MEMORY if passes > NEAR_PASSES else 0.0


@kernel(borrows=True)
def _move(groups: Any, source: int, target: int) -> None:
    """Move a group inward to a place; those between move outward."""
    for c in range(4):
        moved = groups[source, c]
        for g in range(source, target):
            groups[g, c] = groups[g + 1, c]
        groups[target, c] = moved


@kernel(borrows=True, inner=True)
def order_loops(groups: Any, first: int, count: int, entries: float) -> float:
    """Move the group that is cheapest as the innermost there, and the longest ones before it if the largest tensor has
    few entries; nanoseconds per product."""
    far = STEP_BEYOND_LINE if entries <= NEAR_ENTRIES else STEP_BEYOND_CACHE
    last = first + count - 1
    best, cost = last, _inner_cost(groups, last, far)
    for g in range(first, last):
        other = _inner_cost(groups, g, far)
        if other < cost:
            best, cost = g, other
    _move(groups, best, last)
    for place in range(last - 1, max(first, last - 3) if entries <= CACHED_ENTRIES else last - 1, -1):
        longest = place
        for g in range(first, place):
            longest = g if groups[g, 0] > groups[longest, 0] else longest
        _move(groups, longest, place)
    third = groups[last - 2, 0] if count > 2 else 1
    return float(cost + THREE_LOOPS / (groups[last, 0] * groups[last - 1, 0] * third))


@kernel(borrows=True, inner=True)
def stream(groups: Any, first: int, count: int, big_a: bool, big_b: bool, big_d: bool) -> None:
    """Move groups that every large operand steps through outward: it is read once, and the rest stays in cache."""
    last = first + count - 1
    inner = groups[last, 0]
    for g in range(first, last):
        if (big_a and groups[g, 1] == 0) or (big_b and groups[g, 2] == 0) or (big_d and groups[g, 3] == 0):
            inner *= groups[g, 0]
    front = first
    for g in range(first, last if inner <= CACHED_ENTRIES else first):
        if (big_a and groups[g, 1] == 0) or (big_b and groups[g, 2] == 0) or (big_d and groups[g, 3] == 0):
            continue
        for c in range(4):
            moved = groups[g, c]
            for k in range(g, front, -1):
                groups[k, c] = groups[k - 1, c]
            groups[front, c] = moved
        front += 1
