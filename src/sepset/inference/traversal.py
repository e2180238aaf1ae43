"""Traversals: the factors of a wired model breadth first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Ints
from sepset.kernels.propagation.traversal import traverse
from sepset.kernels.propagation.wires import Wires


class Traversal(NamedTuple):
    """The factors breadth first.

    Attributes:
        order: the factors in this order.
        up: for each slot, whether the factor was reached from its variable.
        is_forest: whether the graph of variables and factors has no cycle.
    """

    order: Ints
    up: Bytes
    is_forest: bool

    @classmethod
    def of(cls, wires: Wires, factors: Ints, left_out: Bytes) -> Traversal:
        """The traversal from the first variable of each component.

        Args:
            factors: the factor of each slot.
            left_out: one for each factor that does not count.
        """
        n, left = len(wires.cards), left_out == 0
        num, slots = int(left.sum()), int(left[factors].sum())
        order, up, queue = np.zeros(num, np.int64), np.zeros(len(factors), np.uint8), np.zeros(max(n, 1), np.int64)
        components = int(traverse(wires, factors, np.zeros(n, np.uint8), left_out.copy(), queue, order, up))
        return cls(order, up, n + num - slots == components)
