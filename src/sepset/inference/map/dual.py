r"""Dual certificates: messages that move value between factors and variables, and the bound they prove.

$$\log \tilde P(\mathbf x) = c + \sum_i \Bigl[\theta_i + \sum_{f \ni i} m_{f \to i}\Bigr]
+ \sum_f \Bigl[\theta_f - \sum_{i \in f} m_{f \to i}\Bigr]$$

for every assignment and any messages, so that the sum of the maxima of all brackets is an upper bound, here rounded
up.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.text import brief
from sepset.base.threads import OutOfTime, ending_at, interruptible
from sepset.errors import ArgumentError
from sepset.inference.assignment import AssignmentTask, Assigns, Certificate, Found, assign
from sepset.inference.map.coordinates import improved
from sepset.inference.result import Guarantee, Status
from sepset.inference.wiring import Wiring
from sepset.kernels.map.dual import dual_bound

AGREE = 1e-9
"""The relative difference of bounds that is taken for rounding."""

GRACE = 0.1
"""The seconds in which an assignment is improved after the time has ended."""


def check_messages(wiring: Wiring, messages: Floats) -> None:
    """Raise unless there is one message for each state of every slot: kernels read and write at these places."""
    count = int(wiring.wires.messages[-1])
    if not isinstance(messages, np.ndarray) or messages.shape != (count,) or messages.dtype.kind != "f":
        shape = getattr(messages, "shape", None)
        found = brief(messages) if shape is None else f"{messages.dtype} of shape {shape}"
        raise ArgumentError(f"messages= are {count} floats, one for each state of every slot; found {found}.")


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
        verify=partial(_proves, wiring, messages, bound),
    )


def assigned(method: Assigns, task: AssignmentTask) -> Found:
    """The assignments of a method as `assign` gives them; if it ends before its search begins, what is known then."""
    try:
        return assign(method, task)
    except OutOfTime:
        return assign(_Unfinished(Status.TIME_LIMIT), task)
    except KeyboardInterrupt:
        if task.known.codes is None:
            raise
        return assign(_Unfinished(Status.INTERRUPTED), task)


@dataclass(frozen=True)
class _Unfinished:
    """The answer of a method that ended before its search began, and how it ended."""

    status: Status

    def assign(self, task: AssignmentTask) -> Found:
        """The best known, or the start and the simplest bound."""
        return _unfinished(task, self.status)


def _unfinished(task: AssignmentTask, status: Status) -> Found:
    wiring, codes, messages = task.wiring, task.known.codes, task.known.messages
    if codes is None:
        with ending_at(time.monotonic() + GRACE):
            codes = improved(wiring, task.first_codes())
    if not wiring.has_tables:
        return Found(codes[None], (wiring.log_value(codes),), status=status, others=math.inf)
    possible = wiring.consistent
    sent = (
        np.zeros(int(possible.wires.messages[-1]))
        if messages is None
        else np.where(np.isfinite(messages), messages, 0.0)
    )
    bound = bound_of(possible, sent)
    proof = dual_certificate(possible, sent, bound)
    value, others = wiring.log_value(codes), bound if task.k > 1 else -math.inf
    return Found(
        codes[None],
        (value,),
        bound=bound,
        guarantee=Guarantee.HEURISTIC,
        certificate=proof,
        status=status,
        others=others,
    )


def _proves(wiring: Wiring, messages: Floats, bound: float) -> bool:
    found = bound_of(wiring, messages)
    return found == bound or found <= bound + AGREE * max(1.0, abs(bound))
