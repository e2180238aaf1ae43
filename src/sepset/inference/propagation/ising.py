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
from sepset.inference.propagation.linear import span_of
from sepset.inference.propagation.numberpassing import NumberPassing
from sepset.inference.propagation.schedules import Wired
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
class IsingPassing(NumberPassing):
    """Passes of sum-product messages, as an iterative method whose state has the ratios of messages, then of beliefs.

    Guarantee: the beliefs of `LinearPassing`, up to rounding.
    Tested by: inference/propagation/test_ising.py::test_ratios_are_those_of_numbers
    """

    @lazy
    def gains(self) -> Floats:
        """The exponentials of the weights."""
        return np.exp(self.wiring.plugs.weights).astype(self.precision)

    @lazy
    def own(self) -> Floats:
        """The ratio of each variable alone."""
        logs = self.wiring.unary.reshape(-1, 2)
        return np.exp(logs[:, 1] - logs[:, 0]).astype(self.precision)

    @property
    def num_messages(self) -> int:
        """One ratio for each slot."""
        return len(self.wiring.plugs.scope)

    def init(self, task: Wired, rng: np.random.Generator) -> Floats:
        """Uniform messages, and the beliefs that they give."""
        return np.concatenate([np.ones(self.num_messages, self.precision), self.own])

    def send(self, order: Ints, keep: float, state: Floats, made: Floats, *, is_sequential: bool) -> float:
        """Send the ratios of some factors from one state to another; the largest change of a log ratio."""
        num, kind = self.num_messages, state.dtype.type
        beliefs = made[num:] if is_sequential else state[num:]
        how = self.wiring.plugs.scope, self.gains, order, kind(keep), kind(1.0 - keep), is_sequential, beliefs
        return float(interruptible(partial(ising_pass, *how, made[num:], state[:num], made[:num])))

    def gather(self, made: Floats) -> None:
        """Compute the ratios of the beliefs."""
        num = self.num_messages
        ratio_products(self.wiring.plugs.scope, self.own, made[:num], made[num:])

    def gathered(self, wiring: Wiring, state: Floats) -> tuple[Floats, float]:
        """The normalized log beliefs of the variables, and the sum of their log totals, for messages (1, ratio)."""
        ratios = self._ratios(state)
        totals = np.log1p(ratios)
        logs = np.stack([-totals, np.log(ratios) - totals], axis=1).reshape(-1)
        return logs, float(wiring.unary[::2].sum() + totals.sum())

    def _ratios(self, state: Floats) -> Floats:
        return state[self.num_messages :].astype(np.float64)

    def factor_totals(self, wiring: Wiring, state: Floats, logs: Floats, *, is_bound: bool) -> float:
        """The sum of the log totals of all factor beliefs, for messages (1, ratio)."""
        messages = state[: self.num_messages].astype(np.float64)
        how = wiring.plugs.scope, self.gains.astype(np.float64), self._ratios(state), messages
        return float(interruptible(partial(ising_energy, *how)))

    def log_messages(self, wiring: Wiring, state: Floats) -> Floats:
        """The log messages of a state, each with a maximum of zero."""
        logs = np.log(state[: self.num_messages].astype(np.float64))
        return read_only(np.stack([np.minimum(-logs, 0.0), np.minimum(logs, 0.0)], axis=1).reshape(-1))
