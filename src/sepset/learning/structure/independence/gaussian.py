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
from sepset.base.numerics.leastsquares import DEPENDENT
from sepset.base.numerics.matrices import decomposed, squares
from sepset.base.text import listing
from sepset.errors import DataError
from sepset.learning.structure.independence.boundtest import BoundTest, Group, Outcome, Outcomes

if TYPE_CHECKING:
    from sepset.learning.structure.columns import Columns

NEAR = 1e-4
"""The share of a variance below which products of columns have lost digits of it."""

SLACK = 64.0
"""A column is determined if what is left of it is at most this many times what rounding leaves."""

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
        return _FisherZ(*_standardized(columns))


def _standardized(columns: Columns) -> tuple[Floats, Floats, float]:
    """A triangular factor of standardized columns, what rounding did to each, and the total weight of complete rows.

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
    scaled = centered * np.sqrt(weights) / spread[:, None]
    root = np.asarray(decomposed(lambda: np.linalg.qr(scaled.T, mode="r"), scaled.shape))
    return root, np.finfo(np.float64).eps * (1.0 + np.abs(columns.origins) / spread), total


class _FisherZ(BoundTest):
    def __init__(self, root: Floats, rounding: Floats, total: float) -> None:
        self.root, self.rounding, self.total = root, rounding, total
        self.correlation = squares(root.T)

    def _left(self, columns: Sequence[int], given: Group) -> tuple[Floats, Floats]:
        """After regression on a set: the covariances of the first column with each, and the variance of each.

        They are zero for what that set determines.
        """
        own, spread = self.correlation[columns[0], columns], self.correlation.diagonal()[list(columns)]
        if not given:
            return own, spread
        across = self.correlation[np.ix_(list(given), columns)]
        among = self.correlation[np.ix_(list(given), list(given))]
        if np.linalg.eigvalsh(among)[0] > NEAR:
            gains = np.linalg.solve(among, across)
            left = spread - np.einsum("ij,ij->j", across, gains)
            if (left > NEAR).all():
                return own - across[:, 0] @ gains, left
        rest = self._rest(columns, given)
        return rest[:, 0] @ rest, np.einsum("ij,ij->j", rest, rest)

    def _rest(self, columns: Sequence[int], given: Group) -> Floats:
        """The rest of columns that regression on a set leaves, with twice the digits that products of columns keep."""
        own = self.root[:, columns]
        if not given:
            return own
        among = self.root[:, list(given)]
        gains = np.linalg.lstsq(among, own, rcond=DEPENDENT)[0]
        rest = own - among @ gains
        rounding = self.rounding[list(columns)] + np.abs(gains).T @ self.rounding[list(given)]
        rest[:, np.linalg.norm(rest, axis=0) <= SLACK * rounding] = 0.0
        return np.asarray(rest)

    def _artanh(self, x: int, ys: Sequence[int], given: Group, partial: Floats) -> Floats:
        r"""$\operatorname{artanh} \rho = \pm\log(1 + |\rho|) \mp \tfrac12 \log(1 - \rho^2)$, the last from columns."""
        far = np.flatnonzero(np.abs(partial) > 1.0 - NEAR).tolist()
        found = np.arctanh(np.where(np.abs(partial) > 1.0 - NEAR, 0.0, partial))
        if len(far):
            rest = self._rest([x, *(ys[i] for i in far)], given)
            unit = rest / np.linalg.norm(rest, axis=0)
            gap = np.linalg.norm(unit[:, 1:] - unit[:, :1] * (unit[:, 0] @ unit[:, 1:]), axis=0)
            with np.errstate(divide="ignore"):
                found[far] = np.sign(partial[far]) * (np.log1p(np.minimum(np.abs(partial[far]), 1.0)) - np.log(gap))
        return found

    def outcomes(self, x: int, ys: Sequence[int], given: Group) -> Outcomes:
        from scipy.special import ndtr

        own, left = self._left([x, *ys], given)
        scale = np.sqrt(left[0] * left[1:])
        partial = np.divide(own[1:], scale, out=np.zeros(len(ys)), where=scale > 0)
        rows = self.total - len(given) - 3
        statistics = np.sqrt(rows) * self._artanh(x, ys, given, partial) if rows > 0 else 0.0 * partial
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
        rest = self._rest([*xs, *ys], given)
        logs = [_log_squares(part) for part in (rest, rest[:, :p], rest[:, p:])]
        factor = self.total - 1.0 - len(given) - (p + q + 1) / 2.0
        if warnings or factor <= 0:
            return Outcome(0.0, float(p * q), 1.0, self.total, warnings or (SHORT_WARNING,))
        statistic = max(-factor * float(logs[0] - logs[1] - logs[2]), 0.0)
        return Outcome(statistic, float(p * q), float(chdtrc(p * q, statistic)), self.total)

    def _warnings(self, columns: Group, given: Group) -> tuple[str, ...]:
        found = (CONSTANT_WARNING,) if (self._left(columns, given)[1] == 0.0).any() else ()
        return (*found, SHORT_WARNING) if self.total - len(given) - 3 <= 0 else found


def _log_squares(columns: Floats) -> float:
    """The logarithm of the determinant of the products of columns; minus infinity if some depend on others."""
    if min(columns.shape) < columns.shape[1]:
        return -np.inf
    with np.errstate(divide="ignore"):
        return 2.0 * float(np.log(np.abs(np.diagonal(np.linalg.qr(columns, mode="r")))).sum())
