"""Markov networks near dependency networks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import sepset as ss
from learning.structure.dependency.test_gibbs import clashing
from learning.structure.dependency.test_network import inconsistent
from sepset.learning.structure.dependency.conversion import PairFit
from sepset.learning.structure.dependency.network import DependencyNet


def pairwise(seed: int) -> ss.MarkovNet:
    rng = np.random.default_rng(seed)
    x, y, z = ss.Discrete("x", 3), ss.Discrete("y", 2), ss.Discrete("z", 3)
    pairs = ((x, y), (y, z), (x, z))
    return ss.MarkovNet(*(ss.Table(p, rng.uniform(0.2, 2.0, (p[0].num_states, p[1].num_states))) for p in pairs))


@pytest.mark.parametrize("seed", range(2))
def test_pairwise_networks_come_back(seed: int) -> None:
    net = pairwise(seed)
    found = DependencyNet.of(net).markov_net()
    assert found.divergence < 1e-10
    names = ["x", "y", "z"]
    np.testing.assert_allclose(ss.query(found.model, names).values, ss.query(net, names).values, atol=1e-5)
    drawn = DependencyNet.of(net).markov_net(num_rows=10, seed=1)
    assert drawn.num_rows == 10
    assert drawn.divergence < 1e-8


def test_clashing_conditionals_leave_a_divergence() -> None:
    found = inconsistent().markov_net()
    assert found.divergence > 0.01
    assert f"{found.divergence:.4g}" in repr(found)
    assert f"{found.divergence:.6g}" in str(found)


def test_the_gradient() -> None:
    net = clashing(2)
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, c, 20) for c in net.variables.cards])
    fit = PairFit(net, codes, np.full(20, 0.05))
    point = rng.normal(size=fit.size)
    slope = approx_fprime(point, lambda p: fit.loss(p)[0], 1e-7)
    np.testing.assert_allclose(fit.loss(point)[1], slope, atol=1e-5)


def test_rows_of_ones_own() -> None:
    net = DependencyNet.of(pairwise(0))
    rows = {"x": [0, 1, 2], "y": [0, 1, 1], "z": [2, 2, 0]}
    assert net.markov_net(rows=rows).num_rows == 3
    with pytest.raises(ss.SepsetError):
        net.markov_net(rows={"x": [], "y": [], "z": []})
