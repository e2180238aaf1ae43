r"""Virtual arc consistency: a proof that costs of zero cannot all be kept, turned into a rise of the lower bound.

In the Boolean network of a threshold $\theta$, states and joint states of costs below $\theta$ are allowed. If arc
consistency leaves a variable of it without a state, the reasons are traced back: every state that was ruled out needs
$k$ units, which its function sends it, and which the function takes from its own joint states or from states that were
ruled out before. All these moves together, $\lambda$ times, raise the lower bound by $\lambda$, the largest number that
leaves no cost negative:

$$\lambda = \min_{\text{costs } c \text{ that are used } u > 0 \text{ times}} \lfloor c / u \rfloor.$$

Reference: Cooper, de Givry, Sanchez, Schiex, Zytnicki & Werner (2010), Soft arc consistency revisited, section 6.
"""

from __future__ import annotations

from typing import NamedTuple

from sepset.base.arraytypes import Bytes, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.map.costs import FORBIDDEN, LOWER, UPPER, Network, State, put

MANY, SPENT = 2**24, 2**58
"""Reasons that need more units than this are left alone; and the most costs that are moved in all."""

FINE = 24
"""Thresholds go down to the gap divided by two to this power."""


class Virtual(NamedTuple):
    """Room for the Boolean network and for reasons.

    Attributes:
        turns: the turn at which each state was ruled out, zero if it is allowed.
        reasons: the function that ruled each state out; -1 for its own cost.
        listed: the states that were ruled out, in order.
        needed: the units that each state must give.
        sent, lent: the units that functions send to the states of their slots and take from them; see `State.cells`.
        waiting: the functions to be revised.
        numbers: how many states are listed, the most units that one of them needs, and the costs moved so far.
    """

    turns: Ints
    reasons: Ints
    listed: Ints
    needed: Ints
    sent: Ints
    lent: Ints
    waiting: Bytes
    numbers: Ints


@kernel(inner=True, borrows=True)
def table_size(network: Network, f: int) -> int:
    """The number of joint states of a function."""
    first = network.starts[f]
    i = network.scope[first]
    return int(network.steps[first] * (network.states[i + 1] - network.states[i]))


@kernel(inner=True, borrows=True)
def entry(network: Network, state: State, f: int, t: int) -> int:
    """The cost of a joint state, whose codes are put into `state.codes`; -1 if a state of it is not left."""
    first, total = network.starts[f], network.tables[network.places[f] + t]
    for s in range(first, network.starts[f + 1]):
        i = network.scope[s]
        x = (t // network.steps[s]) % (network.states[i + 1] - network.states[i])
        state.codes[s - first] = x
        if state.live[network.states[i] + x] == 0:
            return -1
        if total < FORBIDDEN:
            total -= state.cells[network.sent[s] + x]
    return int(total)


@kernel(inner=True, borrows=True)
def rule_out(network: Network, virtual: Virtual, i: int, place: int, reason: int, turn: int) -> None:
    """Rule out a state; the other functions of its variable wait."""
    virtual.turns[place] = turn
    virtual.reasons[place] = reason
    virtual.listed[virtual.numbers[0]] = place
    virtual.numbers[0] += 1
    for k in range(network.degrees[i], network.degrees[i + 1]):
        f = network.owner[network.slots[k]]
        if f != reason:
            virtual.waiting[f] = 1


@kernel(inner=True, borrows=True)
def is_wiped(network: Network, state: State, virtual: Virtual, i: int) -> bool:
    """Whether all states of a variable are ruled out."""
    for place in range(network.states[i], network.states[i + 1]):
        if state.live[place] and virtual.turns[place] == 0:
            return False
    return True


@kernel(inner=True, borrows=True)
def begin(network: Network, state: State, virtual: Virtual, threshold: int) -> int:
    """Rule out states by their own costs; returns a variable without states, -1 if there is none."""
    virtual.numbers[0] = 0
    for f in range(len(network.places)):
        virtual.waiting[f] = 1
    wiped = -1
    for i in range(len(state.left)):
        for place in range(network.states[i], network.states[i + 1]):
            virtual.turns[place] = 0
            if state.live[place] and state.cells[place] >= threshold:
                rule_out(network, virtual, i, place, -1, 1)
        if is_wiped(network, state, virtual, i):
            wiped = i
    return wiped


@kernel(inner=True, borrows=True)
def revise(network: Network, state: State, virtual: Virtual, f: int, threshold: int, turn: int) -> int:
    """Rule out the states of a function that no allowed joint state has; returns a variable without states, or -1."""
    first, last, wiped = network.starts[f], network.starts[f + 1], -1
    for k in range((last - first) * network.widest):
        state.lost[k] = 1
    for t in range(table_size(network, f)):
        cost = entry(network, state, f, t)
        allowed = cost >= 0 and cost < threshold
        for s in range(first, last):
            place = network.states[network.scope[s]] + state.codes[s - first]
            allowed = allowed and virtual.turns[place] == 0
        for s in range(first, last if allowed else first):
            state.lost[(s - first) * network.widest + state.codes[s - first]] = 0
    for s in range(first, last):
        i = network.scope[s]
        for x in range(network.states[i + 1] - network.states[i]):
            place = network.states[i] + x
            if state.lost[(s - first) * network.widest + x] and state.live[place] and virtual.turns[place] == 0:
                rule_out(network, virtual, i, place, f, turn)
        if is_wiped(network, state, virtual, i):
            wiped = i
    return int(wiped)


@kernel(borrows=True)
def contradiction(network: Network, state: State, virtual: Virtual, threshold: int, cancel: Bytes) -> int:
    """Make the Boolean network arc consistent; returns a variable without states, -1 if there is none."""
    wiped, turn, goes_on = begin(network, state, virtual, threshold), 1, True
    while wiped < 0 and goes_on and not cancel[0]:
        goes_on = False
        for f in range(len(network.places)):
            if virtual.waiting[f]:
                virtual.waiting[f] = 0
                turn += 1
                wiped, goes_on = revise(network, state, virtual, f, threshold, turn), True
                if wiped >= 0:
                    break
    return int(wiped)


@kernel(inner=True, borrows=True)
def ask(network: Network, state: State, virtual: Virtual, f: int, s: int, x: int, threshold: int) -> None:
    """Let a function send what one state needs, taken from joint states and from states that were ruled out before."""
    first, last = network.starts[f], network.starts[f + 1]
    place = network.states[network.scope[s]] + x
    units = virtual.needed[place]
    virtual.sent[network.sent[s] + x] += units
    for t in range(table_size(network, f)):
        cost = entry(network, state, f, t)
        if cost < 0 or cost >= threshold or state.codes[s - first] != x:
            continue
        earliest, chosen = virtual.turns[place], -1
        for r in range(first, last):
            turn = virtual.turns[network.states[network.scope[r]] + state.codes[r - first]]
            if turn > 0 and turn < earliest:
                earliest, chosen = turn, r
        cell = network.sent[chosen] + state.codes[chosen - first]
        more = units - virtual.lent[cell] if last - first == 2 else units
        if more > 0:
            virtual.lent[cell] += more
            virtual.needed[network.states[network.scope[chosen]] + state.codes[chosen - first]] += more


@kernel(borrows=True)
def trace(network: Network, state: State, virtual: Virtual, wiped: int, threshold: int) -> bool:
    """Find what every state must give so that each state of a variable gives one unit; False if that is too much."""
    for place in range(len(virtual.needed)):
        virtual.needed[place] = 0
    for cell in range(len(virtual.sent)):
        virtual.sent[cell] = 0
        virtual.lent[cell] = 0
    for place in range(network.states[wiped], network.states[wiped + 1]):
        virtual.needed[place] = state.live[place]
    virtual.numbers[1] = 1
    for at in range(virtual.numbers[0] - 1, -1, -1):
        place = virtual.listed[at]
        f, i = virtual.reasons[place], network.variable[place]
        virtual.numbers[1] = max(virtual.numbers[1], virtual.needed[place])
        if virtual.numbers[1] > MANY:
            return False
        if virtual.needed[place] == 0 or f < 0:
            continue
        s = network.starts[f]
        while network.scope[s] != i:
            s += 1
        ask(network, state, virtual, f, s, place - network.states[i], threshold)
    return True


@kernel(inner=True, borrows=True)
def received(network: Network, virtual: Virtual, i: int, place: int) -> int:
    """The units that the functions of a variable send to one of its states, less those that they take from it."""
    total = 0
    for k in range(network.degrees[i], network.degrees[i + 1]):
        cell = network.sent[network.slots[k]] + place - network.states[i]
        total += virtual.sent[cell] - virtual.lent[cell]
    return total


@kernel(borrows=True)
def rise(network: Network, state: State, virtual: Virtual, wiped: int) -> int:
    """How often all moves can be made."""
    most = FORBIDDEN
    for i in range(len(state.left)):
        for place in range(network.states[i], network.states[i + 1]):
            used = (1 if i == wiped else 0) - received(network, virtual, i, place)
            if state.live[place] and used > 0:
                most = min(most, state.cells[place] // used)
    for f in range(len(network.places)):
        first, last = network.starts[f], network.starts[f + 1]
        for t in range(table_size(network, f)):
            cost, used = entry(network, state, f, t), 0
            if cost < 0 or cost >= FORBIDDEN:
                continue
            for s in range(first, last):
                cell = network.sent[s] + state.codes[s - first]
                used += virtual.sent[cell] - virtual.lent[cell]
            if used > 0:
                most = min(most, cost // used)
    return int(most)


@kernel(borrows=True)
def move(network: Network, state: State, virtual: Virtual, wiped: int, times: int) -> None:
    """Make all moves so many times: costs change, and the lower bound rises by as much."""
    for i in range(len(state.left)):
        for place in range(network.states[i], network.states[i + 1]):
            gained = received(network, virtual, i, place) - (1 if i == wiped else 0)
            if state.live[place] and gained != 0:
                put(state, place, state.cells[place] + times * gained)
    for cell in range(len(virtual.sent)):
        if virtual.sent[cell] != virtual.lent[cell]:
            put(state, cell, state.cells[cell] + times * (virtual.sent[cell] - virtual.lent[cell]))
    state.numbers[LOWER] += times
    virtual.numbers[2] += times * virtual.numbers[1]


def _virtual_work(network: Network, state: State, virtual: Virtual, rounds: int, *_: object) -> float:
    return 60.0 * rounds * (len(network.scope) + len(state.left) + len(network.tables))


@kernel(work=_virtual_work, borrows=True)
def virtually_consistent(network: Network, state: State, virtual: Virtual, rounds: int, cancel: Bytes) -> bool:
    """Raise the lower bound of a network at its root by contradictions; False if no assignment is below the upper one.

    Args:
        rounds: the most contradictions.
    """
    numbers, threshold = state.numbers, 1
    while threshold < numbers[UPPER] - numbers[LOWER]:
        threshold *= 2
    least = max(1, threshold >> FINE)
    while rounds > 0 and threshold >= least and numbers[LOWER] < numbers[UPPER] and not cancel[0]:
        wiped = contradiction(network, state, virtual, threshold, cancel)
        times = 0
        if wiped >= 0 and trace(network, state, virtual, wiped, threshold):
            times = min(rise(network, state, virtual, wiped), numbers[UPPER] - numbers[LOWER])
            times = min(times, (SPENT - virtual.numbers[2]) // virtual.numbers[1])
        if times == 0:
            threshold //= 2
            continue
        move(network, state, virtual, wiped, times)
        rounds -= 1
    return bool(numbers[LOWER] < numbers[UPPER])
