"""The values of all factors in one array: the scale and the strides of each."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.kernels.kernel import kernel, sizes


@kernel(work=sizes)
def settle(
    values: Floats, offsets: Ints, start: Ints, members: Ints, cards: Ints, near: int, safe: int
) -> tuple[Ints, Ints, bool]:
    """For each factor the power of two to divide by so that its largest entry is near one, zero if it is near enough;
    the stride of each of its variables; and whether every factor's range is below `safe` powers of two.

    Args:
        offsets: the start of each factor in `values`, and the end.
        start, members: the factors' variables as compressed rows, in C order.
        cards: the number of states of each variable.
    """
    num = len(offsets) - 1
    shifts = np.zeros(num, np.int64)
    strides = np.ones(len(members), np.int64)
    bits = values.view(np.int64)
    is_safe = True
    for i in range(num):
        high, low = np.int64(0), np.int64(2**63 - 1)
        for k in range(offsets[i], offsets[i + 1]):
            high = max(high, bits[k])
            low = min(low, bits[k] if bits[k] > 0 else np.int64(2**63 - 1))
        if high > 0:
            top, bottom = (high >> 52) - 1022, (low >> 52) - 1022
            if top - bottom > safe:
                is_safe = False
            if top > near or top < -near:
                shifts[i] = top
        for k in range(start[i + 1] - 2, start[i] - 1, -1):
            strides[k] = strides[k + 1] * cards[members[k + 1]]
    return shifts, strides, is_safe
