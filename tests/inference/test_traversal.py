"""Traversals of the factors of a wired model."""

import numpy as np

import sepset as ss
from sepset.inference.wiring import Wiring
from sepset.potentials import Potts, over_scopes


def test_factors_are_met_breadth_first_and_cycles_are_seen():
    x = ss.Discrete.array("x", 6)
    net = ss.MarkovNet(over_scopes([[4, 5], [1, 2], [0, 1], [2, 0], [2, 3]], Potts(1.0), array=x))
    wiring = Wiring.of(net.as_written())
    whole = wiring.traversal
    assert not whole.is_forest
    assert sorted(whole.order.tolist()) == list(range(5))
    assert set(whole.order[:2].tolist()) == {2, 3}
    assert whole.order[-1] == 0
    cut = wiring.traversal_of(np.array([0, 0, 0, 1, 0], np.uint8))
    assert cut.is_forest
    assert cut.order.tolist() == [2, 1, 4, 0]
    assert cut.up.reshape(-1, 2)[[2, 1, 4, 0]].tolist() == [[1, 0]] * 4
