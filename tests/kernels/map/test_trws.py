"""A pass forward and one back on a chain give its maximum."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.wiring import Wiring
from sepset.kernels.map.trws import decode, trws_pass


def test_a_chain_takes_one_round():
    rng = np.random.default_rng(0)
    line = ss.Discrete.array("x", (12,), states=3)
    net = ss.MarkovNet.potts(line, 0.7, log_values=rng.normal(size=(12, 3)))
    wiring = Wiring.of(net.as_written())
    messages, rooms, going = np.zeros(int(wiring.wires.messages[-1])), (np.empty(3), np.empty(3)), np.zeros(1, np.uint8)
    model = wiring.wires, wiring.unary, wiring.factors, np.ones(12)
    trws_pass(*model, messages, *rooms, True, going)
    bound = trws_pass(*model, messages, *rooms, False, going)
    exact = ss.map_assignment(net)
    assert bound == pytest.approx(exact.log_value)
    codes = np.zeros(12, np.int64)
    decode(wiring.wires, wiring.unary, wiring.factors, messages, np.empty(3), codes)
    np.testing.assert_array_equal(codes, exact[line])
    assert trws_pass(*model, messages, *rooms, True, np.ones(1, np.uint8)) == np.inf
