"""The bound of beliefs and their ratios."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.propagation.passing import rooms
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.counting import split_bound


def test_a_factor_is_bounded_by_its_belief_and_by_its_ratios():
    a, b = ss.Discrete("a", 3), ss.Discrete("b", 2)
    logs = np.array([[0.0, 2.0], [5.0, -1.0], [1.0, 4.0]])
    wiring = Wiring.of(ss.MarkovNet(ss.Table([a, b], np.exp(logs))).as_written())
    of_a, of_b = np.array([-3.0, 0.0, -1.0]), np.array([0.0, -2.0])
    belief = logs + of_a[:, None] + of_b
    for factor, first, second in [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.2, 0.3, 0.5)]:
        nus = np.array([factor]), np.array([first, second])
        state = np.concatenate([of_a, of_b]), np.zeros(5)
        found = split_bound(wiring.wires, np.ones(1), *nus, *state, *rooms(wiring), np.zeros(1, np.uint8))
        ratios = (belief - of_a[:, None]).max(), (belief - of_b).max()
        assert found == pytest.approx(factor * belief.max() + first * ratios[0] + second * ratios[1])
