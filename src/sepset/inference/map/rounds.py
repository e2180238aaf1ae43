"""Rounds of messages that lower a dual bound, with assignments decoded from them every few rounds."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import one_of, whole
from sepset.base.threads import OutOfTime, ending_at
from sepset.errors import NotApplicable
from sepset.inference.assignment import AssignmentTask, Found, best_of, is_proved
from sepset.inference.iterate import Info, Run, Until
from sepset.inference.map.coordinates import improved
from sepset.inference.map.dual import bound_of, dual_certificate
from sepset.inference.result import Guarantee, Status
from sepset.inference.wiring import LARGEST, Wiring

RANGES = {"float64": LARGEST, "float32": 1e30}
"""The types of messages, and the largest log value that they take."""

SECONDS_AFTER_INTERRUPT = 0.3
"""Time for a last decoding after an interruption; of what is found by then, the best is returned."""

SETTLED = 1e-7
"""The relative change of the bound over a round at which it has converged."""


@dataclass(frozen=True)
class Passed:
    """Messages, the bound after the last round, and the best assignment so far."""

    messages: Floats
    bound: float
    codes: Ints
    value: float
    rounds: int = 0


@dataclass(frozen=True)
class DualRounds(ABC):
    """A method whose rounds of messages lower an upper bound; decoded assignments are improved by coordinate ascent.

    Args:
        decode_every: the number of rounds between two decodings.
        precision: the type of the messages; the bound is computed from them in float64, and rounded up.
    """

    decode_every: int = 5
    precision: str = field(default="float64", kw_only=True)

    def __post_init__(self) -> None:
        whole(f"{type(self).__name__}(decode_every=)", self.decode_every, least=1)
        one_of(f"{type(self).__name__}(precision=)", self.precision, tuple(RANGES))

    @abstractmethod
    def passed(self, wiring: Wiring, messages: Floats) -> float:
        """One round, which changes the messages; the bound without the constant."""

    @abstractmethod
    def decodings(self, wiring: Wiring, messages: Floats) -> Iterable[Ints]:
        """Assignments that the messages suggest."""

    def proof(self, wiring: Wiring, messages: Floats) -> Floats:
        """The dual messages whose bound is that of the last round."""
        return messages

    def assign(self, task: AssignmentTask) -> Found:
        """The best decoded assignment, the bound, and the messages that prove it."""
        task.require_all(self)
        wiring = task.wiring.consistent
        self._require_range(wiring)
        done = task.iterated(self, until=Until(steps=1000, tolerance=SETTLED), codec=PassedCodec())
        last = self._last(wiring, done)
        messages = self.proof(wiring, last.messages.astype(np.float64))
        bound = bound_of(wiring, messages) if last.bound > -np.inf else last.bound
        return Found(
            last.codes[None],
            (last.value,),
            bound=bound,
            guarantee=Guarantee.HEURISTIC,
            certificate=dual_certificate(wiring, messages, bound),
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "rounds": done.num_steps, "decoder": "sequential"},
        )

    def _last(self, wiring: Wiring, done: Run[Passed]) -> Passed:
        """The state after one more decoding, which has little time after an interruption."""
        if done.status is not Status.INTERRUPTED:
            return self.decoded(wiring, done.state)
        with suppress(OutOfTime), ending_at(time.monotonic() + SECONDS_AFTER_INTERRUPT):
            return self.decoded(wiring, done.state)
        return done.state

    def _require_range(self, wiring: Wiring) -> None:
        """Raise if the log values are too large for the type of the messages."""
        found, most = wiring.largest_size, RANGES[self.precision]
        if found > most:
            raise NotApplicable(
                f"{type(self).__name__}(precision={self.precision!r}) takes log values up to {most:g} in size; found "
                f"{found:.3g}. Use precision='float64'."
            )

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Passed:
        """Messages of zero."""
        wiring, codes = task.wiring.consistent, task.first_codes()
        messages = np.zeros(int(wiring.wires.messages[-1]), self.precision)
        return Passed(messages, np.inf, codes, wiring.log_value(codes))

    def step(self, task: AssignmentTask, state: Passed, rng: np.random.Generator) -> tuple[Passed, Info]:
        """One round, and now and then a decoding."""
        wiring, messages = task.wiring.consistent, state.messages.astype(self.precision)
        bound = min(state.bound, wiring.constant + self.passed(wiring, messages))
        found = Passed(messages, bound, state.codes, state.value, state.rounds + 1)
        if found.rounds % self.decode_every == 0:
            found = self.decoded(wiring, found)
        change = (state.bound - bound) / max(1.0, abs(bound)) if np.isfinite(state.bound) else np.inf
        return found, Info(-bound, change, is_done=is_proved(found.value, bound) or bound == -np.inf)

    def decoded(self, wiring: Wiring, state: Passed) -> Passed:
        """The state with the best assignment decoded from its messages, if that is the best so far."""
        made = [improved(wiring, codes) for codes in self.decodings(wiring, state.messages.astype(np.float64))]
        codes, value = best_of([state.codes, *made], wiring)
        return replace(state, codes=codes, value=value)


class PassedCodec:
    """Stores messages and the best assignment in a checkpoint."""

    def pack(self, state: Passed) -> object:
        """The state as plain values."""
        return dict(vars(state))

    def unpack(self, content: dict[str, Any]) -> Passed:
        """The state of plain values."""
        messages, codes = np.array(content["messages"], np.float64), np.array(content["codes"], np.int64)
        return Passed(messages, float(content["bound"]), codes, float(content["value"]), int(content["rounds"]))
