r"""States that a dual bound does not rule out.

$$\max_{\mathbf x:\, x_i = x} \log \tilde P(\mathbf x) \le B - \Bigl[\max_{x'} b_i(x') - b_i(x)\Bigr]
- \sum_{r \ni i} \Bigl[\max_{\mathbf x_r} \bar\theta_r - \max_{\mathbf x_r:\, x_i = x} \bar\theta_r\Bigr]$$

with the values $b_i$ of variables and $\bar\theta_r$ of factors after exchanging messages. A state for which this is
below the value of a known assignment is in no better one.
"""

from __future__ import annotations

import itertools

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.inference.map.dual import bound_of
from sepset.inference.map.mplp import Rooms
from sepset.inference.wiring import Wiring
from sepset.kernels.map.mplp import max_marginals

SAFE = 1e-9
"""The part of the value by which a bound must be below it, for rounding."""


def surviving(wiring: Wiring, messages: Floats, value: float) -> Bools:
    """Which states may be part of an assignment that is at least as good as a value.

    Reference: Savchynskyy & Swoboda and others for persistency; reduced-cost fixing in integer programs.
    Guarantee: every assignment of a larger value has only such states.
    Tested by: inference/map/relaxation/test_survival.py::test_better_assignments_survive
    """
    possible = wiring.consistent
    limits = bound_of(possible, messages) - _losses(possible, messages)
    return np.asarray((limits >= value - SAFE * max(1.0, abs(value))) & (possible.unary > -np.inf))


def _losses(wiring: Wiring, messages: Floats) -> Floats:
    """By how much each state lowers the bound; infinite for impossible ones."""
    wires, beliefs = wiring.wires, wiring.unary.copy()
    own = np.repeat(wires.states[wires.scope] - wires.messages[:-1], np.diff(wires.messages))
    places = own + np.arange(len(messages))
    is_live = beliefs[places] > -np.inf
    np.add.at(beliefs, places, np.where(is_live, messages, 0.0))
    losses = _below_best(beliefs, wires.states)
    h, out = np.where(is_live, -messages, -np.inf), np.empty(len(messages))
    rooms = Rooms.of(wiring)
    for f, (first, last) in enumerate(itertools.pairwise(wires.messages[wires.starts].tolist())):
        max_marginals(wires, f, h[first:last], rooms.room, rooms.codes, out[first:last])
    np.add.at(losses, places, _below_best(out, wires.messages))
    return losses


def _below_best(values: Floats, starts: object) -> Floats:
    """How far each number is below the largest one of its part."""
    bounds = np.asarray(starts)
    if not len(values):
        return values
    best = np.maximum.reduceat(values, bounds[:-1])
    sizes = np.diff(bounds)
    with np.errstate(invalid="ignore"):
        found = np.repeat(best, sizes) - values
    return np.where(values > -np.inf, found, np.inf)
