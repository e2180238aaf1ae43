r"""Passes of loopy message passing over the factors of a wired model, with a weight for each factor.

$$b_i \propto \phi_i \prod_{f \ni i} m_{f \to i}^{\rho_f}, \qquad m_{f \to i}(x_i) \propto
\sum_{\mathbf x_{f \setminus i}} \phi_f^{1/\rho_f} \prod_{j \ne i} \frac{b_j(x_j)}{m_{f \to j}(x_j)}, \quad 0/0 = 0,$$

in log space. Weights of one give belief propagation; maxima in place of sums give max-product. A zero of a message is
a state that arc consistency rules out, and remains one.

Reference: Wainwright & Jordan (2008), sections 4.1 and 7.2; Koller & Friedman, sections 11.3 and 13.4.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.maxima import largest
from sepset.kernels.propagation.messages import factor_messages, log_total
from sepset.kernels.propagation.wires import Wires


def _pass_work(wires: Wires, *_: object) -> float:
    return 20.0 * float(wires.messages[-1] + wires.states[-1] + wires.tables.size)


@kernel(work=_pass_work, borrows=True)
def traverse(wires: Wires, factors: Ints, seen: Bytes, found: Bytes, queue: Ints, order: Ints, up: Bytes) -> int:
    """List the factors breadth first from the first variable of each component; returns the number of components.

    Args:
        seen, found: zeros, one per variable and one per factor.
        order: room for the factors in order.
        up: zeros, one per slot; one where a factor was reached from this variable.
    """
    components, count = 0, 0
    for root in range(len(wires.cards)):
        if seen[root]:
            continue
        components += 1
        seen[root], queue[0] = 1, root
        head, tail = 0, 1
        while head < tail:
            i = queue[head]
            head += 1
            for place in range(wires.degrees[i], wires.degrees[i + 1]):
                s = wires.slots[place]
                f = factors[s]
                if found[f]:
                    continue
                found[f], up[s], order[count] = 1, 1, f
                count += 1
                for t in range(wires.starts[f], wires.starts[f + 1]):
                    j = wires.scope[t]
                    if not seen[j]:
                        seen[j], queue[tail] = 1, j
                        tail += 1
    return components


@kernel(work=_pass_work, borrows=True)
def gather(wires: Wires, unary: Floats, factors: Ints, rhos: Floats, messages: Floats, out: Floats) -> float:
    """The log beliefs of all variables, normalized to a sum of one; returns the sum of their log totals."""
    for place in range(wires.states[-1]):
        out[place] = unary[place]
    for s in range(len(wires.scope)):
        i, rho = wires.scope[s], rhos[factors[s]]
        for x in range(wires.cards[i]):
            out[wires.states[i] + x] += rho * messages[wires.messages[s] + x]
    total = 0.0
    for i in range(len(wires.cards)):
        own = log_total(out, wires.states[i], wires.cards[i], False)
        if own == -np.inf:
            return -np.inf
        total += own
        for place in range(wires.states[i], wires.states[i + 1]):
            out[place] -= own
    return total


@kernel(borrows=True)
def cavities(wires: Wires, f: int, beliefs: Floats, messages: Floats, h: Floats) -> None:
    """The beliefs of a factor's variables divided by its messages to them."""
    base = wires.messages[wires.starts[f]]
    for s in range(wires.starts[f], wires.starts[f + 1]):
        own = wires.states[wires.scope[s]]
        for x in range(wires.cards[wires.scope[s]]):
            belief, at = beliefs[own + x], wires.messages[s] + x
            h[at - base] = belief - messages[at] if belief > -np.inf else -np.inf


@kernel(borrows=True)
def replace_message(
    wires: Wires, s: int, new: Floats, at: int, rho: float, damping: float, is_sequential: bool, beliefs: Floats,
    messages: Floats, fresh: Floats,
) -> float:  # fmt: skip
    """Write one message, normalized to a maximum of zero and damped; returns its change before damping, or NaN."""
    i, residual = wires.scope[s], 0.0
    size, own, place = wires.cards[i], wires.states[i], wires.messages[s]
    top = largest(new, at, size)
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
            fresh[place + x] = old + (1.0 - damping) * change
            if is_sequential:
                beliefs[own + x] += rho * (fresh[place + x] - old)
    return residual


@kernel(work=_pass_work, borrows=True)
def message_pass(
    wires: Wires, order: Ints, rhos: Floats, damping: float, is_max: bool, is_sequential: bool, beliefs: Floats,
    messages: Floats, fresh: Floats, h: Floats, out: Floats, room: Floats, codes: Ints, cancel: Bytes,
) -> float:  # fmt: skip
    """Messages of all factors in order; returns the largest change of a log message, NaN if all is impossible.

    Args:
        order: the factors.
        is_sequential: whether factors use the messages of those before them; `fresh` is then `messages` itself.
        h, out, room, codes: room for the messages of one factor.
    """
    residual = 0.0
    for f in order:
        if cancel[0]:
            return np.inf
        cavities(wires, f, beliefs, messages, h)
        factor_messages(wires, f, 1.0 / rhos[f], h, is_max, out, room, codes)
        base = wires.messages[wires.starts[f]]
        for s in range(wires.starts[f], wires.starts[f + 1]):
            at = wires.messages[s] - base
            change = replace_message(
                wires, s, out, at, rhos[f], damping, is_sequential, beliefs, messages, fresh
            )  # fmt: skip
            if np.isnan(change):
                return np.nan
            residual = max(residual, change)
    return residual


@kernel(work=_pass_work, borrows=True)
def factor_energy(
    wires: Wires, rhos: Floats, is_bound: bool, beliefs: Floats, messages: Floats, h: Floats, out: Floats,
    room: Floats, codes: Ints, cancel: Bytes,
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
        factor_messages(wires, f, 1.0 / rhos[f], h, False, out, room, codes)
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
            most = log_total(out, 0, size, False)
        if most == -np.inf:
            return -np.inf
        total += rhos[f] * most
    return total
