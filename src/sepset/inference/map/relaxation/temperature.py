r"""Models at a temperature: all log values divided by it.

$$\max_q \sum_r \mathbf E_q[\theta_r] + T\, H(q) = T \max_q \sum_r \mathbf E_q[\theta_r / T] + H(q)$$

so that the maximizer at temperature $T$ is that of the factors $\phi^{1/T}$ at temperature one.

Reference: Koller & Friedman, section 13.5.3.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sepset.base.frozen import read_only
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import QUADRATIC


def annealed(wiring: Wiring, temperature: float) -> Wiring:
    """The same model with all factors raised to one over the temperature; constraints stay as they are."""
    plugs = wiring.plugs
    weights = np.where(plugs.kinds <= QUADRATIC, plugs.weights / temperature, plugs.weights)
    changed = plugs._replace(tables=read_only(plugs.tables / temperature), weights=read_only(weights))
    unary, constant = read_only(wiring.unary / temperature), wiring.constant / temperature
    return replace(wiring, plugs=changed, unary=unary, constant=constant)
