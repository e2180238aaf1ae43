r"""Messages of one factor to all of its variables, by sums or by maxima, in log space.

$$m_i(x_i) = \log \sum_{\mathbf x_{f \setminus i}}
\exp \Bigl[p\, \theta_f(\mathbf x_f) + \sum_{j \ne i} h_j(x_j)\Bigr]$$

Tables take a pass over their entries for all messages together, weights of equal states a pass over the states, and
constraints a pass over their variables with two numbers each: whether the sum so far is even, or any state not zero.

Reference: Koller & Friedman, sections 11.3 and 13.4; Felzenszwalb & Huttenlocher (2006) for equal states.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.maxima import distance_maxima, largest, potts_maxima
from sepset.kernels.propagation.wires import PARITY, POTTS, QUADRATIC, TABLE, Wires, advance, pair_value


@kernel(borrows=True)
def added(a: float, b: float, is_max: bool) -> float:
    """The logarithm of a sum of two numbers given by their logarithms, or of the larger one."""
    top, low = max(a, b), min(a, b)
    if is_max or low == -np.inf:
        return top
    return top + math.log1p(math.exp(low - top))


@kernel(borrows=True)
def log_total(h: Floats, at: int, size: int, is_max: bool) -> float:
    """The logarithm of the sum of some numbers, or of the largest one."""
    top = largest(h[at : at + size])
    if is_max or top == -np.inf:
        return top
    total = 0.0
    for x in range(at, at + size):
        total += math.exp(h[x] - top)
    return top + math.log(total)


@kernel(borrows=True)
def potts_sums(h: Floats, at: int, size: int, weight: float, out: Floats, to: int) -> None:
    """The sums of a weight for equal states: for each state, itself with the weight, and the sum of all others."""
    where = at
    for x in range(at, at + size):
        if h[x] > h[where]:
            where = x
    top, second, rest, others = h[where], -np.inf, 0.0, 0.0
    for x in range(at, at + size):
        if x != where and h[x] > second:
            second = h[x]
    scale, gain = max(weight, 0.0), math.exp(-abs(weight))
    mine, theirs = (1.0, gain) if weight >= 0.0 else (gain, 1.0)
    for y in range(size):
        value = math.exp(h[at + y] - top) if top > -np.inf else 0.0
        out[to + y] = value
        if at + y != where:
            rest += value
            others += math.exp(h[at + y] - second) if second > -np.inf else 0.0
    for y in range(size):
        if at + y != where:
            value = out[to + y]
            unequal = 1.0 + max(rest - value, 0.0)
            if theirs > 1e-290:
                out[to + y] = top + scale + math.log(theirs * unequal + mine * value)
            else:  # a weight whose exponential is too large for a number
                out[to + y] = added(h[at + y] + weight, top + math.log(unequal), False)
    far = second + math.log(others) if second > -np.inf else -np.inf
    out[to + where - at] = added(top + weight, far, False)


@kernel(borrows=True)
def both_potts(h: Floats, size: int, weight: float, is_max: bool, out: Floats) -> None:
    """The messages of a weight for equal states to both of its variables."""
    for side in range(2):
        at, to = side * size, (1 - side) * size
        if is_max:
            potts_maxima(h, at, size, weight, out, to)
        else:
            potts_sums(h, at, size, weight, out, to)


@kernel(borrows=True)
def pair_message(
    kind: int, weight: float, limit: float, h: Floats, at: int, size: int, is_max: bool, out: Floats, to: int,
    room: Floats,
) -> None:  # fmt: skip
    """The message of a distance, from states at `at` in `h` to states at `to` in `out`."""
    for x in range(size):
        room[x] = h[at + x]
    if is_max and weight >= 0.0:
        distance_maxima(kind, room, size, weight, limit, out, to)
        return
    for y in range(size):
        for x in range(size):
            room[x] = h[at + x] + pair_value(kind, weight, limit, x, y)
        out[to + y] = log_total(room, 0, size, is_max)


@kernel(borrows=True)
def constraint_messages(wires: Wires, f: int, h: Floats, is_max: bool, out: Floats, room: Floats) -> None:
    """The messages of a constraint on binary variables: the variables before and after each, in two numbers."""
    num, odd, is_parity = wires.starts[f + 1] - wires.starts[f], wires.weights[f], wires.kinds[f] == PARITY
    room[2 * num], room[2 * num + 1] = 0.0, -np.inf
    for k in range(num - 1, 0, -1):
        a, b, zero, one = room[2 * k + 2], room[2 * k + 3], h[2 * k], h[2 * k + 1]
        room[2 * k] = added(a + zero, b + one, is_max) if is_parity else a + zero
        both = zero if is_parity else added(zero, one, is_max)
        room[2 * k + 1] = added(b + both, a + one, is_max)
    a, b = 0.0, -np.inf
    for k in range(num):
        c, d, zero, one = room[2 * k + 2], room[2 * k + 3], h[2 * k], h[2 * k + 1]
        if is_parity:
            even, uneven = added(a + c, b + d, is_max), added(a + d, b + c, is_max)
            out[2 * k] = even if odd == 0.0 else uneven
            out[2 * k + 1] = uneven if odd == 0.0 else even
            a, b = added(a + zero, b + one, is_max), added(a + one, b + zero, is_max)
        else:
            after = added(c, d, is_max)
            out[2 * k] = added(b + after, a + d, is_max)
            out[2 * k + 1] = added(a, b, is_max) + after
            a, b = a + zero, added(b + added(zero, one, is_max), a + one, is_max)


@kernel(borrows=True)
def table_messages(
    wires: Wires, f: int, power: float, h: Floats, is_max: bool, out: Floats, room: Floats, codes: Ints
) -> None:
    """The messages of a table; -inf where the variable itself is -inf, whose entries then count for none."""
    first, last, size = wires.starts[f], wires.starts[f + 1], 1
    base = wires.messages[first]
    for s in range(first, last):
        codes[s - first] = 0
        size *= wires.cards[wires.scope[s]]
    for x in range(wires.messages[last] - base):
        out[x], room[x] = -np.inf, 0.0
    for turn in range(1 if is_max else 2):
        for place in range(size):
            value = power * wires.tables[wires.places[f] + place]
            for s in range(first, last):
                value += h[wires.messages[s] - base + codes[s - first]]
            if value > -np.inf:
                for s in range(first, last):
                    at = wires.messages[s] - base + codes[s - first]
                    if turn == 0:
                        out[at] = max(out[at], value - h[at])
                    else:
                        room[at] += math.exp(value - h[at] - out[at])
            advance(wires, first, last, codes)
    if not is_max:
        for x in range(wires.messages[last] - base):
            out[x] += math.log(room[x]) if room[x] > 0.0 else 0.0


@kernel(borrows=True)
def factor_messages(
    wires: Wires, f: int, power: float, h: Floats, is_max: bool, out: Floats, room: Floats, codes: Ints
) -> None:
    """The messages of a factor to all of its variables, which are not normalized.

    Args:
        power: the factor is raised to it.
        h: the log values of the states of its variables, one variable after the other, as in `out`.
        room: two numbers more than those, and `codes` for one code per variable.
    """
    kind, first = wires.kinds[f], wires.starts[f]
    if kind == TABLE:
        table_messages(wires, f, power, h, is_max, out, room, codes)
    elif kind <= QUADRATIC:
        size, weight, limit = wires.cards[wires.scope[first]], power * wires.weights[f], wires.limits[f]
        if kind == POTTS:
            both_potts(h, size, weight, is_max, out)
        else:
            pair_message(kind, weight, limit, h, 0, size, is_max, out, size, room)
            pair_message(kind, weight, limit, h, size, size, is_max, out, 0, room)
    else:
        constraint_messages(wires, f, h, is_max, out, room)
