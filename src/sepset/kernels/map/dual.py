r"""The dual bound of any reparameterization.

$$\log \tilde P(\mathbf x) \le c + \sum_i \max_{x_i} \Bigl[\theta_i + \sum_{f \ni i} m_{f \to i}\Bigr]
+ \sum_f \max_{\mathbf x_f} \Bigl[\theta_f - \sum_{i \in f} m_{f \to i}\Bigr]$$

Every bracket is rounded up: a sum of $n$ numbers in a row is off by at most $n u$ times the sum of their sizes, where
$u$ is half of the distance of one to the next number. The brackets are added with what each addition loses.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.wires import PARITY, QUADRATIC, TABLE, Wires, advance, pair_value

UNIT = 2.0**-52
"""Twice the largest relative error of one addition."""


@kernel(borrows=True)
def table_best(wires: Wires, unary: Floats, f: int, messages: Floats, codes: Ints) -> float:
    """The largest entry of a factor's table at possible states, less its messages; `codes` is room for its codes."""
    first, last = wires.starts[f], wires.starts[f + 1]
    size, unit = 1, UNIT * (last - first)
    for s in range(first, last):
        codes[s - first] = 0
        size *= wires.cards[wires.scope[s]]
    best = -np.inf
    for place in range(size):
        value = wires.tables[wires.places[f] + place]
        sizes = abs(value)
        for s in range(first, last):
            if unary[wires.states[wires.scope[s]] + codes[s - first]] == -np.inf:
                value = -np.inf
            if value > -np.inf:
                message = messages[wires.messages[s] + codes[s - first]]
                value -= message
                sizes += abs(message)
        if value > -np.inf:
            best = max(best, value + unit * sizes)
        advance(wires, first, last, codes)
    return best


@kernel(borrows=True)
def pair_best(wires: Wires, unary: Floats, f: int, messages: Floats) -> float:
    """The largest log value of a named pair at possible states, less its messages."""
    s = wires.starts[f]
    i, j = wires.scope[s], wires.scope[s + 1]
    one, two = wires.messages[s], wires.messages[s + 1]
    best = -np.inf
    for x in range(wires.cards[i]):
        for y in range(wires.cards[j]):
            if unary[wires.states[i] + x] > -np.inf and unary[wires.states[j] + y] > -np.inf:
                value = pair_value(wires.kinds[f], wires.weights[f], wires.limits[f], x, y)
                mine, other = messages[one + x], messages[two + y]
                best = max(best, value - mine - other + 2.0 * UNIT * (abs(value) + abs(mine) + abs(other)))
    return best


@kernel(borrows=True)
def constraint_best(wires: Wires, unary: Floats, f: int, messages: Floats) -> float:
    """The largest value of minus the messages of a constraint on binary variables, where it holds at possible states.

    The best state of each variable, and if the constraint then fails, the smallest loss that mends it.
    """
    total, ones, loss, sizes = 0.0, 0, np.inf, 0.0
    for s in range(wires.starts[f], wires.starts[f + 1]):
        at, own = wires.messages[s], wires.states[wires.scope[s]]
        zero = -messages[at] if unary[own] > -np.inf else -np.inf
        one = -messages[at + 1] if unary[own + 1] > -np.inf else -np.inf
        if zero == -np.inf and one == -np.inf:
            return -np.inf
        total += max(zero, one)
        sizes += abs(max(zero, one))
        ones += one > zero
        loss = min(loss, abs(zero - one))
    holds = ones % 2 == wires.weights[f] if wires.kinds[f] == PARITY else ones > 0
    if not holds:
        if loss == np.inf:
            return -np.inf
        total -= loss
        sizes += 2.0 * loss
    return float(total + UNIT * (wires.starts[f + 1] - wires.starts[f] + 1) * sizes)


@kernel(borrows=True)
def variable_best(wires: Wires, unary: Floats, i: int, messages: Floats) -> float:
    """The largest log value of a variable with all messages to it."""
    first, last, best = wires.degrees[i], wires.degrees[i + 1], -np.inf
    for x in range(wires.cards[i]):
        value = unary[wires.states[i] + x]
        if value > -np.inf:
            sizes = abs(value)
            for place in range(first, last):
                message = messages[wires.messages[wires.slots[place]] + x]
                value += message
                sizes += abs(message)
            best = max(best, value + UNIT * (last - first) * sizes)
    return best


def _dual_work(wires: Wires, *_: object) -> float:
    return 10.0 * float(wires.messages[-1] + wires.states[-1] + wires.tables.size)


@kernel(work=_dual_work, borrows=True)
def dual_bound(wires: Wires, unary: Floats, messages: Floats, codes: Ints, cancel: Bytes) -> float:
    """The bound of messages, rounded up, one number per state of every slot; those of zeros are not read.

    Args:
        codes: room for one code per variable of the largest scope.
    """
    total = lost = sizes = 0.0
    num, size = len(wires.cards), len(wires.cards) + len(wires.kinds)
    for k in range(size):
        if k < num:
            best = variable_best(wires, unary, k, messages)
        elif cancel[0]:
            return np.inf
        elif wires.kinds[k - num] == TABLE:
            best = table_best(wires, unary, k - num, messages, codes)
        elif wires.kinds[k - num] <= QUADRATIC:
            best = pair_best(wires, unary, k - num, messages)
        else:
            best = constraint_best(wires, unary, k - num, messages)
        if best == -np.inf:
            return -np.inf
        after = total + best
        lost += (total - after) + best if abs(total) >= abs(best) else (best - after) + total
        total = after
        sizes += abs(best)
    return total + lost + UNIT * abs(total) + UNIT * UNIT * size * sizes
