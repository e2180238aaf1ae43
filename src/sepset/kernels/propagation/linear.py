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
from sepset.kernels.propagation.wires import POTTS, Wires, advance


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


@kernel(borrows=True, reassociate=True)
def divided(belief: Floats, message: Floats, h: Floats) -> float:
    """The belief of a variable divided by the message of a factor to it; returns the sum."""
    total = h.dtype.type(0)
    for x in range(len(h)):
        value = belief[x] / message[x]
        h[x] = value
        total += value
    return total


@kernel(borrows=True, reassociate=True)
def spread(h: Floats, gain: float, total: float, out: Floats) -> None:
    """The message, with a sum of one, of a weight for equal states, from numbers with this sum."""
    one = h.dtype.type(1)
    scale = one / (total * (gain + h.dtype.type(len(h) - 1)))
    share, bonus = scale * total, scale * (gain - one)
    for y in range(len(h)):
        out[y] = share + bonus * h[y]
    if gain < one:  # the state with more than half of the sum, less which little is left
        for y in range(len(h)):
            if h[y] + h[y] > total:
                rest = one - one
                for x in range(len(h)):
                    rest += h[x] if x != y else one - one
                out[y] = scale * (rest + gain * h[y])


@kernel(borrows=True, reassociate=True)
def pair_sums(values: Floats, h: Floats, k: Floats, to_h: Floats, to_k: Floats) -> None:
    """The messages of a table of two variables."""
    for y in range(len(k)):
        to_k[y] = 0.0
    for x in range(len(h)):
        total, factor, row = h.dtype.type(0), h[x], values[x * len(k) : (x + 1) * len(k)]
        for y in range(len(k)):
            total += row[y] * k[y]
            to_k[y] += row[y] * factor
        to_h[x] = total


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
        advance(wires, first, last, codes)


@kernel(borrows=True, reassociate=True)
def normalize(out: Floats) -> None:
    """Scale numbers to a sum of one."""
    total = out.dtype.type(0)
    for x in range(len(out)):
        total += out[x]
    scale = out.dtype.type(1) / total
    for x in range(len(out)):
        out[x] *= scale


@kernel(borrows=True, reassociate=True)
def renew(
    fresh: Floats, keep: float, old: Floats, new: Floats, h: Floats, following: Floats, is_sequential: bool,
    residual: float,
) -> float:  # fmt: skip
    """Write one message, damped; returns its largest relative change before, or the residual if that is larger."""
    exceeding = 0
    if is_sequential:
        for x in range(len(fresh)):
            value, was = fresh[x], old[x]
            exceeding += abs(value - was) > residual * was
            value += keep * (was - value)
            new[x], following[x] = value, h[x] * value
    else:
        for x in range(len(fresh)):
            value, was = fresh[x], old[x]
            exceeding += abs(value - was) > residual * was
            value += keep * (was - value)
            new[x] = value
            following[x] *= value
    if exceeding:
        for x in range(len(fresh)):
            if abs(fresh[x] - old[x]) > residual * old[x]:
                residual = abs(fresh[x] - old[x]) / old[x]
    return residual


@kernel(work=_pass_work, borrows=True, reassociate=True)
def linear_pass(
    wires: Wires, gains: Floats, values: Floats, order: Ints, keep: float, is_sequential: bool, beliefs: Floats,
    following: Floats, old: Floats, new: Floats, h: Floats, out: Floats, codes: Ints, cancel: Bytes,
) -> float:  # fmt: skip
    """Messages of all factors in order; returns the largest relative change of a message.

    Args:
        gains: the exponentials of the weights of named factors, all of them for equal states.
        values: the exponentials of the tables.
        keep: the part of each old message that is kept.
        following: at first the values of single variables, then the beliefs of the new messages. For a sequential pass
            this is `beliefs` itself.
        old, new: the messages, each with a sum of one.
        h, out, codes: room for the messages of one factor.
    """
    cards, states, starts, scope, places = wires.cards, wires.states, wires.starts, wires.scope, wires.messages
    kinds, tables, residual = wires.kinds, wires.places, keep - keep  # zero, of their type
    for step in range(len(order)):
        if step % 1024 == 0 and cancel[0]:
            return residual
        f = order[step]
        first, last = starts[f], starts[f + 1]
        base, size, is_potts = places[first], cards[scope[first]], kinds[f] == POTTS
        for s in range(first, last):
            low, high, own = places[s] - base, places[s + 1] - base, states[scope[s]]
            total = divided(beliefs[own : own + high - low], old[places[s] : places[s + 1]], h[low:high])
            if is_potts:
                spread(h[low:high], gains[f], total, out[size - low : size - low + size])
        if not is_potts and last == first + 2:
            end = places[last] - base
            pair_sums(values[tables[f] :], h[:size], h[size:end], out[:size], out[size:end])
        elif not is_potts:
            table_sums(wires, values, f, h, out, codes)
        for s in range(first, last):
            low, high, own = places[s] - base, places[s + 1] - base, states[scope[s]]
            if not is_potts:
                normalize(out[low:high])
            residual = renew(
                out[low:high], keep, old[places[s] : places[s + 1]], new[places[s] : places[s + 1]], h[low:high],
                following[own : own + high - low], is_sequential, residual,
            )  # fmt: skip
    return residual


@kernel(borrows=True, reassociate=True)
def potts_total(h: Floats, k: Floats, gain: float) -> float:
    """The sum of the products of two variables' numbers with a weight for equal states."""
    first = second = equal = 0.0
    for x in range(len(h)):
        first += h[x]
        second += k[x]
        equal += h[x] * k[x]
    if gain >= 1.0:
        return first * second + (gain - 1.0) * equal
    unequal = 0.0
    for x in range(len(h)):
        for y in range(len(k)):
            unequal += h[x] * k[y] if x != y else 0.0
    return unequal + gain * equal


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
            i = scope[s]
            numbers = beliefs[states[i] : states[i + 1]]
            divided(numbers, messages[places[s] : places[s + 1]], h[places[s] - base : places[s + 1] - base])
        if wires.kinds[f] == POTTS:
            own = potts_total(h[:size], h[size : 2 * size], gains[f])
        else:
            if last == first + 2:
                end = places[last] - base
                pair_sums(values[wires.places[f] :], h[:size], h[size:end], out[:size], out[size:end])
            else:
                table_sums(wires, values, f, h, out, codes)
            for x in range(size):
                own += h[x] * out[x]
        product *= own
        if not 1e-150 < product < 1e150:  # one logarithm for many factors
            total += math.log(product)
            product = 1.0
    return total + math.log(product)
