r"""Iterated passes of messages over a wired model, by sums or by maxima, and what their fixed points say.

$$\log Z \approx \sum_i \log \sum_{x_i} \phi_i \prod_{f \ni i} m_{f \to i}^{\rho_f} + \sum_f \rho_f \log
\sum_{\mathbf x_f} \phi_f^{1/\rho_f} \prod_{i \in f} \frac{b_i(x_i)}{m_{f \to i}(x_i)}$$

is the (weighted) Bethe free energy at a fixed point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.frozen import read_only
from sepset.base.threads import interruptible
from sepset.inference.iterate import Info, Run, Until, run
from sepset.inference.result import Status
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.loopy import factor_energy, gather, message_pass, traverse

BUDGET = Until(steps=1000, tolerance=1e-9)
"""When passes end: at this change of a log message."""


class Wired(Protocol):
    """A task about a wired model."""

    @property
    def wiring(self) -> Wiring:
        """The model at the evidence."""


class WiredModel(NamedTuple):
    """A wired model as a task of its own."""

    wiring: Wiring


class Traversal(NamedTuple):
    """The factors breadth first.

    Attributes:
        order: the factors in this order.
        up: for each slot, whether the factor was reached from its variable.
        is_forest: whether the graph of variables and factors has no cycle.
    """

    order: Ints
    up: Bytes
    is_forest: bool


def traversal(wiring: Wiring) -> Traversal:
    """The factors of a wired model breadth first, from the first variable of each component."""
    n, num, slots = wiring.num_variables, wiring.num_factors, len(wiring.plugs.scope)
    order, up, queue = np.zeros(num, np.int64), np.zeros(slots, np.uint8), np.zeros(max(n, 1), np.int64)
    seen, found = np.zeros(n, np.uint8), np.zeros(num, np.uint8)
    components = int(traverse(wiring.wires, wiring.factors, seen, found, queue, order, up))
    return Traversal(order, up, n + num - slots == components)


def rooms(wiring: Wiring) -> tuple[Floats, Floats, Floats, Ints]:
    """Room for the messages of the widest factor: states, messages, sums and codes."""
    starts, messages = wiring.plugs.starts, wiring.wires.messages
    widest = int(np.diff(messages[starts]).max(initial=1))
    return np.empty(widest), np.empty(widest), np.empty(widest + 2), np.empty(widest, np.int64)


@dataclass(frozen=True, eq=False)
class Passing:
    """Passes of messages, as an iterative method whose state is the array of log messages.

    Attributes:
        damping: the part of each old log message that is kept; none on forests.
        schedule: "sequential", forth and back through the factors breadth first, or "synchronous".
        is_max: maxima in place of sums.
        rhos: the weight of each factor; None for ones.
    """

    damping: float
    schedule: str
    is_max: bool
    rhos: Floats | None = None

    def __repr__(self) -> str:
        return f"Passing({self.damping}, {self.schedule!r}, {self.is_max}, weighted={self.rhos is not None})"

    def weights(self, wiring: Wiring) -> Floats:
        """The weight of each factor."""
        return np.ones(wiring.num_factors) if self.rhos is None else self.rhos

    def init(self, task: Wired, rng: np.random.Generator) -> Floats:
        """Messages of one."""
        return np.zeros(int(task.wiring.wires.messages[-1]))

    def step(self, task: Wired, state: Floats, rng: np.random.Generator) -> tuple[Floats, Info]:
        """A synchronous pass, or one back and one forth."""
        wiring, messages = task.wiring.consistent, state.copy()
        walked = traversal(wiring)
        kept = 0.0 if walked.is_forest else self.damping
        residual = self._back_and_forth(wiring, walked.order, kept, messages)
        impossible = np.isnan(residual)
        return messages, Info(-np.inf if impossible else -residual, np.inf if impossible else residual, impossible)

    def _back_and_forth(self, wiring: Wiring, order: Ints, damping: float, messages: Floats) -> float:
        if self.schedule == "synchronous":
            return self._pass(wiring, order, damping, messages, is_sequential=False)
        back = self._pass(wiring, order[::-1].copy(), damping, messages, is_sequential=True)
        forth = self._pass(wiring, order, damping, messages, is_sequential=True)
        return float(np.maximum(back, forth))  # NaN if either is

    def _pass(self, wiring: Wiring, order: Ints, damping: float, messages: Floats, *, is_sequential: bool) -> float:
        wires, rhos, beliefs = wiring.wires, self.weights(wiring), np.empty(int(wiring.plugs.states[-1]))
        if gather(wires, wiring.unary, wiring.factors, rhos, messages, beliefs) == -np.inf:
            return np.nan
        fresh = messages if is_sequential else messages.copy()
        how = (wires, order, rhos, damping, self.is_max, is_sequential, beliefs, messages, fresh, *rooms(wiring))
        residual = float(interruptible(partial(message_pass, *how)))
        messages[:] = fresh
        return residual


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Messages where passes ended, and the beliefs that they give.

    Attributes:
        wiring: the model, without states that arc consistency rules out.
        rhos: the weight of each factor.
        messages: the log messages, one number per state of every slot.
        logs: the normalized log beliefs of the variables, all states of the first one first.
        log_totals: the sum of the log totals of the variables' beliefs; -inf if the evidence is impossible.
        is_forest: whether the factor graph has no cycle.
        ended: how the passes ended.
    """

    wiring: Wiring
    rhos: Floats
    messages: Floats
    logs: Floats
    log_totals: float
    is_forest: bool
    ended: Run[Floats]

    @property
    def has_converged(self) -> bool:
        """Whether the messages are those of a fixed point."""
        return self.ended.status is Status.CONVERGED

    @property
    def residual(self) -> float:
        """The largest change of a log message in the last pass."""
        return 0.0 if self.ended.info is None else float(self.ended.info.change)

    def energy(self, *, is_bound: bool = False) -> float:
        """The Bethe free energy of the messages, or an upper bound for tree-reweighted ones."""
        if self.log_totals == -np.inf:
            return -np.inf
        how = (self.wiring.wires, self.rhos, is_bound, self.logs, self.messages, *rooms(self.wiring))
        return self.wiring.constant + self.log_totals + float(interruptible(partial(factor_energy, *how)))

    def variable(self, i: int) -> Floats:
        """The belief of one variable."""
        states = self.wiring.plugs.states
        return np.asarray(np.exp(self.logs[states[i] : states[i + 1]]))

    def factor(self, f: int) -> Floats:
        r"""The belief of one factor, $\propto \phi_f^{1/\rho_f} \prod_i b_i / m_{f \to i}$, an axis per variable."""
        wiring, first = self.wiring, int(self.wiring.plugs.starts[f])
        logs = wiring.table(f) / self.rhos[f]
        for axis, i in enumerate(wiring.scope(f).tolist()):
            at = wiring.wires.messages[first + axis : first + axis + 2]
            own = self.logs[wiring.plugs.states[i] : wiring.plugs.states[i + 1]]
            cavity = np.where(own > -np.inf, own - np.where(own > -np.inf, self.messages[at[0] : at[1]], 0.0), -np.inf)
            logs = logs + cavity.reshape([-1 if a == axis else 1 for a in range(logs.ndim)])
        values = np.exp(logs - logs.max())
        return np.asarray(values / values.sum())


def propagated(passing: Passing, wiring: Wiring, until: Until) -> Beliefs:
    """The beliefs where passes on a wired model end."""
    return beliefs_of(passing, wiring, run(passing, WiredModel(wiring), until=until, progress=False))


def beliefs_of(passing: Passing, wiring: Wiring, ended: Run[Floats]) -> Beliefs:
    """The beliefs of the messages of a run."""
    possible, logs = wiring.consistent, np.empty(int(wiring.plugs.states[-1]))
    rhos = passing.weights(possible)
    totals = float(gather(possible.wires, possible.unary, possible.factors, rhos, ended.state, logs))
    if (ended.info is not None and ended.info.objective == -np.inf) or possible.constant == -np.inf:
        totals = -np.inf
    walked = traversal(possible)
    return Beliefs(possible, rhos, read_only(ended.state), read_only(logs), totals, walked.is_forest, ended)
