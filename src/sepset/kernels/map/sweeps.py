r"""Sweeps over the variables of a network of whole costs, which raise its lower bound at an open node of a search.

Each variable in turn collects what its functions can send to it, gives the least of its costs to the lower bound, and
lends the rest in equal parts to the functions whose other variables are yet to come. All functions are kept as they are
after what they have sent, so that collecting and lending read them in order. Costs are whole numbers in floating point,
infinite where they are forbidden; what was sent in the end is exact.

Reference: Kolmogorov (2015), A new look at reweighted message passing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.map.costs import (
    FORBIDDEN,
    LOWER,
    SETTLED,
    SWEPT,
    UPPER,
    Network,
    State,
    gather,
    minima,
    put,
    remove,
)

RISE = 11
"""Sweeps help while ten of them raise the lower bound by more than a part of two to this power, of it or of the gap."""


class Loose(NamedTuple):
    """A network in which costs move.

    Attributes:
        tables: the costs of functions, less what they have sent.
        own: the costs of all states.
        sent: what each slot was sent, one number per state; see `Network.sent`.
        got: what the slots of a variable are sent at its turn.
    """

    tables: Floats
    own: Floats
    sent: Floats
    got: Floats


@kernel(inner=True, borrows=True)
def extent(network: Network, s: int) -> tuple[int, int, int, int]:
    """Where the entries of a slot's function start, its step, its number of states, and how often they repeat."""
    f, step, i = network.owner[s], network.steps[s], network.scope[s]
    size, at = network.states[i + 1] - network.states[i], network.starts[f]
    v = network.scope[at]
    blocks = network.steps[at] * (network.states[v + 1] - network.states[v]) // (step * size)
    return network.places[f], step, size, blocks


@kernel(inner=True, borrows=True)
def shift(network: Network, tables: Floats, s: int, costs: Floats, first: int) -> None:
    """Add a cost to all entries of a function by the state of the variable of one slot."""
    place, step, size, blocks = extent(network, s)
    for _ in range(blocks):
        for x in range(size):
            cost = costs[first + x]
            for k in range(place, place + step):
                tables[k] += cost
            place += step


@kernel(inner=True, borrows=True)
def collect(network: Network, tables: Floats, s: int, costs: Floats, first: int) -> None:
    """The least cost of a function at each state of the variable of one slot."""
    place, step, size, blocks = extent(network, s)
    for x in range(size):
        costs[first + x] = np.inf
    for _ in range(blocks):
        for x in range(size):
            least = costs[first + x]
            for k in range(place, place + step):
                least = min(least, tables[k])
            costs[first + x] = least
            place += step


@kernel(inner=True, borrows=True)
def visit(network: Network, loose: Loose, i: int, forward: bool, numbers: Ints) -> bool:
    """The turn of one variable; False if no assignment is below the upper bound."""
    own, got, base, last = loose.own, loose.got, network.states[i], network.states[i + 1]
    ahead, behind, offset = 0, 0, len(own)
    for place in range(network.degrees[i], network.degrees[i + 1]):
        s = network.slots[place]
        f, first = network.owner[s], network.sent[s] - offset
        collect(network, loose.tables, s, got, first)
        for x in range(last - base):
            own[base + x] += got[first + x]
        ahead += network.scope[network.starts[f + 1] - 1] > i
        behind += network.scope[network.starts[f]] < i
    least = np.inf
    for x in range(base, last):
        least = min(least, own[x])
    if least == np.inf or numbers[LOWER] + least >= numbers[UPPER]:
        return False
    numbers[LOWER] += np.int64(least)
    most, parts = float(numbers[UPPER] - numbers[LOWER]), max(ahead, behind)
    for place in range(network.degrees[i], network.degrees[i + 1]):
        s = network.slots[place]
        f, first = network.owner[s], network.sent[s] - offset
        lends = network.scope[network.starts[f + 1] - 1] > i if forward else network.scope[network.starts[f]] < i
        for x in range(last - base):
            cost = own[base + x] - least
            if cost >= most:
                got[first + x] = np.inf
                continue
            part = np.floor(cost / parts) if lends else 0.0
            got[first + x] = part - got[first + x]
            loose.sent[first + x] -= got[first + x]
        shift(network, loose.tables, s, got, first)
    for x in range(base, last):
        cost = own[x] - least
        if cost >= most:
            own[x] = np.inf
        elif parts:
            own[x] = cost - (ahead if forward else behind) * np.floor(cost / parts)
        else:
            own[x] = cost
    return True


@kernel(inner=True, borrows=True)
def loosen(network: Network, state: State, loose: Loose) -> None:
    """Take the costs of a state."""
    places = len(loose.own)
    for k in range(len(network.tables)):
        loose.tables[k] = np.inf if network.tables[k] >= FORBIDDEN else float(network.tables[k])
    for k in range(places):
        loose.own[k] = float(state.cells[k]) if state.live[k] else np.inf
    for s in range(len(network.scope)):
        i, first = network.scope[s], network.sent[s] - places
        for x in range(network.states[i + 1] - network.states[i]):
            loose.sent[first + x] = float(state.cells[network.sent[s] + x])
            loose.got[first + x] = -loose.sent[first + x] if state.live[network.states[i] + x] else np.inf
        shift(network, loose.tables, s, loose.got, first)


@kernel(inner=True, borrows=True)
def fasten(network: Network, state: State, loose: Loose, lower: int) -> bool:
    """Let a state send what was sent, in whole numbers, which makes its costs and bound exact; False if it is closed.

    Args:
        lower: the bound before.
    """
    numbers, cells, places = state.numbers, state.cells, len(loose.own)
    for i in range(len(state.left)):
        base, last, least = network.states[i], network.states[i + 1], FORBIDDEN
        for k in range(base, last):
            for place in range(network.degrees[i], network.degrees[i + 1]):
                at = network.sent[network.slots[place]] + k - base
                put(state, k, cells[k] + int(loose.sent[at - places]) - cells[at])
            if state.live[k] and loose.own[k] == np.inf:
                remove(network, state, i, k)
            if state.live[k]:
                least = min(least, cells[k])
        if state.left[i] == 0:
            return False
        lower += least
        for k in range(base, last):
            put(state, k, cells[k] - least)
    for k in range(len(loose.sent)):
        put(state, places + k, int(loose.sent[k]))
    for f in range(len(network.places)):
        gather(network, state, f, -1)
        minima(network, state, f, 0)
        least, first = FORBIDDEN, network.scope[network.starts[f]]
        size = network.states[first + 1] - network.states[first]
        for x in range(size):
            least = min(least, state.least[x])
        if least < 0:  # sums of large numbers were rounded
            lower += least
            for x in range(size):
                at = network.sent[network.starts[f]] + x
                put(state, at, cells[at] + least)
    numbers[LOWER] = lower
    return bool(lower < numbers[UPPER])


def _sweeps_work(network: Network, state: State, loose: Loose, sweeps: int, *_: object) -> float:
    return 4.0 * (1.0 + sweeps) * (len(network.scope) + len(network.tables))


@kernel(work=_sweeps_work, borrows=True)
def sweep(network: Network, state: State, loose: Loose, sweeps: int, cancel: Bytes) -> bool:
    """Sweeps at a node while they help; False if no assignment is below the upper bound."""
    numbers, n = state.numbers, len(state.left)
    lower = before = numbers[LOWER]
    loosen(network, state, loose)
    for turn in range(sweeps):
        if cancel[0]:
            break
        for step in range(n):
            if not visit(network, loose, step if turn % 2 == 0 else n - 1 - step, turn % 2 == 0, numbers):
                return False
        numbers[SWEPT] += 1
        if turn % 10 == 9:
            if numbers[LOWER] - before <= min(numbers[UPPER] - numbers[LOWER], numbers[LOWER]) >> RISE:
                numbers[SETTLED] = 1
                break
            before = numbers[LOWER]
    return bool(fasten(network, state, loose, lower))
