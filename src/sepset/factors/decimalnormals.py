r"""Densities, conditionals and divergences of Gaussians in decimal numbers, for covariances that cost floats digits.

One coordinate after another is eliminated: with the pivot $p = \Sigma_{ii}$ and the gains $k = \Sigma_{\cdot i} / p$,

$$\Sigma \leftarrow \Sigma - k \Sigma_{i \cdot}, \qquad \delta \leftarrow \delta - k\, \delta_i,$$

what is left is the covariance of the others given those eliminated, $\det \Sigma$ is the product of the pivots, and
$\delta^\top \Sigma^{-1} \delta = \sum_i \delta_i^2 / p_i$. Every float is a decimal number, so that only the
elimination rounds, and that with many more digits than cancel. A pivot that rounding of the covariance could have made
is zero.

Reference: Golub & Van Loan (2013), Matrix computations, section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.factors.canonical import EPS, Cholesky

DIGITS = 100
"""The digits of decimal numbers: a float has 16, and a pivot that is not zero keeps all but 16 of its terms."""

MOST = 48
"""The largest number of coordinates that are eliminated in decimal numbers; more are floats."""

DOUBT = 1e-11
"""The relative error of a product with an inverse from which floats are not trusted."""

LEAST = Decimal("1e-60")
"""Divergences of different floats are larger; below this only the elimination has rounded."""

CONTEXT = Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)


def doubtful(chol: Cholesky) -> Bools:
    """Which covariances cost floats so many digits that decimal numbers are worth their time.

    >>> near = np.array([[1.0, 1.0 - 1e-9], [1.0 - 1e-9, 1.0]])
    >>> doubtful(Cholesky.of(np.array([np.eye(2), near]))).tolist()
    [False, True]
    """
    is_feasible = 1 < chol.lower.shape[-1] <= MOST
    return np.asarray((~chol.definite | (chol.rounding() > DOUBT)) & is_feasible, np.bool_)


def exactly(numbers: Any) -> Any:
    """The floats of an array as decimal numbers, in an array of objects."""
    array = np.asarray(numbers, np.float64)
    return np.array([Decimal(x) for x in array.reshape(-1).tolist()], object).reshape(array.shape)


@dataclass(eq=False)
class Elimination:
    """A covariance and differences from the mean, whose first coordinates are eliminated in turn.

    Attributes:
        covariance: of the coordinates, those eliminated first in front.
        apart: one difference for each coordinate.
        pivots: of those eliminated; zero for one that follows from others.
        residues: what is left of their differences when it is their turn.
    """

    covariance: Any
    apart: Any
    pivots: list[Any]
    residues: list[Any]

    @classmethod
    def of(cls, covariance: Floats, values: Floats, mean: Floats, num: int) -> Elimination:
        """The first `num` coordinates eliminated, of differences between values and mean."""
        with localcontext(CONTEXT):
            is_exact = len(covariance) <= MOST
            left = exactly(covariance) if is_exact else covariance.copy()
            rest = exactly(values) - exactly(mean) if is_exact else values - mean
            least = np.diagonal(left) * (Decimal if is_exact else float)(4 * len(left) * EPS)
            pivots, residues = [], []
            for i in range(num):
                pivot = left[i, i] if left[i, i] > least[i] else 0
                pivots.append(pivot)
                residues.append(rest[i])
                if pivot:
                    gain = left[i + 1 :, i] / pivot
                    left[i + 1 :, i + 1 :] -= np.multiply.outer(gain, left[i, i + 1 :])
                    rest[i + 1 :] -= gain * rest[i]
            return cls(left[num:, num:], rest[num:], pivots, residues)

    @property
    def log_det(self) -> float:
        """The logarithm of the determinant of those eliminated, none of which follows from others."""
        with localcontext(CONTEXT):
            return float(sum((Decimal(pivot).ln() for pivot in self.pivots), Decimal(0)))

    @property
    def square(self) -> float:
        r"""$\delta^\top \Sigma^{-1} \delta$ of those eliminated."""
        with localcontext(CONTEXT):
            pairs = zip(self.pivots, self.residues, strict=True)
            return float(sum(d * d / p for p, d in pairs if p))


def squares(covariance: Floats, rows: Floats, mean: Floats) -> Floats:
    r"""$(\mathbf x - \mu)^\top \Sigma^{-1} (\mathbf x - \mu)$ for each row.

    >>> squares(np.array([[1.0, 1.0 - 2.0**-40], [1.0 - 2.0**-40, 1.0]]), np.array([[1.0, 1.0]]), np.zeros(2)).tolist()
    [1.0000000000004547]
    """
    return np.array([Elimination.of(covariance, x, mean, len(mean)).square for x in rows])


def divergence(p: Floats, q: Floats, mean_p: Floats, mean_q: Floats) -> float:
    r"""$\tfrac12\bigl[\mathrm{tr}(\Sigma_q^{-1}\Sigma_p) - n + \log\tfrac{\det\Sigma_q}{\det\Sigma_p}
    + \delta^\top\Sigma_q^{-1}\delta\bigr]$ of two covariances that are not singular.

    >>> one = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> round(divergence(one, 4.0 * one, np.zeros(2), np.zeros(2)), 6)
    0.636294
    """
    with localcontext(CONTEXT):
        left, other, rest = exactly(q), exactly(p), exactly(mean_q) - exactly(mean_p)
        total = Decimal(-len(rest))
        for pivot in Elimination.of(p, mean_p, mean_p, len(rest)).pivots:
            total -= pivot.ln()
        for i in range(len(rest)):
            gain = left[i + 1 :, i] / left[i, i]
            total += left[i, i].ln() + (other[i, i] + rest[i] * rest[i]) / left[i, i]
            left[i + 1 :, i + 1 :] -= np.multiply.outer(gain, left[i, i + 1 :])
            other[i + 1 :] -= np.multiply.outer(gain, other[i])
            other[:, i + 1 :] -= np.multiply.outer(other[:, i], gain)
            rest[i + 1 :] -= gain * rest[i]
        return float(total / 2) if abs(total) > LEAST else 0.0
