"""Programs: contractions laid out as integers over one workspace, run by one compiled call."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sepset.inference.contraction import Contraction
from sepset.inference.tables import FactorStore

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Instructions over a flat workspace of floats.

    Attributes:
        ops, groups: what the kernel runs.
        offsets: where each tensor starts.
        size: floats in the workspace.
        work: multiplications of all steps.
        rows, copies, fixed: how factors come from the store: where each goes and comes from, by which groups, and what
            findings add to its place.
    """

    ops: Ints
    groups: Ints
    offsets: Ints
    size: int
    work: float
    rows: Ints
    copies: Ints
    fixed: Ints
    contraction: Contraction = field(repr=False)

    @property
    def num_tensors(self) -> int:
        """How many tensors there are."""
        return len(self.offsets)

    @property
    def num_forward(self) -> int:
        """How many instructions the forward sweep has."""
        return self.contraction.num_forward

    @property
    def nbytes(self) -> int:
        """Bytes of one workspace."""
        return 8 * self.size


def assemble(made: Contraction, store: FactorStore, numbers: Ints, rank: Ints, seen: Ints) -> Program:
    """The program that runs a contraction's steps in order.

    Args:
        numbers: the factors that are the first inputs.
        rank, seen: of each variable its rank, or its number among the findings, or -1.
    """
    from sepset.kernels import layout

    parts = made.weights, made.bounds, made.pool, made.sizes, made.rows
    return Program(*layout.assemble(*parts, *store.rows, store.offsets, numbers, rank, seen), made)
