"""Counts of many families in one pass: a short block of rows at a time, all families while the codes are in cache.

A family's cell is `offset + sum(code * stride)`. Rows go to several tables in turn, since consecutive additions to one
cell wait for each other; the tables are summed at the end. Rows with a missing code go to an extra cell.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats, Ints, UInt32s
from sepset.kernels.kernel import kernel

TILE = 2048
"""Rows whose cells are computed before they are counted: they stay in the first-level cache."""

LANES = 4
"""Tables that take turns: row `i` goes to table `i % LANES`, however the rows were divided."""


@kernel(borrows=True)
def places(codes: AnyInts, start: int, size: int, columns: Ints, strides: Ints, offset: int, out: UInt32s) -> None:
    """The cell of each of `size` rows from `start` on, in `out`."""
    for i in range(size):
        out[i] = offset
    for c in range(len(columns)):
        part, stride = codes[columns[c], start : start + size], np.int32(strides[c])
        for i in range(size):
            out[i] += np.uint32(np.int32(part[i]) * stride)


@kernel(borrows=True)
def spare_missing(codes: AnyInts, start: int, size: int, columns: Ints, spare: int, out: UInt32s) -> None:
    """Assign rows with a missing code to the extra cell."""
    for c in range(len(columns)):
        part = codes[columns[c], start : start + size]
        for i in range(size):
            if part[i] < 0:
                out[i] = spare


@kernel
def count_rows(
    codes: AnyInts,
    num_rows: int,
    is_complete: bool,
    ptr: Ints,
    columns: Ints,
    strides: Ints,
    offsets: Ints,
    counts: Ints,
) -> None:
    """Add the rows `codes[variable, row]` to `counts[lane, cell]`, whose last cell is the extra one.

    Family `f` has the rows of `codes` and strides at `ptr[f]` to `ptr[f + 1]`, and its first cell at `offsets[f]`.
    """
    place = np.empty(TILE, np.uint32)
    for start in range(0, num_rows, TILE):
        size = min(TILE, num_rows - start)
        for f in range(len(offsets)):
            mine, steps = columns[ptr[f] : ptr[f + 1]], strides[ptr[f] : ptr[f + 1]]
            places(codes, start, size, mine, steps, offsets[f], place)
            if not is_complete:
                spare_missing(codes, start, size, mine, counts.shape[1] - 1, place)
            add_ones(place, size, counts)


@kernel(borrows=True)
def add_ones(place: UInt32s, size: int, counts: Ints) -> None:
    """Add one to the cell of each row."""
    whole = size - size % LANES if len(counts) == LANES else 0
    for i in range(0, whole, LANES):
        counts[0, place[i]] += 1
        counts[1, place[i + 1]] += 1
        counts[2, place[i + 2]] += 1
        counts[3, place[i + 3]] += 1
    for i in range(whole, size):
        counts[0, place[i]] += 1


@kernel
def weigh_rows(
    codes: AnyInts,
    num_rows: int,
    is_complete: bool,
    ptr: Ints,
    columns: Ints,
    strides: Ints,
    offsets: Ints,
    weights: Floats,
    counts: Floats,
) -> None:
    """As `count_rows`, each row adding its weight."""
    place = np.empty(TILE, np.uint32)
    for start in range(0, num_rows, TILE):
        size = min(TILE, num_rows - start)
        for f in range(len(offsets)):
            mine, steps = columns[ptr[f] : ptr[f + 1]], strides[ptr[f] : ptr[f + 1]]
            places(codes, start, size, mine, steps, offsets[f], place)
            if not is_complete:
                spare_missing(codes, start, size, mine, counts.shape[1] - 1, place)
            add_weights(place, size, weights[start : start + size], counts)


@kernel(borrows=True)
def add_weights(place: UInt32s, size: int, weights: Floats, counts: Floats) -> None:
    """Add each row's weight to its cell."""
    whole = size - size % LANES if len(counts) == LANES else 0
    for i in range(0, whole, LANES):
        counts[0, place[i]] += weights[i]
        counts[1, place[i + 1]] += weights[i + 1]
        counts[2, place[i + 2]] += weights[i + 2]
        counts[3, place[i + 3]] += weights[i + 3]
    for i in range(whole, size):
        counts[0, place[i]] += weights[i]
