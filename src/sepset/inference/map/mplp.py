"""Block-coordinate descent on the dual: bounds for factors of any number of variables, and assignments decoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.checks import whole
from sepset.base.threads import interruptible
from sepset.inference.assignment import AssignmentTask, Found, is_proved
from sepset.inference.iterate import Info, Until
from sepset.inference.map.coordinates import improved
from sepset.inference.map.dual import bound_of, dual_certificate
from sepset.inference.map.trws import SETTLED, Passed, PassedCodec
from sepset.inference.result import Guarantee
from sepset.inference.wiring import Wiring
from sepset.kernels.map.mplp import decode_any, mplp_pass


@dataclass(frozen=True)
class MPLP:
    """An upper bound by max-product linear programming, and the best of the assignments decoded from it.

    The messages of one factor at a time are set to their best values given all others, for factors of any number of
    variables; parity and at-least-one constraints take linear time. Decoded assignments are improved by coordinate
    ascent. For binary variables in pairs the bound falls to that of the linear program over the local polytope; for
    more states it may stop above it.

    Args:
        decode_every: the number of rounds between two decodings.

    Cost: a round is two passes over all tables.
    Reference: Globerson & Jaakkola (2007), Fixing max-product; Sontag, Globerson & Jaakkola (2011).
    Guarantee: upper bound, never rising; exact if the bound is reached.
    Tested by: inference/map/test_mplp.py::test_bounds_fall_and_are_never_below_the_best_value

    >>> import sepset as ss
    >>> a, b, c = (ss.Discrete(name) for name in "abc")
    >>> triple = ss.Table((a, b, c), [[[1, 2], [3, 4]], [[5, 6], [9, 7]]])
    >>> net = ss.MarkovNet(triple, ss.Table((a, c), [[1, 3], [2, 4]]))
    >>> found = ss.map_assignment(net, method=ss.MPLP())
    >>> dict(found.assignment), found.guarantees["assignment"], found.certificate.check()
    ({'a': 1, 'b': 1, 'c': 1}, EXACT, True)
    """

    decode_every: int = 5

    def __post_init__(self) -> None:
        whole("MPLP(decode_every=)", self.decode_every, least=1)

    def assign(self, task: AssignmentTask) -> Found:
        """The best decoded assignment, the bound, and the messages that prove it."""
        task.require_all(self)
        wiring = task.wiring.consistent
        done = task.iterated(self, until=Until(steps=1000, tolerance=SETTLED), codec=PassedCodec())
        last = decoded(wiring, done.state)
        bound = min(last.bound, bound_of(wiring, last.messages))
        return Found(
            last.codes[None],
            (last.value,),
            bound,
            Guarantee.HEURISTIC,
            dual_certificate(wiring, last.messages, bound),
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "rounds": done.num_steps, "decoder": "sequential"},
        )

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Passed:
        """Messages of zero."""
        wiring, codes = task.wiring.consistent, task.first_codes()
        return Passed(np.zeros(int(wiring.wires.messages[-1])), np.inf, codes, wiring.log_value(codes))

    def step(self, task: AssignmentTask, state: Passed, rng: np.random.Generator) -> tuple[Passed, Info]:
        """A pass over all factors and one back."""
        wiring, messages = task.wiring.consistent, state.messages.copy()
        bound = min(state.bound, wiring.constant + _round(wiring, messages))
        found = Passed(messages, bound, state.codes, state.value, state.rounds + 1)
        if found.rounds % self.decode_every == 0:
            found = decoded(wiring, found)
        change = (state.bound - bound) / max(1.0, abs(bound)) if np.isfinite(state.bound) else np.inf
        return found, Info(-bound, change, is_done=is_proved(found.value, bound) or bound == -np.inf)


class Rooms(NamedTuple):
    """Arrays in which kernels work: values of a factor's states, of a variable's, codes, and values again."""

    h: Floats
    room: Floats
    codes: Ints
    out: Floats

    @classmethod
    def of(cls, wiring: Wiring) -> Rooms:
        """Arrays that are as large as the largest factor and variable."""
        starts = wiring.wires.starts
        widest = int(np.diff(wiring.wires.messages[starts]).max(initial=1))
        arity, size = int(np.diff(starts).max(initial=1)), int(wiring.plugs.cards.max(initial=1))
        return cls(np.empty(widest), np.empty(size), np.empty(arity, np.int64), np.empty(widest))


def _round(wiring: Wiring, messages: Floats) -> float:
    """A pass over all factors and one back; the bound without the constant."""
    rooms = Rooms.of(wiring)

    def both(cancel: Bytes) -> float:
        first = float(mplp_pass(wiring.wires, wiring.unary.copy(), messages, *rooms, True, cancel))
        if first == -np.inf:
            return first
        return float(mplp_pass(wiring.wires, wiring.unary.copy(), messages, *rooms, False, cancel))

    return interruptible(both)


def decoded(wiring: Wiring, state: Passed) -> Passed:
    """The state with the best of the assignments decoded from its messages in two orders, if it is the best so far."""
    for backward in (False, True):
        codes = improved(wiring, _decoded(wiring, state.messages, backward=backward))
        value = wiring.log_value(codes)
        if value > state.value:
            state = replace(state, codes=codes, value=value)
    return state


def _decoded(wiring: Wiring, messages: Floats, *, backward: bool) -> Ints:
    order = np.arange(wiring.num_variables)[:: -1 if backward else 1].copy()
    found, values = np.zeros(len(order), np.int64), np.empty(wiring.plugs.cards.max(initial=1))
    model = wiring.wires, wiring.unary, wiring.factors, messages, order, order
    interruptible(lambda cancel: decode_any(*model, *Rooms.of(wiring), values, found, cancel))
    return found
