"""Programs: contractions laid out as integers over one workspace, run by one compiled call."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sepset.inference.contraction import Contraction

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Instructions over a flat workspace of floats.

    Attributes:
        ops, groups: what the kernel runs.
        size: floats in the workspace.
        offsets: where each tensor starts.
        num_forward: how many instructions the forward sweep has.
    """

    ops: Ints
    groups: Ints
    size: int
    offsets: Ints
    num_tensors: int
    num_forward: int
    contraction: Contraction = field(repr=False)

    @property
    def nbytes(self) -> int:
        """Bytes of one workspace."""
        return 8 * self.size


def assemble(made: Contraction) -> Program:
    """The program that runs a contraction's steps in order."""
    from sepset.kernels import layout

    ops, groups, offsets, size = layout.assemble(made.ledger)
    return Program(ops, groups, int(size), offsets, len(offsets), made.num_forward, made)
