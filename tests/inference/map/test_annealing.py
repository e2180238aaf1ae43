"""Annealing ends in local optima, finds the best assignment of small models, and depends on the seed alone."""

import numpy as np
import pytest

import sepset as ss
from inference.map.test_coordinates import random_net
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import best_value


@in_blocks("seed", range(25))
def test_no_single_change_is_better(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng, zeros=0.2 * (seed % 2))
    wiring = Wiring.of(net.problem())
    best = best_value(wiring)
    if best == -np.inf:
        return
    found = ss.map_assignment(net, method=ss.inference.Annealing(sweeps=30, restarts=1), seed=seed)
    for i in range(wiring.num_variables):
        for x in range(wiring.wires.cards[i]):
            other = found.codes.copy()
            other[i] = x
            assert wiring.log_value(other) <= found.log_value + 1e-12
    assert found.log_value == pytest.approx(best)  # small enough to be found by every seed here


def test_seeds_resumed_runs_and_glasses(tmp_path):
    rng = np.random.default_rng(0)
    spin = ss.Discrete.array("spin", (8, 8), states=(-1, 1))
    glass = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())), field=0.1 * rng.normal(size=(8, 8)))
    method = ss.inference.Annealing(sweeps=60, restarts=1)
    one, two = (ss.map_assignment(glass, method=method, seed=4) for _ in range(2))
    np.testing.assert_array_equal(one.codes, two.codes)
    assert one.log_value > ss.map_assignment(glass, method=ss.ICM()).log_value
    assert one.log_value <= ss.map_assignment(glass).log_value + 1e-9
    ss.map_assignment(glass, method=method, seed=4, until=70, checkpoint=tmp_path / "c")
    rest = ss.map_assignment(glass, method=method, seed=4, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(rest.trace, one.trace)


def test_empty_models_and_bad_settings():
    assert ss.map_assignment(ss.MarkovNet(), method=ss.inference.Annealing(sweeps=2)).log_value == 0.0
    with pytest.raises(ss.errors.ArgumentError, match="sweeps"):
        ss.inference.Annealing(sweeps=0)
    with pytest.raises(ss.errors.ArgumentError, match="hot"):
        ss.inference.Annealing(hot=0.0)
    with pytest.raises(ss.errors.ArgumentError, match="at most hot=1"):
        ss.inference.Annealing(hot=1.0, cold=2.0)
