r"""Rows of numbers with a Gaussian kernel on each: their densities, and the width that predicts held-out rows best.

All sums are computed from logarithms: far from all data every kernel underflows, but their ratios do not.

Reference: Koller & Friedman, box 17.B; Hofmann & Tresp (1995).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import finite_array
from sepset.base.frozen import fill, read_only
from sepset.base.logarithms import LOG_2PI, log_sum
from sepset.data.scatter import Scatter
from sepset.errors import DataError, ModelError, TooLarge

CELLS = 1_000_000
"""The largest number of pairs of rows and kernels in memory at a time."""

MOST_KERNELS = 200_000_000_000
"""The largest number of kernels that are evaluated for one request, about an hour."""

EVALUATIONS = 40
"""About how often the rows are scored to choose a width."""

WIDTHS = np.logspace(-4.0, 1.5, 23)
"""The widths tried first, in standard deviations."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Samples:
    """Weighted rows in each context: the statistics of a kernel density; `+` concatenates them.

    >>> (Samples.of([[1.0], [2.0]]) + Samples.of([[3.0]])).num_rows
    3
    """

    points: tuple[Floats, ...]
    weights: tuple[Floats, ...]

    def __init__(self, points: tuple[Floats, ...], weights: tuple[Floats, ...]) -> None:
        fill(self, points=tuple(map(read_only, points)), weights=tuple(map(read_only, weights)))

    @classmethod
    def of(
        cls, rows: ArrayLike, weights: ArrayLike | None = None, *, context: Ints | None = None, num_contexts: int = 1
    ) -> Samples:
        """The rows of each context, without those of weight zero."""
        x = np.asarray(rows, dtype=np.float64)
        share = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
        place = np.zeros(len(x), np.int64) if context is None else context
        if x.ndim != 2 or not np.isfinite(x).all():
            raise DataError(f"Kernels need complete finite rows; found the shape {x.shape} or other cells.")
        parts = [(place == c) & (share > 0) for c in range(num_contexts)]
        return cls(tuple(x[at] for at in parts), tuple(share[at] for at in parts))

    @property
    def num_rows(self) -> int:
        """The number of rows in all contexts."""
        return sum(len(p) for p in self.points)

    @property
    def size(self) -> int:
        """The number of columns."""
        return int(self.points[0].shape[1])

    def scatter(self, context: int) -> Scatter:
        """The count, mean and centered products of one context's rows."""
        return Scatter.of(self.points[context], self.weights[context])

    def deviations(self) -> Floats:
        """The standard deviation of each column within contexts; one where a column never varies."""
        scatters = [self.scatter(c) for c in range(len(self.points))]
        squares = sum((np.diagonal(s.products) for s in scatters), np.zeros(self.size))
        count = max(sum(s.count for s in scatters), 1e-300)
        found = np.sqrt(squares / count)
        return np.where(found > 0, found, 1.0)

    def __add__(self, other: Samples) -> Samples:
        if len(self.points) != len(other.points) or self.size != other.size:
            raise DataError(f"{self!r} and {other!r} are about different columns or contexts.")
        points = zip(self.points, other.points, strict=True)
        weights = zip(self.weights, other.weights, strict=True)
        return Samples(tuple(map(np.concatenate, points)), tuple(map(np.concatenate, weights)))

    def __repr__(self) -> str:
        return f"Samples({self.num_rows} rows, {self.size} columns, {len(self.points)} contexts)"


def log_kernels(at: Floats, points: Floats, width: Floats) -> Floats:
    r"""$\log\prod_i N(x_i; x_i[m]; \alpha_i^2)$: one row per point of `at`, one column per kernel.

    >>> log_kernels(np.zeros((1, 1)), np.zeros((1, 1)), np.ones(1)).round(6).tolist()
    [[-0.918939]]
    """
    total = np.zeros((len(at), len(points)))
    for i, alpha in enumerate(width):
        apart = (at[:, i, None] - points[:, i]) / alpha
        total -= 0.5 * apart * apart
    return np.asarray(total - np.log(width).sum() - 0.5 * len(width) * LOG_2PI)


def log_normalized(logs: Floats) -> Floats:
    """Each row of log weights minus the logarithm of their sum.

    The largest is subtracted first: far from all data it is so large that the others would lose their digits.

    >>> np.exp(log_normalized(np.array([[-1e12, -1e12]]))).tolist()
    [[0.5, 0.5]]
    """
    apart = logs - logs.max(axis=1, keepdims=True)
    return np.asarray(apart - np.log(np.exp(apart).sum(axis=1, keepdims=True)))


def check_kernels(number: int, advice: str) -> None:
    """Raise if so many pairs of a row and a kernel would take hours.

    >>> check_kernels(10**6, "")
    """
    if number > MOST_KERNELS:
        raise TooLarge(
            f"{number:,} kernels are to be evaluated, one for each pair of a row scored and a row stored, which takes "
            f"hours; the limit is {MOST_KERNELS:,}. {advice}"
        )


def chunks(num_rows: int, num_points: int) -> Iterator[slice]:
    """Consecutive ranges of rows with at most `CELLS` pairs of rows and kernels each."""
    step = max(CELLS // max(num_points, 1), 1)
    return (slice(start, min(start + step, num_rows)) for start in range(0, num_rows, step))


def held_out_log_likelihood(samples: Samples, width: Floats, split: int, folds: list[Ints] | None = None) -> float:
    r"""The total log density of each row's last columns given the first, under the kernels of other rows only.

    $$\sum_m w_m \log \tilde p_{-m}(\mathbf y[m] \mid \mathbf u[m])$$

    Args:
        samples: the rows.
        width: one per column.
        split: the number of leading columns, which are conditioned on.
        folds: the part each row belongs to, by context; by default every row is a part of its own (leave-one-out). A
            row is scored by the rows of other parts; rows without any are not scored.

    >>> samples = Samples.of([[0.0], [1.0], [3.0]])
    >>> round(held_out_log_likelihood(samples, np.array([1.9019]), 0), 4)
    -6.395
    """
    total = 0.0
    for c, (points, weights) in enumerate(zip(samples.points, samples.weights, strict=True)):
        labels = np.arange(len(points)) if folds is None else folds[c]
        log_weights = np.log(weights)
        for part in chunks(len(points), len(points)):
            other = labels[part, None] != labels
            scored = other.any(axis=1)
            x, share = points[part][scored], np.where(other, log_weights, -np.inf)[scored]
            above = log_normalized(share + log_kernels(x[:, :split], points[:, :split], width[:split]))
            score = log_sum(above + log_kernels(x[:, split:], points[:, split:], width[split:]), 1)
            total += float(weights[part][scored] @ score)
    return total


def best_width(
    samples: Samples, split: int, *, scale: ArrayLike | None = None, folds: list[Ints] | None = None
) -> Floats:
    """The width of each column that maximizes the held-out log-likelihood: one factor times the columns' scales.

    The likelihood of the rows under their own kernels grows without bound as widths shrink, so rows are scored by the
    others. If each row has an exact copy even that grows without bound, which raises an error.

    Args:
        samples: at least two rows in some context.
        split: the number of leading columns, which are conditioned on.
        scale: the units of the columns; by default their standard deviations within contexts.
        folds: as in `held_out_log_likelihood`.

    Cost: about forty evaluations, each quadratic in the number of rows of a context.
    Reference: Koller & Friedman, box 17.B.

    >>> best_width(Samples.of([[0.0], [1.0], [3.0]]), 0).round(4).tolist()
    [1.9019]
    """
    from scipy.optimize import minimize_scalar

    check_kernels(EVALUATIONS * sum(len(p) ** 2 for p in samples.points), "Give width=, or learn from fewer rows.")
    if max(len(p) for p in samples.points) < 2:
        raise DataError(f"A width is chosen by scoring rows with others; {samples!r} has none. Give width=.")
    units = samples.deviations() if scale is None else finite_array("best_width", "scale", scale)
    if scale is not None and (units.shape != (samples.size,) or (units <= 0).any()):
        raise ModelError(f"scale= has a positive unit for each of {samples.size} columns; found {units.tolist()}.")

    def loss(log_width: float) -> float:
        return -held_out_log_likelihood(samples, units * math.exp(log_width), split, folds)

    grid = np.log(WIDTHS)
    losses = np.array([loss(w) for w in grid])
    place = int(losses.argmin())
    if place == 0:
        raise DataError(
            "The narrower the kernels, the better they predict held-out rows: rows repeat exactly, or the child does "
            "not vary. Collapse equal rows, or give width=."
        )
    ends = float(grid[place - 1]), float(grid[min(place + 1, len(grid) - 1)])
    found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-7})
    return np.asarray(units * math.exp(found.x if found.fun <= losses[place] else grid[place]))
