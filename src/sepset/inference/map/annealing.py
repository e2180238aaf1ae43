r"""Simulated annealing: assignments drawn at falling temperatures.

$$T_s = T_0 \Bigl(\frac{T_S}{T_0}\Bigr)^{s / S}$$
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.checks import number, whole
from sepset.base.threads import interruptible
from sepset.errors import ArgumentError
from sepset.inference.assignment import AssignmentTask, Found, best_of
from sepset.inference.iterate import Info, Until
from sepset.inference.map.coordinates import improved
from sepset.inference.result import Guarantee
from sepset.inference.wiring import Wiring
from sepset.kernels.map.annealing import heat_bath, spreads

COLD = 0.01
"""The last temperature by default, as a part of the first."""


@dataclass(frozen=True)
class Annealed:
    """The present assignment, the best one of earlier starts, the first temperature, and the number of sweeps."""

    codes: Ints
    best: Ints
    hot: float
    sweeps: int = 0


@dataclass(frozen=True)
class Annealing:
    """Simulated annealing by a heat bath at temperatures that fall geometrically; each start ends in a local optimum.

    Args:
        sweeps: the number of sweeps of a start.
        restarts: the number of further starts, each from random states.
        hot: the first temperature, in nats; by default the mean difference of a variable's best and worst state.
        cold: the last temperature; by default a hundredth of the first.

    Cost: a sweep takes time linear in the factors.
    Reference: Kirkpatrick, Gelatt & Vecchi (1983); Geman & Geman (1984); Koller & Friedman, section 13.7.
    Guarantee: local optimum: no other state of one variable is better.
    Tested by: inference/map/test_annealing.py::test_no_single_change_is_better

    >>> import sepset as ss
    >>> net = ss.datasets.load("misconception")
    >>> found = ss.map_assignment(net, method=ss.inference.Annealing(sweeps=50, restarts=3))
    >>> round(found.log_value, 4), found.guarantees["assignment"]  # the logarithm of 5,000,000
    (15.4249, LOCAL_OPTIMUM)
    """

    sweeps: int = 500
    restarts: int = 0
    _: KW_ONLY
    hot: float | None = None
    cold: float | None = None

    def __post_init__(self) -> None:
        whole("Annealing(sweeps=)", self.sweeps, least=1)
        whole("Annealing(restarts=)", self.restarts, least=0)
        for name, given in (("hot", self.hot), ("cold", self.cold)):
            if given is not None:
                number(f"Annealing({name}=)", given, above=0)
        if self.hot is not None and self.cold is not None and self.cold > self.hot:
            raise ArgumentError(f"Annealing(cold=) is at most hot={self.hot:g}; found {self.cold:g}.")

    def assign(self, task: AssignmentTask) -> Found:
        """The best local optimum of all starts."""
        task.require_all(self)
        wiring = task.wiring
        done = task.iterated(self, until=Until(steps=None, tolerance=0.0), codec=_AnnealedCodec())
        state = done.state
        codes, value = best_of([improved(wiring, state.best), improved(wiring, state.codes)], wiring)
        return Found(
            codes[None],
            (value,),
            guarantee=Guarantee.LOCAL_OPTIMUM if value > -np.inf else Guarantee.HEURISTIC,
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "sweeps": done.num_steps, "hot": state.hot},
        )

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Annealed:
        """The first start, and the temperatures."""
        wiring, codes = task.wiring, task.first_codes()
        hot = _mean_spread(wiring, _random(wiring, rng)) if self.hot is None else self.hot
        return Annealed(codes, codes, hot)

    def step(self, task: AssignmentTask, state: Annealed, rng: np.random.Generator) -> tuple[Annealed, Info]:
        """One sweep; after the last one of a start, the local optimum, and the next start."""
        wiring, codes, draws = task.wiring, state.codes.copy(), rng.random(task.wiring.num_variables)
        model, room = (wiring.wires, wiring.unary, wiring.factors), np.empty(wiring.plugs.cards.max(initial=1))
        heat = self._temperature(state)
        interruptible(lambda cancel: heat_bath(*model, codes, draws, heat, room, cancel))
        found = replace(state, codes=codes, sweeps=state.sweeps + 1)
        rest = 1.0 - found.sweeps / (self.sweeps * (self.restarts + 1))
        if found.sweeps % self.sweeps:
            return found, Info(wiring.log_value(codes), np.inf, rest=rest)
        best, value = best_of([improved(wiring, state.best), improved(wiring, codes)], wiring)
        if found.sweeps >= self.sweeps * (self.restarts + 1):
            return replace(found, codes=best, best=best), Info(value, 0.0, is_done=True)
        return replace(found, codes=_random(wiring, rng), best=best), Info(value, np.inf, rest=rest)

    def _temperature(self, state: Annealed) -> float:
        cold = COLD * state.hot if self.cold is None else min(self.cold, state.hot)
        part = (state.sweeps % self.sweeps) / max(1, self.sweeps - 1)
        return float(state.hot * (cold / state.hot) ** part)


def _random(wiring: Wiring, rng: np.random.Generator) -> Ints:
    return (rng.random(wiring.num_variables) * wiring.plugs.cards).astype(np.int64)


def _mean_spread(wiring: Wiring, codes: Ints) -> float:
    """The mean difference of a variable's best and worst state, one if there is none."""
    out, room = np.zeros(len(codes)), np.empty(wiring.plugs.cards.max(initial=1))
    spreads(wiring.wires, wiring.unary, wiring.factors, codes, room, out)
    positive = out[out > 0.0]
    return float(positive.mean()) if len(positive) else 1.0


class _AnnealedCodec:
    """Stores the state of annealing in a checkpoint."""

    def pack(self, state: Annealed) -> object:
        return {"codes": state.codes, "best": state.best, "hot": state.hot, "sweeps": state.sweeps}

    def unpack(self, content: dict[str, object]) -> Annealed:
        codes, best = (np.array(content[name], np.int64) for name in ("codes", "best"))
        return Annealed(codes, best, float(content["hot"]), int(content["sweeps"]))  # type: ignore[arg-type, call-overload]
