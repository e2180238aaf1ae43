"""The values of all factors in one array: the scale of each, and where its entries are."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.kernels.kernel import kernel, sizes

# The parts of a layout: the numbers of factors, of places in all their scopes, and of variables; then where the scope
# of each factor begins, the variables in them, their strides, where each factor begins in the store, and the states of
# each variable.
NUM_FACTORS, NUM_PLACES, NUM_VARIABLES, LAYOUT = range(4)


@kernel(work=sizes)
def settle(
    values: Floats, start: Ints, members: Ints, cards: Ints, near: int, safe: int
) -> tuple[Ints, Ints, bool, bool]:
    """The layout of all factors; for each the power of two to divide by so that its largest entry is near one, zero if
    it is near enough, or nothing if all are; whether every factor's range is below `safe` powers of two; and whether
    an entry is zero.

    Args:
        values: the entries of all factors, each in C order.
        start, members: the factors' variables as compressed rows, in the order of their axes.
        cards: the number of states of each variable.
    """
    num, num_places = len(start) - 1, len(members)
    layout, shifts = np.empty(LAYOUT + 2 * (num + 1 + num_places) + len(cards), np.int64), np.zeros(num, np.int64)
    layout[NUM_FACTORS], layout[NUM_PLACES], layout[NUM_VARIABLES] = num, num_places, len(cards)
    scopes = LAYOUT + num + 1
    strides, places = scopes + num_places, scopes + 2 * num_places
    for v in range(len(cards)):
        layout[places + num + 1 + v] = cards[v]
    bits = values.view(np.int64)
    is_safe, is_near, first, num_positive = True, True, 0, 0
    for i in range(num):
        size = 1
        for k in range(start[i + 1] - 1, start[i] - 1, -1):
            layout[scopes + k], layout[strides + k] = members[k], size
            size *= cards[members[k]]
        layout[LAYOUT + i], layout[places + i] = start[i], first
        high, low = np.int64(0), np.int64(2**63 - 1)
        for k in range(np.uint64(first), np.uint64(first + size)):  # unsigned numbers are not looked at for a sign
            high = max(high, bits[k])
            low = min(low, bits[k] if bits[k] > 0 else np.int64(2**63 - 1))
            num_positive += 1 if bits[k] > 0 else 0
        if high > 0:
            top, bottom = (high >> 52) - 1022, (low >> 52) - 1022
            if top - bottom > safe:
                is_safe = False
            if top > near or top < -near:
                shifts[i] = top
                is_near = False
        first += size
    layout[LAYOUT + num], layout[places + num] = num_places, first
    return layout, shifts[:0] if is_near else shifts, is_safe, num_positive < first
