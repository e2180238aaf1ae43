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


@kernel(borrows=True)
def belief(wires: Wires, unary: Floats, messages: Floats, i: int, h: Floats) -> float:
    """The log values of a variable with all messages to it; returns the largest."""
    size = wires.cards[i]
    for x in range(size):
        h[x] = unary[wires.states[i] + x]
    for place in range(wires.degrees[i], wires.degrees[i + 1]):
        at = wires.messages[wires.slots[place]]
        for x in range(size):
            h[x] += messages[at + x]
    return largest(h, 0, size)


@kernel(borrows=True, reassociate=True)
def send(h: Floats, top: float, gamma: float, messages: Floats, own: int, size: int, room: Floats) -> float:
    """Put the message of a variable through one factor into `room`; returns its largest entry."""
    best = -np.inf
    for x in range(size):
        value = gamma * (h[x] - top) - messages[own + x]
        value = value if h[x] > -np.inf else -np.inf
        room[x] = value
        best = max(best, value)
    return best


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
    n, bound = len(wires.cards), 0.0
    for step in range(n):
        i = step if is_forward else n - 1 - step
        if step % 1024 == 0 and cancel[0]:
            return np.inf
        top = belief(wires, unary, messages, i, h)
        if top == -np.inf:
            return -np.inf
        bound += top
        size = wires.cards[i]
        for place in range(wires.degrees[i], wires.degrees[i + 1]):
            s = wires.slots[place]
            f = factors[s]
            t = 2 * wires.starts[f] + 1 - s
            j = wires.scope[t]
            if (j > i) != is_forward:
                continue
            own, at = wires.messages[s], wires.messages[t]
            sent = send(h, top, gammas[i], messages, own, size, room)
            if wires.kinds[f] == POTTS and wires.weights[f] >= 0.0:
                best = sent + wires.weights[f]
                for y in range(size):
                    messages[at + y] = max(room[y] - sent, -wires.weights[f])
            else:
                pair_maxima(wires, f, s, room, messages, at)
                best = largest(messages, at, wires.cards[j])
                for y in range(wires.cards[j]):
                    messages[at + y] -= best
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
        top = belief(wires, unary, messages, i, h)
        for place in range(wires.degrees[i], wires.degrees[i + 1]):
            s = wires.slots[place]
            if wires.scope[2 * wires.starts[factors[s]] + 1 - s] < i:
                for x in range(wires.cards[i]):
                    if h[x] > -np.inf:
                        out[wires.messages[s] + x] -= gammas[i] * (h[x] - top)
