r"""Count, mean and centered products of rows: the sufficient statistics of every Gaussian family.

$$M, \qquad \bar{\mathbf x} = \frac1M \sum_m w_m \mathbf x[m], \qquad
S = \sum_m w_m (\mathbf x[m] - \bar{\mathbf x})(\mathbf x[m] - \bar{\mathbf x})^\top$$

Sums of squares lose all digits where means are large; centered products do not.

Reference: Koller & Friedman, section 17.2.4; Chan, Golub & LeVeque (1983) for merging.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import row_weights
from sepset.base.frozen import fill
from sepset.data.moments import Parts, centered, check_range, merged, shortfall, without
from sepset.errors import DataError


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Scatter:
    r"""The count, mean and centered products of some rows; those of two sets of rows add up.

    Args:
        count: $M$, the number or the total weight of the rows.
        mean: $\bar{\mathbf x}$, one entry a column.
        products: $S$, the centered sums of products, one row and one column a column.

    >>> first, second = Scatter.of([1.0, 3.0]), Scatter.of([5.0])
    >>> (first + second).mean.tolist(), (first + second).products.tolist()
    ([3.0], [[8.0]])
    """

    count: float
    mean: Floats
    products: Floats

    def __init__(self, count: float, mean: ArrayLike, products: ArrayLike) -> None:
        center = np.array(mean, dtype=np.float64).reshape(-1)
        matrix = np.array(products, dtype=np.float64).reshape(len(center), len(center))
        if not (np.isfinite(count) and count >= 0 and np.isfinite(center).all() and np.isfinite(matrix).all()):
            raise DataError(f"Statistics are finite, with a count >= 0; found {count}, {center} and {matrix}.")
        fill(self, count=float(count), mean=center, products=0.5 * (matrix + matrix.T))

    @classmethod
    def of(cls, rows: ArrayLike, weights: ArrayLike | None = None) -> Scatter:
        """The statistics of rows: one number each, or one vector each.

        >>> Scatter.of([[0.0, 1.0], [2.0, 3.0]], weights=[1.0, 3.0]).mean.tolist()
        [1.5, 2.5]
        """
        try:
            found = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"Rows are numbers or vectors of them; found {rows!r}.") from error
        x = found[:, None] if found.ndim == 1 else found
        if x.ndim != 2 or not np.isfinite(x).all():
            raise DataError(f"Rows are complete finite numbers or vectors of them; found the shape {found.shape}.")
        check_range(x, [f"coordinate {i}" for i in range(x.shape[1])], "Rows are finite numbers", 0)
        share = np.ones(len(x)) if weights is None else row_weights(weights, len(x))
        count, mean, products = centered(x, share)
        return cls(float(count[0]), mean[0], products[0])

    @classmethod
    def nothing(cls, size: int) -> Scatter:
        """The statistics of no rows over `size` columns: what adding leaves unchanged."""
        return cls(0.0, np.zeros(size), np.zeros((size, size)))

    @classmethod
    def from_sums(cls, sums: ArrayLike) -> Scatter:
        r"""The statistics from raw sums $\sum_m w_m \mathbf z_m \mathbf z_m^\top$ with $\mathbf z = (1, \mathbf x)$.

        >>> Scatter.from_sums([[2.0, 4.0], [4.0, 10.0]]).products.tolist()
        [[2.0]]
        """
        total = np.asarray(sums, dtype=np.float64)
        count = float(total[0, 0])
        if count <= 0.0:
            return cls.nothing(len(total) - 1)
        mean = total[0, 1:] / count
        return cls(count, mean, total[1:, 1:] - count * np.outer(mean, mean))

    @property
    def size(self) -> int:
        """The number of columns."""
        return len(self.mean)

    @property
    def covariance(self) -> Floats:
        """The maximum likelihood covariance, divided by the count and not by one less."""
        if self.count == 0.0:
            raise DataError("No rows have no covariance. Give data, or a prior.")
        return self.products / self.count

    @property
    def _parts(self) -> Parts:
        return np.array([self.count]), self.mean[None], self.products[None]

    def _joined(self, other: Scatter, join: Callable[[Parts, Parts], Parts]) -> Scatter:
        if self.size != other.size:
            raise DataError(f"Statistics of {self.size} columns do not join those of {other.size}.")
        parts = join(self._parts, other._parts)
        if any(bad.any() for bad in shortfall(parts, self._parts)):
            raise DataError(f"{other!r} cannot be taken from {self!r}. Take away only rows that were seen.")
        return Scatter(float(parts[0][0]), parts[1][0], parts[2][0])

    def __add__(self, other: Scatter) -> Scatter:
        return self._joined(other, merged)

    def __sub__(self, other: Scatter) -> Scatter:
        """The statistics of the rows without those of `other`, which must be among them."""
        return self._joined(other, without)

    def __repr__(self) -> str:
        return f"Scatter({self.count:g} rows, {self.size} columns)"
