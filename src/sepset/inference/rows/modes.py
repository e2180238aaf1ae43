r"""The most probable completion of many rows at once: a row program with maxima, then back-substitution from the root.

$$\arg\max_{\mathbf h} \prod_k \phi_k(\mathbf o[m], \mathbf h) \qquad\text{for each row } m$$

Findings are masks, so that rows with any missing cells use the same program.

Reference: Koller & Friedman, section 13.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.inference.compiled.question import Question
from sepset.inference.compiled.store import FactorStore
from sepset.inference.rows.program import LoadedRows, RowProgram


@dataclass(frozen=True, eq=False)
class ModeProgram:
    """A row program with maxima, and the integers for back-substitution.

    Attributes:
        program: the forward sweep.
        cliques: root first, the ranges of each clique's residual variables and of its tensors.
        residuals: the ranks that each clique eliminates, the last first.
        inbox: the start of each tensor, whether it has lanes, and the range of its axes.
        axes: rank and stride.
    """

    program: RowProgram
    cliques: Ints = field(repr=False)
    residuals: Ints = field(repr=False)
    inbox: Ints = field(repr=False)
    axes: Ints = field(repr=False)


def mode_program(program: RowProgram) -> ModeProgram:
    """The back-substitution of a row program whose question maximizes and keeps no variables."""
    question = program.question
    residuals = _residuals(question)
    cliques: list[tuple[int, ...]] = []
    ranks: list[int] = []
    inbox: list[tuple[int, ...]] = []
    axes: list[tuple[int, ...]] = []
    for group in reversed(range(len(residuals))):
        tensors = question.contraction.inboxes[group]
        cliques.append((len(ranks), len(ranks) + len(residuals[group]), len(inbox), len(inbox) + len(tensors)))
        ranks += residuals[group][::-1]
        for tensor in tensors:
            own = _axes(question, tensor)
            start = int(program.offsets[tensor]), int(program.varies[tensor])
            inbox.append((*start, len(axes), len(axes) + len(own)))
            axes += own
    return ModeProgram(program, _matrix(cliques, 4), np.array(ranks, np.int64), _matrix(inbox, 4), _matrix(axes, 2))


def _residuals(question: Question) -> list[list[int]]:
    """The ranks that each clique eliminates, ascending."""
    found: list[list[int]] = [[] for _ in question.tree.sepsets]
    for rank, group in enumerate(question.tree.group.tolist()):
        if group >= 0:
            found[group].append(rank)
    return found


def _axes(question: Question, tensor: int) -> list[tuple[int, int]]:
    """Rank and stride of each axis of a tensor."""
    found, stride = [], 1
    for rank in reversed(question.contraction.scopes[tensor]):
        found.append((rank, stride))
        stride *= question.contraction.cards[rank]
    return found


def _matrix(rows: Sequence[tuple[int, ...]], width: int) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(-1, width)


@dataclass(frozen=True, eq=False)
class LoadedModes:
    """A program of modes with the values of a store.

    Attributes:
        is_safe: False if even the part shared by all rows needs log space.
    """

    modes: ModeProgram
    rows: LoadedRows

    @classmethod
    def of(cls, modes: ModeProgram, store: FactorStore) -> LoadedModes:
        """The program with this store's values."""
        return cls(modes, LoadedRows.of(modes.program, store))

    def run(self, codes: Int32s, cancel: Bytes) -> tuple[Ints, Floats, Bytes]:
        """The codes of every variable by position, the logarithm of their value, and which rows need log space."""
        from sepset.kernels.rows import batches

        modes, p, question = self.modes, self.modes.program, self.modes.program.question
        ranked = np.zeros((len(codes), len(question.order)), np.int64)
        log_value, wide = np.full(len(codes), -np.inf), np.zeros(len(codes), np.uint8)
        cards = np.array(question.contraction.cards, dtype=np.int64)
        with self.rows.workspace() as (workspace, exponents):
            batches.run_modes(
                workspace, p.ops, p.groups, self.rows.checks, exponents, np.ascontiguousarray(codes.T), p.likelihoods,
                p.roots, modes.cliques, modes.residuals, modes.inbox, modes.axes, cards, log_value, ranked, wide,
                cancel,
            )  # fmt: skip
        found = np.zeros_like(ranked)
        found[:, question.order] = ranked
        return found, log_value, wide
