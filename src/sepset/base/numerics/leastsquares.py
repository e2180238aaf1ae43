r"""Least squares from moments, which is also the conditional of a joint Gaussian.

With the last $k$ coordinates as children $\mathbf y$ of the others $\mathbf u$,

$$B = \Sigma_{yu}\Sigma_{uu}^{+}, \qquad a = \mu_y - B\mu_u, \qquad C = \Sigma_{yy} - B\Sigma_{uu}B^\top.$$

From moments of a distribution this is its conditional; from centered products of data it is the maximum likelihood
regression, with $C$ the residual sums of squares.

Reference: Koller & Friedman, theorem 7.4 and section 17.2.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.numerics.matrices import decomposed

COLLINEAR, ROUNDING = 1e-12, 1e-15
"""The smallest eigenvalue of the parents' correlations, relative to the largest, that counts as a direction; and one
that rounding alone makes."""

DEPENDENT = 1e-12
"""The smallest singular value of the parents' columns, relative to the largest, that counts as a direction."""

COPIED = 1e-14
"""A singular value that rounding alone leaves of a parent that others determine."""

SETTLED = 1e-13
"""An eigenvalue of mean squares of unit diagonal at or below which a direction holds only rounding."""

EPSILON = float(np.finfo(np.float64).eps)

NEAR = 1e-6
"""Parents whose correlations have a smaller eigenvalue are fitted to rows, where these are at hand."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit:
    r"""The regression $a + B\mathbf u$ of children on parents, its residual, and the rank of the parents.

    >>> least_squares(np.array([1.5, 2.75]), np.array([[5.0, 5.5], [5.5, 8.75]])).slope.round(9).tolist()
    [[1.1]]
    """

    intercept: Floats
    slope: Floats
    residual: Floats
    rank: int


def least_squares(mean: Floats, products: Floats, size: int = 1, collinear: float = COLLINEAR) -> LinearFit:
    """The regression of the last `size` coordinates on the others; collinear parents share their effect (least norm).

    The norm is that of coefficients of standardized parents, so that units do not matter.

    Args:
        mean: the mean of all coordinates, the children last.
        products: their covariance, or their centered sums of products.
        size: the number of child coordinates.
        collinear: the smallest eigenvalue of the parents' correlations, relative to the largest, that is a direction.
    """
    split = len(mean) - size
    inner, cross = products[:split, :split], products[:split, split:]
    deviation = np.sqrt(np.maximum(np.diagonal(inner), 0.0))
    scale = np.divide(1.0, deviation, out=np.zeros(split), where=deviation > 0)
    inverse, rank = _pseudo_inverse(inner * scale[:, None] * scale, collinear)
    slope = (scale[:, None] * (inverse @ (scale[:, None] * cross))).T
    return LinearFit(mean[split:] - slope @ mean[:split], slope, residual_products(products, slope), rank)


def fit_rows(rows: Floats, weights: Floats, size: int = 1) -> LinearFit:
    """The same from rows near zero, with the digits that products lose: their condition is the square of that of rows.

    Args:
        rows: the parents, then `size` children, less their means up to rounding.
        weights: one per row.
        size: the number of child coordinates.

    >>> fit_rows(np.array([[-1.0, -2.0], [0.0, 1.0], [1.0, 1.0]]), np.ones(3)).slope.round(9).tolist()
    [[1.5]]
    """
    root, split = np.sqrt(weights)[:, None], rows.shape[1] - size
    columns, children = np.concatenate([root, root * rows[:, :split]], axis=1), root * rows[:, split:]
    lines, residual, rank = _solved(columns, children)
    return LinearFit(lines[0], lines[1:].T, residual, rank - 1)


def fit_root(mean: Floats, root: Floats, size: int = 1) -> LinearFit:
    r"""The same from a root of the centered products, $S = A^\top A$, with the digits of rows.

    >>> fit_root(np.array([1.5, 2.75]), np.array([[2.0, 2.2], [0.0, 0.5]])).slope.round(9).tolist()
    [[1.1]]
    """
    split = len(mean) - size
    lines, residual, rank = _solved(root[:, :split], root[:, split:])
    return LinearFit(mean[split:] - mean[:split] @ lines, lines.T, residual, rank)


def _solved(columns: Floats, children: Floats) -> tuple[Floats, Floats, int]:
    """The coefficients of least squares, the products of what they leave, and the rank of the columns."""
    used = columns.any(axis=1) | children.any(axis=1)
    columns, children = (columns, children) if used.all() else (columns[used], children[used])
    norms = np.linalg.norm(columns, axis=0)
    unit = columns / np.where(norms > 0, norms, 1.0)
    found, _, rank, _ = decomposed(lambda: np.linalg.lstsq(unit, children, rcond=DEPENDENT), unit.shape)
    left = children - unit @ found
    return found / np.where(norms > 0, norms, 1.0)[:, None], left.T @ left, int(rank)


def are_near_dependent(products: Floats) -> bool:
    """Whether coordinates follow from others so nearly that their products have lost digits of what they add.

    >>> are_near_dependent(np.eye(2)), are_near_dependent(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]]))
    (False, True)
    """
    return bool((least_eigenvalues(products) < NEAR).any())


def least_eigenvalues(products: Floats) -> Floats:
    """The smallest eigenvalue of the correlations of coordinates that vary, one for each matrix of products.

    >>> least_eigenvalues(np.array([[[4.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]])).tolist()
    [0.5]
    """
    if not products.shape[-1]:
        return np.ones(products.shape[:-2])
    deviation = np.sqrt(np.maximum(np.diagonal(products, axis1=-2, axis2=-1), 0.0))
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    alone = (deviation == 0)[..., None] * np.eye(products.shape[-1])
    correlations = products * scale[..., None, :] * scale[..., None] + alone
    return np.asarray(decomposed(lambda: np.linalg.eigvalsh(correlations), products.shape[-2:])[..., 0])


def relative_error(
    mean: Floats,
    covariance: Floats,
    intercept: Floats,
    slope: Floats,
    root: Floats | None = None,
    rounding: float = EPSILON,
) -> float:
    r"""How far rounding may move the coefficients of a regression, relative to them; at most one.

    Along an eigenvector of the parents' correlations with eigenvalue $\lambda = \sigma^2$, coefficients
    $\mathbf b$ of standardized parents move by about

    $$\varepsilon\,\frac{\lVert\mathbf b\rVert + s_y}\lambda \text{ from products}, \qquad
    \varepsilon\left(\frac{\lVert\mathbf b\rVert + s_y}\sigma + \frac{s_r}\lambda\right) \text{ from a root,}$$

    with $s_y$ and $s_r$ the deviations of child and residual; coefficients below $s_y$ count as $s_y$. The intercept
    moves with them, by the means of the parents, and is compared with itself or with $s_y$, whichever is larger.

    Args:
        mean, covariance: of the parents and then the children.
        intercept, slope: the regression.
        root: of the covariance, where there is one from rows.
        rounding: $\varepsilon$, the relative error of the covariance or of its root.

    Reference: Golub & Van Loan, *Matrix Computations*, section 5.3.8.

    >>> near = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-8, 0.0], [0.0, 0.0, 1.0]])
    >>> 1e-9 < relative_error(np.zeros(3), near, np.zeros(1), np.zeros((1, 2))) < 1e-7
    True
    """
    deviation = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    varies, child = np.flatnonzero(deviation[: slope.shape[1]] > 0), deviation[slope.shape[1] :]
    unit, lines = deviation[varies], slope[:, varies] * deviation[varies]
    size = np.maximum(np.sqrt((lines**2).sum(axis=1)), child)
    if not varies.size or not size.any():
        return 0.0
    if root is None:
        correlations = covariance[np.ix_(varies, varies)] / unit / unit[:, None]
        values, vectors = decomposed(lambda: np.linalg.eigh(correlations), correlations.shape)
        moved = rounding * (size + child) / np.maximum(values, EPSILON)[:, None]
        is_lost = values[0] < COLLINEAR * values[-1]
    else:
        used = root.any(axis=1)
        root = root if used.all() else root[used]
        columns = root[:, varies] / unit
        _, values, rows = decomposed(lambda: np.linalg.svd(columns, full_matrices=False), columns.shape)
        known = values > COPIED * values[0]
        left = np.linalg.norm(root[:, slope.shape[1] :] - columns @ lines.T, axis=0)
        values, vectors = values[known], rows[known].T
        moved = rounding * ((size + child) / values[:, None] + left / values[:, None] ** 2)
        is_lost = values[-1] < DEPENDENT * values[0]
    ends = np.linalg.norm(moved * (mean[varies] / unit @ vectors)[:, None], axis=0)
    whole = np.maximum(np.abs(intercept), child)
    shares = np.concatenate([moved / np.where(size > 0, size, 1.0), [ends / np.where(whole > 0, whole, 1.0)]])
    return 1.0 if is_lost else min(1.0, float(shares.max()))


def inverse_root(squares: Floats) -> Floats:
    r"""A matrix $T$ with $T^\top S T = I$ for mean squares $S$, whatever their units.

    Directions in which there is nothing but rounding keep the units of the columns.

    >>> inverse_root(np.array([[1.0, 0.0], [0.0, 25.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.2]]
    """
    size = np.sqrt(np.diagonal(squares))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(squares / np.outer(size, size))
    return np.asarray(vectors / size[:, None] / np.sqrt(np.where(values > SETTLED, values, 1.0)))


def residual_products(products: Floats, slope: Floats) -> Floats:
    """The products of what a line with this slope leaves: quadratic in it, so that its rounding error enters squared.

    Args:
        products: of all coordinates, the children last.
        slope: one row for each child.

    >>> residual_products(np.array([[4.0, 2.0], [2.0, 3.0]]), np.array([[0.5]])).tolist()
    [[2.0]]
    """
    away = np.concatenate([-slope, np.eye(len(slope))], axis=1)
    return _semidefinite(away @ products @ away.T)


def semidefinite_root(products: Floats) -> Floats:
    r"""A matrix $A$ with $A^\top A$ the products, which may be singular.

    >>> semidefinite_root(np.array([[4.0]])).tolist()
    [[2.0]]
    """
    deviation = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    correlations = products * scale * scale[:, None]
    values, vectors = decomposed(lambda: np.linalg.eigh(correlations), correlations.shape)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * deviation)


def _semidefinite(residual: Floats) -> Floats:
    """The nearest positive semidefinite matrix: rounding may leave a perfect fit slightly below zero."""
    if len(residual) == 1:
        return np.maximum(residual, 0.0)
    values, vectors = np.linalg.eigh(0.5 * (residual + residual.T))
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _pseudo_inverse(correlations: Floats, collinear: float) -> tuple[Floats, int]:
    if not len(correlations):
        return correlations, 0
    values, vectors = decomposed(lambda: np.linalg.eigh(correlations), correlations.shape)
    kept = values > collinear * max(float(values.max(initial=0.0)), 1e-300)
    return (vectors[:, kept] / values[kept]) @ vectors[:, kept].T, int(kept.sum())
