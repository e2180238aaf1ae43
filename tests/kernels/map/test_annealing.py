"""At a fixed temperature, sweeps of a heat bath draw from the tempered distribution."""

import itertools

import numpy as np

import sepset as ss
from sepset.inference.wiring import Wiring
from sepset.kernels.map.annealing import heat_bath, spreads


def test_frequencies_are_those_of_the_tempered_distribution():
    rng = np.random.default_rng(0)
    a, b = ss.Discrete("a"), ss.Discrete("b", 3)
    net = ss.MarkovNet(ss.Table((a, b), rng.gamma(1.0, size=(2, 3))), ss.Table(a, [0.3, 0.7]))
    wiring, codes, counts = Wiring.of(net.as_written()), np.zeros(2, np.int64), np.zeros((2, 3))
    for draws in rng.random((6000, 2)):
        heat_bath(wiring.wires, wiring.unary, wiring.factors, codes, draws, 2.0, np.empty(3), np.zeros(1, np.uint8))
        counts[tuple(codes)] += 1
    values = np.array([wiring.log_value(c) for c in itertools.product(range(2), range(3))]).reshape(2, 3)
    expected = np.exp(values / 2.0) / np.exp(values / 2.0).sum()
    np.testing.assert_allclose(counts / counts.sum(), expected, atol=0.03)
    out = np.zeros(2)
    spreads(wiring.wires, wiring.unary, wiring.factors, np.array([1, 2]), np.empty(3), out)
    np.testing.assert_allclose(out, [abs(values[1, 2] - values[0, 2]), np.ptp(values[1])])
