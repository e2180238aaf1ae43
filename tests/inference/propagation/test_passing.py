"""Passes of messages: the order of factors, and fixed points."""

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_loopybp import random_forest
from sepset.inference.propagation.passing import BUDGET, Passing, propagated
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks


@in_blocks("seed", range(20))
def test_every_factor_but_those_of_roots_is_reached_from_a_variable_before_it(seed):
    wiring = Wiring.of(random_forest(np.random.default_rng(seed)).as_written())
    found = wiring.traversal
    assert found.is_forest
    assert sorted(found.order.tolist()) == list(range(wiring.num_factors))
    assert np.bincount(wiring.factors, found.up, minlength=wiring.num_factors).tolist() == [1.0] * wiring.num_factors


def test_a_loop_is_not_a_forest():
    wiring = Wiring.of(ss.datasets.load("misconception").as_written())
    assert not wiring.traversal.is_forest


def test_damping_changes_the_way_and_not_the_fixed_point():
    wiring = Wiring.of(ss.datasets.load("misconception").as_written())
    found = [
        propagated(Passing(d, s, False), wiring, BUDGET) for d in (0.0, 0.3, 0.7) for s in ("sequential", "synchronous")
    ]
    for other in found[1:]:
        assert other.logs == pytest.approx(found[0].logs, abs=1e-7)
