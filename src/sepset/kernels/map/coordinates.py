"""Coordinate ascent: each variable in turn takes its best state given all others."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.wires import Wires, conditional


def _sweep_work(wires: Wires, *_: object) -> float:
    return float(wires.messages[-1] + wires.states[-1]) * 4.0


@kernel(work=_sweep_work, borrows=True)
def sweep(
    wires: Wires, unary: Floats, factors: Ints, order: Ints, codes: Ints, due: Bytes, out: Floats, cancel: Bytes
) -> int:  # fmt: skip
    """One pass over the variables in an order; changes `codes`, and returns the number of changes.

    A variable changes only to a state that is strictly better; where its present state is impossible, so are all
    states of equal value.

    Args:
        due: whether each variable is visited: one that was has the best state until a neighbor changes. It is kept up.
        out: room for one number per state.
    """
    changes = 0
    for i in order:
        if cancel[0]:
            return changes
        if not due[i]:
            continue
        due[i] = 0
        conditional(wires, unary, factors, i, codes, out)
        best = codes[i]
        for x in range(wires.cards[i]):
            if out[x] > out[best]:
                best = x
        if best != codes[i]:
            codes[i] = best
            changes += 1
            _mark_neighbors(wires, factors, i, due)
    return changes


@kernel(inner=True, borrows=True)
def _mark_neighbors(wires: Wires, factors: Ints, i: int, due: Bytes) -> None:
    """Let the variables that share a factor with a variable be visited."""
    for place in range(wires.degrees[i], wires.degrees[i + 1]):
        f = factors[wires.slots[place]]
        for s in range(wires.starts[f], wires.starts[f + 1]):
            if wires.scope[s] != i:
                due[wires.scope[s]] = 1


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
