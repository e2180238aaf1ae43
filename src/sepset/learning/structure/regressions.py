r"""Regressions of a real column on its parents: one for each joint state of the discrete ones.

With scatter matrices $S$ of the rows in a context, the residual sum of squares is
$S_{yy} - S_{yp} S_{pp}^{-1} S_{py}$, and the log-likelihood at its maximum $-\tfrac N2 (\log 2\pi\hat\sigma^2 + 1)$.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.numerics.leastsquares import fit_rows
from sepset.base.text import listing
from sepset.data.scatter import add_by_context, no_rows
from sepset.errors import DataError
from sepset.kernels.structure.familyscores import SKIPPED
from sepset.learning.structure.columns import Columns

SINGULAR = 1e-11
"""The share of a column's variance left by its parents below which they determine it up to rounding."""

NEAR = 1e-6
"""The share of a column's variance left by others below which scatter matrices have lost its digits."""

ROUNDED = 1e-13
"""The deviation, relative to that of the whole column, that sums over rows leave of a column that is determined."""

FEWEST = 1.0
"""The expected rows of a context below which it counts as one without rows."""


class Fit(NamedTuple):
    """The regressions of one family at their maximum.

    Attributes:
        log_likelihood: of all contexts; minus infinity where a context has too few rows, and where no row observes the
            family though some observe the child.
        num_parameters: of all contexts, also those without rows.
        share: of the weight of the rows that count; less than one where cells are missing.
    """

    log_likelihood: float
    num_parameters: float
    share: float


def fitted(child: int, parents: tuple[int, ...], columns: Columns) -> Fit:
    """The regressions of a real column on its parents."""
    columns.check_places(child=child, parents=parents)
    discrete = tuple(p for p in parents if not columns.is_real[p])
    real = [p for p in parents if columns.is_real[p]]
    per_context = len(real) + 2
    num_parameters = per_context * math.prod(int(columns.cards[p]) for p in discrete)
    ids, size = columns.contexts(discrete, child)
    cells = columns.values[[*real, child]].T
    used = (ids != SKIPPED) & ~np.isnan(cells).any(1)
    places, rows = ids[used].astype(np.int64), np.ascontiguousarray(cells[used])
    weights = columns.weights[used].astype(np.float64)
    total = np.bincount(places, weights, size)
    seen = total >= FEWEST if columns.is_expected else total > 0
    if not seen.any():
        return Fit(-math.inf if columns.is_observed(child) else 0.0, num_parameters, 1.0)
    share = float(total.sum() / columns.total_of(child))
    if ((total if columns.is_expected else _num_rows(places, size))[seen] < per_context).any():
        return Fit(-math.inf, num_parameters, share)
    counts, means, scatters = no_rows(size, per_context - 1)
    add_by_context(places, rows, weights, (counts, means, scatters))
    if columns.is_expected:
        scatters += columns.added_scatter(places, size, [*real, child])
    residuals, least = residual_sums(scatters[seen]), SINGULAR
    if not columns.is_expected and (near_dependent(scatters[seen]) & (scatters[seen, -1, -1] > 0)).any():
        parts = [(places == c, means[c]) for c in np.flatnonzero(seen)]
        fits = [fit_rows(rows[own] - mean, weights[own]) for own, mean in parts]
        residuals, least = np.array([fit.residual[0, 0] for fit in fits]), _rounding([*real, child], columns)
    if not (residuals > least * scatters[seen, -1, -1]).all():
        if columns.is_expected:  # there is another structure for the rows themselves
            return Fit(-math.inf, num_parameters, share)
        raise DataError(determined(child, parents, columns))
    n = counts[seen]
    return Fit(float(-0.5 * (n * (np.log(2 * np.pi * residuals / n) + 1)).sum()), num_parameters, share)


def residual_sums(scatters: Floats) -> Floats:
    """The residual sum of squares of the last variable given the others, from lower triangles of scatter matrices."""
    if scatters.shape[-1] == 1:
        return np.asarray(scatters[..., 0, 0])
    return np.asarray(_shares_left(scatters)[..., -1] * scatters[..., -1, -1])


def near_dependent(scatters: Floats) -> Bools:
    """Whether some variable has so little that those before do not explain that scatter matrices lost its digits."""
    if scatters.shape[-1] == 1:
        return np.zeros(len(scatters), np.bool_)
    return np.asarray(_shares_left(scatters).min(axis=-1) < NEAR)


def _shares_left(scatters: Floats) -> Floats:
    """The share of each variable's sum of squares that those before it leave; zeros if rounding has eaten one."""
    whole = np.tril(scatters) + np.swapaxes(np.tril(scatters, -1), -1, -2)
    scale = np.sqrt(np.maximum(np.diagonal(whole, axis1=-2, axis2=-1), np.finfo(float).tiny))
    try:
        factor = np.linalg.cholesky(whole / scale[..., :, None] / scale[..., None, :])
    except np.linalg.LinAlgError:
        return np.zeros(scatters.shape[:-1])
    return np.asarray(np.diagonal(factor, axis1=-2, axis2=-1) ** 2)


def _rounding(family: list[int], columns: Columns) -> float:
    """The share of a sum of squares that the rounding of the numbers of a family leaves."""
    spread = np.sqrt(np.nanmean(columns.values[family] ** 2, axis=1))
    away = np.divide(np.abs(columns.origins[family]), spread, out=np.zeros_like(spread), where=spread > 0)
    return float((ROUNDED + 16.0 * np.finfo(float).eps * away.sum()) ** 2)


def added_residuals(child: int, parents: tuple[int, ...], candidates: Ints, scatter: Floats) -> Floats:
    """The residual sum of squares of a real column given its parents and each candidate, from one scatter matrix.

    NaN where that has lost digits.
    """
    own, with_child, others = scatter[child, child], scatter[child, candidates], np.diagonal(scatter)[candidates]
    if parents:
        own, with_child, others = _given(scatter, list(parents), child, candidates)
    total = np.diagonal(scatter)[candidates]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = own - with_child**2 / others
    is_sure = (others > NEAR * total) & (found > NEAR * scatter[child, child])
    if parents and near_dependent(scatter[np.ix_(parents, parents)][None])[0]:
        is_sure[:] = False
    return np.where(is_sure, found, np.nan)


def _given(scatter: Floats, parents: list[int], child: int, candidates: Ints) -> tuple[float, Floats, Floats]:
    """The squares of a child that parents leave, its products with candidates, and their squares."""
    scale = np.sqrt(np.diagonal(scatter)[parents])
    inner = scatter[np.ix_(parents, parents)] / np.outer(scale, scale)
    cross = scatter[np.ix_(parents, [child, *candidates.tolist()])] / scale[:, None]
    gains = np.linalg.solve(inner, cross)
    own = scatter[child, child] - cross[:, 0] @ gains[:, 0]
    with_child = scatter[child, candidates] - cross[:, 0] @ gains[:, 1:]
    others = np.diagonal(scatter)[candidates] - np.einsum("ij,ij->j", cross[:, 1:], gains[:, 1:])
    return float(own), with_child, others


def determined(child: int, parents: tuple[int, ...], columns: Columns) -> str:
    """The message about a real column without variance of its own."""
    name = columns.names[child]
    if not parents:
        return f"The real column {name!r} is constant. Drop it, or give it as a discrete column."
    others = listing([columns.names[p] for p in parents])
    return (
        f"The real column {name!r} is determined by {others} up to rounding (they are collinear), so that its "
        "density is unbounded. Drop one of them, or forbid the edges."
    )


def _num_rows(places: Ints, size: int) -> Ints:
    return np.bincount(places, minlength=size)
