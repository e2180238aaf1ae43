"""Schedules: every factor is served, and fixed points do not depend on the order."""

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_loopybp import enumerated, random_forest, spin_glass
from sepset.inference.propagation.schedules import SCHEDULES, orders_of
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks


@pytest.mark.parametrize("schedule", [s for s in SCHEDULES if s != "residual"])
def test_every_factor_is_in_an_order(schedule):
    rng = np.random.default_rng(0)
    wiring = Wiring.of(spin_glass(rng, 3, 4).as_written())
    for _ in range(5):
        orders = orders_of(schedule, wiring, rng)
        assert set(np.concatenate(orders).tolist()) == set(range(wiring.num_factors))


@pytest.mark.parametrize("domain", ["log", "auto"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_fixed_points_are_the_same(schedule, domain):
    wiring = Wiring.of(spin_glass(np.random.default_rng(4), 4, 4).as_written())
    expected = ss.LoopyBP(0.3, domain="log").propagate(wiring)
    found = ss.LoopyBP(0.2, schedule, domain=domain).propagate(wiring)
    assert found.has_converged
    assert found.logs == pytest.approx(expected.logs, abs=1e-7)
    assert found.energy() == pytest.approx(expected.energy(), abs=1e-7)


@pytest.mark.parametrize("schedule", ["random", "residual", "tree"])
@in_blocks("seed", range(8))
def test_forests_are_exact(seed, schedule):
    net = random_forest(np.random.default_rng(seed))
    wiring = Wiring.of(net.as_written())
    log_z, marginals = enumerated(wiring)
    found = ss.LoopyBP(schedule=schedule).propagate(wiring)
    assert found.energy() == pytest.approx(log_z, abs=1e-9)
    for i, expected in enumerate(marginals):
        assert found.variable(i) == pytest.approx(expected, abs=1e-9)
