r"""Roots of centered products: the digits of nearly dependent columns.

Products of columns have the square of their condition. Where a column differs from a combination of others by $10^{-7}$
of itself, the difference has no digit in the products $S$, and nine in a root $A$ of them, $S = A^\top A$, which is the
triangular factor of the centered rows. Roots of two sets of rows stack, with the difference of the means, into one.

Reference: Golub & Van Loan, *Matrix Computations*, sections 5.3.8 and 6.5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.leastsquares import EPSILON, NEAR, least_eigenvalues, semidefinite_root

Parts = tuple[Floats, Floats, Floats]
"""Counts, means and scatters, with one axis over contexts."""


def roots_of(parts: Parts, columns: Sequence[Floats], weights: Floats | None, context: Ints) -> Floats | None:
    """The roots of the moments of columns, one for each context; None unless products have lost digits in some.

    >>> u = np.array([0.0, 1.0, 2.0, 3.0])
    >>> apart = np.stack([u, u + np.array([1e-9, 0.0, 0.0, 0.0])]) - u.mean()
    >>> roots_of((np.array([4.0]), np.zeros((1, 2)), (apart @ apart.T)[None]), [*apart], None, np.zeros(4, int)).shape
    (1, 2, 2)
    """
    near = (parts[0] > 0) & (least_eigenvalues(parts[2]) < NEAR) if len(columns) > 1 else np.zeros(1, np.bool_)
    if not near.any():
        return None
    order = np.argsort(context, kind="stable")
    ends = np.cumsum(np.bincount(context, minlength=len(near)))
    share = np.ones(len(context)) if weights is None else weights
    roots = np.stack([semidefinite_root(products) for products in parts[2]])
    for e in np.flatnonzero(near):
        rows = order[ends[e - 1] if e else 0 : ends[e]]
        roots[e] = _row_root(np.stack([column[rows] for column in columns], axis=1), share[rows])
    return roots


def _row_root(rows: Floats, weights: Floats) -> Floats:
    """The triangular factor of weighted rows, less their mean to the last digit."""
    apart = rows - weights @ rows / weights.sum()
    apart -= weights @ apart / weights.sum()
    return triangle(np.sqrt(weights)[:, None] * apart)


def merged_roots(one: Parts, other: Parts, roots: Floats | None, others: Floats | None) -> Floats:
    """The roots of two parts of the data together; products of which no root is known give one.

    >>> part = np.array([2.0]), np.array([[1.0]]), np.array([[[8.0]]])
    >>> merged_roots(part, part, None, None).round(9).ravel().tolist() in ([4.0], [-4.0])
    True
    """
    mine, theirs = (
        np.stack([semidefinite_root(products) for products in part[2]]) if known is None else known
        for part, known in ((one, roots), (other, others))
    )
    total = one[0] + other[0]
    share = np.sqrt(one[0] * np.divide(other[0], total, out=np.zeros_like(total), where=total > 0))
    apart = share[:, None, None] * (other[1] - one[1])[:, None]
    return np.stack([triangle(rows) for rows in np.concatenate([mine, theirs, apart], axis=1)])


def joined_rounding(one: Parts, other: Parts, joined: Parts, rounding: float) -> float:
    r"""The error of joined products, or of their root, relative to their size: at most one.

    Means are rounded to $\varepsilon\lvert\bar x\rvert$, which enters with the weight $\sqrt{M_1 M_2 / M}$; products
    from which others are taken away keep the error of the whole.

    Args:
        one, other: the moments that were joined.
        joined: their sum, or their difference.
        rounding: the relative error of each.

    >>> part = np.array([2.0]), np.array([[1e9]]), np.array([[[2.0]]])
    >>> 1e-8 < joined_rounding(part, part, (np.array([4.0]), part[1], 2 * part[2]), 1e-16) < 1e-6
    True
    """
    before, after = (np.einsum("cii->ci", part[2]) for part in (one, joined))
    seen = (one[0] > 0) & (other[0] > 0) & (joined[0] > 0)
    weight = one[0][seen] * other[0][seen] / joined[0][seen]
    left = after[seen] > 0
    inside, size = before[seen][left], after[seen][left]
    shift = EPSILON * np.maximum(np.abs(one[1]), np.abs(other[1]))[seen] * np.sqrt(weight)[:, None]
    grown = float(np.sqrt(inside / size).max(initial=1.0)) ** 2
    return min(1.0, rounding * grown + float((shift[left] / np.sqrt(size)).max(initial=0.0)))


def triangle(rows: Floats) -> Floats:
    """A square matrix with the products of these rows.

    >>> np.abs(triangle(np.array([[3.0], [4.0]]))).tolist()
    [[5.0]]
    """
    size = rows.shape[1]
    padded = np.concatenate([rows, np.zeros((max(0, size - len(rows)), size))])
    return np.asarray(np.linalg.qr(padded, mode="r"))
