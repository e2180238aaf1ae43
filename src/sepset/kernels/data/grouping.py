"""Equal rows found by hashing: each row is a few words, each group a number in order of first appearance."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.kernels.compile import kernel

SMALLEST = 1024
"""Slots of the first table; it doubles whenever half of it is taken, so that few groups stay in the first cache."""

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio in 64 bits: multiplying by it spreads neighbouring words (Knuth, volume 3, section 6.4)."""


@kernel(borrows=True)
def hashed(words: Ints, row: int) -> np.uint64:
    """A hash of one row of words."""
    found = np.uint64(0)
    for w in range(words.shape[1]):
        found = (found ^ np.uint64(words[row, w])) * MULTIPLIER
        found ^= found >> np.uint64(29)
    return found


@kernel(borrows=True)
def same(words: Ints, one: int, other: int) -> bool:
    """Whether two rows are equal."""
    for w in range(words.shape[1]):
        if words[one, w] != words[other, w]:
            return False
    return True


@kernel
def doubled(slots: Ints, words: Ints, firsts: Ints, num_groups: int) -> Ints:
    """A table of twice the size with the groups found so far."""
    size = 2 * len(slots)
    larger = np.full(size, -1, np.int64)
    for group in range(num_groups):
        at = np.int64(hashed(words, firsts[group]) & np.uint64(size - 1))
        while larger[at] >= 0:
            at = (at + 1) & (size - 1)
        larger[at] = group
    return larger


@kernel
def group_rows(words: Ints, groups: Ints, firsts: Ints) -> int:
    """The number of distinct rows; `groups[row]` is each row's group and `firsts[group]` its first row."""
    slots = np.full(SMALLEST, -1, np.int64)
    num_groups = 0
    for row in range(len(words)):
        at = np.int64(hashed(words, row) & np.uint64(len(slots) - 1))
        while slots[at] >= 0 and not same(words, row, firsts[slots[at]]):
            at = (at + 1) & (len(slots) - 1)
        if slots[at] < 0:
            slots[at] = num_groups
            firsts[num_groups] = row
            num_groups += 1
            groups[row] = num_groups - 1
            if 2 * num_groups > len(slots):
                slots = doubled(slots, words, firsts, num_groups)
        else:
            groups[row] = slots[at]
    return num_groups
