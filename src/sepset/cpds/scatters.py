r"""Centered statistics of a linear Gaussian CPD: a `Scatter` of parents and child in each discrete context."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.cpds.scatter import Scatter
from sepset.errors import DataError

Array: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Scatters:
    """One scatter of (real parents, child) a joint state of the discrete parents; `+` merges, `-` takes rows away.

    >>> some = Scatters.of(np.array([[1.0], [3.0], [7.0]]), np.array([0, 0, 1]), 2)
    >>> some, (some + some).contexts[0].products.tolist()
    (Scatters(2 contexts, 3 rows), [[4.0]])
    """

    contexts: tuple[Scatter, ...]

    @classmethod
    def of(cls, rows: Array, context: Codes, num_contexts: int, weights: Array | None = None) -> Scatters:
        """The statistics of rows, each in its context."""
        parts = ((context == c) for c in range(num_contexts))
        return cls(tuple(Scatter.of(rows[at], None if weights is None else weights[at]) for at in parts))

    @classmethod
    def from_sums(cls, sums: Array) -> Scatters:
        """The statistics from raw sums of products of (1, parents, child), one matrix a context."""
        return cls(tuple(Scatter.from_sums(total) for total in np.asarray(sums, dtype=np.float64)))

    @property
    def counts(self) -> Array:
        """How many rows (or what total weight) each context has."""
        return np.array([scatter.count for scatter in self.contexts])

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.contexts[0].size

    @property
    def pooled(self) -> Scatter:
        """The statistics of all rows, whatever their context."""
        return reduce(add, self.contexts)

    def __add__(self, other: Scatters) -> Scatters:
        return Scatters(tuple(a + b for a, b in zip(self.contexts, self._same(other), strict=True)))

    def __sub__(self, other: Scatters) -> Scatters:
        return Scatters(tuple(a - b for a, b in zip(self.contexts, self._same(other), strict=True)))

    def _same(self, other: object) -> tuple[Scatter, ...]:
        if not isinstance(other, Scatters) or len(other.contexts) != len(self.contexts):
            raise DataError(f"Only statistics of the same contexts add up; found {self!r} and {other!r}.")
        return other.contexts

    def __repr__(self) -> str:
        return f"Scatters({len(self.contexts)} contexts, {float(self.counts.sum()):g} rows)"
