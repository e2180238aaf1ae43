"""Nested loops over groups of axes, and copies of large tensors with their axes in another order, by tiles.

A group is a run of axes that every operand steps through as one: its size, and its strides in the first operand, the
second, and the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.kernels.compiled.sorting import ascending
from sepset.kernels.kernel import kernel

# Columns of a group.
SIZE_OF, STRIDE_A, STRIDE_B, STRIDE_D = 0, 1, 2, 3

# Entries of a tile, and of its part along the nearest axes of either side.
TILE, TILE_LINE = 4096, 64


@kernel(inline=True)
def advance(groups: Any, first: int, outer: int, counter: Any, a: int, b: int, d: int) -> Any:
    """The next position of the first `outer` of nested loops, like an odometer; the first is -1 at the end."""
    g = outer - 1
    while g >= 0:
        row = first + g
        counter[g] += 1
        a += groups[row, 1]
        b += groups[row, 2]
        d += groups[row, 3]
        if counter[g] < groups[row, 0]:
            break
        counter[g] = 0
        a -= groups[row, 0] * groups[row, 1]
        b -= groups[row, 0] * groups[row, 2]
        d -= groups[row, 0] * groups[row, 3]
        g -= 1
    return g, a, b, d


@kernel(inline=True)
def _largest_divisor(n: int, most: int) -> int:
    """The largest divisor up to a limit."""
    found = min(n, most)
    while n % found != 0:
        found -= 1
    return found


@kernel(borrows=True)
def _take_line(groups: Any, first: int, count: int, column: int, inner: Any, most: int) -> int:
    """Move the axes by which one side steps least into the tile, until they fill lines; the size of the tile.

    `inner` has for each group the size of the part that is in the tile, one if it is not.
    """
    line, size = 1, 1
    for g in range(count):
        size *= inner[g]
    done = np.int64(-1)
    while line < TILE_LINE:
        best = -1
        for g in range(count):
            step = groups[first + g, column]
            if step > done and (best < 0 or step < groups[first + best, column]):
                best = g
        if best < 0:
            break
        done = groups[first + best, column]
        if inner[best] == 1:
            inner[best] = _largest_divisor(groups[first + best, SIZE_OF], min(TILE_LINE, most // size))
            size *= inner[best]
        line *= inner[best]
        if inner[best] < groups[first + best, SIZE_OF]:
            break
    return size


@kernel(borrows=True)
def _list_tile(groups: Any, first: int, count: int, column: int, inner: Any, table: Any) -> None:
    """Write the offsets of one side in a tile, the first group of the tile slowest."""
    table[0] = 0
    size = 1
    for g in range(count - 1, -1, -1):
        step = groups[first + g, column]
        for i in range(1, inner[g]):
            for k in range(size):
                table[i * size + k] = table[k] + i * step
        size *= inner[g]


@kernel(borrows=True)
def _copy_tile(w: Any, d: Any, a: Any, to: Any, source: Any, size: Any) -> None:
    for i in range(size):
        w[d + np.uint64(to[i])] = w[a + np.uint64(source[i])]


@kernel
def copy_tiles(w: Any, d: int, a: int, groups: Any, first: int, count: int, cancel: Any) -> None:
    """Copy a large tensor with its axes in another order by tiles, in which either side moves through whole lines.

    The offsets in a tile are listed once: its axes may be many and short.
    """
    inner, counter = np.ones(count, np.int64), np.zeros(count, np.int64)
    _take_line(groups, first, count, STRIDE_D, inner, TILE)
    size = _take_line(groups, first, count, STRIDE_A, inner, TILE)
    to, source = np.empty(size, np.uint32), np.empty(size, np.uint32)
    _list_tile(groups, first, count, STRIDE_D, inner, to)
    _list_tile(groups, first, count, STRIDE_A, inner, source)
    outer = np.empty((count, 4), np.int64)
    for g in range(count):
        outer[g, SIZE_OF] = groups[first + g, SIZE_OF] // inner[g]
        outer[g, STRIDE_A] = groups[first + g, STRIDE_A] * inner[g]
        outer[g, STRIDE_B] = 0
        outer[g, STRIDE_D] = groups[first + g, STRIDE_D] * inner[g]
    outer = outer[ascending(-np.minimum(outer[:, STRIDE_A], outer[:, STRIDE_D]))]
    g = 0
    while g >= 0 and cancel[0] == 0:
        _copy_tile(w, np.uint64(d), np.uint64(a), to, source, np.uint64(size))
        g, a, _, d = advance(outer, 0, count, counter, a, 0, d)
