r"""Sweeps of a heat bath: each variable takes a state drawn from its conditional distribution at a temperature.

$$P(x_i = x) \propto \exp\bigl(\ell_i(x) / T\bigr), \qquad
\ell_i(x) = \theta_i(x) + \sum_{f \ni i} \theta_f(x, \mathbf x_{f \setminus i})$$
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.maxima import largest
from sepset.kernels.propagation.wires import Wires, conditional


def _heat_work(wires: Wires, *_: object) -> float:
    return float(wires.messages[-1] + wires.states[-1]) * 5.0


@kernel(work=_heat_work, borrows=True)
def heat_bath(
    wires: Wires, unary: Floats, factors: Ints, codes: Ints, draws: Floats, temperature: float, h: Floats, cancel: Bytes
) -> None:
    """One sweep over the variables, in order; where all states are impossible, all are as probable.

    Args:
        draws: one uniform number per variable.
        h: room for one number per state.
    """
    for i in range(len(codes)):
        if cancel[0]:
            return
        conditional(wires, unary, factors, i, codes, h)
        size, total = wires.cards[i], 0.0
        top = largest(h[:size])
        for x in range(size):
            total += np.exp((h[x] - top) / temperature) if top > -np.inf else 1.0
            h[x] = total
        found = 0
        while found < size - 1 and h[found] <= draws[i] * total:
            found += 1
        codes[i] = found


@kernel(work=_heat_work, borrows=True)
def spreads(wires: Wires, unary: Floats, factors: Ints, codes: Ints, h: Floats, out: Floats) -> None:
    """The difference of the best and the worst possible state of each variable, given all others."""
    for i in range(len(codes)):
        conditional(wires, unary, factors, i, codes, h)
        low, high = np.inf, -np.inf
        for x in range(wires.cards[i]):
            if h[x] > -np.inf:
                low, high = min(low, h[x]), max(high, h[x])
        out[i] = high - low if high > -np.inf else 0.0
