r"""Rubin's rules: one estimate from several completed datasets, with the variance that imputation adds.

From $m$ estimates $\hat Q_i$ with variances $U_i$, the pooled estimate is $\bar Q = \tfrac1m \sum \hat Q_i$, and

$$T = \bar U + \left(1 + \tfrac1m\right) B, \qquad \bar U = \tfrac1m \sum U_i, \qquad
B = \tfrac1{m-1} \sum (\hat Q_i - \bar Q)^2.$$

Reference: Rubin (1987), section 3.1; Barnard & Rubin (1999).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import fraction
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.frozen import read_only
from sepset.errors import DataError
from sepset.factors.labels import in_rows
from sepset.learning.assessment import Assessment


@dataclass(frozen=True, eq=False, repr=False)
class PooledEstimate(Assessment):
    r"""Estimates from multiply imputed data, pooled; arrays have the shape of one estimate.

    Attributes:
        estimate: $\bar Q$.
        within: $\bar U$, the variance that complete data would have.
        between: $B$, the variance between copies.
        degrees_of_freedom: of the t-distribution that intervals use.
        copies: $m$.
    """

    estimate: Floats
    within: Floats
    _: KW_ONLY
    between: Floats
    degrees_of_freedom: Floats
    copies: int

    @property
    def variance(self) -> Floats:
        r"""The total variance $T = \bar U + (1 + 1/m) B$."""
        return np.asarray(self.within + (1.0 + 1.0 / self.copies) * self.between)

    @property
    def standard_error(self) -> Floats:
        r"""$\sqrt T$."""
        return np.asarray(np.sqrt(self.variance))

    @property
    def relative_increase(self) -> Floats:
        r"""$r = (1 + 1/m) B / \bar U$: how much the missing cells add to the variance; infinite where $\bar U = 0$."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((1.0 + 1.0 / self.copies) * self.between / self.within)

    @property
    def missing_information(self) -> Floats:
        r"""The fraction of missing information, $(r + 2/(\nu + 3)) / (r + 1)$."""
        r = self.relative_increase
        with np.errstate(invalid="ignore"):
            share = (r + 2.0 / (self.degrees_of_freedom + 3.0)) / (r + 1.0)
        return np.asarray(np.where(np.isinf(r), 1.0, share))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        r"""The ends of $\bar Q \pm t_\nu \sqrt T$ with this confidence.

        >>> low, high = pool_estimates([1.0, 1.2, 0.8], [0.04, 0.05, 0.03]).interval(0.9)
        >>> round(float(low), 3), round(float(high), 3)
        (0.409, 1.591)
        """
        fraction("level", level)
        from scipy.special import ndtri, stdtrit

        upper = 0.5 + 0.5 * level
        freedom = self.degrees_of_freedom
        usual = np.isfinite(freedom) & (freedom > 0)
        reach = np.where(usual, stdtrit(np.where(usual, freedom, 1.0), upper), ndtri(upper))
        reach = np.where(freedom == 0, np.inf, reach)  # nothing tells the variance
        half = reach * self.standard_error
        return np.asarray(self.estimate - half), np.asarray(self.estimate + half)

    def __repr__(self) -> str:
        if self.estimate.ndim:
            return f"PooledEstimate({self.estimate.shape} estimates from {self.copies} copies)"
        return (
            f"PooledEstimate({float(self.estimate):.6g}, standard error {float(self.standard_error):.4g}, "
            f"{self.copies} copies)"
        )

    def _shown(self) -> Shown:
        parts = ("estimate", "standard_error", "degrees_of_freedom", "missing_information")
        found = [(name.replace("_", " "), np.atleast_1d(getattr(self, name)).ravel()) for name in parts]
        rows = [(name, in_rows(values.tolist(), values.size, values.size)) for name, values in found]
        return Shown((), [*rows, ("copies", str(self.copies))], "Pooled estimate")


@translated
def pool_estimates(
    estimates: ArrayLike, variances: ArrayLike, *, complete_freedom: float | None = None
) -> PooledEstimate:
    r"""The pooled estimate of several imputed datasets, by Rubin's rules.

    Args:
        estimates: one estimate per copy, along the first axis: numbers, or arrays of one shape.
        variances: the squared standard error of each, as complete data would give it.
        complete_freedom: the degrees of freedom that complete data would have; where given, those of the pooled
            estimate are never more (Barnard & Rubin), which small samples need.

    Reference: Rubin (1987); Barnard & Rubin (1999).
    Guarantee: exact.
    Tested by: learning/missing/test_pooling.py::test_the_rules

    >>> pool_estimates([1.0, 1.2, 0.8], [0.04, 0.05, 0.03])
    PooledEstimate(1, standard error 0.3055, 3 copies)
    """
    q, u = np.asarray(estimates, np.float64), np.asarray(variances, np.float64)
    if q.ndim == 0 or q.shape != u.shape or len(q) < 2:
        raise DataError(
            f"Pooling takes at least two estimates and as many variances, copies first; found the shapes {q.shape} "
            f"and {u.shape}."
        )
    if not np.isfinite(q).all() or not (np.isfinite(u) & (u >= 0)).all():
        raise DataError("Estimates are finite, and variances finite and not negative.")
    mean, within, between = q.mean(axis=0), u.mean(axis=0), q.var(axis=0, ddof=1)
    freedom = _freedom(len(q), within, between, complete_freedom)
    return PooledEstimate(
        _frozen(mean), _frozen(within), between=_frozen(between), degrees_of_freedom=_frozen(freedom), copies=len(q)
    )


def _frozen(values: ArrayLike) -> Floats:
    return read_only(np.array(values, np.float64))


def _freedom(m: int, within: Floats, between: Floats, complete: float | None) -> Floats:
    r"""$\nu = (m - 1)(1 + 1/r)^2$, and with complete-data freedom $\nu_0$ the smaller $(1/\nu + 1/\hat\nu_0)^{-1}$."""
    added = (1.0 + 1.0 / m) * between
    with np.errstate(divide="ignore", invalid="ignore"):
        share, rest = (
            np.where(within + added > 0, part / (within + added), own) for part, own in ((added, 0.0), (within, 1.0))
        )
        old = np.where(share > 0, (m - 1) / share**2, np.inf)
        if complete is None or np.isinf(complete):
            return np.asarray(old)
        observed = (complete + 1.0) / (complete + 3.0) * complete * rest
        return np.asarray(1.0 / (1.0 / old + 1.0 / observed))
