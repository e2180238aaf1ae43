r"""Precisions of lines as triangular roots, $\Lambda = R^\top R$ with rows $\mathbf z = (1, \mathbf u)$.

The precision of intercept and coefficients squares the means of the parents: with parents near $10^9$ no float holds
it. Its root does, and data join it by one QR decomposition.

Reference: Golub & Van Loan, *Matrix Computations*, section 5.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import finite_array
from sepset.base.leastsquares import least_squares
from sepset.data.scatter import Scatter
from sepset.errors import DataError, ModelError

LARGEST = 1e153
"""Numbers whose squares, summed over many rows, are still floats."""


def precisions_of(owner: str, precision: ArrayLike, num: int) -> Floats:
    """The matrix of precisions of `num` coefficients, given in full, as one number each, or as one for all.

    >>> precisions_of("A prior", 2.0, 2).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    found = finite_array(owner, "precision", precision)
    if found.shape not in ((), (1,), (num,), (num, num)):
        raise ModelError(f"{owner}: {num} coefficients need as many rows of precisions; found {found.shape}.")
    return found if found.ndim == 2 else np.diag(np.broadcast_to(found, num))


def root_of(owner: str, matrix: Floats) -> Floats:
    """The upper triangular root of a positive definite matrix; any other is refused.

    >>> root_of("A prior", np.array([[4.0, 2.0], [2.0, 10.0]])).tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """
    if not (np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=1e-9, atol=0)):
        raise ModelError(f"{owner} needs a finite symmetric matrix.")
    squares = np.diagonal(matrix)
    if not (squares > 0).all():
        raise ModelError(f"{owner} needs a positive definite matrix; its diagonal holds {float(squares.min()):.3g}.")
    deviation = np.sqrt(squares)
    scaled = matrix / deviation / deviation[:, None]
    lowest = float(np.linalg.eigvalsh(scaled).min(initial=np.inf))
    if not lowest > 0:
        raise ModelError(f"{owner} needs a positive definite matrix; as correlations its least eigenvalue is {lowest}.")
    return np.ascontiguousarray(np.linalg.cholesky(0.5 * (scaled + scaled.T)).T * deviation)


def absorbed(root: Floats, mean: Floats, seen: Scatter) -> tuple[Floats, Floats, Floats]:
    r"""The root, mean and added squares of coefficients after rows $(\mathbf u, \mathbf y)$.

    $$R'^\top R' = R^\top R + Z^\top Z, \quad m' = \hat\beta + \delta, \quad
    \text{RSS} + (m' - \hat\beta)^\top Z^\top Z (m' - \hat\beta) + (m' - m)^\top R^\top R\, (m' - m)$$

    Everything is counted from the least-squares line $\hat\beta$, so that nothing large is subtracted.

    Args:
        root: $R$, of as many coefficients as there are parents, and one.
        mean: $m$, a row a coefficient, a column a coordinate of the child.
        seen: count, mean and centered products of the rows.

    >>> absorbed(np.eye(1), np.zeros((1, 1)), Scatter.of([1.0, 2.0, 3.0, 4.0]))[1].tolist()
    [[2.0]]
    """
    num, size = mean.shape
    line = least_squares(seen.mean, seen.products, size)
    fitted = np.concatenate([line.intercept[None], line.slope.T])
    z = np.concatenate([[1.0], seen.mean[: num - 1]])
    inner = np.zeros((num - 1, num + size))
    inner[:, 1:num] = semidefinite_root(seen.products[: num - 1, : num - 1])
    with np.errstate(over="ignore", invalid="ignore"):
        prior = np.concatenate([root, root @ (mean - fitted)], axis=1)
    if not np.abs(prior).max(initial=0.0) < LARGEST:
        raise DataError("The rows lie so far from what the prior expects that squares are no floats. Rescale a column.")
    center = np.concatenate([np.sqrt(seen.count) * z, np.zeros(size)])[None]
    rows = np.concatenate([prior, center, inner, np.zeros((size, num + size))])
    whole = np.linalg.qr(rows)[1]
    made: Floats = whole[:num] * np.where(np.diagonal(whole)[:num] < 0, -1.0, 1.0)[:, None]
    away = whole[num:, num:]
    step = np.linalg.solve(made[:, :num], made[:, num:])
    return made[:, :num], fitted + step, line.residual + away.T @ away


def semidefinite_root(products: Floats) -> Floats:
    r"""A matrix $A$ with $A^\top A$ the products, which may be singular.

    >>> semidefinite_root(np.array([[4.0]])).tolist()
    [[2.0]]
    """
    deviation = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    values, vectors = np.linalg.eigh(products * scale * scale[:, None])
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * deviation)


def log_det(root: Floats) -> float:
    r"""$\log |R^\top R|$.

    >>> log_det(np.diag([1.0, np.e]))
    2.0
    """
    return float(2.0 * np.log(np.diagonal(root)).sum())


def spreads(root: Floats, z: Floats) -> Floats:
    r"""$z_i^\top \Lambda^{-1} z_j$ of all pairs of rows, `[..., rows, rows]`.

    >>> spreads(np.diag([1.0, 2.0]), np.array([[1.0, 2.0]])).tolist()
    [[2.0]]
    """
    white = np.linalg.solve(root.T, np.swapaxes(z, -1, -2))
    return np.asarray(np.swapaxes(white, -1, -2) @ white)
