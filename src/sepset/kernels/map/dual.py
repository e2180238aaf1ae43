r"""The dual bound of any reparameterization.

$$\log \tilde P(\mathbf x) \le c + \sum_i \max_{x_i} \Bigl[\theta_i + \sum_{f \ni i} m_{f \to i}\Bigr]
+ \sum_f \max_{\mathbf x_f} \Bigl[\theta_f - \sum_{i \in f} m_{f \to i}\Bigr]$$
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.wires import PARITY, QUADRATIC, TABLE, Wires, pair_value


@kernel(borrows=True)
def table_best(wires: Wires, unary: Floats, f: int, messages: Floats, codes: Ints) -> float:
    """The largest entry of a factor's table at possible states, less its messages; `codes` is room for its codes."""
    first, last = wires.starts[f], wires.starts[f + 1]
    size = 1
    for s in range(first, last):
        codes[s - first] = 0
        size *= wires.cards[wires.scope[s]]
    best = -np.inf
    for place in range(size):
        value = wires.tables[wires.places[f] + place]
        for s in range(first, last):
            if unary[wires.states[wires.scope[s]] + codes[s - first]] == -np.inf:
                value = -np.inf
            if value > -np.inf:
                value -= messages[wires.messages[s] + codes[s - first]]
        best = max(best, value)
        for s in range(last - 1, first - 1, -1):
            codes[s - first] += 1
            if codes[s - first] < wires.cards[wires.scope[s]]:
                break
            codes[s - first] = 0
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
                best = max(best, value - messages[one + x] - messages[two + y])
    return best


@kernel(borrows=True)
def constraint_best(wires: Wires, unary: Floats, f: int, messages: Floats) -> float:
    """The largest value of minus the messages of a constraint on binary variables, where it holds at possible states.

    The best state of each variable, and if the constraint then fails, the smallest loss that mends it.
    """
    total, ones, loss = 0.0, 0, np.inf
    for s in range(wires.starts[f], wires.starts[f + 1]):
        at, own = wires.messages[s], wires.states[wires.scope[s]]
        zero = -messages[at] if unary[own] > -np.inf else -np.inf
        one = -messages[at + 1] if unary[own + 1] > -np.inf else -np.inf
        if zero == -np.inf and one == -np.inf:
            return -np.inf
        total += max(zero, one)
        ones += one > zero
        loss = min(loss, abs(zero - one))
    holds = ones % 2 == wires.weights[f] if wires.kinds[f] == PARITY else ones > 0
    return total if holds else total - loss


def _dual_work(wires: Wires, *_: object) -> float:
    return 10.0 * float(wires.messages[-1] + wires.states[-1] + wires.tables.size)


@kernel(work=_dual_work, borrows=True)
def dual_bound(wires: Wires, unary: Floats, messages: Floats, codes: Ints, cancel: Bytes) -> float:
    """The bound of messages, one number per state of every slot; those of states of value zero are not read.

    Args:
        codes: room for one code per variable of the largest scope.
    """
    total = 0.0
    for i in range(len(wires.cards)):
        best = -np.inf
        for x in range(wires.cards[i]):
            value = unary[wires.states[i] + x]
            for place in range(wires.degrees[i], wires.degrees[i + 1]):
                value += messages[wires.messages[wires.slots[place]] + x] if value > -np.inf else 0.0
            best = max(best, value)
        total += best
    for f in range(len(wires.kinds)):
        if cancel[0]:
            return np.inf
        if wires.kinds[f] == TABLE:
            total += table_best(wires, unary, f, messages, codes)
        elif wires.kinds[f] <= QUADRATIC:
            total += pair_best(wires, unary, f, messages)
        else:
            total += constraint_best(wires, unary, f, messages)
    return total
