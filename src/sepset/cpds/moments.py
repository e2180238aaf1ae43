r"""Centered statistics of a linear Gaussian CPD: count, mean and scatter of (real parents, child) in each context.

Everything here is an array over contexts; sums, merges and differences are those of `sepset.data.moments`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.frozen import fill
from sepset.cpds.scatter import Scatter
from sepset.data.moments import Parts, centered, merged, pooled, shortfall, without
from sepset.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Scatters:
    """One scatter of (real parents, child) a joint state of the discrete parents; `+` merges, `-` takes rows away.

    Attributes:
        counts: how many rows (or what total weight) each context has.
        means: their means, `[contexts, columns]`.
        products: their centered sums of products, `[contexts, columns, columns]`.

    >>> some = Scatters.of(np.array([[1.0], [3.0], [7.0]]), np.array([0, 0, 1]), 2)
    >>> some, (some + some).contexts[0].products.tolist()
    (Scatters(2 contexts, 3 rows), [[4.0]])
    """

    counts: Floats
    means: Floats
    products: Floats

    def __post_init__(self) -> None:
        fill(self, counts=self.counts, means=self.means, products=self.products)

    @classmethod
    def of(cls, rows: Floats, context: Ints, num_contexts: int, weights: Floats | None = None) -> Scatters:
        """The statistics of finite rows, each in its context."""
        return cls(*centered(rows, weights, context if num_contexts > 1 else None, num_contexts))

    @classmethod
    def stacked(cls, contexts: Iterable[Scatter]) -> Scatters:
        """One scatter a context, as arrays."""
        parts = tuple(contexts)
        return cls(
            np.array([s.count for s in parts]), np.stack([s.mean for s in parts]), np.stack([s.products for s in parts])
        )

    @classmethod
    def from_sums(cls, sums: Floats) -> Scatters:
        """The statistics from raw sums of products of (1, parents, child), one matrix a context."""
        return cls.stacked(Scatter.from_sums(total) for total in np.asarray(sums, dtype=np.float64))

    @property
    def contexts(self) -> tuple[Scatter, ...]:
        """The statistics of each context."""
        return tuple(map(Scatter, self.counts.tolist(), self.means, self.products))

    @property
    def size(self) -> int:
        """The number of columns."""
        return int(self.means.shape[1])

    @property
    def pooled(self) -> Scatter:
        """The statistics of all rows, whatever their context."""
        count, mean, products = pooled(self._parts, np.zeros(len(self.counts), np.int64), 1)
        return Scatter(float(count[0]), mean[0], products[0])

    @property
    def _parts(self) -> Parts:
        return self.counts, self.means, self.products

    def __add__(self, other: Scatters) -> Scatters:
        return Scatters(*merged(self._parts, self._same(other)))

    def __sub__(self, other: Scatters) -> Scatters:
        """The statistics without those of rows that are among them."""
        rest = without(self._parts, self._same(other))
        if any(bad.any() for bad in shortfall(rest, self._parts)):
            raise DataError(f"{other!r} cannot be taken from {self!r}. Take away only rows that were seen.")
        return Scatters(*rest)

    def _same(self, other: object) -> Parts:
        if not isinstance(other, Scatters) or other.means.shape != self.means.shape:
            raise DataError(f"Only statistics of the same contexts add up; found {self!r} and {other!r}.")
        return other._parts

    def __repr__(self) -> str:
        return f"Scatters({len(self.counts)} contexts, {float(self.counts.sum()):g} rows)"
