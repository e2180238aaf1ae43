"""The energies of a factor as its two variables keep their states or take others."""

import numpy as np

from sepset.kernels.map.moves import FRUSTRATED, OPEN, move_arcs, move_cells
from sepset.kernels.propagation.wires import POTTS, TABLE


def test_cells_of_a_table_and_of_a_weight():
    scope, cards = np.array([0, 1, 1, 2]), np.array([2, 3, 3])
    kinds, places = np.array([TABLE, POTTS], np.uint8), np.array([0, -1])
    keep, take, out = np.array([0, 2, 2]), np.array([1, 0, 0]), np.empty((4, 2))
    numbers = np.array([0.0, 1.5]), np.full(2, np.inf)
    move_cells(scope, cards, kinds, places, np.arange(6.0), *numbers, keep, take, out)
    assert out[:, 0].tolist() == [-2.0, 0.0, -5.0, -3.0]
    assert out[:, 1].tolist() == [-1.5, 0.0, 0.0, -1.5]


def test_arcs_of_a_move_have_its_energies():
    """Both variables of the first factor move, one of the second does; marks for zeros and unequal states."""
    scope, cards = np.array([0, 1, 1, 2]), np.array([2, 2, 2])
    kinds, places, limits = np.array([POTTS, POTTS], np.uint8), np.array([-1, -1]), np.full(2, np.inf)
    keep, take, nodes = np.array([0, 0, 1]), np.array([1, 1, 1]), np.array([0, 1, -1], np.int32)

    def found(weights, tables=(), kinds=kinds, places=places):
        unary, edges, arcs = np.zeros((2, 2)), np.zeros((2, 2), np.int32), np.zeros((2, 2))
        model = scope, cards, kinds, places, np.array(tables, np.float64), np.array(weights), limits
        count = move_arcs(*model, keep, take, nodes, 1e-12, unary, edges, arcs, np.empty(2, np.int64), np.empty(4))
        return count, unary.tolist(), edges[:1].tolist(), arcs[:1].tolist()

    assert found([1.5, 0.5]) == (1, [[0.0, 0.0], [0.0, -0.5]], [[0, 1]], [[1.5, 1.5]])
    assert found([-1.5, 0.5])[0] == FRUSTRATED
    zero = np.array([0.0, 0.0, -np.inf, 0.0])
    assert found([0.0, 0.5], zero, np.array([TABLE, POTTS], np.uint8), np.array([0, -1]))[0] == OPEN
