"""Nested loops over groups of axes; copies of large tensors with their axes in another order, and products, by tiles.

A group is a run of axes that every operand steps through as one: its size, and its strides in the first operand, the
second, and the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.kernels.compiled.instructions import SIZE_OF, STRIDE_A, STRIDE_B, STRIDE_D
from sepset.kernels.compiled.sorting import ascending
from sepset.kernels.kernel import kernel
from sepset.kernels.vectors import LANES, turn_vectors

# Passes of the innermost loop up to which a step with so many products runs by tiles.
SHORT, TILED_PRODUCTS = 3, 2**14

# Entries of a tile, and of its part along the nearest axes of either side.
TILE, TILE_LINE = 4096, 64

# Units of the longest axis of a square.
SIDE = 4096


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


@kernel(borrows=True, inner=True)
def is_tiled(groups: Any, first: int, count: int) -> bool:
    """Whether loops run by tiles: many, with a short innermost one."""
    last = first + count - 1
    if groups[last, SIZE_OF] > SHORT:
        return False
    work = 1
    for g in range(first, last + 1):
        work *= groups[g, SIZE_OF]
    return bool(work >= TILED_PRODUCTS)


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
    done = np.int64(0)
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


@kernel(borrows=True)
def _nearest(groups: Any, first: int, count: int, column: int, step: int) -> int:
    """The group of a stride on one side, or -1."""
    for g in range(first, first + count):
        if groups[g, column] == step and groups[g, SIZE_OF] > 1:
            return g
    return -1


@kernel(borrows=True)
def _side(groups: Any, first: int, count: int, column: int, other: int, unit: int, inner: Any, offsets: Any) -> int:
    """The number of units of the groups that fill a vector on one side, and where each is on the other side; zero if a
    group is in use already, or if they are too many."""
    size = 1
    while size * unit < LANES:
        g = _nearest(groups, first, count, column, size * unit)
        if g < 0 or inner[g - first] == 1 or size * groups[g, SIZE_OF] > len(offsets):
            return 0
        inner[g - first] = 1
        for i in range(groups[g, SIZE_OF] - 1, -1, -1):
            for k in range(size):
                offsets[i * size + k] = offsets[k] + i * groups[g, other]
        size *= groups[g, SIZE_OF]
    return size


@kernel
def _outer(groups: Any, first: int, count: int, inner: Any) -> Any:
    """The groups that are not in use, those of the smallest strides last."""
    outer = np.empty((count, 4), np.int64)
    num = 0
    for g in range(count):
        if inner[g] == 0:
            for c in range(4):
                outer[num, c] = groups[first + g, c]
            num += 1
    outer = outer[:num]
    return outer[ascending(-np.minimum(outer[:, STRIDE_A], outer[:, STRIDE_D]))]


@kernel(inner=True)
def copy_squares(w: Any, d: int, a: int, groups: Any, first: int, count: int, cancel: Any) -> bool:
    """Copy a tensor with its axes in another order by squares of vectors on either side; whether it has any.

    Neighbors on both sides are units of these squares. Squares overlap where the axes of a side do not fill them.
    """
    inner, counter = np.zeros(count, np.int64), np.zeros(count, np.int64)
    columns, targets = np.zeros(SIDE, np.int64), np.zeros(SIDE, np.int64)
    g, unit = 0, 1
    while unit < LANES:
        g = _nearest(groups, first, count, STRIDE_D, unit)
        if g < 0 or groups[g, STRIDE_A] != unit:
            break
        inner[g - first] = 1
        unit *= groups[g, SIZE_OF]
    width = _side(groups, first, count, STRIDE_D, STRIDE_A, unit, inner, columns)
    height = _side(groups, first, count, STRIDE_A, STRIDE_D, unit, inner, targets)
    if LANES % unit != 0 or unit == LANES or width == 0 or height == 0:
        return False
    side, outer = LANES // unit, _outer(groups, first, count, inner)
    while cancel[0] == 0:
        for i in range(0, height, side):
            row = min(i, height - side)
            for j in range(0, width, side):
                column = min(j, width - side)
                turn_vectors(w, a + unit * row, columns, column, w, d + unit * column, targets, row, 1, unit)
        g, a, _, d = advance(outer, 0, len(outer), counter, a, 0, d)
        if g < 0:
            break
    return True


@kernel(inner=True)
def copy_tiles(w: Any, d: int, a: int, groups: Any, first: int, count: int, cancel: Any) -> None:
    """Copy a large tensor with its axes in another order by tiles, in which either side moves through whole lines.

    The offsets in a tile are listed once: its axes may be many and short.
    """
    if copy_squares(w, d, a, groups, first, count, cancel):
        return
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


@kernel(borrows=True)
def _multiply_tile(
    w: Any, d: Any, a: Any, b: Any, to: Any, first: Any, second: Any, size: Any, is_set: bool, is_max: bool
) -> None:
    if is_set:
        for i in range(size):
            w[d + np.uint64(to[i])] = w[a + np.uint64(first[i])] * w[b + np.uint64(second[i])]
    elif is_max:
        for i in range(size):
            value = w[a + np.uint64(first[i])] * w[b + np.uint64(second[i])]
            w[d + np.uint64(to[i])] = max(w[d + np.uint64(to[i])], value)
    else:
        for i in range(size):
            w[d + np.uint64(to[i])] += w[a + np.uint64(first[i])] * w[b + np.uint64(second[i])]


@kernel(borrows=True)
def _shape(groups: Any, first: int, count: int, inner: Any) -> int:
    """Choose a tile in which all three tensors move through whole lines; its size."""
    for g in range(count):
        inner[g] = 1
    _take_line(groups, first, count, STRIDE_D, inner, TILE)
    _take_line(groups, first, count, STRIDE_A, inner, TILE)
    return _take_line(groups, first, count, STRIDE_B, inner, TILE)


@kernel(inner=True)
def num_tiles(groups: Any, first: int, count: int) -> int:
    """The number of tiles of the result."""
    inner = np.ones(count, np.int64)
    _shape(groups, first, count, inner)
    num = 1
    for g in range(count):
        num *= groups[first + g, SIZE_OF] // inner[g] if groups[first + g, STRIDE_D] > 0 else 1
    return num


@kernel(inner=True)
def multiply_tiles(
    w: Any,
    d: int,
    a: int,
    b: int,
    groups: Any,
    first: int,
    count: int,
    is_set: bool,
    is_max: bool,
    tile: int,
    end: int,
    cancel: Any,
) -> None:
    """Write, maximize or add up the products of two tensors by tiles, for some tiles of the result.

    For axes of few states, where nested loops would begin more often than they run.
    """
    inner, counter = np.ones(count, np.int64), np.zeros(count, np.int64)
    size = _shape(groups, first, count, inner)
    to, left, right = np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(size, np.uint32)
    _list_tile(groups, first, count, STRIDE_D, inner, to)
    _list_tile(groups, first, count, STRIDE_A, inner, left)
    _list_tile(groups, first, count, STRIDE_B, inner, right)
    outer, key = np.empty((count, 4), np.int64), np.empty(count, np.int64)
    num = 0
    for g in range(count):
        outer[g, SIZE_OF] = groups[first + g, SIZE_OF] // inner[g]
        key[g] = 0
        for c in range(1, 4):
            outer[g, c] = groups[first + g, c] * inner[g]
            key[g] = min(key[g], -outer[g, c])
        if outer[g, STRIDE_D] > 0:
            key[g] -= 2**60
            num += 1
    outer = outer[ascending(key)]  # axes of the result first: each of its tiles is complete before the next
    for number in range(tile, end):
        x, y, z, rest = a, b, d, number
        for g in range(num - 1, -1, -1):
            code = rest % outer[g, SIZE_OF]
            rest //= outer[g, SIZE_OF]
            x, y, z = x + code * outer[g, STRIDE_A], y + code * outer[g, STRIDE_B], z + code * outer[g, STRIDE_D]
        g = 0
        while g >= 0 and cancel[0] == 0:
            _multiply_tile(
                w, np.uint64(z), np.uint64(x), np.uint64(y), to, left, right, np.uint64(size), is_set, is_max
            )
            g, x, y, z = advance(outer, num, count - num, counter, x, y, z)
