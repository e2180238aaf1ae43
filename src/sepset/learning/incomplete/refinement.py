r"""Lines that leave almost nothing over, estimated from rows a second time.

Where a line explains all but a share $\epsilon$ of its child's variance, what is left is a difference of sums of
squares and keeps about $16 + \log_{10} \epsilon$ digits. The residues of the rows,

$$r[m] = (y[m] - \bar y) - B\,(\mathbf u[m] - \bar{\mathbf u}),$$

are small numbers of their own. The line through them corrects the first, and what it leaves over keeps its digits.

Reference: Golub & Van Loan, *Matrix Computations*, section 5.3.8.
"""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.cpds.counts import joint_codes
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.data.scatter import Scatters
from sepset.factors.algebra import Columns
from sepset.factors.coordinates import matrix, width

TIGHT = 1e-6
"""The share of a child's squares below which differences of sums of squares are not trusted."""

PERFECT = 1e-13
"""The share of a child's variance below which, from sums of squares alone, what a line leaves over is nothing."""

EPSILON = float(np.finfo(np.float64).eps)


def shares(cpd: LinearGaussian, stats: Scatters) -> Floats:
    """The least share of its squares that a line leaves of a coordinate of the child, in each context.

    Contexts without rows, or in which the child is constant, have a share of one.
    """
    size = cpd.child.size
    squares = np.einsum("cii->ci", stats.products)[:, -size:]
    left = np.einsum("cii->ci", cpd.covariance) * stats.counts[:, None]
    return np.asarray(np.divide(left, squares, out=np.ones_like(left), where=squares > 0).min(axis=1))


def is_tight(cpd: LinearGaussian, stats: Scatters) -> bool:
    """Whether a line leaves so little of its child in some context that sums of squares have lost its digits."""
    return bool(cpd.given) and bool((shares(cpd, stats) < TIGHT).any())


def refined(
    cpds: tuple[LinearGaussian, ...], stats: Scatters, columns: Columns, weights: Floats | None
) -> tuple[LinearGaussian, ...]:
    """The least-squares lines of one block, corrected by the residues of the rows they were estimated from.

    Args:
        cpds: the CPDs of the block, with the estimate from `stats`.
        stats: the pooled statistics of the rows.
        columns: the rows.
        weights: of each, or None.

    >>> from sepset.variables.variable import Real
    >>> x, y = Real("x"), Real("y")
    >>> rows = {x: np.array([0.0, 1e8, 2e8]), y: np.array([1.0, 1e8, 2e8 + 1])}
    >>> line = LinearGaussian(y, coefficients=0.0, covariance=1.0, given=x)
    >>> plain = line.from_statistics(line.scatters(rows))
    >>> round(float(refined((plain,), line.scatters(rows), rows, None)[0].covariance[0, 0, 0]), 9)
    0.222222222
    """
    first, split = cpds[0], width(cpds[0].given)
    away = first.from_statistics(reduce(add, (_residues(cpd, stats, columns, weights) for cpd in cpds)), unseen="keep")
    seen = (stats.counts > 0)[:, None]
    center = stats.means[:, split:] - np.einsum("cij,cj->ci", first.coefficients, stats.means[:, :split])
    intercept = np.where(seen, center + away.intercept, first.intercept)
    slope = np.where(seen[..., None], first.coefficients + away.coefficients, first.coefficients)
    covariance = np.where(seen[..., None], away.covariance, first.covariance)
    return tuple(cpd.with_parameters(intercept, slope, covariance) for cpd in cpds)


def _residues(cpd: LinearGaussian, stats: Scatters, columns: Columns, weights: Floats | None) -> Scatters:
    """The statistics of (real parents, residues)."""
    num_rows, split = len(columns[cpd.child]), width(cpd.given)
    entry = joint_codes(columns, cpd.by, num_rows, cpd)
    rows = matrix((*cpd.given, cpd.child), columns, num_rows)
    apart = rows - stats.means[entry]
    residues = apart[:, split:] - np.einsum("nij,nj->ni", cpd.coefficients[entry], apart[:, :split])
    return Scatters.of(np.concatenate([rows[:, :split], residues], axis=1), entry, len(stats.counts), weights)


def smallest_variances(cpd: LinearGaussian, stats: Scatters) -> Floats:
    """The variance that the rounding of rows alone may leave, in each context."""
    size, split = cpd.child.size, width(cpd.given)
    counts = np.where(stats.counts > 0, stats.counts, 1.0)
    spread = np.einsum("cii->ci", stats.products) / counts[:, None]
    parts = np.einsum("cij,cj->c", cpd.coefficients**2, spread[:, :split])
    own = (spread[:, -size:] + stats.means[:, -size:] ** 2).max(axis=1)
    return np.asarray((8.0 * EPSILON) ** 2 * (parts + own))
