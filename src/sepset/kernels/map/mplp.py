r"""Block-coordinate descent on the dual, one factor of any number of variables at a time.

With the values $h_i = \theta_i + \sum_{g \ne f} m_{g \to i}$ of a factor's variables without its own messages,

$$\mu_i(x_i) = \max_{\mathbf x_{f \setminus i}} \Bigl[\theta_f(\mathbf x_f) + \sum_{j \in f} h_j(x_j)\Bigr], \qquad
m_{f \to i} \leftarrow \tfrac{1}{|f|} \mu_i - h_i$$

is the best choice of the messages of $f$ at those of all others: its block adds the largest $\mu_i$ to the bound.

Reference: Globerson & Jaakkola (2007), Fixing max-product; Sontag, Globerson & Jaakkola (2011).
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.maxima import pair_maxima
from sepset.kernels.propagation.wires import PARITY, QUADRATIC, TABLE, Wires, advance


@kernel(borrows=True)
def pair_marginals(wires: Wires, f: int, h: Floats, room: Floats, out: Floats) -> None:
    """The max-marginals of a named factor of two variables."""
    s = wires.starts[f]
    size, other = wires.cards[wires.scope[s]], wires.cards[wires.scope[s + 1]]
    pair_maxima(wires, f, s, h, out, size)
    for y in range(other):
        room[y] = h[size + y]
        out[size + y] += h[size + y]
    pair_maxima(wires, f, s + 1, room, out, 0)
    for x in range(size):
        out[x] += h[x]


@kernel(borrows=True)
def table_marginals(wires: Wires, f: int, h: Floats, codes: Ints, out: Floats) -> None:
    """The max-marginals of a table, in one pass over its entries."""
    first, last = wires.starts[f], wires.starts[f + 1]
    base, size = wires.messages[first], 1
    for s in range(first, last):
        codes[s - first] = 0
        size *= wires.cards[wires.scope[s]]
    for place in range(wires.messages[last] - base):
        out[place] = -np.inf
    for place in range(size):
        value = wires.tables[wires.places[f] + place]
        for s in range(first, last):
            value += h[wires.messages[s] - base + codes[s - first]]
        for s in range(first, last):
            at = wires.messages[s] - base + codes[s - first]
            out[at] = max(out[at], value)
        advance(wires, first, last, codes)


@kernel(borrows=True)
def constraint_marginals(wires: Wires, f: int, h: Floats, out: Floats) -> None:
    """The max-marginals of a constraint on binary variables, in linear time.

    The others take their best states; if the constraint then fails, one of them changes at the smallest loss.
    """
    size, ones = wires.starts[f + 1] - wires.starts[f], 0
    total, least, second, where = 0.0, np.inf, np.inf, -1
    for k in range(size):
        zero, one = h[2 * k], h[2 * k + 1]
        if zero == -np.inf and one == -np.inf:
            total = -np.inf
            break
        total += max(zero, one)
        ones += one > zero
        loss = abs(zero - one)
        if loss < least:
            least, second, where = loss, least, k
        else:
            second = min(second, loss)
    for k in range(size):
        zero, one = h[2 * k], h[2 * k + 1]
        rest = total - max(zero, one) if total > -np.inf else -np.inf
        others, loss = ones - (1 if one > zero else 0), second if k == where else least
        for x in range(2):
            holds = (others + x) % 2 == wires.weights[f] if wires.kinds[f] == PARITY else others + x > 0
            own = h[2 * k + x]
            out[2 * k + x] = -np.inf if rest == -np.inf or own == -np.inf else own + (rest if holds else rest - loss)


@kernel(borrows=True)
def max_marginals(wires: Wires, f: int, h: Floats, room: Floats, codes: Ints, out: Floats) -> None:
    """The best value of a factor and its variables at each state of each of its variables.

    Args:
        h: the values of the states of its variables, one variable after the other.
        room: room for one number per state of a variable.
        codes: room for one code per variable of the largest scope.
        out: like `h`.
    """
    if wires.kinds[f] == TABLE:
        table_marginals(wires, f, h, codes, out)
    elif wires.kinds[f] <= QUADRATIC:
        pair_marginals(wires, f, h, room, out)
    else:
        constraint_marginals(wires, f, h, out)


def _pass_work(wires: Wires, *_: object) -> float:
    return 10.0 * float(wires.messages[-1] + wires.states[-1] + wires.tables.size)


@kernel(work=_pass_work, borrows=True)
def mplp_pass(
    wires: Wires, beliefs: Floats, messages: Floats, h: Floats, room: Floats, codes: Ints, out: Floats,
    is_forward: bool, cancel: Bytes,
) -> float:  # fmt: skip
    """Update the messages of every factor once, in order or back; returns the bound without the constant.

    Args:
        beliefs: the values of single variables, to which this adds all messages.
        h, room, codes, out: as in `max_marginals`.
    """
    for s in range(len(wires.scope)):
        own = wires.states[wires.scope[s]] - wires.messages[s]
        for place in range(wires.messages[s], wires.messages[s + 1]):
            beliefs[own + place] += messages[place]
    for step in range(len(wires.kinds)):
        if cancel[0]:
            return np.inf
        f = step if is_forward else len(wires.kinds) - 1 - step
        first, last = wires.starts[f], wires.starts[f + 1]
        base, share = wires.messages[first], 1.0 / (last - first)
        for s in range(first, last):
            own = wires.states[wires.scope[s]] - wires.messages[s]
            for place in range(wires.messages[s], wires.messages[s + 1]):
                h[place - base] = beliefs[own + place] - messages[place]
        max_marginals(wires, f, h, room, codes, out)
        for s in range(first, last):
            own = wires.states[wires.scope[s]] - wires.messages[s]
            for place in range(wires.messages[s], wires.messages[s + 1]):
                if h[place - base] > -np.inf:
                    beliefs[own + place] = share * out[place - base]
                    messages[place] = share * out[place - base] - h[place - base]
    bound = 0.0
    for i in range(len(wires.cards)):
        best = -np.inf
        for place in range(wires.states[i], wires.states[i + 1]):
            best = max(best, beliefs[place])
        bound += best
    return bound


def _decode_work(wires: Wires, *_: object) -> float:
    return 40.0 * float(wires.messages[-1] + wires.states[-1] + wires.tables.size)


@kernel(work=_decode_work, borrows=True)
def decode_any(
    wires: Wires, unary: Floats, factors: Ints, messages: Floats, order: Ints, ranks: Ints, h: Floats, room: Floats,
    codes: Ints, out: Floats, values: Floats, found: Ints, cancel: Bytes,
) -> None:  # fmt: skip
    """Assign variables in an order: each takes its best state given earlier ones and the messages of later ones.

    Args:
        ranks: the place of each variable in the order.
        values: room for one number per state of a variable.
        found: receives the codes.
    """
    for i in order:
        if cancel[0]:
            return
        for x in range(wires.cards[i]):
            values[x] = unary[wires.states[i] + x]
        for place in range(wires.degrees[i], wires.degrees[i + 1]):
            s = wires.slots[place]
            f = factors[s]
            base = wires.messages[wires.starts[f]]
            for t in range(wires.starts[f], wires.starts[f + 1]):
                j = wires.scope[t]
                for x in range(wires.cards[j]):
                    value = -messages[wires.messages[t] + x]
                    if j == i or (ranks[j] < ranks[i] and found[j] == x):
                        value = 0.0
                    elif ranks[j] < ranks[i] or unary[wires.states[j] + x] == -np.inf:
                        value = -np.inf
                    h[wires.messages[t] + x - base] = value
            max_marginals(wires, f, h, room, codes, out)
            for x in range(wires.cards[i]):
                values[x] += out[wires.messages[s] - base + x]
        best = 0
        for x in range(1, wires.cards[i]):
            if values[x] > values[best]:
                best = x
        found[i] = best
