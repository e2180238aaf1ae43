"""The energies of a factor as its two variables keep their states or take others."""

import numpy as np

from sepset.kernels.map.moves import move_cells
from sepset.kernels.propagation.wires import POTTS, TABLE


def test_cells_of_a_table_and_of_a_weight():
    scope, cards = np.array([0, 1, 1, 2]), np.array([2, 3, 3])
    kinds, places = np.array([TABLE, POTTS], np.uint8), np.array([0, -1])
    keep, take, out = np.array([0, 2, 2]), np.array([1, 0, 0]), np.empty((4, 2))
    numbers = np.array([0.0, 1.5]), np.full(2, np.inf)
    move_cells(scope, cards, kinds, places, np.arange(6.0), *numbers, keep, take, out)
    assert out[:, 0].tolist() == [-2.0, 0.0, -5.0, -3.0]
    assert out[:, 1].tolist() == [-1.5, 0.0, 0.0, -1.5]
