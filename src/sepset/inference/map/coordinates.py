r"""Iterated conditional modes: coordinate ascent on the log value.

$$x_i \leftarrow \arg\max_{x} \Bigl[\theta_i(x) + \sum_{f \ni i} \theta_f(x, \mathbf x_{f \setminus i})\Bigr]$$
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.checks import whole
from sepset.base.threads import OutOfTime, interruptible
from sepset.inference.assignment import AssignmentTask, Found
from sepset.inference.iterate import Info, Until
from sepset.inference.result import Guarantee, Status
from sepset.inference.wiring import Wiring
from sepset.kernels.map.coordinates import sweep

MOST_IMPOSSIBLE = 100
"""The most sweeps of one start over assignments of value zero, which may change without end."""


@dataclass(frozen=True)
class Ascent:
    """The state of coordinate ascent.

    Attributes:
        codes: the present assignment.
        best: the best assignment of earlier starts.
        starts: the number of starts that are finished.
        sweeps: the number of sweeps of this start.
    """

    codes: Ints
    best: Ints
    starts: int
    sweeps: int = 0


@dataclass(frozen=True)
class ICM:
    """Iterated conditional modes, from one or several starts.

    Args:
        restarts: the number of further starts, each from random states.

    Cost: a sweep takes time linear in the factors; few sweeps are needed.
    Reference: Besag (1986), On the statistical analysis of dirty pictures; Koller & Friedman, section 13.7.
    Guarantee: local optimum: no other state of one variable is better.
    Tested by: inference/map/test_coordinates.py::test_no_single_change_is_better

    >>> import sepset as ss
    >>> net = ss.datasets.load("misconception")
    >>> found = ss.map_assignment(net, method=ss.ICM(restarts=3))
    >>> round(found.log_value, 4), found.guarantees["assignment"]  # the logarithm of 5,000,000
    (15.4249, LOCAL_OPTIMUM)
    """

    restarts: int = 0

    def __post_init__(self) -> None:
        whole("ICM(restarts=)", self.restarts, least=0)

    def assign(self, task: AssignmentTask) -> Found:
        """The best local optimum of all starts."""
        task.require_all(self)
        done = task.iterated(self, until=Until(steps=None, tolerance=0.0), codec=_AscentCodec())
        codes = self._better(task, done.state.best, done.state.codes)
        settled = done.status is Status.CONVERGED
        return Found(
            codes[None],
            (task.wiring.log_value(codes),),
            guarantee=Guarantee.LOCAL_OPTIMUM if settled else Guarantee.HEURISTIC,
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "sweeps": done.num_steps},
        )

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Ascent:
        """The first start."""
        codes = task.first_codes()
        return Ascent(codes, codes, 0)

    def step(self, task: AssignmentTask, state: Ascent, rng: np.random.Generator) -> tuple[Ascent, Info]:
        """One sweep; the next start after one without changes."""
        wiring, codes = task.wiring, state.codes.copy()
        order, room = np.arange(wiring.num_variables), np.empty(wiring.plugs.cards.max(initial=1))
        goes_on = swept(wiring, codes, order, np.ones(len(codes), np.uint8), room, count=state.sweeps)
        value, rest = wiring.log_value(codes), 1.0 - state.starts / (self.restarts + 1) if self.restarts else None
        if goes_on:
            return Ascent(codes, state.best, state.starts, state.sweeps + 1), Info(value, np.inf, rest=rest)
        best = self._better(task, state.best, codes)
        if state.starts >= self.restarts:
            return Ascent(codes, best, state.starts + 1), Info(wiring.log_value(best), 0.0, is_done=True)
        fresh = (rng.random(wiring.num_variables) * wiring.wires.cards).astype(np.int64)
        return Ascent(fresh, best, state.starts + 1), Info(value, np.inf, rest=rest)

    def _better(self, task: AssignmentTask, one: Ints, other: Ints) -> Ints:
        return other if task.wiring.log_value(other) > task.wiring.log_value(one) else one


def improved(wiring: Wiring, codes: Ints, order: Ints | None = None) -> Ints:
    """The local optimum that coordinate ascent finds from an assignment; it ends where rounding decides, or with time.

    Args:
        order: the variables that may change, in this order; all by default.

    Reference: Besag (1986), On the statistical analysis of dirty pictures.
    """
    found, room = np.array(codes, np.int64), np.empty(wiring.plugs.cards.max(initial=1))
    order = np.arange(len(found)) if order is None else order
    due, count = np.ones(len(found), np.uint8), 0
    with suppress(OutOfTime):  # no change makes it worse
        while swept(wiring, found, order, due, room, count=count):
            count += 1
    return found


def swept(wiring: Wiring, codes: Ints, order: Ints, due: Bytes, room: Floats, *, count: int) -> bool:
    """One sweep over the variables that are due, which changes the codes; whether another one may improve them.

    Sums of states that tie differ in rounding, so that changes alone could go on forever: the value must rise, too.

    Args:
        due: the variables of which a neighbor has changed since their turn; all of them at first.
        count: the number of sweeps before this one.
    """
    before = wiring.log_value(codes)
    model = wiring.wires, wiring.unary, wiring.factors
    changes = interruptible(lambda cancel: sweep(*model, order, codes, due, room, cancel))
    after = wiring.log_value(codes) if changes else before
    return bool(changes) and (after > before or (after == -np.inf and count < MOST_IMPOSSIBLE))


class _AscentCodec:
    """Stores the state of coordinate ascent in a checkpoint."""

    def pack(self, state: Ascent) -> object:
        return dict(vars(state))

    def unpack(self, content: dict[str, Any]) -> Ascent:
        codes, best = (np.array(content[name], np.int64) for name in ("codes", "best"))
        return Ascent(codes, best, int(content["starts"]), int(content["sweeps"]))
