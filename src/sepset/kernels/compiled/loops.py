"""Nested loops over groups of axes: sums, maxima and products of two operands, and copies.

Common patterns of strides have innermost loops of their own, which vectorize.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
            if mode == SUM:
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
