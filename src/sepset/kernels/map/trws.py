r"""Passes of sequential tree-reweighted message passing over the variables of a model in pairs.

With $\hat\theta_i = \theta_i + \sum_f m_{f \to i}$ and $\gamma_i = 1 / \max(\text{factors forward}, \text{backward})$,
the pass over increasing $i$ sends to every later neighbor $j$

$$m_{f \to j}(x_j) \leftarrow
\max_{x_i} \bigl[\gamma_i \hat\theta_i(x_i) - m_{f \to i}(x_i) + \theta_f(x_i, x_j)\bigr],$$

normalized to a maximum of zero; the pass back does the same for earlier neighbors, and adds up the bound.

Reference: Kolmogorov (2006), Convergent tree-reweighted message passing for energy minimization.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.maxima import largest, pair_maxima
from sepset.kernels.propagation.wires import POTTS, Wires, add_conditional


@kernel(borrows=True, reassociate=True)
def belief(own: Floats, messages: Floats, starts: Ints, slots: Ints, h: Floats) -> float:
    """The log values of a variable with all messages to it; returns the largest.

    Args:
        own: the log values of the variable alone.
        starts: where the message of each slot starts.
        slots: those of the variable.
    """
    for x in range(len(h)):
        h[x] = own[x]
    for s in slots:
        message = messages[starts[s] : starts[s] + len(h)]
        for x in range(len(h)):
            h[x] += message[x]
    return largest(h)


@kernel(borrows=True, reassociate=True)
def send(h: Floats, top: float, gamma: float, message: Floats, room: Floats) -> None:
    """Put the message of a variable through one factor into `room`."""
    least = h.dtype.type(-np.inf)
    for x in range(len(h)):
        value = gamma * (h[x] - top) - message[x]
        room[x] = value if h[x] > least else least


@kernel(borrows=True, reassociate=True)
def clip(room: Floats, top: float, least: float, message: Floats) -> None:
    """Write a message of a weight for equal states: the values less their maximum, or minus the weight if larger."""
    for y in range(len(room)):
        value = room[y] - top
        message[y] = value if value > least else least


def _pass_work(wires: Wires, *_: object) -> float:
    return 8.0 * float(wires.messages[-1] + wires.states[-1] + wires.tables.size)


@kernel(work=_pass_work, borrows=True)
def trws_pass(
    wires: Wires, unary: Floats, factors: Ints, gammas: Floats, messages: Floats, h: Floats, room: Floats,
    is_forward: bool, cancel: Bytes,
) -> float:  # fmt: skip
    """One pass; returns the upper bound, which is valid after a pass back.

    Args:
        factors: the factor of each slot.
        h, room: room for one number per state.
    """
    cards, states, starts, scope, places = wires.cards, wires.states, wires.starts, wires.scope, wires.messages
    degrees, slots, kinds, weights, real = wires.degrees, wires.slots, wires.kinds, wires.weights, messages.dtype.type
    n, bound = len(cards), 0.0
    for step in range(n):
        i = step if is_forward else n - 1 - step
        if step % 1024 == 0 and cancel[0]:
            return np.inf
        size, gamma, mine = cards[i], real(gammas[i]), slots[degrees[i] : degrees[i + 1]]
        values, sent = h[:size], room[:size]
        top = belief(unary[states[i] : states[i + 1]], messages, places, mine, values)
        if top == -np.inf:
            return -np.inf
        bound += top
        for s in mine:
            f = factors[s]
            t = 2 * starts[f] + 1 - s
            j = scope[t]
            if (j > i) != is_forward:
                continue
            send(values, top, gamma, messages[places[s] : places[s + 1]], sent)
            out = messages[places[t] : places[t + 1]]
            if kinds[f] == POTTS and weights[f] >= 0.0:
                best = largest(sent)
                clip(sent, best, real(-weights[f]), out)
                best += weights[f]
            else:
                pair_maxima(wires, f, s, room, messages, places[t])
                best = largest(out)
                for y in range(len(out)):
                    out[y] -= best
            if best == -np.inf:
                return -np.inf
            bound += best
    return bound


@kernel(work=_pass_work, borrows=True)
def decode(wires: Wires, unary: Floats, factors: Ints, messages: Floats, h: Floats, codes: Ints) -> None:
    """Assign variables in order: the best state given earlier neighbors, and messages from later ones."""
    for i in range(len(wires.cards)):
        size = wires.cards[i]
        for x in range(size):
            h[x] = unary[wires.states[i] + x]
        for place in range(wires.degrees[i], wires.degrees[i + 1]):
            s = wires.slots[place]
            f = factors[s]
            if wires.scope[2 * wires.starts[f] + 1 - s] < i:
                add_conditional(wires, s, f, codes, h)
            else:
                for x in range(size):
                    h[x] += messages[wires.messages[s] + x]
        best = 0
        for x in range(1, size):
            if h[x] > h[best]:
                best = x
        codes[i] = best


@kernel(work=_pass_work, borrows=True)
def split_messages(
    wires: Wires, unary: Floats, factors: Ints, gammas: Floats, messages: Floats, h: Floats, out: Floats
) -> None:
    """After a pass back, the messages whose dual bound is that of the pass."""
    for s in range(len(messages)):
        out[s] = messages[s]
    for i in range(len(wires.cards)):
        mine = wires.slots[wires.degrees[i] : wires.degrees[i + 1]]
        own = unary[wires.states[i] : wires.states[i + 1]]
        top = belief(own, messages, wires.messages, mine, h[: wires.cards[i]])
        for s in mine:
            if wires.scope[2 * wires.starts[factors[s]] + 1 - s] < i:
                for x in range(wires.cards[i]):
                    if h[x] > -np.inf:
                        out[wires.messages[s] + x] -= gammas[i] * (h[x] - top)
