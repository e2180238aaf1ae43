r"""Scores of families from expected counts: any family, whether or not its columns are neighbors in the network.

$$\bar M[x, \mathbf u] = \sum_m w_m P(x, \mathbf u \mid \mathbf o[m], \mathcal G^t, \theta^t), \qquad
\text{score}(\mathcal G : \bar M) = \sum_i \text{FamScore}(X_i \mid \text{Pa}_i : \bar M)$$
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.base.lazy import lazy
from sepset.errors import NotApplicable
from sepset.kernels.structure.expectedcounts import count_entries, fill_entries, score_expected
from sepset.kernels.structure.familyscores import EVIDENCE, LIKELIHOOD, table_score
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import (
    CellEvidence,
    FamilyScore,
    Scorer,
    count_sum,
    small_logs,
)
from sepset.learning.structure.hidden.missingcells import Completions
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.structureprior import StructurePrior

MOST_CELLS = 1 << 22
"""The largest table of expected counts; beyond, contexts are numbered among those that occur."""


class Entries(NamedTuple):
    """The rows with each joint completion of the blocks that some columns involve.

    Attributes:
        blocks: that each row involves.
        row_of: the row of each entry.
        keys: the number of its joint state.
        mass: its weight.
        chosen: its completion of each of its row's blocks.
        num_contexts: how many contexts the keys number.
    """

    blocks: Int32s
    row_of: Int32s
    keys: Ints
    mass: Floats
    chosen: Int32s
    num_contexts: int


class ExpectedScorer(Scorer):
    """The scores of families by expected counts.

    Args:
        columns: rows with missing cells.
        completions: the posterior of the missing cells.
        score: a penalized likelihood, or the evidence under a prior with one pseudo-count per cell.
        prior: a structure prior; uniform by default.
        threads: their number; one per processor by default.
    """

    def __init__(
        self,
        columns: Columns,
        completions: Completions,
        score: FamilyScore,
        prior: StructurePrior | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        super().__init__(columns, score, prior, threads=threads)
        check_expected(score, columns)
        self.completions = completions
        self._mass = columns.weights.astype(np.float64)

    @property
    def same_rows(self) -> bool:
        """All rows count in every family."""
        return True

    def counts(self, child: int, parents: Iterable[int]) -> Floats:
        """The expected counts of a family: one axis for each parent in their order as numbers, and the child's last."""
        given = tuple(sorted(parents))
        shape = [int(self.columns.cards[c]) for c in (*given, child)]
        entries = self._entries(child, given)
        return np.asarray(np.bincount(entries.keys, entries.mass, math.prod(shape)), np.float64).reshape(shape)

    def _entries(self, child: int, parents: tuple[int, ...]) -> Entries:
        columns, known = self.columns, self.completions
        scope = np.array([*parents, child], np.int64)
        cards = columns.cards[scope].tolist()
        if math.prod(cards) >= 2**62:
            raise NotApplicable(f"A family of {len(scope)} columns has too many joint states. Give max_parents=.")
        strides = np.array([math.prod(cards[k + 1 :]) for k in range(len(cards))], np.int64)
        blocks = np.empty((columns.num_rows, len(scope)), np.int32)
        numbers = np.empty(columns.num_rows, np.int64)
        count_entries(known.cells, known.block_of, known.first, scope, blocks, numbers)
        size = int(numbers.sum())
        made = Entries(
            blocks, np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size),
            np.zeros((size, len(scope)), np.int32), math.prod(cards[:-1]),
        )  # fmt: skip
        fill_entries(
            columns.codes, self._mass, known.cells, known.block_of, known.first, known.code_at, known.states,
            known.chances, scope, strides, blocks, numbers, made.row_of, made.keys, made.mass, made.chosen,
        )  # fmt: skip
        return made

    def _summed(self, child: int, parents: tuple[int, ...], candidates: Ints) -> Floats:
        """The scores of the family with each candidate added; a candidate -1 adds none."""
        columns, form, known = self.columns, self._sum, self.completions
        assert form is not None
        self.num_scores += len(candidates)
        r, cards = int(columns.cards[child]), self._cards
        splits = cards[candidates]
        q = math.prod([float(columns.cards[p]) for p in parents]) * splits
        entries = self._entries(child, parents)
        if int(splits.max()) * entries.num_contexts * r > MOST_CELLS:
            entries = _numbered(entries, r)
        size, out = int(splits.max()) * entries.num_contexts * r, np.empty(len(candidates))
        numbers = form.cell_numbers(q, r)

        def run(number: int, of: slice, cancel: Bytes) -> None:
            score_expected(
                columns.codes, known.cells, known.block_of, known.first, known.code_at, known.states, known.chances,
                entries.blocks, entries.row_of, entries.keys, entries.mass, entries.chosen, entries.num_contexts, r,
                cards, candidates[of], form.kind, numbers[of], small_logs(), np.empty(size), cancel, out[of],
            )  # fmt: skip

        self._on_threads(run, len(candidates), len(entries.keys))
        return out - form.penalties(q, r, columns.total)


def _numbered(entries: Entries, r: int) -> Entries:
    """The entries with contexts numbered among those that occur."""
    seen, which = np.unique(entries.keys // r, return_inverse=True)
    return entries._replace(keys=which.ravel() * r + entries.keys % r, num_contexts=len(seen))


def check_expected(score: FamilyScore, columns: Columns) -> None:
    """Raise unless a score of expected counts is that of a lower bound on the score of the rows."""
    form = count_sum(score, columns)
    if form is None or form.kind not in (LIKELIHOOD, EVIDENCE):
        raise NotApplicable(
            f"{score!r} does not score expected counts, which need not be whole numbers. "
            "Use BIC(), AIC(), BDeu(10) or K2()."
        )


def is_evidence(score: object) -> bool:
    """Whether a score is the evidence under a prior, rather than a penalized likelihood."""
    return isinstance(score, CellEvidence)


def family_score(score: FamilyScore, counts: Floats, columns: Columns) -> float:
    """The score of a family from its counts, the child's axis last.

    >>> from sepset.learning.structure.scores.likelihood import BIC
    >>> round(family_score(BIC(), np.array([2.0, 2.0]), Columns.of({"a": [0, 0, 1, 1]})), 4)
    -3.4657
    """
    form = count_sum(score, columns)
    assert form is not None
    r, q = counts.shape[-1], np.array([float(math.prod(counts.shape[:-1]))])
    flat = np.ascontiguousarray(counts, np.float64).ravel()
    total = table_score(flat, int(q[0]), r, form.kind, float(form.cell_numbers(q, r)[0]), small_logs(), np.zeros(0))
    return float(total - form.penalties(q, r, columns.total)[0])


def penalty(score: FamilyScore, counts: Floats, columns: Columns) -> float:
    """The penalty of a family with a table of this shape, contexts by states."""
    form = count_sum(score, columns)
    assert form is not None
    return float(form.penalties(np.array([float(len(counts))]), counts.shape[1], columns.total)[0])


@dataclass(frozen=True, eq=False)
class ExpectedTask(StructureTask):
    """A task whose scores come from expected counts."""

    completions: Completions | None = field(default=None, repr=False)

    @property
    def num_drawn(self) -> int:
        """How many rows have completions that were drawn."""
        return 0 if self.completions is None else self.completions.num_drawn

    @lazy
    def scorer(self) -> ExpectedScorer:
        """The expected scores of families."""
        assert self.completions is not None
        assert self.score is not None
        return ExpectedScorer(self.columns, self.completions, self.score, self.structure_prior, threads=self.threads)
