"""Programs: contractions laid out as integers over one workspace, run by one compiled call."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.inference.compiled.contraction import Contraction
from sepset.inference.compiled.store import Layout

FIXED, END_FIXED = 4, 5
"""Columns of a program's rows: where a factor's findings begin and end."""


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Instructions over a flat workspace of floats.

    Attributes:
        ops, groups: the instructions and their groups of axes.
        offsets: the start of each tensor.
        size: floats in the workspace.
        work: multiplications of all steps.
        rows, copies, fixed: how factors are copied from the store: source and target, groups of axes, and the strides
            of findings.
        roots: tensor, place and size of each root; the product of their sums is the total.
        reads: for each marginal its start in the workspace (for finding i, -1 - i), its start in the answer, and its
            size.
    """

    ops: Ints
    groups: Ints
    offsets: Ints
    size: int
    work: float
    rows: Ints
    copies: Ints
    fixed: Ints
    roots: Ints
    reads: Ints
    contraction: Contraction = field(repr=False)

    @property
    def num_tensors(self) -> int:
        """The number of tensors."""
        return len(self.offsets)

    @property
    def num_forward(self) -> int:
        """The number of instructions of the forward sweep."""
        return self.contraction.num_forward

    @property
    def num_fixed(self) -> Ints:
        """The number of findings in the scope of each factor."""
        return np.asarray(self.rows[:, END_FIXED] - self.rows[:, FIXED])

    @property
    def nbytes(self) -> int:
        """Bytes of one workspace."""
        return 8 * self.size


def assemble(
    made: Contraction, layout: Layout, numbers: Ints, rank: Ints, seen: Ints, num_targets: int, found: Ints
) -> Program:
    """The program that runs a contraction's steps in order.

    Args:
        layout: the layout of the store.
        numbers: the numbers of the factors, which are the first inputs.
        rank, seen: for each variable its rank, and its number among the findings; -1 for neither.
        num_targets: the number of the contraction's reads that a run returns.
        found: the number of states of each finding's variable; their point masses follow in the answer.
    """
    from sepset.kernels.compiled import layout as kernels

    parts = made.weights, made.bounds, made.pool, made.sizes, made.rows
    ends = made.roots, made.reads[:num_targets], found
    return Program(*kernels.assemble(*parts, *layout.rows, layout.offsets, numbers, rank, seen, *ends), made)
