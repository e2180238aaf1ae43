"""Schedules: the orders in which factors send their messages."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.traversal import spanning_forest

SCHEDULES = ("sequential", "synchronous", "random", "residual", "tree")
"""Forth and back; all at once; in random order; the largest change first; along random spanning forests."""


class Wired(Protocol):
    """A task about a wired model."""

    @property
    def wiring(self) -> Wiring:
        """The model at the evidence."""


def orders_of(schedule: str, wiring: Wiring, rng: np.random.Generator) -> tuple[Ints, ...]:
    """The factors in the orders of one step; every factor is in at least one of them.

    Reference: Elidan, McGraw & Koller (2006); Wainwright, Jaakkola & Willsky (2003) for spanning trees.
    """
    if schedule == "synchronous":
        return (np.arange(wiring.num_factors),)
    if schedule == "random":
        return (rng.permutation(wiring.num_factors),)
    if schedule == "tree":
        return tree_orders(wiring, rng)
    order = wiring.traversal.order if wiring.is_forest else np.arange(wiring.num_factors)  # in sequence in memory
    return order[::-1].copy(), order


def tree_orders(wiring: Wiring, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """A random spanning forest from its leaves to its roots and back, and then the factors outside it."""
    n, num = wiring.num_variables, wiring.num_factors
    left_out = np.zeros(num, np.uint8)
    spanning_forest(wiring.wires, rng.permutation(num), np.arange(n), np.full(n, -1, np.int64), left_out)
    order = wiring.traversal_of(left_out).order
    return order[::-1].copy(), order, rng.permutation(np.flatnonzero(left_out))
