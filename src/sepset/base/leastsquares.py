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

COLLINEAR, ROUNDING = 1e-12, 1e-15
"""The smallest eigenvalue of the parents' correlations, relative to the largest, that counts as a direction; and one
that rounding alone makes."""

DEPENDENT = 1e-12
"""The smallest singular value of the parents' columns, relative to the largest, that counts as a direction."""

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
    norms = np.linalg.norm(columns, axis=0)
    unit = columns / np.where(norms > 0, norms, 1.0)
    found, _, rank, _ = np.linalg.lstsq(unit, children, rcond=DEPENDENT)
    left = children - unit @ found
    lines = found / np.where(norms > 0, norms, 1.0)[:, None]
    return LinearFit(lines[0], lines[1:].T, left.T @ left, int(rank) - 1)


def are_near_dependent(products: Floats) -> bool:
    """Whether coordinates follow from others so nearly that their products have lost digits of what they add.

    >>> are_near_dependent(np.eye(2)), are_near_dependent(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]]))
    (False, True)
    """
    deviation = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    values = np.linalg.eigvalsh((products * scale * scale[:, None])[deviation > 0][:, deviation > 0])
    return bool((values < NEAR).any())


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
    values, vectors = np.linalg.eigh(products * scale * scale[:, None])
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
    values, vectors = np.linalg.eigh(correlations)
    kept = values > collinear * max(float(values.max(initial=0.0)), 1e-300)
    return (vectors[:, kept] / values[kept]) @ vectors[:, kept].T, int(kept.sum())
