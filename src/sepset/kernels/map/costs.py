r"""A network of whole costs that move between its functions, and a trail that takes every change back.

$$C(\mathbf x) = c_\varnothing + \sum_i c_i(x_i) + \sum_f \Bigl[ T_f(\mathbf x_f) - \sum_{i \in f} m_{f i}(x_i) \Bigr]$$

What a function sends to a variable, $m_{f i}$, is added to the variable's own costs, so that $C$ stays the same for
every assignment. All brackets and $c_i$ stay at least zero: $c_\varnothing$ is a lower bound. Costs are whole numbers,
and all sums are exact.

Reference: Cooper, de Givry, Sanchez, Schiex, Zytnicki & Werner (2010), Soft arc consistency revisited.
"""

from __future__ import annotations

from typing import NamedTuple

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel

FORBIDDEN = 2**60
"""A cost that no assignment with a positive value has."""

LOWER, UPPER, LEVEL, HEIGHT, ROOM, LATEST, FAILED, WORK, SEEN, SWEPT, SETTLED = range(11)
"""The single numbers of a state: the lower bound; the cost that an assignment must be below; the number of the present
level; the entries of the trail, and the most that propagation may use; the largest variable that waits for directional
consistency; the function or variable that failed; the numbers of revisions, of entries of functions that these have
seen, and of sweeps so far; and whether more sweeps would not help."""


class Network(NamedTuple):
    """The functions of two and more variables. Variables are numbered in the order in which costs move: to the first.

    Attributes:
        states: where the states of each variable start; the last entry is their number.
        starts: where the scope of each function starts among the slots.
        scope: the variable of each slot, increasing within a function.
        owner: the function of each slot.
        variable: the variable of each state.
        degrees: where the slots of each variable start in `slots`.
        slots: the slots of each variable.
        sent: the cell of the first cost that a slot was sent; see `State`.
        steps: the step of each slot in the table of its function.
        places: where the table of each function starts.
        tables: whole costs.
        widest: the largest number of states.
    """

    states: Ints
    starts: Ints
    scope: Ints
    owner: Ints
    variable: Ints
    degrees: Ints
    slots: Ints
    sent: Ints
    steps: Ints
    places: Ints
    tables: Ints
    widest: int


class State(NamedTuple):
    """All that changes.

    Attributes:
        cells: the costs of all states, then what each slot was sent, one number per state.
        stamps: the level at which each cell was last saved.
        live: whether each state is left to its variable.
        left: the number of states that are left to each variable.
        numbers: single numbers; see `LOWER`.
        trail, old: the cells that changed and what they were; -1 - s for a state that was removed.
        directed, existing: the variables that wait for directional and for existential consistency.
        changed: the functions some variable of which has lost states.
        supports: the state of each variable that was last seen to be free of cost.
        activity: how often each variable was left without a state, or its cost ended a branch.
        codes, sums, places: room for one entry per variable of the largest scope and one more.
        added, least: room for as many numbers per variable of the largest scope as there are states.
        lost: room for as many entries as `added`.
    """

    cells: Ints
    stamps: Ints
    live: Bytes
    left: Ints
    numbers: Ints
    trail: Ints
    old: Ints
    directed: Bytes
    existing: Bytes
    changed: Bytes
    supports: Ints
    activity: Floats
    codes: Ints
    sums: Ints
    places: Ints
    added: Ints
    least: Ints
    lost: Bytes


@kernel(inner=True, borrows=True)
def put(state: State, cell: int, value: int) -> None:
    """Change a cell, and save what it was at this level."""
    if state.stamps[cell] != state.numbers[LEVEL]:
        height = state.numbers[HEIGHT]
        state.trail[height] = cell
        state.old[height] = state.cells[cell]
        state.numbers[HEIGHT] = height + 1
        state.stamps[cell] = state.numbers[LEVEL]
    state.cells[cell] = value


@kernel(inner=True, borrows=True)
def undo(network: Network, state: State, height: int) -> None:
    """Take back all changes down to a height of the trail; nothing waits after that."""
    numbers = state.numbers
    while numbers[HEIGHT] > height:
        numbers[HEIGHT] -= 1
        cell = state.trail[numbers[HEIGHT]]
        if cell >= 0:
            state.cells[cell] = state.old[numbers[HEIGHT]]
        else:
            state.live[-1 - cell] = 1
            state.left[state.old[numbers[HEIGHT]]] += 1
    forget(network, state)


@kernel(inner=True, borrows=True)
def forget(network: Network, state: State) -> None:
    """Let nothing wait."""
    for i in range(len(state.left)):
        state.directed[i] = 0
        state.existing[i] = 0
    for f in range(len(network.places)):
        state.changed[f] = 0
    state.numbers[LATEST] = -1


@kernel(inner=True, borrows=True)
def wait(network: Network, state: State, i: int) -> None:
    """A cost of a variable rose from zero: it may move on, and its neighbors may have lost their support."""
    state.directed[i] = 1
    state.existing[i] = 1
    if i > state.numbers[LATEST]:
        state.numbers[LATEST] = i
    for place in range(network.degrees[i], network.degrees[i + 1]):
        f = network.owner[network.slots[place]]
        for s in range(network.starts[f], network.starts[f + 1]):
            state.existing[network.scope[s]] = 1


@kernel(inner=True, borrows=True)
def remove(network: Network, state: State, i: int, place: int) -> None:
    """Remove a state of a variable, by its place among all states."""
    height = state.numbers[HEIGHT]
    state.trail[height] = -1 - place
    state.old[height] = i
    state.numbers[HEIGHT] = height + 1
    state.live[place] = 0
    state.left[i] -= 1
    for k in range(network.degrees[i], network.degrees[i + 1]):
        f = network.owner[network.slots[k]]
        state.changed[f] = 1
        for s in range(network.starts[f], network.starts[f + 1]):
            state.existing[network.scope[s]] = 1


@kernel(inner=True, borrows=True)
def settle(network: Network, state: State, i: int) -> bool:
    """Move the least cost of a variable to the lower bound, and remove its states of too high costs; False at the end.

    This is node consistency.
    """
    numbers, least = state.numbers, FORBIDDEN
    first, last = network.states[i], network.states[i + 1]
    for place in range(first, last):
        if state.live[place] and state.cells[place] < least:
            least = state.cells[place]
    if least > 0 and least < FORBIDDEN:
        numbers[LOWER] += least
        for place in range(first, last):
            if state.live[place]:
                put(state, place, state.cells[place] - least)
    if numbers[LOWER] >= numbers[UPPER]:
        numbers[FAILED] = i
        return False
    most = numbers[UPPER] - numbers[LOWER]
    for place in range(first, last):
        if state.live[place] and state.cells[place] >= most:
            remove(network, state, i, place)
    if state.left[i] == 0:
        numbers[FAILED] = i
        return False
    return True


@kernel(inner=True, borrows=True)
def gather(network: Network, state: State, f: int, apart: int) -> None:
    """Fill `added` with what a table gains: minus what its slots were sent, and its variables' costs but for one slot.

    Args:
        apart: the slot whose variable keeps its costs; -1 if all do.
    """
    first = network.starts[f]
    for s in range(first, network.starts[f + 1]):
        i, row = network.scope[s], (s - first) * network.widest
        base = network.states[i]
        for x in range(network.states[i + 1] - base):
            value = -state.cells[network.sent[s] + x]
            if apart >= 0 and s != apart:
                value += state.cells[base + x]
            state.added[row + x] = value


@kernel(inner=True, borrows=True)
def next_row(network: Network, state: State, first: int, last: int, d: int) -> int:
    """Go to the next joint state of all variables of a function but the last; returns where it goes on, -1 at the end.

    `sums[last]` and `places[last]` are then what those before the last one add, and the place of its first state.

    Args:
        first: the first slot of the function.
        last: the number of variables but one.
        d: where it goes on, zero at first with `codes[0]` of -1.
    """
    codes, sums, places = state.codes, state.sums, state.places
    while d >= 0:
        i = network.scope[first + d]
        base, size = network.states[i], network.states[i + 1] - network.states[i]
        x = codes[d] + 1
        while x < size and state.live[base + x] == 0:
            x += 1
        codes[d] = x
        if x == size:
            d -= 1
            continue
        sums[d + 1] = sums[d] + state.added[d * network.widest + x]
        places[d + 1] = places[d] + x * network.steps[first + d]
        if d == last - 1:
            return d
        d += 1
        codes[d] = -1
    return -1


@kernel(inner=True, borrows=True)
def minima(network: Network, state: State, f: int, axis: int) -> None:
    """The least cost of a function for each state of one of its variables, with what `gather` found, into `least`."""
    first, least, tables = network.starts[f], state.least, network.tables
    last = network.starts[f + 1] - first - 1
    base, row = network.states[network.scope[first + last]], last * network.widest
    size = network.states[network.scope[first + last] + 1] - base
    for x in range(network.widest):
        least[x] = FORBIDDEN
    state.sums[0], state.places[0], state.codes[0] = 0, network.places[f], -1
    d, rows = next_row(network, state, first, last, 0), 0
    while d >= 0:
        total, place, at, rows = state.sums[last], state.places[last], state.codes[axis], rows + 1
        for y in range(size):
            if state.live[base + y] and tables[place + y] < FORBIDDEN:
                cost, x = total + tables[place + y] + state.added[row + y], y if axis == last else at
                if cost < least[x]:
                    least[x] = cost
        d = next_row(network, state, first, last, d)
    state.numbers[SEEN] += rows * size


@kernel(inner=True, borrows=True)
def is_free(network: Network, state: State, f: int) -> bool:
    """Whether every state of a function's variables is in a joint state without cost, with what `gather` found."""
    first, tables, lost, widest = network.starts[f], network.tables, state.lost, network.widest
    last, missing = network.starts[f + 1] - first - 1, 0
    for d in range(last + 1):
        base = network.states[network.scope[first + d]]
        for x in range(network.states[network.scope[first + d] + 1] - base):
            lost[d * widest + x] = state.live[base + x]
            missing += state.live[base + x]
    base, row = network.states[network.scope[first + last]], last * widest
    size = network.states[network.scope[first + last] + 1] - base
    state.sums[0], state.places[0], state.codes[0] = 0, network.places[f], -1
    d = next_row(network, state, first, last, 0)
    while d >= 0:
        total, place, free = state.sums[last], state.places[last], False
        for y in range(size):
            if state.live[base + y] and tables[place + y] + total + state.added[row + y] == 0:
                free = True
                missing -= lost[row + y]
                lost[row + y] = 0
        for e in range(last if free else 0):
            missing -= lost[e * widest + state.codes[e]]
            lost[e * widest + state.codes[e]] = 0
        if missing == 0:
            return True
        d = next_row(network, state, first, last, d)
    return False
