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
        ops, groups: what the kernel runs.
        offsets: where each tensor starts.
        size: floats in the workspace.
        work: multiplications of all steps.
        rows, copies, fixed: how factors come from the store: where each goes and comes from, by which groups, and what
            findings add to its place.
        roots: tensor, place and size of each whose sums multiply to the total.
        reads: where each marginal begins in the workspace (a finding: minus one minus its number), where in the answer,
            and its size.
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
        """How many tensors there are."""
        return len(self.offsets)

    @property
    def num_forward(self) -> int:
        """How many instructions the forward sweep has."""
        return self.contraction.num_forward

    @property
    def num_fixed(self) -> Ints:
        """How many findings move each factor."""
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
        layout: where the factors lie in the store.
        numbers: the factors that are the first inputs.
        rank, seen: of each variable its rank, or its number among the findings, or -1.
        num_targets: how many of the contraction's reads a run reads out.
        found: the number of states of each finding's variable; their point masses are read out behind.
    """
    from sepset.kernels.compiled import layout as kernels

    parts = made.weights, made.bounds, made.pool, made.sizes, made.rows
    ends = made.roots, made.reads[:num_targets], found
    return Program(*kernels.assemble(*parts, *layout.rows, layout.offsets, numbers, rank, seen, *ends), made)
