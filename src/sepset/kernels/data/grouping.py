"""Equal rows found by hashing: each row is a few integers, and groups are numbered in order of first appearance."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import AnyInts, Ints
from sepset.kernels.kernel import kernel

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio in 64 bits: multiplying by it spreads neighboring integers (Knuth, volume 3, section 6.4)."""


@kernel(borrows=True)
def hashed(cells: AnyInts, row: int, only_missing: bool) -> np.uint64:
    """A hash of one row, or of which of its cells are negative.

    Integers of 64 bits may differ only in their highest bits, which a product loses; narrower ones need less mixing.
    """
    found = np.uint64(0)
    if only_missing:
        for c in range(cells.shape[1]):
            found = (found ^ np.uint64(cells[row, c] < 0)) * MULTIPLIER
    elif cells.itemsize < 8:
        for c in range(cells.shape[1]):
            found = (found ^ np.uint64(np.uint32(cells[row, c]))) * MULTIPLIER
    else:
        for c in range(cells.shape[1]):
            found = (found ^ np.uint64(cells[row, c])) * MULTIPLIER
            found ^= found >> np.uint64(29)
    return found ^ (found >> np.uint64(32))


@kernel(borrows=True)
def same(cells: AnyInts, one: int, other: int, only_missing: bool) -> bool:
    """Whether two rows are equal, or the same of their cells are negative."""
    for c in range(cells.shape[1]):
        x, y = cells[one, c], cells[other, c]
        if (x < 0) != (y < 0) if only_missing else x != y:
            return False
    return True


@kernel
def larger(slots: Ints, cells: AnyInts, only_missing: bool, firsts: Ints, num_groups: int) -> Ints:
    """A table of four times the size with the groups so far."""
    size = 4 * len(slots)
    found = np.full(size, -1, np.int64)
    for group in range(num_groups):
        at = np.int64(hashed(cells, firsts[group], only_missing) & np.uint64(size - 1))
        while found[at] >= 0:
            at = (at + 1) & (size - 1)
        found[at] = group
    return found


@kernel
def group_rows(cells: AnyInts, only_missing: bool, slots: Ints, groups: Ints, firsts: Ints) -> int:
    """The number of distinct rows; `groups[row]` is each row's group and `firsts[group]` its first row.

    With `only_missing`, rows are equal if the same of their cells are negative. `slots` is a table of -1 whose
    size is a power of two; it grows fourfold whenever it is half full.
    """
    num_groups = 0
    for row in range(len(cells)):
        at = np.int64(hashed(cells, row, only_missing) & np.uint64(len(slots) - 1))
        while slots[at] >= 0 and not same(cells, row, firsts[slots[at]], only_missing):
            at = (at + 1) & (len(slots) - 1)
        if slots[at] < 0:
            slots[at] = num_groups
            firsts[num_groups] = row
            num_groups += 1
            groups[row] = num_groups - 1
            if 2 * num_groups > len(slots):
                slots = larger(slots, cells, only_missing, firsts, num_groups)
        else:
            groups[row] = slots[at]
    return num_groups
