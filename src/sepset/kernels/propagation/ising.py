r"""Sum-product passes over binary variables whose factors are all weights for equal states, one number per message.

With the ratio $q = m(1) / m(0)$ of a message, the ratio $R_i$ of the belief of a variable, and $g = e^w$,

$$q_{f \to i} = \frac{q_{f \to j} + g R_j}{g\, q_{f \to j} + R_j}, \qquad R_i = r_i \prod_{f \ni i} q_{f \to i}.$$

All terms are positive, so that ratios keep their digits. Damping is that of messages with a sum of one: a part of both
messages, brought to a common denominator.

Reference: Koller & Friedman, section 11.3.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel


def _pass_work(scope: Ints, *_: object) -> float:
    return 15.0 * len(scope)


@kernel(work=_pass_work, borrows=True)
def ratio_products(scope: Ints, own: Floats, messages: Floats, out: Floats) -> None:
    """The ratio of each variable's belief: its own one times those of the messages to it."""
    for i in range(len(out)):
        out[i] = own[i]
    for s in range(len(scope)):
        out[scope[s]] *= messages[s]


@kernel(work=_pass_work, borrows=True, reassociate=True)
def ising_pass(
    scope: Ints, gains: Floats, order: Ints, keep: float, part: float, is_sequential: bool, beliefs: Floats,
    following: Floats, old: Floats, new: Floats, cancel: Bytes,
) -> float:  # fmt: skip
    """Messages of the factors in order; returns the largest relative change of a ratio before damping.

    Args:
        gains: the exponential of each weight.
        keep, part: the part of each old message that is kept, and the rest; in the type of the messages, as all else.
        beliefs: the ratios of the beliefs.
        following: at first the ratios of single variables, to which the new messages are multiplied. For a sequential
            pass this is `beliefs` itself, in which new messages replace old ones.
        old, new: the ratios of the messages, one per slot.
    """
    residual = part - part  # zero, of their type
    for step in range(len(order)):
        if step % 4096 == 0 and cancel[0]:
            return residual
        f = order[step]
        i, j, g, q, r = scope[2 * f], scope[2 * f + 1], gains[f], old[2 * f], old[2 * f + 1]
        a, b = beliefs[i], beliefs[j]
        one, to_one, zero, to_zero = r + g * b, q + g * a, g * r + b, g * q + a
        if abs(one - q * zero) > residual * q * zero:
            residual = abs(one - q * zero) / (q * zero)
        if abs(to_one - r * to_zero) > residual * r * to_zero:
            residual = abs(to_one - r * to_zero) / (r * to_zero)
        kept, to_kept = keep * (one + zero), keep * (to_one + to_zero)
        x = (part * (one + one * q) + kept * q) / (part * (zero + zero * q) + kept)
        y = (part * (to_one + to_one * r) + to_kept * r) / (part * (to_zero + to_zero * r) + to_kept)
        new[2 * f], new[2 * f + 1] = x, y
        if is_sequential:
            following[i], following[j] = a / q * x, b / r * y
        else:
            following[i] *= x
            following[j] *= y
    return residual


@kernel(work=_pass_work, borrows=True)
def ising_energy(scope: Ints, gains: Floats, beliefs: Floats, messages: Floats, cancel: Bytes) -> float:
    """The sum of the log totals of all factor beliefs, for beliefs with a sum of one and messages of (1, ratio)."""
    total, product = 0.0, 1.0
    for f in range(len(gains)):
        if f % 4096 == 0 and cancel[0]:
            return np.inf
        a, b = beliefs[scope[2 * f]], beliefs[scope[2 * f + 1]]
        c, d = a / messages[2 * f], b / messages[2 * f + 1]
        product *= (gains[f] * (1.0 + c * d) + c + d) / (1.0 + a) / (1.0 + b)
        if not 1e-75 < product < 1e75:  # one logarithm for many factors
            total += math.log(product)
            product = 1.0
    return total + math.log(product)
