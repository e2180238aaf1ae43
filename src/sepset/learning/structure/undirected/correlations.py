"""Covariances of real columns, or their correlations, after checks that they are there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
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
        covariance = scatter / total
        variances = np.diagonal(covariance)
        _require_variance(columns, variances, method)
        if not is_scaled:
            return cls(covariance, np.ones(len(means)), means, columns.origins, total)
        scales = np.sqrt(variances)
        matrix = covariance / scales[:, None] / scales
        np.fill_diagonal(matrix, 1.0)
        return cls(matrix, scales, means, columns.origins, total)

    def about(self, columns: Columns) -> Floats:
        """The mean squares and products of other rows about these means, on this scale."""
        shift = self.means + (self.origins - columns.origins)
        centered = (columns.values - shift[:, None]) / self.scales[:, None]
        weights = columns.weights / columns.total
        return np.asarray((centered * weights) @ centered.T)


def check_distinct(columns: Columns) -> None:
    """Raise if a real column is a linear function of another, so that no likelihood with their edge has a maximum."""
    if columns.is_real.any() and not columns.is_mixed and len(columns) > 1:
        with np.errstate(all="ignore"):
            scatter = columns.moments().scatter
            spread = np.sqrt(np.diagonal(scatter))
            strength = np.triu(np.abs(scatter / spread / spread[:, None]), 1)
        pairs = np.argwhere(strength >= 1.0 - CONSTANT)
        if len(pairs):
            one, other = (columns.names[k] for k in pairs[0])
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
