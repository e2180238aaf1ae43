"""Decoding single states."""

import numpy as np

from sepset.kernels.propagation.decoding import best_state, fix_state


def test_the_first_of_equal_states_is_best():
    assert best_state(np.array([9.0, 1.0, 3.0, 3.0]), 1, 3) == 1


def test_fixing_leaves_one_state():
    h = np.array([5.0, -1.0, 2.0, 3.0])
    fix_state(h, 1, 3, 1)
    assert h.tolist() == [5.0, -np.inf, 0.0, -np.inf]
