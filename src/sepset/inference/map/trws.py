"""Sequential tree-reweighted message passing: a bound that never rises, and assignments decoded from the messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.threads import interruptible
from sepset.inference.assignment import AssignmentTask, Found
from sepset.inference.map.dual import check_messages
from sepset.inference.map.rounds import DualRounds
from sepset.inference.wiring import Wiring
from sepset.kernels.map.trws import decode, split_messages, trws_pass


@dataclass(frozen=True)
class TRWS(DualRounds):
    """An upper bound by sequential tree-reweighted message passing, and the best of the assignments decoded from it.

    The bound is that of the linear program over the local polytope where the passes end at its optimum, which they do
    for binary variables. Decoded assignments are improved by coordinate ascent.

    Args:
        decode_every: the number of rounds between two decodings.
        precision: the type of the messages, "float64" or "float32", which takes less time and memory. The bound is
            computed from them in float64, and rounded up.

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

    def assign(self, task: AssignmentTask) -> Found:
        """The best decoded assignment, the bound, and the messages that prove it; for models in pairs."""
        task.wiring.require_pairs(self)
        return super().assign(task)

    def passed(self, wiring: Wiring, messages: Floats) -> float:
        """A pass forward and one back; the bound without the constant."""
        check_messages(wiring, messages)
        size, real = wiring.plugs.cards.max(initial=1), messages.dtype
        model = wiring.wires, wiring.unary.astype(real, copy=False), wiring.factors, wiring.chain_weights
        rooms = np.empty(size, real), np.empty(size, real)

        def both(cancel: Bytes) -> float:
            first = trws_pass(*model, messages, *rooms, True, cancel)
            return -np.inf if first == -np.inf else float(trws_pass(*model, messages, *rooms, False, cancel))

        return interruptible(both)

    def decodings(self, wiring: Wiring, messages: Floats) -> Iterable[Ints]:
        """The assignment of variables in order, each given the earlier ones."""
        check_messages(wiring, messages)
        codes, room = np.zeros(wiring.num_variables, np.int64), np.empty(wiring.plugs.cards.max(initial=1))
        decode(wiring.wires, wiring.unary, wiring.factors, messages, room, codes)
        return [codes]

    def proof(self, wiring: Wiring, messages: Floats) -> Floats:
        """The dual messages whose bound is that of the last pass back."""
        check_messages(wiring, messages)
        out, room = np.empty(len(messages)), np.empty(wiring.plugs.cards.max(initial=1))
        split_messages(wiring.wires, wiring.unary, wiring.factors, wiring.chain_weights, messages, room, out)
        return out
