r"""A discrete model as a few flat arrays, and its value at an assignment.

$$\log \tilde P(\mathbf x) = c + \sum_i \theta_i(x_i) + \sum_f \theta_f(\mathbf x_f)$$

A slot is one variable in the scope of one factor. Slots are numbered through the scopes, and again listed by variable.
Factors of a named kind have no table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel, sizes

TABLE, POTTS, LINEAR, QUADRATIC, PARITY, AT_LEAST_ONE, GROUP, COUNT = range(8)
"""The kinds of factors: log values in a table; a weight for equal states; a weight times minus the distance or its
square, up to a limit; an even sum of codes, or an odd one if the weight is one; at least one code that is not zero; a
weight that falls to zero as more variables than the limit have another state than most; a log value for each sum of
codes. Messages know all but the last two, which become tables for them."""


class Wires(NamedTuple):
    """The factors over two and more variables, without their numbers for single variables.

    Attributes:
        cards: the number of states of each variable.
        states: where the states of each variable start among all states; the last entry is their number.
        starts: where the scope of each factor starts among the slots; the last entry is their number.
        scope: the variable of each slot.
        degrees: where the slots of each variable start in `slots`.
        slots: the slots of each variable, in the order of factors.
        messages: where the message of each slot starts, one number per state; the last entry is their number.
        kinds: the kind of each factor.
        places: where the numbers of each factor start; factors may share them. Unused for most named kinds.
        tables: log values, the last variable of a scope fastest; of a group the number of observed variables in each
            state; of a count the log value of each sum.
        weights, limits: the numbers of named kinds.
    """

    cards: Ints
    states: Ints
    starts: Ints
    scope: Ints
    degrees: Ints
    slots: Ints
    messages: Ints
    kinds: Bytes
    places: Ints
    tables: Floats
    weights: Floats
    limits: Floats


@kernel(inner=True, borrows=True)
def advance(wires: Wires, first: int, last: int, codes: Ints) -> None:
    """The codes of the next entry of the table of a factor with these slots."""
    for s in range(last - 1, first - 1, -1):
        codes[s - first] += 1
        if codes[s - first] < wires.cards[wires.scope[s]]:
            break
        codes[s - first] = 0


@kernel(work=sizes, borrows=True)
def sort_slots(scope: Ints, degrees: Ints, slots: Ints) -> None:
    """List the slots of each variable in order; `degrees` has one entry per variable and one more, all zero."""
    for v in scope:
        degrees[v + 1] += 1
    for i in range(1, len(degrees)):
        degrees[i] += degrees[i - 1]
    for s in range(len(scope) - 1, -1, -1):
        degrees[scope[s] + 1] -= 1
        slots[degrees[scope[s] + 1]] = s
    for i in range(len(degrees) - 1):
        degrees[i] = degrees[i + 1]
    degrees[len(degrees) - 1] = len(scope)


@kernel(borrows=True)
def pair_value(kind: int, weight: float, limit: float, x: int, y: int) -> float:
    """The log value of a named kind of two variables."""
    if kind == POTTS:
        return weight if x == y else 0.0
    d = float(abs(x - y))
    if kind == QUADRATIC:
        d = d * d
    return 0.0 - weight * min(d, limit)


@kernel(borrows=True)
def group_value(wires: Wires, f: int, codes: Ints, s: int, x: int) -> float:
    """The log value of a group, with code `x` at slot `s` (-1 for none) in place of that of the assignment."""
    first, last, place = wires.starts[f], wires.starts[f + 1], wires.places[f]
    card, num, most = wires.cards[wires.scope[first]], float(last - first), 0.0
    for state in range(card):
        same = wires.tables[place + state]
        num += same
        for t in range(first, last):
            same += (x if t == s else codes[wires.scope[t]]) == state
        most = max(most, same)
    return float(wires.weights[f] * max(0.0, 1.0 - (num - most) / wires.limits[f]))


@kernel(borrows=True)
def factor_value(wires: Wires, f: int, codes: Ints) -> float:
    """The log value of one factor at an assignment."""
    first, last, kind = wires.starts[f], wires.starts[f + 1], wires.kinds[f]
    if kind == TABLE:
        place = 0
        for s in range(first, last):
            place = place * wires.cards[wires.scope[s]] + codes[wires.scope[s]]
        return float(wires.tables[wires.places[f] + place])
    if kind <= QUADRATIC:
        x, y = codes[wires.scope[first]], codes[wires.scope[first + 1]]
        return pair_value(kind, wires.weights[f], wires.limits[f], x, y)
    if kind == GROUP:
        return group_value(wires, f, codes, -1, 0)
    total = 0
    for s in range(first, last):
        total += codes[wires.scope[s]]
    if kind == COUNT:
        return float(wires.tables[wires.places[f] + total])
    holds = total % 2 == wires.weights[f] if kind == PARITY else total > 0
    return 0.0 if holds else -np.inf


def _num_slots(wires: Wires, *_: object) -> float:
    return float(len(wires.scope) + len(wires.cards))


@kernel(work=_num_slots, borrows=True)
def log_value(wires: Wires, unary: Floats, codes: Ints) -> float:
    """The log value of an assignment."""
    total = 0.0
    for i in range(len(wires.cards)):
        total += unary[wires.states[i] + codes[i]]
    for f in range(len(wires.kinds)):
        total += factor_value(wires, f, codes)
    return total


@kernel(borrows=True)
def add_conditional(wires: Wires, s: int, f: int, codes: Ints, out: Floats) -> None:
    """Add the log values of a factor at every state of the variable of slot `s`, the others as in `codes`."""
    first, last, kind = wires.starts[f], wires.starts[f + 1], wires.kinds[f]
    card = wires.cards[wires.scope[s]]
    if kind == TABLE:
        place, stride = 0, 1
        for t in range(first, last):
            size = wires.cards[wires.scope[t]]
            place = place * size + (codes[wires.scope[t]] if t != s else 0)
            stride = 1 if t == s else stride * size
        start = wires.places[f] + place
        for x in range(card):
            out[x] += wires.tables[start + x * stride]
    elif kind <= QUADRATIC:
        y = codes[wires.scope[first + last - 1 - s]]
        for x in range(card):
            out[x] += pair_value(kind, wires.weights[f], wires.limits[f], x, y)
    elif kind == GROUP:
        for x in range(card):
            out[x] += group_value(wires, f, codes, s, x)
    else:
        total = 0
        for t in range(first, last):
            total += codes[wires.scope[t]] if t != s else 0
        for x in range(card):
            if kind == COUNT:
                out[x] += wires.tables[wires.places[f] + total + x]
                continue
            holds = (total + x) % 2 == wires.weights[f] if kind == PARITY else total + x > 0
            out[x] += 0.0 if holds else -np.inf


@kernel(borrows=True)
def conditional(wires: Wires, unary: Floats, factors: Ints, i: int, codes: Ints, out: Floats) -> None:
    """The log value of variable `i` at each of its states given all others, up to a constant.

    Args:
        factors: the factor of each slot.
    """
    for x in range(wires.cards[i]):
        out[x] = unary[wires.states[i] + x]
    for place in range(wires.degrees[i], wires.degrees[i + 1]):
        s = wires.slots[place]
        add_conditional(wires, s, factors[s], codes, out)


@kernel(work=sizes, borrows=True)
def first_modes(states: Ints, values: Floats, out: Ints) -> None:
    """The first best state of each variable, one after the other in `values`."""
    for i in range(len(out)):
        best = states[i]
        for place in range(states[i] + 1, states[i + 1]):
            if values[place] > values[best]:
                best = place
        out[i] = best - states[i]
