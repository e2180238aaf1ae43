r"""Passes of loopy message passing over the factors of a wired model, with a weight for each factor.

$$b_i \propto \Bigl(\phi_i \prod_{f \ni i} m_{f \to i}^{\rho_f}\Bigr)^{1/\hat\kappa_i}, \qquad m_{f \to i}(x_i) \propto
\sum_{\mathbf x_{f \setminus i}} \phi_f^{1/\rho_f} \prod_{j \ne i} \frac{b_j(x_j)}{m_{f \to j}(x_j)}, \quad 0/0 = 0,$$

in log space, so that $\tilde P \propto \prod_f \beta_f^{\rho_f} \prod_i b_i^{\kappa_i}$ with
$\kappa_i = \hat\kappa_i - \sum_{f \ni i} \rho_f$ after every message. Weights of one give belief propagation; maxima in
place of sums give max-product. A zero of a message is a state that arc consistency rules out, and remains one.

Reference: Wainwright & Jordan (2008), sections 4.1 and 7.2; Koller & Friedman, sections 11.3 and 13.4.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.maxima import largest
from sepset.kernels.propagation.messages import both_potts, factor_messages, log_total
from sepset.kernels.propagation.wires import POTTS, Wires


def _pass_work(wires: Wires, *_: object) -> float:
    return 20.0 * float(wires.messages[-1] + wires.states[-1] + wires.tables.size)


@kernel(work=_pass_work, borrows=True)
def gather(
    wires: Wires, unary: Floats, factors: Ints, rhos: Floats, counts: Floats, is_max: bool, messages: Floats,
    out: Floats,
) -> float:  # fmt: skip
    r"""The log beliefs of all variables, with a sum (or maximum) of one.

    Args:
        counts: $\hat\kappa_i$ for each variable.

    Returns the sum of $\hat\kappa_i$ times the log total of each belief; -inf if one of them is zero.
    """
    cards, states, scope, places = wires.cards, wires.states, wires.scope, wires.messages
    for place in range(states[-1]):
        out[place] = unary[place]
    for s in range(len(scope)):
        own, place, rho = states[scope[s]], places[s], rhos[factors[s]]
        for x in range(cards[scope[s]]):
            out[own + x] += rho * messages[place + x]
    total = 0.0
    for i in range(len(cards)):
        for place in range(states[i], states[i + 1]):
            out[place] /= counts[i]
        own = log_total(out, states[i], cards[i], is_max)
        if own == -np.inf:
            return -np.inf
        total += counts[i] * own
        for place in range(states[i], states[i + 1]):
            out[place] -= own
    return total


@kernel(borrows=True)
def cavity(beliefs: Floats, own: int, messages: Floats, place: int, size: int, h: Floats, to: int) -> None:
    """The log belief of a variable divided by the message of a factor to it."""
    for x in range(size):
        belief = beliefs[own + x]
        h[to + x] = belief - messages[place + x] if belief > -np.inf else -np.inf


@kernel(borrows=True)
def cavities(wires: Wires, f: int, beliefs: Floats, messages: Floats, h: Floats) -> None:
    """The beliefs of a factor's variables divided by its messages to them."""
    base = wires.messages[wires.starts[f]]
    for s in range(wires.starts[f], wires.starts[f + 1]):
        i, place = wires.scope[s], wires.messages[s]
        cavity(beliefs, wires.states[i], messages, place, wires.cards[i], h, place - base)


@kernel(borrows=True)
def replace_message(
    new: Floats, at: int, size: int, power: float, damping: float, is_sequential: bool, beliefs: Floats, own: int,
    messages: Floats, fresh: Floats, place: int,
) -> float:  # fmt: skip
    """Write one message, normalized to a maximum of zero and damped; returns its change before damping, or NaN.

    Args:
        power: the exponent of the message in the belief.
    """
    residual, top = 0.0, largest(new[at : at + size])
    if top == -np.inf:
        return np.nan
    for x in range(size):
        old, belief = messages[place + x], beliefs[own + x]
        if belief == -np.inf:
            fresh[place + x] = old
        elif new[at + x] == -np.inf:
            fresh[place + x], residual = -np.inf, np.inf
            beliefs[own + x] = -np.inf if is_sequential else belief
        else:
            change = new[at + x] - top - old
            residual = max(residual, abs(change))
            now = old + (1.0 - damping) * change
            fresh[place + x] = now
            if is_sequential:
                beliefs[own + x] = belief + power * (now - old)
    return residual


@kernel(work=_pass_work, borrows=True)
def message_pass(
    wires: Wires, order: Ints, rhos: Floats, counts: Floats, damping: float, is_max: bool, is_sequential: bool,
    beliefs: Floats, messages: Floats, fresh: Floats, h: Floats, out: Floats, room: Floats, codes: Ints, cancel: Bytes,
) -> float:  # fmt: skip
    """Messages of all factors in order; returns the largest change of a log message, NaN if all is impossible.

    Args:
        order: the factors.
        is_sequential: whether factors use the messages of those before them; `fresh` is then `messages` itself.
        h, out, room, codes: room for the messages of one factor.
    """
    cards, states, starts, scope, places = wires.cards, wires.states, wires.starts, wires.scope, wires.messages
    kinds, residual = wires.kinds, 0.0
    for step in range(len(order)):
        f = order[step]
        if step % 256 == 0 and cancel[0]:
            return np.inf
        first, last, rho = starts[f], starts[f + 1], rhos[f]
        base = places[first]
        for s in range(first, last):
            cavity(beliefs, states[scope[s]], messages, places[s], cards[scope[s]], h, places[s] - base)
        if kinds[f] == POTTS:
            both_potts(h, cards[scope[first]], wires.weights[f] / rho, is_max, out)
        else:
            factor_messages(wires, f, 1.0 / rho, h, is_max, out, room, codes)
        for s in range(first, last):
            i, place = scope[s], places[s]
            change = replace_message(
                out, place - base, cards[i], rho / counts[i], damping, is_sequential, beliefs, states[i], messages,
                fresh, place,
            )  # fmt: skip
            if np.isnan(change):
                return np.nan
            residual = max(residual, change)
    return residual


@kernel(work=_pass_work, borrows=True)
def factor_energy(
    wires: Wires, rhos: Floats, is_max: bool, is_bound: bool, beliefs: Floats, messages: Floats, h: Floats,
    out: Floats, room: Floats, codes: Ints, cancel: Bytes,
) -> float:  # fmt: skip
    r"""The weighted sum of the log totals of all factor beliefs, for normalized log beliefs of the variables.

    $$\sum_f \rho_f \log \sum_{\mathbf x_f} \phi_f^{1/\rho_f} \prod_{i \in f} \frac{b_i(x_i)}{m_{f \to i}(x_i)}$$

    Args:
        is_bound: take the largest total given a state of any one variable instead, which is equal at a fixed point.
    """
    total = 0.0
    for f in range(len(wires.kinds)):
        if cancel[0]:
            return np.inf
        cavities(wires, f, beliefs, messages, h)
        factor_messages(wires, f, 1.0 / rhos[f], h, is_max, out, room, codes)
        base, first, most = wires.messages[wires.starts[f]], wires.starts[f], -np.inf
        if is_bound:
            for s in range(first, wires.starts[f + 1]):
                for x in range(wires.cards[wires.scope[s]]):
                    at = wires.messages[s] + x
                    if beliefs[wires.states[wires.scope[s]] + x] > -np.inf:
                        most = max(most, out[at - base] - messages[at])
        else:
            size = wires.cards[wires.scope[first]]
            for x in range(size):
                out[x] += h[x]
            most = log_total(out, 0, size, is_max)
        if most == -np.inf:
            return -np.inf
        total += rhos[f] * most
    return total
