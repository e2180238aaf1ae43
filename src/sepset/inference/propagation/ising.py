r"""Sum-product messages of binary variables in pairs with a weight for equal states: one number per message.

$$q_{f \to i} = \frac{q_{f \to j} + g R_j}{g\, q_{f \to j} + R_j}, \qquad R_i = r_i \prod_{f \ni i} q_{f \to i}$$

for the ratios $q$ of messages and $R$ of beliefs at the second state to those at the first, and $g = e^w$.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.frozen import read_only
from sepset.base.lazy import lazy
from sepset.base.threads import interruptible
from sepset.inference.iterate import Info
from sepset.inference.propagation.linear import span_of
from sepset.inference.propagation.schedules import Wired, orders_of
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.ising import ising_energy, ising_pass, ratio_products
from sepset.kernels.propagation.wires import POTTS

WIDEST = {"float64": 200.0, "float32": 25.0}
"""The largest sum of the ranges of log values around one variable, of which products of three stay numbers."""


def is_ising(wiring: Wiring, precision: str) -> bool:
    """Whether all variables are binary, all factors weights for equal states, and nothing is zero or extreme."""
    plugs, most = wiring.plugs, WIDEST[precision]
    return bool(
        (plugs.cards == 2).all()
        and (plugs.kinds == POTTS).all()
        and np.isfinite(wiring.unary).all()
        and span_of(wiring, most) <= most
    )


@dataclass(frozen=True, eq=False)
class IsingPassing:
    """Passes of sum-product messages, as an iterative method whose state has the ratios of messages, then of beliefs.

    Attributes:
        wiring: the model.
        damping: the part of each old message, with a sum of one, that is kept; none on forests.
        schedule: one of `SCHEDULES` but "residual".
        precision: the type of the numbers.

    Guarantee: the beliefs of `LinearPassing`, up to rounding.
    Tested by: inference/propagation/test_ising.py::test_ratios_are_those_of_numbers
    """

    wiring: Wiring
    damping: float
    schedule: str
    precision: str = "float64"

    is_max = False

    @lazy
    def gains(self) -> Floats:
        """The exponentials of the weights."""
        return np.exp(self.wiring.plugs.weights).astype(self.precision)

    @lazy
    def own(self) -> Floats:
        """The ratio of each variable alone."""
        logs = self.wiring.unary.reshape(-1, 2)
        return np.exp(logs[:, 1] - logs[:, 0]).astype(self.precision)

    @lazy
    def buffers(self) -> tuple[Floats, Floats]:
        """Two states: each pass reads one and writes the other."""
        size = len(self.wiring.plugs.scope) + self.wiring.num_variables
        return np.empty(size, self.precision), np.empty(size, self.precision)

    def weights(self, wiring: Wiring) -> tuple[Floats, Floats]:
        """The weight of each factor, and the counts of the variables."""
        return np.ones(wiring.num_factors), np.ones(wiring.num_variables)

    def init(self, task: Wired, rng: np.random.Generator) -> Floats:
        """Uniform messages, and the beliefs that they give."""
        return np.concatenate([np.ones(len(self.wiring.plugs.scope), self.precision), self.own])

    def step(self, task: Wired, state: Floats, rng: np.random.Generator) -> tuple[Floats, Info]:
        """A pass over all factors, or several of the schedule."""
        changes = []
        for order in orders_of(self.schedule, self.wiring, rng):
            state, change = self._passed(state, order)
            changes.append(change)
        return state, Info(-max(changes), max(changes))

    def _passed(self, state: Floats, order: Ints) -> tuple[Floats, float]:
        scope, num, is_sequential = (
            self.wiring.plugs.scope,
            len(self.wiring.plugs.scope),
            self.schedule != "synchronous",
        )
        made, kind = self.buffers[1 if state is self.buffers[0] else 0], state.dtype.type
        made[num:] = state[num:] if is_sequential else self.own
        if len(order) < self.wiring.num_factors:
            made[:num] = state[:num]
        keep = 0.0 if self.wiring.is_forest else self.damping
        beliefs = made[num:] if is_sequential else state[num:]
        how = scope, self.gains, order, kind(keep), kind(1.0 - keep), is_sequential, beliefs, made[num:]
        change = interruptible(partial(ising_pass, *how, state[:num], made[:num]))
        if is_sequential:  # products of many changes lose accuracy
            ratio_products(scope, self.own, made[:num], made[num:])
        return made, float(change)

    def gathered(self, wiring: Wiring, state: Floats) -> tuple[Floats, float]:
        """The normalized log beliefs of the variables, and the sum of their log totals, for messages (1, ratio)."""
        ratios = self._ratios(state)
        totals = np.log1p(ratios)
        logs = np.stack([-totals, np.log(ratios) - totals], axis=1).reshape(-1)
        return logs, float(wiring.unary[::2].sum() + totals.sum())

    def _ratios(self, state: Floats) -> Floats:
        return state[len(self.wiring.plugs.scope) :].astype(np.float64)

    def factor_totals(self, wiring: Wiring, state: Floats, logs: Floats, *, is_bound: bool) -> float:
        """The sum of the log totals of all factor beliefs, for messages (1, ratio)."""
        messages = state[: len(wiring.plugs.scope)].astype(np.float64)
        how = wiring.plugs.scope, self.gains.astype(np.float64), self._ratios(state), messages
        return float(interruptible(partial(ising_energy, *how)))

    def log_messages(self, wiring: Wiring, state: Floats) -> Floats:
        """The log messages of a state, each with a maximum of zero."""
        logs = np.log(state[: len(wiring.plugs.scope)].astype(np.float64))
        return read_only(np.stack([np.minimum(-logs, 0.0), np.minimum(logs, 0.0)], axis=1).reshape(-1))
