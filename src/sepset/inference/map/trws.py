"""Sequential tree-reweighted message passing: a bound that never rises, and assignments decoded from the messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.checks import whole
from sepset.base.threads import interruptible
from sepset.inference.assignment import AssignmentTask, Found, is_proved
from sepset.inference.iterate import Info, Until
from sepset.inference.map.coordinates import improved
from sepset.inference.map.dual import bound_of, dual_certificate
from sepset.inference.result import Guarantee
from sepset.inference.wiring import Wiring
from sepset.kernels.map.trws import decode, split_messages, trws_pass

SETTLED = 1e-7
"""The relative change of the bound over a round at which it has converged."""


@dataclass(frozen=True)
class Passed:
    """Messages, the bound after the last pass back, and the best assignment so far."""

    messages: Floats
    bound: float
    codes: Ints
    value: float
    rounds: int = 0


@dataclass(frozen=True)
class TRWS:
    """An upper bound by sequential tree-reweighted message passing, and the best of the assignments decoded from it.

    The bound is that of the linear program over the local polytope where the passes end at its optimum, which they do
    for binary variables. Decoded assignments are improved by coordinate ascent.

    Args:
        decode_every: the number of rounds between two decodings.

    Cost: a round is two passes over all factors, linear in the states for Potts and linear potentials.
    Reference: Kolmogorov (2006); Wainwright, Jaakkola & Willsky (2005).
    Guarantee: upper bound, never rising; exact if the bound is reached.
    Tested by: inference/map/test_trws.py::test_bounds_fall_and_are_never_below_the_best_value

    >>> import sepset as ss
    >>> pixel = ss.Discrete.array("pixel", (2, 3), states=3)
    >>> seen = np.log([[[0.8, 0.1, 0.1], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]] * 2)
    >>> found = ss.map_assignment(ss.MarkovNet.potts(pixel, 0.9, log_values=seen), method=ss.TRWS())
    >>> found[pixel].tolist(), found.guarantees["assignment"], found.certificate.check()
    ([[0, 0, 2], [0, 0, 2]], EXACT, True)
    """

    decode_every: int = 5

    def __post_init__(self) -> None:
        whole("TRWS(decode_every=)", self.decode_every, least=1)

    def assign(self, task: AssignmentTask) -> Found:
        """The best decoded assignment, the bound, and the messages that prove it."""
        task.require_all(self)
        task.wiring.require_pairs(self)
        wiring = task.wiring.consistent
        done = task.iterated(self, until=Until(steps=1000, tolerance=SETTLED), codec=PassedCodec())
        last = self._decoded(wiring, done.state)
        messages = _split(wiring, last.messages)
        bound = min(last.bound, bound_of(wiring, messages))
        return Found(
            last.codes[None],
            (last.value,),
            bound,
            Guarantee.HEURISTIC,
            dual_certificate(wiring, messages, bound),
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "rounds": done.num_steps, "decoder": "sequential"},
        )

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Passed:
        """Messages of zero."""
        wiring, codes = task.wiring.consistent, task.first_codes()
        messages = np.zeros(int(wiring.wires.messages[-1]))
        return Passed(messages, np.inf, codes, wiring.log_value(codes))

    def step(self, task: AssignmentTask, state: Passed, rng: np.random.Generator) -> tuple[Passed, Info]:
        """A pass forward and one back."""
        wiring, messages = task.wiring.consistent, state.messages.copy()
        bound = wiring.constant + _round(wiring, messages)
        bound = min(bound, state.bound)
        found = Passed(messages, bound, state.codes, state.value, state.rounds + 1)
        if found.rounds % self.decode_every == 0:
            found = self._decoded(wiring, found)
        change = (state.bound - bound) / max(1.0, abs(bound)) if np.isfinite(state.bound) else np.inf
        done = is_proved(found.value, bound) or bound == -np.inf
        return found, Info(-bound, change, is_done=done)

    def _decoded(self, wiring: Wiring, state: Passed) -> Passed:
        """The state with the assignment decoded from its messages, improved, if it is the best so far."""
        codes, room = np.zeros(wiring.num_variables, np.int64), np.empty(wiring.plugs.cards.max(initial=1))
        decode(wiring.wires, wiring.unary, wiring.factors, state.messages, room, codes)
        codes = improved(wiring, codes)
        value = wiring.log_value(codes)
        if value <= state.value:
            return state
        return Passed(state.messages, state.bound, codes, value, state.rounds)


def _round(wiring: Wiring, messages: Floats) -> float:
    """A pass forward and one back; the bound without the constant."""
    size = wiring.plugs.cards.max(initial=1)
    model, rooms = (wiring.wires, wiring.unary, wiring.factors, wiring.chain_weights), (np.empty(size), np.empty(size))

    def both(cancel: Bytes) -> float:
        first = trws_pass(*model, messages, *rooms, True, cancel)
        return -np.inf if first == -np.inf else float(trws_pass(*model, messages, *rooms, False, cancel))

    return interruptible(both)


def _split(wiring: Wiring, messages: Floats) -> Floats:
    out = np.empty(len(messages))
    room = np.empty(wiring.plugs.cards.max(initial=1))
    split_messages(wiring.wires, wiring.unary, wiring.factors, wiring.chain_weights, messages, room, out)
    return out


class PassedCodec:
    """Stores messages and the best assignment in a checkpoint."""

    def pack(self, state: Passed) -> object:
        """The state as plain values."""
        return {name: getattr(state, name) for name in ("messages", "bound", "codes", "value", "rounds")}

    def unpack(self, content: dict[str, object]) -> Passed:
        """The state of plain values."""
        messages, codes = np.array(content["messages"], np.float64), np.array(content["codes"], np.int64)
        numbers: tuple[Any, ...] = tuple(content[name] for name in ("bound", "value", "rounds"))
        return Passed(messages, float(numbers[0]), codes, float(numbers[1]), int(numbers[2]))
