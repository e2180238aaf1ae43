r"""Soft arc consistency: costs move from functions to variables and to the lower bound until no simple move raises it.

A function is arc consistent if no cost can move to one of its variables; directionally so if none can move to its first
variable even when the costs of the others are lent to it; and a variable is existentially consistent if some state has
no cost and no cost can move to it that way from any of its functions.

Reference: de Givry, Heras, Zytnicki & Larrosa (2005), Existential arc consistency; Sanchez, de Givry & Schiex (2008),
for functions of three variables.
"""

from __future__ import annotations

from sepset.base.arraytypes import Bytes
from sepset.kernels.kernel import kernel
from sepset.kernels.map.costs import (
    FAILED,
    HEIGHT,
    LATEST,
    LOWER,
    ROOM,
    UPPER,
    WORK,
    Network,
    State,
    gather,
    is_free,
    minima,
    put,
    remove,
    settle,
    wait,
)

OFTEN = 3
"""How often each function is revised on average in one propagation, at most."""


@kernel(inner=True, borrows=True)
def receive(network: Network, state: State, s: int, gives_back: bool) -> bool:
    """Move what `minima` found to the variable of a slot; False if no state is left.

    Args:
        gives_back: whether it is only what the variable had lent.
    """
    i = network.scope[s]
    base, rose = network.states[i], False
    most = state.numbers[UPPER] - state.numbers[LOWER]
    for x in range(network.states[i + 1] - base):
        if not state.live[base + x]:
            continue
        if state.least[x] + state.cells[base + x] >= most:
            remove(network, state, i, base + x)
        elif state.least[x] != 0:
            rose = rose or state.cells[base + x] == 0
            put(state, base + x, state.cells[base + x] + state.least[x])
            put(state, network.sent[s] + x, state.cells[network.sent[s] + x] + state.least[x])
    if rose and not gives_back:
        wait(network, state, i)
    if state.left[i] == 0:
        state.numbers[FAILED] = i
        return False
    return True


@kernel(inner=True, borrows=True)
def project(network: Network, state: State, f: int, apart: int) -> bool:
    """Move costs of a function to its variables, the first one first, but to that of one slot; False at the end."""
    gather(network, state, f, -1)
    if is_free(network, state, f):
        return True
    for s in range(network.starts[f], network.starts[f + 1]):
        if s == apart or (state.left[network.scope[s]] == 1 and network.starts[f] != s):
            continue
        gather(network, state, f, -1)
        minima(network, state, f, s - network.starts[f])
        if not (receive(network, state, s, apart >= 0) and settle(network, state, network.scope[s])):
            return False
    return True


@kernel(inner=True, borrows=True)
def lend(network: Network, state: State, f: int, s: int) -> bool:
    """Lend the costs of all variables but one to a function; whether there are any."""
    some = False
    for t in range(network.starts[f], network.starts[f + 1]):
        i = network.scope[t]
        for x in range(network.states[i + 1] - network.states[i] if t != s else 0):
            cost = state.cells[network.states[i] + x]
            if cost > 0 and state.live[network.states[i] + x]:
                put(state, network.sent[t] + x, state.cells[network.sent[t] + x] - cost)
                put(state, network.states[i] + x, 0)
                some = True
    return some


@kernel(inner=True, borrows=True)
def is_lent(network: Network, state: State, f: int, s: int) -> bool:
    """Whether a variable of a function other than that of a slot has a cost."""
    for t in range(network.starts[f], network.starts[f + 1]):
        i = network.scope[t]
        for place in range(network.states[i], network.states[i + 1] if t != s else network.states[i]):
            if state.live[place] and state.cells[place] > 0:
                return True
    return False


@kernel(inner=True, borrows=True)
def pull(network: Network, state: State, s: int) -> bool:
    """Move costs of a function and of its other variables to the variable of a slot; False at the end."""
    f, state.numbers[WORK] = network.owner[s], state.numbers[WORK] + 1
    if not is_lent(network, state, f, s):
        return True
    gather(network, state, f, s)
    minima(network, state, f, s - network.starts[f])
    i = network.scope[s]
    for x in range(network.states[i + 1] - network.states[i]):
        if state.live[network.states[i] + x] and state.least[x] > 0:
            lend(network, state, f, s)
            return receive(network, state, s, False) and settle(network, state, i) and project(network, state, f, s)
    return True


@kernel(inner=True, borrows=True)
def is_supported(network: Network, state: State, i: int) -> bool:
    """Whether the last support of a variable is still one."""
    x = state.supports[i]
    if not state.live[network.states[i] + x] or state.cells[network.states[i] + x] > 0:
        return False
    for place in range(network.degrees[i], network.degrees[i + 1]):
        s = network.slots[place]
        f = network.owner[s]
        at, cost = network.places[f], 0
        for t in range(network.starts[f], network.starts[f + 1]):
            y = state.supports[network.scope[t]]
            cell = network.states[network.scope[t]] + y
            cost += state.cells[cell] - state.cells[network.sent[t] + y] + (1 if state.live[cell] == 0 else 0)
            at += y * network.steps[t]
        if network.tables[at] + cost != 0:
            gather(network, state, f, s)
            minima(network, state, f, s - network.starts[f])
            if state.least[x] > 0:
                return False
    return True


@kernel(inner=True, borrows=True)
def has_support(network: Network, state: State, i: int) -> bool:
    """Whether some state of a variable has no cost and no function could give it one; it is then its support."""
    base, size, kept = network.states[i], network.states[i + 1] - network.states[i], 0
    for x in range(size):
        state.lost[x] = 0 if state.live[base + x] and state.cells[base + x] == 0 else 1
        kept += 1 - state.lost[x]
    for place in range(network.degrees[i], network.degrees[i + 1]):
        s = network.slots[place]
        f = network.owner[s]
        gather(network, state, f, s)
        minima(network, state, f, s - network.starts[f])
        for x in range(size):
            if state.least[x] > 0 and not state.lost[x]:
                state.lost[x] = 1
                kept -= 1
        if kept == 0:
            return False
    for x in range(size):
        if not state.lost[x] and (state.lost[state.supports[i]] or x == state.supports[i]):
            state.supports[i] = x
    return kept > 0


@kernel(inner=True, borrows=True)
def directional(network: Network, state: State) -> bool:
    """Move costs to the first variables of functions, from the last variable to the first; False at the end."""
    numbers = state.numbers
    while numbers[LATEST] >= 0:
        i = numbers[LATEST]
        numbers[LATEST] -= 1
        if not state.directed[i]:
            continue
        state.directed[i] = 0
        for place in range(network.degrees[i], network.degrees[i + 1]):
            first = network.starts[network.owner[network.slots[place]]]
            if network.scope[first] < i and not pull(network, state, first):
                return False
    return True


@kernel(inner=True, borrows=True)
def arcs(network: Network, state: State) -> bool:
    """Move the costs of functions whose variables have lost states; False at the end."""
    for f in range(len(network.places)):
        if state.changed[f]:
            state.changed[f] = 0
            state.numbers[WORK] += 1
            if not project(network, state, f, -1):
                state.numbers[FAILED] = network.scope[network.starts[f]]
                return False
    return True


@kernel(inner=True, borrows=True)
def nodes(network: Network, state: State) -> bool:
    """Remove all states of too high costs; False at the end."""
    for i in range(len(state.left)):
        if not settle(network, state, i):
            return False
    return True


@kernel(inner=True, borrows=True)
def existential(network: Network, state: State, i: int) -> bool:
    """Move costs to a variable without support; False at the end."""
    state.existing[i] = 0
    if state.left[i] == 1 or is_supported(network, state, i) or has_support(network, state, i):
        return True
    for place in range(network.degrees[i], network.degrees[i + 1]):
        if not pull(network, state, network.slots[place]):
            return False
    return True


@kernel(inner=True, borrows=True)
def propagate(network: Network, state: State, cancel: Bytes) -> bool:
    """Node, arc, directional and existential consistency, or almost; False if no assignment is below the upper bound.

    It stops early if the trail is full or after many revisions: the lower bound is valid then too.
    """
    numbers, n, searched = state.numbers, len(state.left), -1
    limit = numbers[WORK] + OFTEN * len(network.places) + 100
    while True:
        before = numbers[LOWER]
        if not (arcs(network, state) and directional(network, state)):
            return False
        if before > searched:
            searched = before
            for i in range(n):
                if state.existing[i] and not existential(network, state, i):
                    return False
        if numbers[LOWER] > before and not nodes(network, state):
            return False
        if numbers[WORK] >= limit or numbers[HEIGHT] >= numbers[ROOM] or cancel[0]:
            return True
        if numbers[LOWER] == before and numbers[LATEST] < 0 and not is_waiting(network, state):
            return True


@kernel(inner=True, borrows=True)
def is_waiting(network: Network, state: State) -> bool:
    """Whether a function waits for arc consistency."""
    for f in range(len(network.places)):
        if state.changed[f]:
            return True
    return False


@kernel(inner=True, borrows=True)
def renewed(network: Network, state: State, cancel: Bytes) -> bool:
    """Propagation after costs have moved everywhere; False if no assignment is below the upper bound."""
    if not nodes(network, state):
        return False
    for i in range(len(state.left)):
        state.directed[i] = 1
        state.existing[i] = 1
    for f in range(len(network.places)):
        state.changed[f] = 1
    state.numbers[LATEST] = len(state.left) - 1
    return bool(propagate(network, state, cancel))
