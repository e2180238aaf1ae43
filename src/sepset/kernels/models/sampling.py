"""Forward sampling of discrete networks: one pass over a tile of rows, one variable at a time.

Every variable has the cumulative rows of its table without their last entry (which is one): a uniform number `u`
draws the state `#{j : cumulative[j] <= u}`. Random numbers are xoshiro256++ (Blackman and Vigna, 2018), seeded for
each chunk of rows, so that results do not depend on threads.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats, Ints, UInt64s
from sepset.kernels.kernel import kernel

TILE = 2048
"""Rows sampled together: their parent codes and places stay in the first-level cache."""

SCAN = 12
"""The largest number of thresholds for a linear scan; more are searched by bisection."""

UNIT = 1.0 / 9007199254740992.0
"""Scales the upper 53 bits of a random integer to [0, 1)."""


@kernel(borrows=True)
def fill_uniform(state: UInt64s, out: Floats, size: int) -> None:
    """The next `size` uniform numbers of the generator `state`, which is updated."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for i in range(size):
        mixed = s0 + s3
        word = ((mixed << np.uint64(23)) | (mixed >> np.uint64(41))) + s0
        out[i] = np.float64(word >> np.uint64(11)) * UNIT
        shifted = s1 << np.uint64(17)
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= shifted
        s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3


@kernel(borrows=True)
def search(cumulative: Floats, start: int, size: int, u: float) -> int:
    """The number of `size` ascending thresholds from `start` on that are at most `u`."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if cumulative[start + middle] <= u:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(work=lambda codes, first, last, children, *rest: 4 * (last - first) * len(children))
def forward(
    codes: AnyInts,
    first: int,
    last: int,
    children: Ints,
    thresholds: Ints,
    offsets: Ints,
    parent_ptr: Ints,
    parents: Ints,
    strides: Ints,
    cumulative: Floats,
    state: UInt64s,
) -> None:
    """Draw rows `first` to `last` of `codes[variable, row]` for each of `children`, parents before children.

    Child `c` has `thresholds[c]` thresholds per row of its table, from `cumulative[offsets[c]]` on; its parents' rows
    of `codes` and their strides (in thresholds) are at `parent_ptr[c]` to `parent_ptr[c + 1]`.
    """
    uniform = np.empty(TILE, np.float64)
    place = np.empty(TILE, np.int64)
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        for c in range(len(children)):
            child, num = children[c], thresholds[c]
            if num == 0:
                for i in range(size):
                    codes[child, start + i] = 0
                continue
            fill_uniform(state, uniform, size)
            for i in range(size):
                place[i] = offsets[c]
            for p in range(parent_ptr[c], parent_ptr[c + 1]):
                parent, stride = parents[p], strides[p]
                for i in range(size):
                    place[i] += codes[parent, start + i] * stride
            if num == 1:
                for i in range(size):
                    codes[child, start + i] = np.int64(uniform[i] >= cumulative[place[i]])
            elif num == 2:
                for i in range(size):
                    u, at = uniform[i], place[i]
                    codes[child, start + i] = np.int64(u >= cumulative[at]) + np.int64(u >= cumulative[at + 1])
            elif num <= SCAN:
                for i in range(size):
                    u, at = uniform[i], place[i]
                    found = np.int64(0)
                    for j in range(num):
                        found += np.int64(u >= cumulative[at + j])
                    codes[child, start + i] = found
            else:
                for i in range(size):
                    codes[child, start + i] = search(cumulative, place[i], num, uniform[i])
