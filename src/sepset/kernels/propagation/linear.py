r"""Passes of sum-product messages as numbers instead of logarithms: without exponentials, for bounded factors.

$$m_{f \to i}(x_i) \propto \sum_{\mathbf x_{f \setminus i}} \phi_f \prod_{j \ne i} \frac{b_j(x_j)}{m_{f \to j}(x_j)},
\qquad b_i = \phi_i \prod_{f \ni i} m_{f \to i},$$

messages with a sum of one. Where the log values of the factors of each variable differ by a few hundred together,
nothing is too small for a number. A weight for equal states has the message $\sum_x h(x) + (e^w - 1)\, h(y)$.

Reference: Koller & Friedman, section 11.3; Felzenszwalb & Huttenlocher (2006) for equal states.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.maxima import largest
from sepset.kernels.propagation.messages import advance
from sepset.kernels.propagation.wires import POTTS, Wires


def _pass_work(wires: Wires, *_: object) -> float:
    return 15.0 * float(wires.messages[-1] + wires.states[-1] + wires.tables.size)


@kernel(work=_pass_work, borrows=True)
def linear_gather(wires: Wires, unary: Floats, messages: Floats, out: Floats) -> None:
    """The products of the messages to each variable and its own values, not normalized."""
    cards, states, scope, places = wires.cards, wires.states, wires.scope, wires.messages
    for place in range(states[-1]):
        out[place] = unary[place]
    for s in range(len(scope)):
        own, place = states[scope[s]], places[s]
        for x in range(cards[scope[s]]):
            out[own + x] *= messages[place + x]


@kernel(borrows=True, inline=True)
def binary_potts(
    gain: float, keep: float, is_sequential: bool, beliefs: Floats, following: Floats, own: int, other: int,
    messages: Floats, p: int, q: int,
) -> float:  # fmt: skip
    """Both messages of a weight for equal states of two binary variables; returns their largest relative change."""
    m0, m1, n0, n1 = messages[p], messages[p + 1], messages[q], messages[q + 1]
    r0, r1, s0, s1 = 1.0 / m0, 1.0 / m1, 1.0 / n0, 1.0 / n1
    a0, a1, b0, b1 = beliefs[own] * r0, beliefs[own + 1] * r1, beliefs[other] * s0, beliefs[other + 1] * s1
    u, v = 1.0 / ((1.0 + gain) * (a0 + a1)), 1.0 / ((1.0 + gain) * (b0 + b1))
    x0, x1, y0, y1 = (gain * b0 + b1) * v, (b0 + gain * b1) * v, (gain * a0 + a1) * u, (a0 + gain * a1) * u
    one = max(abs(x0 - m0) * r0, abs(x1 - m1) * r1)
    two = max(abs(y0 - n0) * s0, abs(y1 - n1) * s1)
    x0, x1 = x0 + keep * (m0 - x0), x1 + keep * (m1 - x1)
    y0, y1 = y0 + keep * (n0 - y0), y1 + keep * (n1 - y1)
    messages[p], messages[p + 1], messages[q], messages[q + 1] = x0, x1, y0, y1
    if is_sequential:
        following[own], following[own + 1], following[other], following[other + 1] = a0 * x0, a1 * x1, b0 * y0, b1 * y1
    else:
        following[own] *= x0
        following[own + 1] *= x1
        following[other] *= y0
        following[other + 1] *= y1
    return float(max(one, two))


def _slots(scope: Ints, *_: object) -> float:
    return 15.0 * len(scope)


@kernel(work=_slots, borrows=True, reassociate=True)
def ising_pass(
    scope: Ints, gains: Floats, order: Ints, keep: float, is_sequential: bool, beliefs: Floats, following: Floats,
    messages: Floats, cancel: Bytes,
) -> float:  # fmt: skip
    """`linear_pass` for models in which all variables are binary and all factors are weights for equal states."""
    residual = 0.0
    for step in range(len(order)):
        if step % 4096 == 0 and cancel[0]:
            return residual
        f = order[step]
        own, other = 2 * scope[2 * f], 2 * scope[2 * f + 1]
        change = binary_potts(
            gains[f], keep, is_sequential, beliefs, following, own, other, messages, 4 * f, 4 * f + 2
        )  # fmt: skip
        residual = max(residual, change)
    return residual


@kernel(borrows=True, reassociate=True)
def divided(beliefs: Floats, own: int, messages: Floats, place: int, size: int, h: Floats, to: int) -> float:
    """The belief of a variable divided by the message of a factor to it; returns the sum."""
    total = 0.0
    for x in range(size):
        value = beliefs[own + x] / messages[place + x]
        h[to + x] = value
        total += value
    return total


@kernel(borrows=True, reassociate=True)
def spread(h: Floats, at: int, size: int, gain: float, total: float, out: Floats, to: int) -> None:
    """The message of a weight for equal states, from those at `at` in `h`, which have this sum."""
    for y in range(size):
        out[to + y] = total + (gain - 1.0) * h[at + y]
    if gain < 1.0:  # the state with more than half of the sum, less which little is left
        for y in range(size):
            if 2.0 * h[at + y] > total:
                rest = 0.0
                for x in range(size):
                    rest += h[at + x] if x != y else 0.0
                out[to + y] = rest + gain * h[at + y]


@kernel(borrows=True, reassociate=True)
def pair_sums(values: Floats, start: int, rows: int, columns: int, h: Floats, out: Floats) -> None:
    """The messages of a table of two variables."""
    for y in range(columns):
        out[rows + y] = 0.0
    for x in range(rows):
        total, factor, at = 0.0, h[x], start + x * columns
        for y in range(columns):
            total += values[at + y] * h[rows + y]
            out[rows + y] += values[at + y] * factor
        out[x] = total


@kernel(borrows=True)
def table_sums(wires: Wires, values: Floats, f: int, h: Floats, out: Floats, codes: Ints) -> None:
    """The messages of a table of any number of variables."""
    first, last, size = wires.starts[f], wires.starts[f + 1], 1
    base = wires.messages[first]
    for s in range(first, last):
        codes[s - first] = 0
        size *= wires.cards[wires.scope[s]]
    for x in range(wires.messages[last] - base):
        out[x] = 0.0
    for place in range(size):
        for s in range(first, last):
            value = values[wires.places[f] + place]
            for t in range(first, last):
                value *= h[wires.messages[t] - base + codes[t - first]] if t != s else 1.0
            out[wires.messages[s] - base + codes[s - first]] += value
        advance(wires, f, codes)


@kernel(borrows=True, reassociate=True)
def renew(
    new: Floats, at: int, size: int, keep: float, messages: Floats, place: int, h: Floats, following: Floats, own: int,
    is_sequential: bool,
) -> float:  # fmt: skip
    """Write one message with a sum of one, damped; returns its largest relative change."""
    total = 0.0
    for x in range(size):
        total += new[at + x]
    scale = 1.0 / total
    for x in range(size):
        old, value = messages[place + x], new[at + x] * scale
        new[at + x] = abs(value - old) / old
        value += keep * (old - value)
        messages[place + x] = value
        h[at + x] = value * (h[at + x] if is_sequential else following[own + x])
    for x in range(size):
        following[own + x] = h[at + x]
    return largest(new, at, size)


@kernel(work=_pass_work, borrows=True, reassociate=True)
def linear_pass(
    wires: Wires, gains: Floats, values: Floats, order: Ints, keep: float, is_sequential: bool, beliefs: Floats,
    following: Floats, messages: Floats, h: Floats, out: Floats, codes: Ints, cancel: Bytes,
) -> float:  # fmt: skip
    """Messages of all factors in order; returns the largest relative change of a message.

    Args:
        gains: the exponentials of the weights of named factors, all of them for equal states.
        values: the exponentials of the tables.
        keep: the part of each old message that is kept.
        following: at first the values of single variables, then the beliefs of the new messages. For a sequential pass
            this is `beliefs` itself.
        h, out, codes: room for the messages of one factor.
    """
    cards, states, starts, scope, places = wires.cards, wires.states, wires.starts, wires.scope, wires.messages
    kinds, tables, residual = wires.kinds, wires.places, 0.0
    for step in range(len(order)):
        if step % 1024 == 0 and cancel[0]:
            return residual
        f = order[step]
        first, last = starts[f], starts[f + 1]
        base, size = places[first], cards[scope[first]]
        if kinds[f] == POTTS and size == 2:
            i, j = scope[first], scope[first + 1]
            change = binary_potts(
                gains[f], keep, is_sequential, beliefs, following, states[i], states[j], messages, base,
                places[first + 1],
            )  # fmt: skip
            residual = max(residual, change)
            continue
        for s in range(first, last):
            total = divided(beliefs, states[scope[s]], messages, places[s], cards[scope[s]], h, places[s] - base)
            if kinds[f] == POTTS:
                spread(h, places[s] - base, size, gains[f], total, out, (first + 1 - s) * size)
        if kinds[f] != POTTS and last == first + 2:
            pair_sums(values, tables[f], size, cards[scope[first + 1]], h, out)
        elif kinds[f] != POTTS:
            table_sums(wires, values, f, h, out, codes)
        for s in range(first, last):
            i, place = scope[s], places[s]
            change = renew(
                out, place - base, cards[i], keep, messages, place, h, following, states[i], is_sequential
            )  # fmt: skip
            residual = max(residual, change)
    return residual


@kernel(work=_pass_work, borrows=True)
def linear_energy(
    wires: Wires, gains: Floats, values: Floats, beliefs: Floats, messages: Floats, h: Floats, out: Floats, codes: Ints,
    cancel: Bytes,
) -> float:  # fmt: skip
    """The sum of the log totals of all factor beliefs, for beliefs of the variables with a sum of one."""
    cards, states, starts, scope, places = wires.cards, wires.states, wires.starts, wires.scope, wires.messages
    total, product = 0.0, 1.0
    for f in range(len(starts) - 1):
        if f % 1024 == 0 and cancel[0]:
            return np.inf
        first, last, own, size = starts[f], starts[f + 1], 0.0, cards[scope[starts[f]]]
        base = places[first]
        for s in range(first, last):
            summed = divided(beliefs, states[scope[s]], messages, places[s], cards[scope[s]], h, places[s] - base)
        if wires.kinds[f] == POTTS:
            spread(h, size, size, gains[f], summed, out, 0)
        elif last == first + 2:
            pair_sums(values, wires.places[f], size, cards[scope[first + 1]], h, out)
        else:
            table_sums(wires, values, f, h, out, codes)
        for x in range(size):
            own += h[x] * out[x]
        product *= own
        if not 1e-150 < product < 1e150:  # one logarithm for many factors
            total += math.log(product)
            product = 1.0
    return total + math.log(product)
