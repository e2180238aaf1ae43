"""Covariances of real columns, or their correlations, after checks that they are there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.numerics.matrices import parts, product
from sepset.base.text import listing
from sepset.errors import DataError, NotApplicable
from sepset.learning.structure.columns import Columns

CONSTANT = 1e-14
"""The distance of a correlation from one that rounding has."""

ROUNDING = 1e-15
"""The standard deviation, relative to the mean, below which a column is constant up to rounding."""


class Correlations(NamedTuple):
    """Covariances on the scale on which they are penalized.

    Attributes:
        matrix: correlations, or covariances where they are not scaled.
        scales: the factor of each column: its standard deviation, or one.
        means: of the columns in their own units, from `origins`.
        origins: see `Columns`.
        total: the total weight of the rows.
    """

    matrix: Floats
    scales: Floats
    means: Floats
    origins: Floats
    total: float

    @property
    def centers(self) -> Floats:
        """The means of the columns in their own units."""
        return np.asarray(self.origins + self.means)

    @classmethod
    def of(cls, columns: Columns, *, is_scaled: bool, method: str) -> Correlations:
        """The correlations of all columns; those that are discrete, constant or not finite are refused by name."""
        _require_real(columns, method)
        with np.errstate(over="ignore", invalid="ignore"):
            total, means, scatter = columns.moments()
        variances = np.diagonal(scatter) / total
        _require_variance(columns, variances, method)
        scales = np.sqrt(variances) if is_scaled else np.ones(len(means))
        matrix = np.empty_like(scatter)
        for part in parts(len(matrix), 0.0, len(matrix)):
            matrix[part] = scatter[part] / total / scales[part, None] / scales
        if is_scaled:
            np.fill_diagonal(matrix, 1.0)
        return cls(matrix, scales, means, columns.origins, total)

    def about(self, columns: Columns) -> Floats:
        """The mean squares and products of other rows about these means, on this scale."""
        shift = self.means + (self.origins - columns.origins)
        centered = (columns.values - shift[:, None]) / self.scales[:, None]
        weights = columns.weights / columns.total
        return product(centered * weights, centered.T)

    @property
    def largest(self) -> float:
        """The largest absolute value of two columns."""
        largest = 0.0
        for part in parts(len(self.matrix), 0.0, len(self.matrix)):
            largest = max(largest, float(np.abs(np.triu(self.matrix[part], 1 + part.start)).max(initial=0.0)))
        return largest


def check_distinct(columns: Columns) -> None:
    """Raise if a real column is a linear function of another, so that no likelihood with their edge has a maximum."""
    if not columns.is_real.any() or columns.is_mixed or len(columns) < 2:
        return
    scatter = columns.moments().scatter
    for part in parts(len(scatter), 0.0, len(scatter)):
        with np.errstate(all="ignore"):
            spread = np.sqrt(np.diagonal(scatter))
            strength = np.triu(np.abs(scatter[part] / spread / spread[part, None]), 1 + part.start)
        pairs = np.argwhere(strength >= 1.0 - CONSTANT)
        if len(pairs):
            one, other = columns.names[part.start + pairs[0, 0]], columns.names[pairs[0, 1]]
            raise DataError(
                f"The real column {one!r} is a linear function of {other!r} (they are collinear), so that no "
                "likelihood chooses a penalty. Drop one of them, or give the penalty as a number."
            )


def _require_real(columns: Columns, method: str) -> None:
    discrete = [name for name, real in zip(columns.names, columns.is_real, strict=True) if not real]
    if discrete:
        raise NotApplicable(
            f"{method} learns from columns of real numbers; {listing(discrete)} "
            f"{'is' if len(discrete) == 1 else 'are'} discrete. Use NeighborhoodSelection() or Forest() for discrete "
            "columns, or give the columns as Real variables in variables=."
        )


def _require_variance(columns: Columns, variances: Floats, method: str) -> None:
    if not np.isfinite(variances).all():
        names = [columns.names[k] for k in np.flatnonzero(~np.isfinite(variances))]
        raise DataError(f"{method} needs finite numbers; {listing(names)} has others, or too large ones to be squared.")
    constant = np.flatnonzero(np.sqrt(variances) <= ROUNDING * np.abs(columns.origins))
    if len(constant):
        names = [columns.names[k] for k in constant]
        raise DataError(f"The real column {listing(names)} is constant: it has no correlations. Drop it.")
