r"""Some numbers given others, if all are sums of independent noises, in square-root form.

Each number is $x = m + \sum_i w_i\, \varepsilon_i$ with $\varepsilon_i \sim N(0, c_i)$. The columns $w c^{1/2}$ of the
numbers found, then of those asked for, have the triangular factor

$$\begin{pmatrix} W_e & W_t \end{pmatrix} = Q \begin{pmatrix} R_e & R_{et} \\ 0 & R_t \end{pmatrix}, \qquad
\mathbf z = R_e^{-\top} (\mathbf e - \mathbf m_e), \qquad
\hat{\mathbf t} = \mathbf m_t + R_{et}^\top \mathbf z, \qquad \Sigma_t = R_t^\top R_t,$$

and the log density of the numbers found is that of $\mathbf z$ less $\log \lvert \det R_e \rvert$. No covariance is
subtracted. The rounding errors of the weights and of the factor are bounded to first order. In decimal numbers the same
is done without roots, by orthogonal columns.

Reference: Golub & Van Loan (2013), Matrix computations, chapter 5; Higham (2002), Accuracy and stability of numerical
algorithms, chapters 19 and 20; Koller & Friedman, section 7.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.logarithms import LOG_2PI
from sepset.factors.coordinates import ON_SUPPORT
from sepset.inference.gaussian.decimals import ONE, ZERO, log_of
from sepset.kernels.hybrid.conditioning import UNIT

FACTORED = 16.0 * UNIT
"""The rounding of a triangular factor, for each column relative to its norm and the root of their number."""

ROWS_AT_ONCE = 1024
"""Rows of a matrix that are added to a triangular factor at a time."""

SURE = 0.1
"""The relative error of what is found, given what was found before, from which a bound to first order means nothing."""


class PathMoments(NamedTuple):
    """The mean and the covariance of some numbers given others, and the log density of these.

    Attributes:
        exact: how many of the numbers found follow from others without noise.
        error: a bound of the error of all that, relative to each or to deviations.
    """

    mean: Floats
    covariance: Floats
    log_density: float = 0.0
    exact: int = 0
    error: float = 0.0

    @property
    def evidence(self) -> tuple[Floats, Ints]:
        """The log density of the numbers found, and how many of them follow from others, as arrays."""
        return np.array([self.log_density]), np.array([self.exact], np.int64)


@dataclass(frozen=True, eq=False)
class NoiseSums:
    """Numbers as sums of independent noises: first those found, then those asked for.

    Attributes:
        weights: of each noise (rows) in each number (columns), but for the own noise of a number that is found.
        variance: of each noise.
        own: the variance of the own noise of each number found.
        center: the expectation of each number before anything is found.
        found: the values of those found.
        terms: the sum of the absolute terms of each expectation, and of the value found.
        rounding: for each number a bound of the norm of the errors of its weights times deviations.
        away: the same for its expectation.

    Guarantee: exact; a relation without noise is kept or broken.
    Tested by: inference/gaussian/test_pathmoments.py::test_moments_of_sums_of_noises
    """

    weights: Floats = field(repr=False)
    variance: Floats = field(repr=False)
    own: Floats
    center: Floats
    found: Floats
    terms: Floats
    rounding: Floats
    away: Floats

    @lazy
    def spread(self) -> Floats:
        """The variance of each number before anything is found."""
        found = np.einsum("ij,i,ij->j", self.weights, self.variance, self.weights)
        found[: len(self.own)] += self.own
        return np.asarray(found)

    @lazy
    def moments(self) -> PathMoments:
        """The moments of the numbers asked for; the error is infinite if floats do not tell."""
        num = len(self.own)
        certain = (self.spread[:num] == 0.0) & (self.rounding[:num] == 0.0)
        broken = np.abs(self.found - self.center[:num]) > ON_SUPPORT * self.terms[:num]
        if (certain & broken).any():
            size = len(self.center) - num
            return PathMoments(np.zeros(size), np.zeros((size, size)), -np.inf, int(certain.sum()), 0.0)
        if certain.all():
            return self._without_findings._replace(exact=int(certain.sum()))
        return self._conditioned(certain)

    @property
    def _without_findings(self) -> PathMoments:
        num = len(self.own)
        mean, weights = self.center[num:], self.weights[:, num:]
        covariance = (weights * self.variance[:, None]).T @ weights
        deviation = np.sqrt(np.diagonal(covariance))
        scale = np.maximum(np.abs(mean), deviation)
        lost = 2.0 * _ratio(self.rounding[num:] + FACTORED * deviation, deviation)
        return PathMoments(mean, covariance, error=_worst(lost, _ratio(self.away[num:], scale)))

    def _conditioned(self, certain: Bools) -> PathMoments:
        num, kept = len(self.own), np.concatenate([~certain, np.ones(len(self.center) - len(self.own), np.bool_)])
        first = num - int(certain.sum())
        R = self._factor(kept, first)
        pivots, across, rest = np.diagonal(R)[:first], R[:first, first:], R[first:, first:]
        if (pivots == 0.0).any():
            return PathMoments(self.center[num:], rest.T @ rest, 0.0, 0, np.inf)
        inverse = _inverse(R[:first, :first])  # its transpose turns differences into independent ones
        apart = (self.found - self.center[:num])[~certain]
        z = inverse.T @ apart
        mean, covariance = self.center[num:] + across.T @ z, rest.T @ rest
        log_density = -0.5 * (first * LOG_2PI + float(z @ z)) - float(np.log(np.abs(pivots)).sum())
        errors = _Errors(self.rounding[kept] + FACTORED * np.sqrt(1.0 + kept.sum()) * np.linalg.norm(R, axis=0),
                         (self.away + 2.0 * UNIT * self.terms)[kept], R, inverse, z)  # fmt: skip
        worst = _worst(
            errors.moments(mean, np.sqrt(np.diagonal(covariance))), errors.log_density / max(1.0, abs(log_density))
        )
        return PathMoments(mean, covariance, log_density, int(certain.sum()), worst)

    def _factor(self, kept: Bools, first: int) -> Floats:
        """The triangular factor of the columns that are kept, with zeros below."""
        size, num = int(kept.sum()), len(self.own)
        columns = np.zeros((len(self.variance) + first, size))
        np.multiply(self.weights[:, kept], np.sqrt(self.variance)[:, None], out=columns[: len(self.variance)])
        columns[len(self.variance) + np.arange(first), np.arange(first)] = np.sqrt(self.own[kept[:num]])
        found = _triangle(columns) if np.isfinite(columns).all() else columns[:0]
        return np.pad(found, ((0, size - len(found)), (0, 0)))


@dataclass(frozen=True, eq=False)
class _Errors:
    r"""First-order errors of moments, from those of the columns and of the expectations.

    If the columns move by $\delta_e$ and $\delta_t$, what is left of the second after a projection on the first moves
    by $\delta_t - \delta_e R_e^{-1} R_{et}$, and by its own size times $\delta_e R_e^{-1}$.

    Attributes:
        columns: bounds of the norms of $\delta$.
        away: bounds of the errors of expectations and differences.
        factor, inverse: $R$ and $R_e^{-1}$.
        z: the differences, made independent.
    """

    columns: Floats
    away: Floats
    factor: Floats
    inverse: Floats
    z: Floats

    @lazy
    def _lost(self) -> Floats:
        """The relative error of each number found, given those before."""
        return np.asarray(self.columns[: len(self.z)] @ np.abs(self.inverse))

    @lazy
    def _shift(self) -> float:
        """The error of the differences, made independent."""
        return float(np.linalg.norm(self.away[: len(self.z)] @ np.abs(self.inverse)))

    @lazy
    def _size(self) -> float:
        return float(np.linalg.norm(self.z)) + self._shift

    def moments(self, mean: Floats, deviation: Floats) -> Floats:
        """Relative errors of deviations and means; infinite if the first order does not tell."""
        num, lost = len(self.z), float(np.linalg.norm(self._lost))
        gains = np.abs(self.inverse @ self.factor[:num, num:])
        moved = self.columns[num:] + self.columns[:num] @ gains
        summed = UNIT * num * (np.abs(self.factor[:num, num:]).T @ np.abs(self.z))
        off = (moved + deviation * lost) * self._size + self.away[:num] @ gains + self.away[num:] + summed
        spread = 2.0 * (_ratio(moved, deviation) + lost)
        found = np.concatenate([spread, _ratio(off, np.maximum(np.abs(mean), deviation)), [lost]])
        return found if lost < SURE else np.full_like(found, np.inf)

    @property
    def log_density(self) -> float:
        """The error of the log density of the numbers found."""
        size, lost = self._size, self._lost
        moved = size * (float(np.linalg.norm(lost)) * size + self._shift)
        return moved + float(lost.sum()) + UNIT * (size * size + len(lost))


def _triangle(columns: Floats) -> Floats:
    """The triangular factor of columns, some rows at a time: each time they are in a cache, and Ctrl-C is heard."""
    found = columns[:0]
    for first in range(0, len(columns), ROWS_AT_ONCE):
        found = np.asarray(np.linalg.qr(np.concatenate([found, columns[first : first + ROWS_AT_ONCE]]), mode="r"))
    return found


def _inverse(upper: Floats) -> Floats:
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(upper, np.eye(len(upper)), check_finite=False))


def _ratio(error: Floats, scale: Floats) -> Floats:
    """The errors relative to a scale; zero stays zero whatever the scale."""
    return np.asarray(np.where(error == 0.0, 0.0, error / scale))


def _worst(*errors: Floats | float) -> float:
    found = max(float(np.max(each, initial=0.0)) if not np.isnan(each).any() else np.inf for each in errors)
    return np.inf if math.isnan(found) else found


@dataclass(eq=False)
class DecimalSums:
    """The same in decimal numbers; a sum whose terms cancel to half of its digits counts as zero.

    Attributes:
        columns: for each number the weights of noises, by the number of the noise; the own noise of those found too.
        variance: of each noise, by its number.
        apart: for each number found its difference from its expectation; for each asked for, its expectation.
        terms: the sum of the absolute terms of each of these.
        digits: how many are carried.

    Reference: Golub & Van Loan (2013), section 5.2.
    Guarantee: the digits carried less those that cancel.
    Tested by: inference/gaussian/test_pathmoments.py::test_decimal_numbers_meet_exact_arithmetic
    """

    columns: list[dict[int, Decimal]]
    variance: Sequence[Decimal]
    apart: list[Decimal]
    terms: list[Decimal]
    digits: int
    has_cancelled: bool = False

    def given(self, num_found: int) -> tuple[list[Decimal], list[Decimal], float, int]:
        """Means, covariances row by row, log density, and the number of values that follow from others."""
        log_density, exact = 0.0, 0
        for i in range(num_found):
            size = self._product(self.columns[i], self.columns[i])
            if size:
                log_density -= 0.5 * (LOG_2PI + log_of(size) + float(self.apart[i] * self.apart[i] / size))
                for j in range(i + 1, len(self.columns)):
                    self._project(i, j, size, sign=-1 if j < num_found else 1)
                continue
            exact += 1
            if abs(self.apart[i]) > Decimal(ON_SUPPORT) * self.terms[i]:
                log_density = -math.inf
        asked = self.columns[num_found:]
        return self.apart[num_found:], [self._product(s, t) for s in asked for t in asked], log_density, exact

    def _product(self, s: dict[int, Decimal], t: dict[int, Decimal]) -> Decimal:
        return sum((w * self.variance[i] * t[i] for i, w in s.items() if i in t), ZERO)

    def _project(self, i: int, j: int, size: Decimal, *, sign: int) -> None:
        """Make column j orthogonal to column i, and move its number by what that explains."""
        column, other = self.columns[i], self.columns[j]
        gain = self._product(column, other) / size
        if not gain:
            return
        for k, weight in column.items():
            part, old = gain * weight, other.get(k, ZERO)
            other[k] = self._settled(old - part, max(abs(old), abs(part)))
        step = gain * self.apart[i]
        self.apart[j] = self._settled(self.apart[j] + sign * step, max(abs(self.apart[j]), abs(step)))
        self.terms[j] += abs(step)

    def _settled(self, number: Decimal, terms: Decimal) -> Decimal:
        """A sum, zero if it is smaller than its terms by half of the digits: the others may be lost."""
        if abs(number) > ONE.scaleb(-self.digits // 2) * terms:
            return number
        self.has_cancelled |= terms > 0
        return ZERO
