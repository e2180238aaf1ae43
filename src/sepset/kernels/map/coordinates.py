"""Coordinate ascent: each variable in turn takes its best state given all others."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.wires import Wires, conditional


def _sweep_work(wires: Wires, *_: object) -> float:
    return float(wires.messages[-1] + wires.states[-1]) * 4.0


@kernel(work=_sweep_work, borrows=True)
def sweep(wires: Wires, unary: Floats, factors: Ints, order: Ints, codes: Ints, out: Floats, cancel: Bytes) -> int:
    """One pass over the variables in an order; changes `codes`, and returns the number of changes.

    A variable changes only to a state that is strictly better; where its present state is impossible, so are all
    states of equal value.

    Args:
        out: room for one number per state.
    """
    changes = 0
    for i in order:
        if cancel[0]:
            return changes
        conditional(wires, unary, factors, i, codes, out)
        best = codes[i]
        for x in range(wires.cards[i]):
            if out[x] > out[best]:
                best = x
        if best != codes[i]:
            codes[i] = best
            changes += 1
    return changes


@kernel(work=_sweep_work, borrows=True)
def tied(
    wires: Wires, unary: Floats, factors: Ints, codes: Ints, rounding: float, out: Floats, cancel: Bytes
) -> int:  # fmt: skip
    """The number of variables that have another possible state of the same value, given the states of all others.

    Args:
        rounding: the difference, relative to the size of a value if that is above one, that counts as none.
        out: room for one number per state.
    """
    count = 0
    for i in range(len(wires.cards)):
        if cancel[0]:
            return count
        conditional(wires, unary, factors, i, codes, out)
        own = out[codes[i]]
        least = own - rounding * max(1.0, abs(own))
        for x in range(wires.cards[i]):
            if x != codes[i] and out[x] >= least and out[x] > -np.inf:
                count += 1
                break
    return count
