r"""Dual certificates: messages that move value between factors and variables, and the bound they prove.

$$\log \tilde P(\mathbf x) = c + \sum_i \Bigl[\theta_i + \sum_{f \ni i} m_{f \to i}\Bigr]
+ \sum_f \Bigl[\theta_f - \sum_{i \in f} m_{f \to i}\Bigr]$$

for every assignment and any messages, so that the sum of the maxima of all brackets is an upper bound, here rounded
up.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.threads import interruptible
from sepset.inference.assignment import Certificate
from sepset.inference.wiring import Wiring
from sepset.kernels.map.dual import dual_bound

AGREE = 1e-9
"""The relative difference of bounds that is taken for rounding."""


def bound_of(wiring: Wiring, messages: Floats) -> float:
    """The upper bound that messages prove, one number per state of every slot; impossible states are ruled out first.

    Reference: Sontag, Globerson & Jaakkola (2011), Introduction to dual decomposition for inference.
    Guarantee: upper bound.
    Tested by: inference/map/test_dual.py::test_any_messages_give_an_upper_bound
    """
    possible = wiring.consistent
    widest = int(np.diff(wiring.plugs.starts).max(initial=1))
    room = np.empty(widest, np.int64)
    found = float(interruptible(lambda cancel: dual_bound(possible.wires, possible.unary, messages, room, cancel)))
    total = wiring.constant + found
    return math.nextafter(total, math.inf) if math.isfinite(total) else total


def dual_certificate(wiring: Wiring, messages: Floats, bound: float) -> Certificate:
    """The certificate of a bound by messages."""
    return Certificate(
        f"No assignment has a log value above {bound:.10g}.",
        "A reparameterization: the factors and variables, after exchanging messages, have maxima of that sum.",
        partial(_proves, wiring, messages, bound),
    )


def _proves(wiring: Wiring, messages: Floats, bound: float) -> bool:
    found = bound_of(wiring, messages)
    return found == bound or found <= bound + AGREE * max(1.0, abs(bound))
