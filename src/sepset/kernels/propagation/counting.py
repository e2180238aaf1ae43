"""The bound of max-product beliefs with convex counting numbers."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.loopy import cavities
from sepset.kernels.propagation.maxima import largest
from sepset.kernels.propagation.messages import factor_messages
from sepset.kernels.propagation.wires import Wires


def _bound_work(wires: Wires, *_: object) -> float:
    return 40.0 * float(wires.messages[-1] + wires.states[-1] + wires.tables.size)


@kernel(work=_bound_work, borrows=True)
def split_bound(
    wires: Wires, rhos: Floats, of_factors: Floats, of_slots: Floats, beliefs: Floats, messages: Floats, h: Floats,
    out: Floats, room: Floats, codes: Ints, cancel: Bytes,
) -> float:  # fmt: skip
    r"""The sum over factors of $\nu_f \max \log \beta_f + \sum_i \nu_{f,i} \max (\log \beta_f - \log b_i)$.

    Args:
        of_factors: $\nu_f$ for each factor.
        of_slots: $\nu_{f,i}$ for each slot.
        beliefs: log beliefs with a maximum of zero.
    """
    total = 0.0
    for f in range(len(wires.kinds)):
        if cancel[0]:
            return np.inf
        cavities(wires, f, beliefs, messages, h)
        factor_messages(wires, f, 1.0 / rhos[f], h, True, out, room, codes)
        base, first = wires.messages[wires.starts[f]], wires.starts[f]
        for s in range(first, wires.starts[f + 1]):
            own, at, best = wires.states[wires.scope[s]], wires.messages[s], -np.inf
            for x in range(wires.cards[wires.scope[s]]):
                if beliefs[own + x] > -np.inf:
                    best = max(best, out[at - base + x] - messages[at + x])
            if of_slots[s] > 0.0:
                total += of_slots[s] * best
        size = wires.cards[wires.scope[first]]
        for x in range(size):
            out[x] += h[x]
        if of_factors[f] > 0.0:
            total += of_factors[f] * largest(out[:size])
    return total
