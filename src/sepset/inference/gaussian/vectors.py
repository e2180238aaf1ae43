r"""A vector as one regression per coordinate on those before it.

With covariance $C = L D L^\top$ and $W = L^{-1}$, the coordinates of $\mathbf y = a + B \mathbf u + \varepsilon$ are

$$y_i = (W a)_i + (W B)_i \mathbf u - \sum_{j<i} W_{ij}\, y_j + \varepsilon_i, \qquad \varepsilon_i \sim N(0, D_i).$$

These parameters are differences, and floats only come near them: what cancels in $y_i$ later on is beyond their
digits. So the original parameters are kept, and a sweep with more digits makes its own from them. In floats they are
right up to their last digits: where elimination loses more than a few, it is repeated in decimal numbers.

Reference: Shachter & Kenley (1989), Gaussian influence diagrams; Golub & Van Loan (2013), section 4.1.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.factors.canonical import EPS

ZERO, ONE = Decimal(0), Decimal(1)

LOST = 1e-13
"""The relative error of parameters in floats from which they are computed again."""

DIGITS = 40
"""The digits of parameters that are rounded to floats, beyond those that cancel between numbers of ordinary size."""

GUARD = 20
"""The digits that elimination of a small matrix may lose."""


class Decimals(NamedTuple):
    """The regressions of all coordinates in one context: $Wa$, $WB$, the rows of $-W$ before the diagonal, and $D$."""

    intercepts: list[Decimal]
    slopes: list[list[Decimal]]
    before: list[list[Decimal]]
    variances: list[Decimal]


class Parameters(NamedTuple):
    """The parameters $a$, $B$ and $C$ of a vector's regression in each context, and which pivots are positive."""

    intercept: Floats
    coefficients: Floats
    covariance: Floats
    is_free: Bools

    def decimal(self, entry: int, digits: int) -> Decimals:
        """The regressions of all coordinates in one context, with so many digits.

        Cost: the third power of the number of coordinates, in operations on numbers of these digits.

        >>> whole = Parameters(np.zeros((1, 2)), np.zeros((1, 2, 0)), np.array([[[4.0, 1.0], [1.0, 2.0]]]),
        ...                    np.ones((1, 2), np.bool_))
        >>> whole.decimal(0, 10).before[1], [float(variance) for variance in whole.decimal(0, 10).variances]
        ([Decimal('0.25')], [4.0, 1.75])
        """
        with localcontext(Context(prec=digits + GUARD, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            L, D = self._factored(entry)
            a, B = _decimals(self.intercept[entry]), [_decimals(row) for row in self.coefficients[entry]]
            W: list[list[Decimal]] = []
            for i in range(len(D)):
                above = [-_dot(L[i][k:i], [row[k] for row in W[k:]]) for k in range(i)]
                W.append([*above, ONE, *([ZERO] * (len(D) - i - 1))])
            slopes = [[_dot(row, [b[k] for b in B]) for k in range(len(B[0]))] for row in W]
            return Decimals([_dot(row, a) for row in W], slopes, [[-w for w in W[i][:i]] for i in range(len(D))], D)

    def _factored(self, entry: int) -> tuple[list[list[Decimal]], list[Decimal]]:
        """The rows of $L$ before the diagonal, and $D$."""
        C = [_decimals(row) for row in self.covariance[entry]]
        L: list[list[Decimal]] = []
        D: list[Decimal] = []
        for i, row in enumerate(C):
            found: list[Decimal] = []
            for j in range(i):
                left = row[j] - sum((x * y * d for x, y, d in zip(found, L[j], D, strict=False)), ZERO)
                found.append(left / D[j] if D[j] else ZERO)
            pivot = row[i] - sum((x * x * d for x, d in zip(found, D, strict=True)), ZERO)
            L.append(found)
            D.append(pivot if self.is_free[entry, i] and pivot > 0 else ZERO)
        return L, D


def _decimals(numbers: Floats) -> list[Decimal]:
    return [Decimal(x) for x in numbers.tolist()]


def _dot(a: list[Decimal], b: list[Decimal]) -> Decimal:
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), ZERO)


class Sequential(NamedTuple):
    """The regressions of a vector's coordinates in floats: $Wa$, $WB$, $M = I - W$ and $D$ in each context.

    `source` has the parameters that they were made from.
    """

    intercept: Floats
    slopes: Floats
    before: Floats
    variance: Floats
    source: Parameters


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def sequential(a: Floats, B: Floats, C: Floats) -> Sequential:
    """The regressions of a vector's coordinates, each on those before it, in every context.

    Reference: Shachter & Kenley (1989).
    Guarantee: parameters right to 13 digits; pivots at rounding level are zero.
    Tested by: inference/gaussian/test_vectors.py::test_coordinates_of_a_vector_in_floats_and_in_exact_fractions
    """
    L, D, error = _factored(C)
    size = D.shape[1]
    W = np.zeros_like(L)
    for i in range(size):  # a general solver may leave small numbers above the diagonal
        W[:, i] = -np.einsum("ej,ejk->ek", L[:, i, :i], W[:, :i])
        W[:, i, i] = 1.0
    source = Parameters(a, B, C, D > 0)
    joined = np.concatenate([a[:, :, None], B], axis=2)
    moved = W @ joined
    terms = EPS * (np.abs(W) @ np.abs(joined)) * size
    lost = (np.where(D > 0, error / D, 0.0).max(axis=1) > LOST) | _is_lost(moved, terms) | ~np.isfinite(W).all((1, 2))
    found = Sequential(moved[:, :, 0], moved[:, :, 1:], np.eye(size) - W, D, source)
    for entry in np.flatnonzero(lost).tolist():
        _write(found, entry, source.decimal(entry, DIGITS))
    return found


def _is_lost(numbers: Floats, errors: Floats) -> Bools:
    """In which contexts a number is smaller than its terms by several digits."""
    return np.asarray((errors > LOST * np.abs(numbers)).any(axis=(1, 2)))


def _write(found: Sequential, entry: int, exact: Decimals) -> None:
    for i, before in enumerate(exact.before):
        found.intercept[entry, i] = float(exact.intercepts[i])
        found.slopes[entry, i] = [float(x) for x in exact.slopes[i]]
        found.before[entry, i, :i] = [float(x) for x in before]
        found.variance[entry, i] = float(exact.variances[i])


def _factored(covariances: Floats) -> tuple[Floats, Floats, Floats]:
    r"""$L$ and $D$ with $C = L D L^\top$ for each covariance, and the errors of $D$; pivots at rounding level are zero.

    Entries are known up to rounding, $|C| \epsilon$; the bound on their errors grows with each elimination.
    """
    size = covariances.shape[-1]
    rest, L, D = np.array(covariances), np.zeros_like(covariances), np.zeros(covariances.shape[:2])
    error, own = EPS * np.abs(covariances), np.zeros(covariances.shape[:2])
    for i in range(size):
        pivot, own[:, i] = rest[:, i, i], error[:, i, i]
        D[:, i] = np.where(pivot > 4.0 * size * own[:, i], pivot, 0.0)
        column = np.divide(rest[:, :, i], D[:, i, None], out=np.zeros((len(rest), size)), where=D[:, i, None] > 0)
        column[:, : i + 1] = np.arange(i + 1) == i
        L[:, :, i] = column
        rest = rest - D[:, i, None, None] * column[:, :, None] * column[:, None, :]
        slope = np.where(D[:, i, None] > 0, np.abs(column), 0.0)
        cross = slope[:, :, None] * error[:, i, None, :]
        error = (
            error
            + cross
            + np.swapaxes(cross, 1, 2)
            + slope[:, :, None] * slope[:, None, :] * error[:, i, i, None, None]
        )
    return L, D, own
