r"""Iterated passes of messages over a wired model, by sums or by maxima, and what their fixed points say.

$$\log Z \approx \sum_i \hat\kappa_i \log \sum_{x_i}
\Bigl(\phi_i \prod_{f \ni i} m_{f \to i}^{\rho_f}\Bigr)^{1 / \hat\kappa_i} + \sum_f \rho_f \log
\sum_{\mathbf x_f} \phi_f^{1/\rho_f} \prod_{i \in f} \frac{b_i(x_i)}{m_{f \to i}(x_i)}$$

is the (weighted) Bethe free energy at a fixed point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.frozen import read_only
from sepset.base.lazy import lazy
from sepset.base.threads import interruptible
from sepset.inference.iterate import Info, Run, Until, run
from sepset.inference.propagation.ising import IsingPassing
from sepset.inference.propagation.linear import LinearPassing
from sepset.inference.propagation.schedules import Wired, orders_of
from sepset.inference.result import Status
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.loopy import factor_energy, gather, message_pass
from sepset.kernels.propagation.residuals import Queue, Rooms, residual_pass
from sepset.kernels.propagation.wires import POTTS, TABLE

BUDGET = Until(steps=1000, tolerance=1e-9)
"""When passes end: at this change of a log message."""

MAX_BUDGET = Until(steps=200, tolerance=1e-9)
"""When passes of maxima end, which often oscillate around loops."""

UNIT = 2.0**-52
"""Twice the largest relative error of one addition."""

FIXED = 1e-5
"""The largest change of a log message at a fixed point, whatever tolerance is asked for."""


class WiredModel(NamedTuple):
    """A wired model as a task of its own."""

    wiring: Wiring


def rooms(wiring: Wiring) -> Rooms:
    """Room for the messages of the widest factor: states, messages, sums and codes."""
    widest = wiring.widest
    return Rooms(np.empty(widest), np.empty(widest), np.empty(widest + 2), np.empty(widest, np.int64))


@dataclass(frozen=True, eq=False)
class Passing:
    """Passes of messages, as an iterative method whose state is the array of log messages.

    Attributes:
        damping: the part of each old log message that is kept; none on forests.
        schedule: one of `SCHEDULES`.
        is_max: maxima in place of sums.
        rhos: the weight of each factor; None for ones.
        counts: for each variable its counting number and the weights of its factors together; None for ones.
        precision: the type of the numbers.
    """

    damping: float
    schedule: str
    is_max: bool
    rhos: Floats | None = None
    counts: Floats | None = None
    precision: str = "float64"

    def __repr__(self) -> str:
        weighted = f"weighted={self.rhos is not None or self.counts is not None}"
        return f"Passing({self.damping}, {self.schedule!r}, {self.is_max}, {weighted}, {self.precision})"

    def weights(self, wiring: Wiring) -> tuple[Floats, Floats]:
        """The weight of each factor, and the counts of the variables."""
        rhos = np.ones(wiring.num_factors) if self.rhos is None else self.rhos
        return rhos, np.ones(wiring.num_variables) if self.counts is None else self.counts

    def init(self, task: Wired, rng: np.random.Generator) -> Floats:
        """Messages of one."""
        return np.zeros(int(task.wiring.wires.messages[-1]), self.precision)

    def step(self, task: Wired, state: Floats, rng: np.random.Generator) -> tuple[Floats, Info]:
        """A pass over all factors, or several of the schedule."""
        wiring, messages = task.wiring.consistent, state.copy()
        kept = 0.0 if wiring.is_forest else self.damping
        residual = self._passed(wiring, kept, messages, rng)
        impossible = np.isnan(residual)
        return messages, Info(-np.inf if impossible else -residual, np.inf if impossible else residual, impossible)

    def log_messages(self, wiring: Wiring, state: Floats) -> Floats:
        """The log messages of a state."""
        return read_only(state)

    def gathered(self, wiring: Wiring, state: Floats) -> tuple[Floats, float]:
        """The normalized log beliefs of the variables, and the sum of their log totals, each times its count."""
        logs = np.empty(int(wiring.plugs.states[-1]))
        how = (wiring.wires, wiring.unary, wiring.factors, *self.weights(wiring), self.is_max, state, logs)
        return logs, float(gather(*how))

    def factor_totals(self, wiring: Wiring, state: Floats, logs: Floats, *, is_bound: bool) -> float:
        """The weighted sum of the log totals of all factor beliefs, or of their bounds."""
        how = (wiring.wires, self.weights(wiring)[0], self.is_max, is_bound, logs, state, *rooms(wiring))
        return float(interruptible(partial(factor_energy, *how)))

    def _passed(self, wiring: Wiring, damping: float, messages: Floats, rng: np.random.Generator) -> float:
        if self.schedule == "residual":
            return self._by_residuals(wiring, damping, messages)
        orders, is_sequential = orders_of(self.schedule, wiring, rng), self.schedule != "synchronous"
        changes = [self._pass(wiring, order, damping, messages, is_sequential=is_sequential) for order in orders]
        return float(np.max(changes))  # NaN if one is

    def _beliefs(self, wiring: Wiring, messages: Floats) -> Floats | None:
        """The log beliefs of the variables; None if one of them has no state left."""
        found = np.empty(int(wiring.plugs.states[-1]), self.precision)
        how = (wiring.wires, wiring.unary, wiring.factors, *self.weights(wiring), self.is_max, messages, found)
        return None if gather(*how) == -np.inf else found

    def _pass(self, wiring: Wiring, order: Ints, damping: float, messages: Floats, *, is_sequential: bool) -> float:
        beliefs = self._beliefs(wiring, messages)
        if beliefs is None:
            return np.nan
        fresh = messages if is_sequential else messages.copy()
        how = (wiring.wires, order, *self.weights(wiring), damping, self.is_max, is_sequential, beliefs)
        residual = float(interruptible(partial(message_pass, *how, messages, fresh, *rooms(wiring))))
        messages[:] = fresh
        return residual

    def _by_residuals(self, wiring: Wiring, damping: float, messages: Floats) -> float:
        beliefs, num = self._beliefs(wiring, messages), wiring.num_factors
        if beliefs is None:
            return np.nan
        queue = Queue(np.zeros(num), np.arange(num), np.arange(num), np.zeros(1, np.int64), messages.copy())
        how = (wiring.wires, wiring.factors, *self.weights(wiring), damping, self.is_max, beliefs, messages)
        return float(interruptible(partial(residual_pass, *how, queue, rooms(wiring))))


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Messages where passes ended, and the beliefs that they give.

    Attributes:
        wiring: the model, without states that arc consistency rules out.
        rhos: the weight of each factor.
        counts: for each variable its counting number and the weights of its factors together.
        logs: the normalized log beliefs of the variables, all states of the first one first.
        log_totals: the sum of the log totals of the variables' beliefs, each times its count; -inf if the evidence is
            impossible.
        passing: the passes.
        state: that of the passes: the messages.
        ended: how the passes ended; None if they go on.
    """

    wiring: Wiring
    rhos: Floats
    counts: Floats
    logs: Floats
    log_totals: float
    passing: Passing | LinearPassing | IsingPassing
    state: Floats
    ended: Run[Any] | None = None

    @property
    def is_max(self) -> bool:
        """Whether the messages are maxima; log beliefs then have a maximum of zero."""
        return self.passing.is_max

    @property
    def is_forest(self) -> bool:
        """Whether the factor graph has no cycle."""
        return self.wiring.is_forest

    @lazy
    def messages(self) -> Floats:
        """The log messages, one number per state of every slot."""
        return self.passing.log_messages(self.wiring, self.state)

    @property
    def has_converged(self) -> bool:
        """Whether the messages are those of a fixed point, which a large tolerance alone does not make them."""
        return self.ended is not None and is_fixed(self.ended)

    @property
    def status(self) -> Status:
        """How the passes ended."""
        return Status.STEP_LIMIT if self.ended is None else self.ended.status

    @property
    def num_passes(self) -> int:
        """The number of passes."""
        return 0 if self.ended is None else self.ended.num_steps

    @property
    def residual(self) -> float:
        """The largest change of a log message in the last pass."""
        return 0.0 if self.ended is None or self.ended.info is None else float(self.ended.info.change)

    def energy(self, *, is_bound: bool = False) -> float:
        r"""The (weighted) Bethe free energy of the messages, or an upper bound on $\log Z$ (or the largest log value).

        The bound is rounded up.

        Args:
            is_bound: whether the weights are probabilities of edges in a distribution over spanning trees. With the
                messages, the model is an average of trees; eliminating a leaf of one multiplies it by at most the
                largest total of its factor, so that the bound holds for all messages.
        """
        return self._bound if is_bound else self._free_energy

    @lazy
    def _free_energy(self) -> float:
        return self._total(is_bound=False)

    @lazy
    def _bound(self) -> float:
        return self._total(is_bound=True)

    def _total(self, *, is_bound: bool) -> float:
        if self.log_totals == -np.inf:
            return -np.inf
        how = self.wiring, self.state, self.logs
        total = self.wiring.constant + self.log_totals + self.passing.factor_totals(*how, is_bound=is_bound)
        return total + rounding_of(self) if is_bound and total < np.inf else total

    def variable(self, i: int) -> Floats:
        """The belief of one variable."""
        return np.asarray(np.exp(self.variable_logs(i)))

    def variable_logs(self, i: int) -> Floats:
        """The logarithm of the belief of one variable."""
        states = self.wiring.plugs.states
        return self.logs[states[i] : states[i + 1]]

    def rows(self, places: Ints) -> Floats:
        """The beliefs of variables with the same number of states, one row each."""
        states = self.wiring.plugs.states
        size = int(states[places[0] + 1] - states[places[0]]) if len(places) else 0
        return np.asarray(np.exp(self.logs[states[places][:, None] + np.arange(size)]))

    def factor(self, f: int) -> Floats:
        r"""The belief of one factor, $\propto \phi_f^{1/\rho_f} \prod_i b_i / m_{f \to i}$, an axis per variable."""
        values = np.exp(self.factor_logs(f))
        return np.asarray(values / values.sum())

    def factor_logs(self, f: int) -> Floats:
        """The logarithm of the belief of one factor, with a maximum of zero."""
        wiring, first = self.wiring, int(self.wiring.plugs.starts[f])
        logs = wiring.table(f) / self.rhos[f]
        for axis, i in enumerate(wiring.scope(f).tolist()):
            at = wiring.wires.messages[first + axis : first + axis + 2]
            own = self.logs[wiring.plugs.states[i] : wiring.plugs.states[i + 1]]
            cavity = np.where(own > -np.inf, own - np.where(own > -np.inf, self.messages[at[0] : at[1]], 0.0), -np.inf)
            logs = logs + cavity.reshape([-1 if a == axis else 1 for a in range(logs.ndim)])
        return np.asarray(logs - logs.max())


def rounding_of(beliefs: Beliefs) -> float:
    """The most that rounding may take from the bound of messages.

    These are the sizes of all terms, times how often they are added. The weights of factors are taken to be as
    accurate as the inverse of a matrix of all variables.
    """
    wiring, plugs, states = beliefs.wiring, beliefs.wiring.plugs, beliefs.wiring.plugs.states[:-1]
    n, arity, rhos = wiring.num_variables, np.diff(plugs.starts), beliefs.rhos
    sent = _largest(beliefs.messages, wiring.wires.messages[:-1])
    into = np.bincount(plugs.scope, rhos[wiring.factors] * sent, minlength=n)
    alone, own = _largest(wiring.unary, states) + into, _largest(beliefs.logs, states)
    off = UNIT * ((wiring.degrees + 6.0) * alone + beliefs.counts * (plugs.cards + 2.0))
    each = np.bincount(wiring.factors, own[plugs.scope] + sent, minlength=len(arity))
    moved = np.bincount(wiring.factors, (off / beliefs.counts)[plugs.scope], minlength=len(arity))
    entries = np.exp(np.bincount(wiring.factors, np.log(plugs.cards)[plugs.scope], minlength=len(arity)))
    sizes = _table_sizes(wiring) + rhos * each
    factors = rhos * (moved + UNIT * (entries + 4.0)) + UNIT * (arity + 8.0 + n) * sizes
    terms = abs(wiring.constant) + float(alone.sum() + sizes.sum())
    return float(off.sum() + factors.sum() + UNIT * (n + len(arity) + 4.0) * terms)


def _largest(logs: Floats, starts: Ints) -> Floats:
    """The largest size of each row of log values other than -inf."""
    return np.maximum.reduceat(np.where(logs > -np.inf, np.abs(logs), 0.0), starts) if len(starts) else np.zeros(0)


def _table_sizes(wiring: Wiring) -> Floats:
    """A number that no log value of each factor other than -inf exceeds in size."""
    plugs = wiring.plugs
    most = np.minimum(plugs.limits, (plugs.cards.max(initial=1) - 1.0) ** 2)
    found = np.abs(plugs.weights) * np.where(plugs.kinds == POTTS, 1.0, most)
    tables = plugs.kinds == TABLE
    if tables.any():
        starts, which = np.unique(plugs.places[tables], return_inverse=True)
        found[tables] = _largest(plugs.tables, starts)[which]
    return np.asarray(found)


def is_fixed(ended: Run[Any]) -> bool:
    """Whether passes ended at a fixed point, or have found that there is none as all is impossible."""
    info, is_converged = ended.info, ended.status is Status.CONVERGED
    return is_converged and (info is None or info.is_done or info.change <= FIXED)


def propagated(passing: Passing | LinearPassing | IsingPassing, wiring: Wiring, until: Until) -> Beliefs:
    """The beliefs where passes on a wired model end."""
    ended = run(passing, WiredModel(wiring), until=until)
    return beliefs_of(passing, wiring, ended.state, ended)


def beliefs_of(
    passing: Passing | LinearPassing | IsingPassing, wiring: Wiring, state: Floats, ended: Run[Any] | None = None
) -> Beliefs:
    """The beliefs of messages.

    Args:
        state: that of the passes.
        ended: the run that they are the end of.
    """
    possible = wiring.consistent
    logs, totals = passing.gathered(possible, state)
    is_refuted = ended is not None and ended.info is not None and ended.info.is_done
    if is_refuted or possible.constant == -np.inf:
        totals = -np.inf
    return Beliefs(possible, *passing.weights(possible), read_only(logs), totals, passing, state, ended)
