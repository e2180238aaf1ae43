"""Counts of distinct joint states: the statistics of CPDs whose likelihood does not reduce further."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.counts import checked_weights, column, count, joint_codes, num_rows_of
from sepset.cpds.discrete import decode
from sepset.data.duplicates import group_words
from sepset.errors import DataError
from sepset.factors.algebra import Columns, num_entries
from sepset.variables.variable import Discrete


@dataclass(frozen=True, slots=True, eq=False)
class Configurations:
    """The joint states that occur, in lexicographic order, with their (weighted) counts; `+` merges two of them.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> some = Configurations.of({a: np.array([1, 0, 1]), b: np.array([0, 0, 0])}, (a, b), None, "me")
    >>> merged = some + some
    >>> merged.codes.tolist(), merged.counts.tolist()
    ([[0, 0], [1, 0]], [2.0, 4.0])
    """

    variables: tuple[Discrete, ...]
    codes: Ints
    counts: Floats

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)
        self.counts.setflags(write=False)

    @classmethod
    def of(
        cls, rows: Columns, variables: tuple[Discrete, ...], weights: ArrayLike | None, owner: object
    ) -> Configurations:
        """The counts of `variables` (at least one) in rows of codes."""
        num_rows = num_rows_of(rows, variables[-1], owner)
        checked = checked_weights(weights, num_rows, owner)
        if num_entries(variables) < 2**62:
            # Joint states that fit one integer sort much faster than rows do.
            keys, which = np.unique(joint_codes(rows, variables, num_rows, owner), return_inverse=True)
            distinct = np.column_stack([*decode(keys, variables).values()])
        else:
            codes = np.column_stack([column(rows, v, num_rows, owner) for v in variables])
            first, group = group_words(codes)
            order = np.lexsort(codes[first].T[::-1])
            distinct, which = codes[first[order]], np.argsort(order)[group]
        return cls(variables, distinct, count(which, len(distinct), checked))

    def __add__(self, other: Configurations) -> Configurations:
        if not isinstance(other, Configurations):
            return NotImplemented
        if other.variables != self.variables:
            raise DataError("Only configurations of the same variables add up.")
        codes = np.concatenate([self.codes, other.codes])
        rows: Columns = dict(zip(self.variables, codes.T, strict=True))
        return Configurations.of(rows, self.variables, np.concatenate([self.counts, other.counts]), self)

    @property
    def total(self) -> float:
        """The total weight."""
        return float(self.counts.sum())

    def state_counts(self, axis: int) -> Floats:
        """The counts of each state of one variable."""
        return count(self.codes[:, axis], self.variables[axis].num_states, self.counts)

    def __repr__(self) -> str:
        return f"Configurations({len(self.counts)} distinct, total {self.total:g})"


def checked_configurations(stats: object, scope: tuple[Discrete, ...], owner: object) -> Configurations:
    """The statistics, which must be configurations of `scope`."""
    if not isinstance(stats, Configurations) or stats.variables != scope:
        raise DataError(f"{owner!r} learns from its own statistics (Configurations of its scope); found {stats!r}.")
    return stats
