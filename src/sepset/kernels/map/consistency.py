"""Arc consistency: states that no support of some factor contains are impossible."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.wires import AT_LEAST_ONE, PARITY, QUADRATIC, TABLE, Wires, advance


@kernel(borrows=True)
def table_supports(wires: Wires, f: int, live: Bytes, found: Bytes, codes: Ints) -> None:
    """Mark in `found` the states of a factor's slots that some entry of positive value has, all its states live."""
    first, last = wires.starts[f], wires.starts[f + 1]
    size = 1
    for s in range(first, last):
        codes[s - first] = 0
        size *= wires.cards[wires.scope[s]]
    for place in range(size):
        holds = wires.tables[wires.places[f] + place] > -np.inf
        for s in range(first, last):
            holds = holds and live[wires.states[wires.scope[s]] + codes[s - first]] > 0
        if holds:
            for s in range(first, last):
                found[wires.messages[s] + codes[s - first]] = 1
        advance(wires, first, last, codes)


@kernel(borrows=True)
def constraint_supports(wires: Wires, f: int, live: Bytes, found: Bytes) -> None:
    """As `table_supports`, for a constraint on binary variables."""
    first, last = wires.starts[f], wires.starts[f + 1]
    undecided, ones, dead = 0, 0, 0
    for s in range(first, last):
        at = wires.states[wires.scope[s]]
        undecided += live[at] > 0 and live[at + 1] > 0
        ones += live[at] == 0 and live[at + 1] > 0
        dead += live[at] == 0 and live[at + 1] == 0
    for s in range(first, last):
        at = wires.states[wires.scope[s]]
        both = live[at] > 0 and live[at + 1] > 0
        for x in range(2):
            others = ones - (0 if both else int(live[at + 1] > 0))
            rest = undecided - int(both)
            holds = rest > 0
            if not holds:
                holds = (others + x) % 2 == wires.weights[f] if wires.kinds[f] == PARITY else others + x > 0
            found[wires.messages[s] + x] = 1 if live[at + x] > 0 and holds and dead == 0 else 0


def _prune_work(wires: Wires, *_: object) -> float:
    return 10.0 * float(wires.messages[-1] + wires.tables.size)


@kernel(work=_prune_work, borrows=True)
def prune(wires: Wires, live: Bytes, found: Bytes, codes: Ints, cancel: Bytes) -> int:
    """One pass over all factors; returns the number of states that are no longer live.

    Args:
        live: one entry per state of every variable.
        found: room for one entry per state of every slot.
        codes: room for one code per variable of the largest scope.
    """
    gone = 0
    for f in range(len(wires.kinds)):
        if cancel[0]:
            return 0
        if (wires.kinds[f] >= TABLE + 1 and wires.kinds[f] <= QUADRATIC) or wires.kinds[f] > AT_LEAST_ONE:
            continue
        for s in range(wires.starts[f], wires.starts[f + 1]):
            for place in range(wires.messages[s], wires.messages[s + 1]):
                found[place] = 0
        if wires.kinds[f] == TABLE:
            table_supports(wires, f, live, found, codes)
        else:
            constraint_supports(wires, f, live, found)
        for s in range(wires.starts[f], wires.starts[f + 1]):
            i = wires.scope[s]
            for x in range(wires.cards[i]):
                if live[wires.states[i] + x] > 0 and found[wires.messages[s] + x] == 0:
                    live[wires.states[i] + x] = 0
                    gone += 1
    return gone
