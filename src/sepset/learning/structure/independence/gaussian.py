r"""Tests of independence of numbers: Fisher's z of partial correlations.

$$\rho_{xy|Z} = \frac{S_{xy} - S_{xZ} S_{ZZ}^{-1} S_{Zy}}{\sqrt{S_{xx|Z}\, S_{yy|Z}}}, \qquad
z = \sqrt{M - |Z| - 3}\; \operatorname{artanh} \rho \sim \mathcal N(0, 1)$$
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.text import listing
from sepset.errors import DataError
from sepset.learning.structure.independence.boundtest import BoundTest, Group, Outcome, Outcomes

if TYPE_CHECKING:
    from sepset.learning.structure.columns import Columns

CONSTANT = 1e-10
"""The share of a variance, below which rounding is all that is left of it."""

ROUNDING = 1e-15
"""The spread, relative to the size of the numbers, that rounding alone has."""

CONSTANT_WARNING = "a variable is a function of the conditioning set, and so independent of everything given it."
SHORT_WARNING = "there are too few rows for this conditioning set, so that nothing can be rejected."


@dataclass(frozen=True)
class FisherZ:
    r"""Fisher's z test of the partial correlation; for sets of variables Wilks' lambda with Bartlett's correction.

    Reference: Fisher (1924); Anderson (2003), Multivariate Statistical Analysis, sections 4.3 and 9.3.
    Guarantee: asymptotic p-value for Gaussian columns.
    Tested by: learning/structure/independence/test_gaussian.py::test_partial_correlations_are_those_of_residuals

    >>> from sepset.learning.structure.independence.independencetest import independence_test
    >>> rows = {"x": [0.2, 1.1, 2.3, 3.1, 4.4, 5.2], "y": [0.1, 0.8, 2.3, 2.9, 4.2, 5.1]}
    >>> independence_test(rows, between=("x", "y"), test=FisherZ()).is_independent
    False
    """

    needs_rows: ClassVar[bool] = True

    def bind(self, columns: Columns) -> BoundTest:
        """The test on these columns."""
        states = [columns.names[i] for i in np.flatnonzero(~columns.is_real)]
        if states:
            have = "have" if len(states) > 1 else "has"
            raise DataError(
                f"FisherZ takes columns of numbers; {listing(states)} {have} states. Use G or ConditionalGaussianTest."
            )
        return _FisherZ(*correlations(columns))


def correlations(columns: Columns) -> tuple[Floats, float]:
    """The correlations of columns of numbers in rows without missing cells, and their total weight.

    Constant columns are refused.
    """
    rows = np.isfinite(columns.values).all(axis=0)
    total = float(columns.weights[rows].sum())
    if not total > 0:
        raise DataError("No row has all cells observed, which FisherZ needs. Leave out columns that miss most cells.")
    weights = columns.weights[rows] / columns.weights[rows].sum()
    values = columns.values[:, rows]
    centered = values - (values @ weights)[:, None]
    spread = np.sqrt(centered**2 @ weights)
    flat = [columns.names[i] for i in np.flatnonzero(spread <= ROUNDING * np.abs(columns.origins))]
    if flat:
        raise DataError(f"Column {flat[0]!r} is constant, so that it is independent of all others. Leave it out.")
    scaled = centered / spread[:, None]
    return (scaled * weights) @ scaled.T, total


class _FisherZ(BoundTest):
    def __init__(self, correlation: Floats, total: float) -> None:
        self.correlation, self.total = correlation, total

    def _left(self, columns: Sequence[int], given: Group) -> Floats:
        """The covariance of columns after regression on a set; zero for what that set determines."""
        inner = self.correlation[np.ix_(columns, columns)]
        if not given:
            return inner
        across = self.correlation[np.ix_(list(given), columns)]
        among = self.correlation[np.ix_(list(given), list(given))]
        left = inner - across.T @ np.linalg.lstsq(among, across, rcond=CONSTANT)[0]
        known = left.diagonal() <= CONSTANT
        left[known], left[:, known] = 0.0, 0.0
        return left

    def outcomes(self, x: int, ys: Sequence[int], given: Group) -> Outcomes:
        from scipy.special import ndtr

        left = self._left([x, *ys], given)
        spread = np.sqrt(left.diagonal())
        scale = spread[0] * spread[1:]
        partial = np.divide(left[0, 1:], scale, out=np.zeros(len(ys)), where=scale > 0)
        rows = self.total - len(given) - 3
        with np.errstate(divide="ignore"):
            statistics = (
                np.sqrt(max(rows, 0.0)) * np.arctanh(np.clip(partial, -1.0, 1.0)) if rows > 0 else 0.0 * partial
            )
        return Outcomes(statistics, np.full(len(ys), np.nan), 2.0 * ndtr(-np.abs(statistics)))

    def outcome(self, xs: Group, ys: Group, given: Group) -> Outcome:
        warnings = self._warnings((*xs, *ys), given)
        if len(xs) == len(ys) == 1:
            found = self.outcomes(xs[0], ys, given)
            return Outcome(float(found.statistics[0]), float("nan"), float(found.p_values[0]), self.total, warnings)
        return self._wilks(xs, ys, given, warnings)

    def _wilks(self, xs: Group, ys: Group, given: Group, warnings: tuple[str, ...]) -> Outcome:
        from scipy.special import chdtrc

        p, q = len(xs), len(ys)
        left = self._left([*xs, *ys], given)
        logs = [np.linalg.slogdet(part)[1] for part in (left, left[:p, :p], left[p:, p:])]
        factor = self.total - 1.0 - len(given) - (p + q + 1) / 2.0
        if warnings or factor <= 0:
            return Outcome(0.0, float(p * q), 1.0, self.total, warnings or (SHORT_WARNING,))
        statistic = max(-factor * float(logs[0] - logs[1] - logs[2]), 0.0)
        return Outcome(statistic, float(p * q), float(chdtrc(p * q, statistic)), self.total)

    def _warnings(self, columns: Group, given: Group) -> tuple[str, ...]:
        found = (CONSTANT_WARNING,) if (self._left(columns, given).diagonal() <= CONSTANT).any() else ()
        return (*found, SHORT_WARNING) if self.total - len(given) - 3 <= 0 else found
