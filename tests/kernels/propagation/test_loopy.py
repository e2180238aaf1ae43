"""Passes over factors: beliefs, residuals, and bounds."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.loopy import gather


def test_beliefs_without_messages_are_those_of_single_variables():
    a, b = ss.Discrete("a", 3), ss.Discrete("b")
    net = ss.MarkovNet(ss.Table([a], [1, 2, 5]), ss.Table([a, b], np.ones((3, 2)) + np.eye(3, 2)))
    wiring = Wiring.of(net.as_written())
    logs = np.empty(5)
    total = gather(wiring.wires, wiring.unary, wiring.factors, np.ones(1), np.ones(2), False, np.zeros(5), logs)
    assert np.exp(logs) == pytest.approx([1 / 8, 2 / 8, 5 / 8, 0.5, 0.5])
    assert total == pytest.approx(np.log(16.0))
