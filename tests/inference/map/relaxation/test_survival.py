"""States that a bound does not rule out."""

import itertools

import numpy as np

from sepset.inference.iterate import Until
from sepset.inference.map.mplp import MPLP
from sepset.inference.map.relaxation.survival import surviving
from support.blocks import in_blocks
from support.planted import planted_union
from support.wired import task_of


@in_blocks("seed", range(40))
def test_better_assignments_survive(seed):
    rng = np.random.default_rng(seed)
    wiring, _ = planted_union(rng, 2, most=3)
    if seed % 2:
        messages = rng.normal(size=int(wiring.wires.messages[-1]))
    else:
        messages = task_of(wiring).iterated(MPLP(), until=Until(steps=10)).state.messages
    rows = np.array(list(itertools.product(*(range(int(c)) for c in wiring.plugs.cards))))
    values = np.array([wiring.log_value(row) for row in rows])
    value = float(np.quantile(values[values > -np.inf], 0.8))
    live = surviving(wiring, messages, value)
    for row in rows[values >= value]:
        assert live[wiring.plugs.states[:-1] + row].all()
