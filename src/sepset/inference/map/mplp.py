"""Block-coordinate descent on the dual: bounds for factors of any number of variables, and assignments decoded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.threads import interruptible
from sepset.inference.map.dual import check_messages
from sepset.inference.map.rounds import DualRounds
from sepset.inference.wiring import Wiring
from sepset.kernels.map.mplp import decode_any, mplp_pass


@dataclass(frozen=True)
class MPLP(DualRounds):
    """An upper bound by max-product linear programming, and the best of the assignments decoded from it.

    The messages of one factor at a time are set to their best values given all others, for factors of any number of
    variables; parity and at-least-one constraints take linear time. Decoded assignments are improved by coordinate
    ascent. For binary variables in pairs the bound falls to that of the linear program over the local polytope; for
    more states it may stop above it.

    Args:
        decode_every: the number of rounds between two decodings.
        precision: the type of the messages, "float64" or "float32", which takes less time and memory. The bound is
            computed from them in float64, and rounded up.

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

    def passed(self, wiring: Wiring, messages: Floats) -> float:
        """A pass over all factors and one back; the bound without the constant."""
        check_messages(wiring, messages)
        rooms, real = Rooms.of(wiring, messages.dtype), messages.dtype

        def both(cancel: Bytes) -> float:
            first = float(mplp_pass(wiring.wires, wiring.unary.astype(real), messages, *rooms, True, cancel))
            if first == -np.inf:
                return first
            return float(mplp_pass(wiring.wires, wiring.unary.astype(real), messages, *rooms, False, cancel))

        return interruptible(both)

    def decodings(self, wiring: Wiring, messages: Floats) -> Iterable[Ints]:
        """The assignments of variables in order and in reverse, each given those before it."""
        check_messages(wiring, messages)
        order = np.arange(wiring.num_variables)
        return [_decoded(wiring, messages, order), _decoded(wiring, messages, order[::-1].copy())]


class Rooms(NamedTuple):
    """Arrays in which kernels work: values of a factor's states, of a variable's, codes, and values again."""

    h: Floats
    room: Floats
    codes: Ints
    out: Floats

    @classmethod
    def of(cls, wiring: Wiring, real: DTypeLike = np.float64) -> Rooms:
        """Arrays that are as large as the largest factor and variable."""
        starts = wiring.wires.starts
        widest = int(np.diff(wiring.wires.messages[starts]).max(initial=1))
        arity, size = int(np.diff(starts).max(initial=1)), int(wiring.plugs.cards.max(initial=1))
        return cls(np.empty(widest, real), np.empty(size, real), np.empty(arity, np.int64), np.empty(widest, real))


def _decoded(wiring: Wiring, messages: Floats, order: Ints) -> Ints:
    found, values = np.zeros(len(order), np.int64), np.empty(wiring.plugs.cards.max(initial=1))
    model = wiring.wires, wiring.unary, wiring.factors, messages, order, order
    interruptible(lambda cancel: decode_any(*model, *Rooms.of(wiring), values, found, cancel))
    return found
