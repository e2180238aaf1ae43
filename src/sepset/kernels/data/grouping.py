"""Equal rows found by hashing: each row is a few integers, and groups are numbered in order of first appearance."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import AnyInts, Bytes, Ints
from sepset.kernels.kernel import kernel

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio in 64 bits: multiplying by it spreads neighboring integers (Knuth, volume 3, section 6.4)."""


@kernel(borrows=True)
def hashed(cells: AnyInts, row: int, shift: int) -> np.uint64:
    """A hash of one row, of each cell without its last `shift` bits.

    Integers of 64 bits may differ only in their highest bits, which a product loses; narrower ones need less mixing.
    """
    found = np.uint64(0)
    if cells.itemsize < 8:
        for c in range(cells.shape[1]):
            found = (found ^ np.uint64(np.uint32(cells[row, c] >> shift))) * MULTIPLIER
        return found ^ (found >> np.uint64(32))
    for c in range(cells.shape[1]):
        found = (found ^ np.uint64(cells[row, c] >> shift)) * MULTIPLIER
        found ^= found >> np.uint64(29)
    return found


@kernel(borrows=True)
def same(cells: AnyInts, one: int, other: int, shift: int) -> bool:
    """Whether two rows are equal without the last `shift` bits of their cells."""
    for c in range(cells.shape[1]):
        if (cells[one, c] ^ cells[other, c]) >> shift != 0:
            return False
    return True


@kernel
def larger(slots: Ints, cells: AnyInts, shift: int, firsts: Ints, num_groups: int) -> Ints:
    """A table of four times the size with the groups so far."""
    size = 4 * len(slots)
    found = np.full(size, -1, np.int64)
    for group in range(num_groups):
        at = np.int64(hashed(cells, firsts[group], shift) & np.uint64(size - 1))
        while found[at] >= 0:
            at = (at + 1) & (size - 1)
        found[at] = group
    return found


@kernel
def group_rows(cells: AnyInts, only_missing: bool, slots: Ints, groups: Ints, firsts: Ints, cancel: Bytes) -> int:
    """The number of distinct rows; `groups[row]` is each row's group and `firsts[group]` its first row.

    With `only_missing`, rows are equal if the same of their cells are negative. `slots` is a table of -1 whose
    size is a power of two; it grows fourfold whenever it is half full. Canceled, it ends in the middle.
    """
    num_groups, shift = 0, 8 * cells.itemsize - 1 if only_missing else 0  # only the sign is left
    for row in range(len(cells)):
        if cancel[0]:
            break
        at = np.int64(hashed(cells, row, shift) & np.uint64(len(slots) - 1))
        while slots[at] >= 0 and not same(cells, row, firsts[slots[at]], shift):
            at = (at + 1) & (len(slots) - 1)
        if slots[at] < 0:
            slots[at] = num_groups
            firsts[num_groups] = row
            num_groups += 1
            groups[row] = num_groups - 1
            if 2 * num_groups > len(slots):
                slots = larger(slots, cells, shift, firsts, num_groups)
        else:
            groups[row] = slots[at]
    return num_groups
