"""Rows of evidence: a dataset seen as evidence, one case per row, missing cells unobserved; and what rows get back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Int32s, Ints
from sepset.base.lazy import lazy
from sepset.data.dataset import Dataset, side_by_side
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Variables
from sepset.variables.variable import Discrete

SAMPLE = 1024
"""How many of a large number of rows are looked at before all are compared."""


class RowAnswers(NamedTuple):
    """The log partition of every row, and the targets' probabilities, one row each; NaN where impossible."""

    log_partition: Floats
    probabilities: dict[int, Floats]


class RowCounts(NamedTuple):
    r"""Weighted sums over rows of the marginals $P(\mathbf u \mid \mathbf e[m])$ over factor scopes.

    Attributes:
        factors: one array per factor, with an axis per variable of its scope.
        log_partition: of every row; -inf where it is impossible, and nothing was added.
    """

    factors: tuple[Floats, ...]
    log_partition: Floats


@dataclass(frozen=True)
class Workers:
    """How many rows are run.

    Attributes:
        threads: how many; one per processor by default. Answers do not depend on it.
        report: called with the number of rows done and the number of all rows.
    """

    threads: int | None = None
    report: Callable[[int, int], None] = field(default=lambda done, total: None)


@dataclass(frozen=True, eq=False)
class EvidenceRows:
    """Codes and numbers found in each row, by variable position.

    Attributes:
        positions: the discrete variables, one column of `codes` each; -1 is missing.
        real_positions: the continuous variables, one column of `reals` each; NaN is missing.

    >>> rows = Dataset.from_codes([Discrete("a", 2), Discrete("b", 3)], np.array([[1, -1], [0, 2], [1, -1]]))
    >>> found = EvidenceRows.of(rows, rows.variables)
    >>> found.evidence(1).codes, found.distinct()[1].tolist()
    ({0: 0, 1: 2}, [0, 1, 0])
    """

    positions: tuple[int, ...]
    codes: Int32s = field(repr=False)
    real_positions: tuple[int, ...] = ()
    reals: Floats = field(default_factory=lambda: np.zeros((0, 0)), repr=False)

    @classmethod
    def of(cls, dataset: Dataset, variables: Variables, *, without: Iterable[int] = ()) -> EvidenceRows:
        """The findings in a dataset's columns on `variables`; positions in `without` and empty columns are left out."""
        skipped = set(without)
        known = {name: i for i, name in enumerate(variables.names)}
        parts = [(known.get(v.name, -1), v, c) for v, c in zip(dataset.variables, dataset.columns, strict=True)]
        used = [part for part in parts if part[0] >= 0 and part[0] not in skipped]
        discrete = [(i, c) for i, v, c in used if isinstance(v, Discrete) and _has_finding(c)]
        real = [(i, c) for i, v, c in used if not isinstance(v, Discrete) and not np.isnan(c).all()]
        columns = np.empty((len(discrete), dataset.num_rows), np.int32)
        for place, (_, column) in enumerate(discrete):
            columns[place] = column
        reals = side_by_side([c for _, c in real], dataset.num_rows, np.float64)
        return cls(tuple(i for i, _ in discrete), columns.T, tuple(i for i, _ in real), reals)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Ints) -> EvidenceRows:
        """The findings of these rows."""
        return EvidenceRows(self.positions, self.codes[rows], self.real_positions, self.reals[rows])

    def evidence(self, row: int) -> Evidence:
        """One row as evidence."""
        codes = {v: int(c) for v, c in zip(self.positions, self.codes[row], strict=True) if c >= 0}
        reals = {v: np.array([x]) for v, x in zip(self.real_positions, self.reals[row], strict=True) if x == x}
        return Evidence(codes, reals=reals)

    def distinct(self) -> tuple[EvidenceRows, Ints]:
        """Each different row once, and for every row which of them it is."""
        first, which = self.patterns
        if len(first) == len(self):
            return self, which
        bits = np.ascontiguousarray(np.where(np.isnan(self.reals), np.nan, self.reals)).view(np.int32)
        first, which = distinct_rows(np.concatenate([self.codes, bits], axis=1) if bits.size else self.codes)
        return self if len(first) == len(self) else self.take(first), which

    @lazy
    def patterns(self) -> tuple[Ints, Ints]:
        """The first row with each set of observed discrete variables, and for every row which set it has."""
        return distinct_rows(self.codes, only_missing=True)

    def observed(self, row: int) -> tuple[int, ...]:
        """The positions of the discrete variables that a row observes, in order."""
        return tuple(sorted(v for v, c in zip(self.positions, self.codes[row].tolist(), strict=True) if c >= 0))


def _has_finding(codes: AnyArray) -> bool:
    return bool((len(codes) and codes[0] >= 0) or codes.max(initial=-1) >= 0)


def _drawn(num_rows: int, count: int) -> Ints:
    """About so many different rows, drawn at random; always the same."""
    rows = np.sort(np.random.default_rng(0).integers(0, num_rows, count))
    return rows[np.diff(rows, prepend=-1) > 0]


def distinct_rows(matrix: Int32s, *, only_missing: bool = False) -> tuple[Ints, Ints]:
    """The first row of each kind in order of appearance, and which kind every row is.

    Where no two rows of a sample are of one kind, few in all are, and each counts as its own.

    Args:
        only_missing: rows are of one kind when the same cells are missing, whatever the others hold.

    >>> [part.tolist() for part in distinct_rows(np.array([[1, 2], [0, 0], [1, 2]], np.int32))]
    [[0, 1], [0, 1, 0]]
    """
    num_rows = len(matrix)
    if num_rows > 4 * SAMPLE:
        few = matrix[_drawn(num_rows, min(SAMPLE, 4 * math.isqrt(num_rows)))]
        if len(distinct_rows(few, only_missing=only_missing)[0]) == len(few):
            return np.arange(num_rows), np.arange(num_rows)
    from sepset.kernels.rows import batches

    first, which = np.empty(num_rows, dtype=np.int64), np.empty(num_rows, dtype=np.int64)
    table = np.full(1 << (2 * num_rows + 2).bit_length(), -1, dtype=np.int64)
    num = batches.distinct(np.ascontiguousarray(matrix), only_missing, first, which, table)
    return first[:num], which
