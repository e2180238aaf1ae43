r"""EM for a normal distribution with holes, many missingness patterns at once.

With $K = \Sigma^{-1}$, the missing part $\mathbf h$ of a row has, given the rest, the covariance $K_{hh}^{-1}$ and the
mean $\mu_h - K_{hh}^{-1} K_{ho} (\mathbf x_o - \mu_o)$. One inverse serves all patterns, and what each adds is as small
as the part it misses.

Reference: Koller & Friedman, section 7.1 (information form); Little & Rubin (2019), section 11.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints

LARGEST = 1 << 22
"""The most numbers that one batch works with."""

PRECISE = 1e6
"""The largest entry of an inverse correlation whose digits are trusted."""


class Pattern(Protocol):
    """The rows that observe one set of columns: which, how many, their mean and centered scatter."""

    @property
    def observed(self) -> Ints:
        """The columns."""

    @property
    def total(self) -> float:
        """The number of rows."""

    @property
    def mean(self) -> Floats:
        """The mean of each column."""

    @property
    def scatter(self) -> Floats:
        """The sum of squares and products about the mean."""


class Batch(NamedTuple):
    """Patterns that miss as many columns: which those are; over all columns the seen ones and their means; row counts.

    Patterns of more than one row have a scatter, and stand at the positions `spread`.
    """

    hidden: Ints
    seen: Bools
    mean: Floats
    total: Floats
    spread: Ints
    scatter: Floats


def batches(patterns: Sequence[Pattern], size: int) -> list[Batch]:
    """The patterns by the number of columns they miss.

    Args:
        patterns: the moments of each.
        size: the number of columns.
    """
    counts = np.array([size - len(p.observed) for p in patterns], np.int64)
    found = []
    for count in np.unique(counts):
        alike = [patterns[i] for i in np.flatnonzero(counts == count).tolist()]
        step = max(1, LARGEST // (size * (int(count) + 1)))
        found += [_batch(alike[i : i + step], size) for i in range(0, len(alike), step)]
    return found


def _batch(patterns: Sequence[Pattern], size: int) -> Batch:
    seen, mean = np.zeros((len(patterns), size), np.bool_), np.zeros((len(patterns), size))
    spread = np.array([i for i, p in enumerate(patterns) if p.scatter.any()], np.int64)
    scatter = np.zeros((len(spread), size, size))
    for i, pattern in enumerate(patterns):
        seen[i, pattern.observed] = True
        mean[i, pattern.observed] = pattern.mean
    for made, i in zip(scatter, spread, strict=True):
        made[np.ix_(patterns[i].observed, patterns[i].observed)] = patterns[i].scatter
    hidden = np.nonzero(~seen)[1].reshape(len(patterns), -1).astype(np.int64)
    return Batch(hidden, seen, mean, np.array([p.total for p in patterns]), spread, scatter)


def precision(sigma: Floats) -> Floats | None:
    """The inverse of a covariance of scaled columns, or None where too few digits of it would be right.

    >>> precision(np.array([[2.0, 0.0], [0.0, 0.5]])).tolist(), precision(np.ones((2, 2))) is None
    ([[0.5, 0.0], [0.0, 2.0]], True)
    """
    try:
        np.linalg.cholesky(sigma)
        found = _inverse(sigma)
    except np.linalg.LinAlgError:
        return None
    return found if np.abs(found).max(initial=0.0) <= PRECISE else None


def _inverse(matrices: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrices), dtype=np.float64)


def batched_step(parts: Sequence[Batch], mu: Floats, K: Floats) -> tuple[Floats, Floats]:
    """The mean and covariance after one step of EM.

    Args:
        parts: all patterns.
        mu: the mean before.
        K: the inverse of the covariance before.
    """
    total, first, second = 0.0, np.zeros(len(mu)), np.zeros(K.shape)
    for part in parts:
        inner = _inverse(K[part.hidden[:, :, None], part.hidden[:, None, :]])
        slopes = inner @ K[part.hidden]
        apart = np.where(part.seen, part.mean - mu, 0.0)
        filled = apart.copy()
        np.put_along_axis(filled, part.hidden, -(slopes @ apart[:, :, None])[:, :, 0], axis=1)
        total += part.total.sum()
        first += part.total @ filled
        second += (filled * part.total[:, None]).T @ filled + part.scatter.sum(axis=0)
        for places, values in _spreads(part, inner, slopes):
            np.add.at(second, places, values)
    moved = first / total
    return mu + moved, second / total - np.outer(moved, moved)


def _spreads(part: Batch, inner: Floats, slopes: Floats) -> Iterator[tuple[tuple[Ints, Ints], Floats]]:
    """What the spread of missing cells adds, and where: of each by itself, then with the scatter of seen ones."""
    hidden = part.hidden
    yield (hidden[:, :, None], hidden[:, None, :]), part.total[:, None, None] * inner
    if not len(part.spread):
        return
    some, slope = hidden[part.spread], slopes[part.spread]
    across = slope @ part.scatter
    everyone = np.arange(part.seen.shape[1])
    yield (some[:, :, None], everyone), -across
    yield (everyone, some[:, :, None]), -across
    yield (some[:, :, None], some[:, None, :]), across @ np.swapaxes(slope, 1, 2)
