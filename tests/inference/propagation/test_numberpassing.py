"""Passes of numbers: both kinds share the state, the buffers and the schedules."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.propagation.ising import IsingPassing
from sepset.inference.propagation.linear import LinearPassing
from sepset.inference.propagation.passing import WiredModel
from sepset.inference.wiring import Wiring


@pytest.mark.parametrize("schedule", ["sequential", "synchronous", "tree"])
@pytest.mark.parametrize("kind", [IsingPassing, LinearPassing])
def test_passes_alternate_between_two_states_and_keep_what_they_read(kind, schedule):
    spin = ss.Discrete.array("spin", (3, 3))
    rng = np.random.default_rng(0)
    net = ss.MarkovNet.potts(spin, 0.7, log_values=rng.normal(size=(3, 3, 2)))
    wiring = Wiring.of(net.as_written())
    passing = kind(wiring, 0.3, schedule)
    task, first = WiredModel(wiring), passing.init(WiredModel(wiring), rng)
    assert len(first) == passing.num_messages + len(passing.own) == len(passing.buffers[0])
    before = first.copy()
    second, info = passing.step(task, first, rng)
    assert (first == before).all()
    assert info.change > 0.0
    for _ in range(200):
        second, info = passing.step(task, second, rng)
    assert info.change < 1e-9
    logs = ss.LoopyBP(domain="log").propagate(wiring)
    assert passing.gathered(wiring, second)[0] == pytest.approx(logs.logs, abs=1e-6)
    rhos, counts = passing.weights(wiring)
    assert (rhos == 1.0).all()
    assert (counts == 1.0).all()
