r"""The maximum likelihood normal distribution of real columns with holes, by EM over missingness patterns.

In a row with observed part $\mathbf o$ and missing part $\mathbf h$ the expected cells are
$\hat{\mathbf x}_h = \mu_h + \Sigma_{ho}\Sigma_{oo}^{-1}(\mathbf x_o - \mu_o)$, with covariance
$\Sigma_{hh} - \Sigma_{ho}\Sigma_{oo}^{-1}\Sigma_{oh}$. Rows with one pattern enter by their number, mean and scatter
alone.

Reference: Koller & Friedman, section 19.2.2; Little & Rubin (2019), section 11.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.data.missingness import members
from sepset.errors import DataError
from sepset.learning.missing.patternbatches import batched_step, batches, precision


class PatternMoments(NamedTuple):
    """The rows that observe one set of columns: which, how many, their mean and centered scatter."""

    observed: Ints
    total: float
    mean: Floats
    scatter: Floats


class IncompleteGaussian(NamedTuple):
    """A mean, a covariance, and whether EM settled."""

    mean: Floats
    covariance: Floats
    converged: bool


def pattern_moments(values: Floats, weights: Floats | None = None) -> list[PatternMoments]:
    """The moments of each missingness pattern of a matrix with NaN; rows without a cell are left out.

    >>> [part.total for part in pattern_moments(np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]]))]
    [1.0, 2.0]
    """
    share = np.ones(len(values)) if weights is None else weights
    observed = ~np.isnan(values)
    kinds, which = np.unique(observed, axis=0, return_inverse=True)
    found = []
    for seen, every in zip(kinds, members(which.reshape(-1), len(kinds)), strict=True):
        rows = every[share[every] > 0]
        if seen.any() and len(rows):
            found.append(_moments(np.flatnonzero(seen), values[np.ix_(rows, np.flatnonzero(seen))], share[rows]))
    return found


def _moments(observed: Ints, values: Floats, weights: Floats) -> PatternMoments:
    total = float(weights.sum())
    mean = weights @ values / total
    apart = values - mean
    return PatternMoments(observed, total, mean, (apart * weights[:, None]).T @ apart)


def incomplete_gaussian(
    parts: Sequence[PatternMoments], size: int, *, tolerance: float = 1e-10, steps: int = 20_000
) -> IncompleteGaussian:
    r"""The mean and covariance that maximize $\prod_m N(\mathbf x_o[m];\, \mu_o, \Sigma_{oo})$.

    Args:
        parts: the moments of each pattern.
        size: the number of columns; each is observed in some pattern.
        tolerance: the largest change of a parameter, beside the columns' spread, at which EM stops.
        steps: the most iterations.

    Cost: one small solve a pattern and iteration, whatever the number of rows.

    >>> rows = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 5.0], [5.0, np.nan]])
    >>> incomplete_gaussian(pattern_moments(rows), 2).mean.round(6).tolist()
    [2.75, 4.791667]
    """
    mean, spread = _start(parts, size)
    scaled = [_scaled(part, mean, spread) for part in parts]
    together = batches(scaled, size)
    mu, sigma = np.zeros(size), np.eye(size)
    converged = False
    for _ in range(steps):
        K = precision(sigma)
        new_mu, new_sigma = _step(scaled, mu, sigma) if K is None else batched_step(together, mu, K)
        change = max(np.abs(new_mu - mu).max(initial=0.0), np.abs(new_sigma - sigma).max(initial=0.0))
        mu, sigma = new_mu, new_sigma
        if change <= tolerance:
            converged = True
            break
    return IncompleteGaussian(mean + spread * mu, sigma * np.outer(spread, spread), converged)


def _start(parts: Sequence[PatternMoments], size: int) -> tuple[Floats, Floats]:
    """The mean and spread of each column over the rows that observe it."""
    count, first, second = np.zeros(size), np.zeros(size), np.zeros(size)
    for part in parts:
        count[part.observed] += part.total
        first[part.observed] += part.total * part.mean
    mean = first / count
    for part in parts:
        second[part.observed] += np.diag(part.scatter) + part.total * (part.mean - mean[part.observed]) ** 2
    return mean, np.sqrt(second / count)


def _scaled(part: PatternMoments, mean: Floats, spread: Floats) -> PatternMoments:
    at = spread[part.observed]
    return part._replace(mean=(part.mean - mean[part.observed]) / at, scatter=part.scatter / np.outer(at, at))


def _step(parts: Sequence[PatternMoments], mu: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """One step of EM, pattern by pattern: needs no more than that the observed columns of each are independent."""
    size = len(mu)
    total, first, second = 0.0, np.zeros(size), np.zeros((size, size))
    for part in parts:
        mean, scatter = _completed(part, mu, sigma)
        total += part.total
        first += part.total * mean
        second += scatter + part.total * np.outer(mean, mean)
    new = first / total
    return new, second / total - np.outer(new, new)


def _completed(part: PatternMoments, mu: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """The expected mean and scatter of all columns over the rows of one pattern."""
    seen = part.observed
    hidden = np.setdiff1d(np.arange(len(mu)), seen)
    B = np.zeros((len(mu), len(seen)))
    B[seen, np.arange(len(seen))] = 1.0
    inner = solve(sigma[np.ix_(seen, seen)], sigma[np.ix_(seen, hidden)])
    B[hidden] = inner.T
    mean = mu + B @ (part.mean - mu[seen])
    scatter = B @ part.scatter @ B.T
    scatter[np.ix_(hidden, hidden)] += part.total * (
        sigma[np.ix_(hidden, hidden)] - sigma[np.ix_(hidden, seen)] @ inner
    )
    return mean, scatter


def solve(covariance: Floats, right: Floats) -> Floats:
    """The solution of a linear system in a covariance; a singular one is refused."""
    try:
        np.linalg.cholesky(covariance)
        return np.asarray(np.linalg.solve(covariance, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise DataError(
            "Some real columns are linear functions of others (or rows are too few to tell), so that their covariance "
            "is singular. Leave one of them out."
        ) from None
