"""Assignments decoded from max-product messages: variable by variable, each given those before it."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.loopy import cavities
from sepset.kernels.propagation.maxima import largest
from sepset.kernels.propagation.messages import factor_messages
from sepset.kernels.propagation.wires import Wires, factor_value


def _decode_work(wires: Wires, *_: object) -> float:
    return 60.0 * float(wires.messages[-1] + wires.states[-1] + wires.tables.size)


@kernel(borrows=True)
def best_state(values: Floats, at: int, size: int) -> int:
    """The first state of largest value."""
    best = 0
    for x in range(1, size):
        if values[at + x] > values[at + best]:
            best = x
    return best


@kernel(borrows=True)
def fix_state(h: Floats, at: int, size: int, code: int) -> None:
    """Leave one state."""
    for x in range(size):
        h[at + x] = 0.0 if x == code else -np.inf


@kernel(work=_decode_work, borrows=True)
def decode_factors(
    wires: Wires, order: Ints, rhos: Floats, beliefs: Floats, messages: Floats, h: Floats, out: Floats, room: Floats,
    codes: Ints, found: Ints, cancel: Bytes,
) -> None:  # fmt: skip
    """Assign the variables of each factor in order, each its best state in the factor's belief given those before.

    Args:
        order: the factors; on a forest breadth first, so that the result has the largest value, ties or not.
        found: -1 for every variable at first, then its code.
    """
    for f in order:
        if cancel[0]:
            return
        base, first, last = wires.messages[wires.starts[f]], wires.starts[f], wires.starts[f + 1]
        cavities(wires, f, beliefs, messages, h)
        for s in range(first, last):
            i = wires.scope[s]
            if found[i] >= 0:
                fix_state(h, wires.messages[s] - base, wires.cards[i], found[i])
        for s in range(first, last):
            i, at = wires.scope[s], wires.messages[s] - base
            if found[i] < 0:
                size = wires.cards[i]
                factor_messages(wires, f, 1.0 / rhos[f], h, True, out, room, codes)
                for x in range(size):
                    out[at + x] += h[at + x]
                is_open = largest(out[at : at + size]) > -np.inf
                found[i] = best_state(out, at, size) if is_open else best_state(beliefs, wires.states[i], size)
                fix_state(h, at, size, found[i])
    for i in range(len(found)):
        if found[i] < 0:
            found[i] = best_state(beliefs, wires.states[i], wires.cards[i])


@kernel(work=_decode_work, borrows=True)
def largest_loss(
    wires: Wires, rhos: Floats, beliefs: Floats, messages: Floats, h: Floats, out: Floats, room: Floats, codes: Ints,
    found: Ints, cancel: Bytes,
) -> float:  # fmt: skip
    """The most by which an assignment is below the maximum of the log belief of a variable or factor."""
    loss = 0.0
    for i in range(len(found)):
        own = wires.states[i]
        loss = max(loss, largest(beliefs[own : own + wires.cards[i]]) - beliefs[own + found[i]])
    for f in range(len(wires.kinds)):
        if cancel[0]:
            return np.inf
        cavities(wires, f, beliefs, messages, h)
        factor_messages(wires, f, 1.0 / rhos[f], h, True, out, room, codes)
        base, first = wires.messages[wires.starts[f]], wires.starts[f]
        value = factor_value(wires, f, found) / rhos[f]
        for s in range(first, wires.starts[f + 1]):
            value += h[wires.messages[s] - base + found[wires.scope[s]]]
        size = wires.cards[wires.scope[first]]
        for x in range(size):
            out[x] += h[x]
        loss = max(loss, largest(out[:size]) - value)
    return loss
