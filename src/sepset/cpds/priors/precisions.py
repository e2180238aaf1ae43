r"""Precision matrices of coefficients, and their upper triangular roots $R$, with $\Lambda = R^\top R$."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import check_positive, finite_array
from sepset.errors import ModelError


def precisions_of(owner: str, precision: ArrayLike, num: int) -> Floats:
    """The matrix of precisions of `num` coefficients, given in full, as one number per coefficient, or as one for all.

    >>> precisions_of("A prior", 2.0, 2).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    found = finite_array(owner, "precision", precision)
    if found.shape not in ((), (1,), (num,), (num, num)):
        raise ModelError(f"{owner}: {num} coefficients need as many rows of precisions; found {found.shape}.")
    return found if found.ndim == 2 else np.diag(np.broadcast_to(found, num))


def root_of(owner: str, matrix: Floats) -> Floats:
    """The upper triangular root of a matrix; raises unless it is positive definite.

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


def upper_root(root: Floats) -> Floats:
    r"""The upper triangular root of $R^\top R$, without the products.

    >>> (upper_root(np.array([[0.0, 2.0], [1.0, 1.0]])) + 0.0).tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    """
    return with_positive_diagonal(np.asarray(np.linalg.qr(root, mode="r")))


def with_positive_diagonal(upper: Floats) -> Floats:
    """A triangular root whose rows have the sign that makes its diagonal positive.

    >>> with_positive_diagonal(np.array([[-1.0, 2.0], [0.0, 3.0]])).tolist()
    [[1.0, -2.0], [0.0, 3.0]]
    """
    return np.ascontiguousarray(upper * np.where(np.diagonal(upper) < 0, -1.0, 1.0)[:, None])


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


def wishart_scale(owner: str, scale: ArrayLike, degrees: float, size: int) -> Floats:
    """The sums of squares of an inverse Wishart over `size` coordinates, after checking scale and degrees."""
    squares = finite_array(owner, "scale", scale)
    if squares.size != size**2:
        raise ModelError(
            f"{owner} over {size} coordinates needs a scale of shape {(size, size)}; found {squares.shape}."
        )
    check_positive(owner, degrees=degrees)
    if not degrees > size - 1:
        raise ModelError(f"{owner} over {size} coordinates needs degrees > {size - 1}; found {degrees}.")
    root_of(owner, squares.reshape(size, size))
    return squares.reshape(size, size)
