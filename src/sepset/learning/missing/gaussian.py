r"""The maximum likelihood normal distribution of real columns with missing cells, by EM.

A joint normal distribution is a network in which each column is regressed on all before it, with
$\Sigma = L D L^\top$ and $M = I - L^{-1}$:

$$x_i = \mu_i + \sum_{j<i} M_{ij} (x_j - \mu_j) + \varepsilon_i, \qquad \varepsilon_i \sim N(0, D_i),$$

and its inference engine finds the expected moments of incomplete rows. Rows that miss the same cells enter by their
number, mean and scatter alone.

Reference: Koller & Friedman, section 19.2.2; Little & Rubin (2019), section 11.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import abandonable
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.data.missingness import members, patterns_of
from sepset.engine.engine import Engine
from sepset.errors import DataError
from sepset.factors.canonical import Cholesky
from sepset.factors.regression import Regression
from sepset.inference.capabilities import summed_marginals, with_values
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Real

FEW = 256
"""The columns up to which an eigendecomposition takes a moment."""


class PatternMoments(NamedTuple):
    """The rows that observe one set of columns: which, their number (or weight), mean and centered scatter."""

    observed: Ints
    total: float
    mean: Floats
    scatter: Floats


class IncompleteGaussian(NamedTuple):
    """A mean, a covariance, and whether EM converged."""

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
    first, which = patterns_of(observed)
    found = []
    for seen, every in zip(observed[first], members(which, len(first)), strict=True):
        rows, columns = every[share[every] > 0], np.flatnonzero(seen)
        if len(columns) and len(rows):
            found.append(_moments(columns, values[np.ix_(rows, columns)], share[rows]))
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
        tolerance: the largest change of a parameter, relative to the columns' spread, at which EM stops.
        steps: the most iterations.

    Cost: for each iteration and pattern, about twice as many rows as it observes columns, whatever the number of rows.

    >>> rows = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 5.0], [5.0, np.nan]])
    >>> incomplete_gaussian(pattern_moments(rows), 2).mean.round(6).tolist()
    [2.75, 4.791667]
    """
    center, spread = _start(parts, size)
    rows, weights = _rows_with(parts, center, spread)
    reals = tuple(Real(f"x{i}") for i in range(size))
    lines = (LinearGaussian.standard(x, reals[:i]) for i, x in enumerate(reals))
    prepared = Engine(BayesNet(*lines)).prepared
    mu, sigma = np.zeros(size), np.eye(size)
    converged = False
    for _ in range(steps):
        at = with_values(prepared, _regressions(reals, mu, sigma))
        products = summed_marginals(at, rows, weights, Workers(1)).factors[-1][0]
        mean = products[0, 1:] / products[0, 0]
        covariance = products[1:, 1:] / products[0, 0] - np.outer(mean, mean)
        change = max(np.abs(mean - mu).max(initial=0.0), np.abs(covariance - sigma).max(initial=0.0))
        mu, sigma = mean, covariance
        if change <= tolerance:
            converged = True
            break
    return IncompleteGaussian(center + spread * mu, sigma * np.outer(spread, spread), converged)


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


def _rows_with(parts: Sequence[PatternMoments], center: Floats, spread: Floats) -> tuple[EvidenceRows, Floats]:
    r"""Few weighted rows, of scaled columns, that have the moments of each pattern.

    With $S = \sum_{j \le r} \lambda_j v_j v_j^\top$ they are $\bar{\mathbf x} \pm \sqrt{r \lambda_j / n}\, v_j$.
    """
    rows, weights = [np.zeros((0, len(center)))], [np.zeros(0)]
    for part in parts:
        at = spread[part.observed]
        scaled = part.scatter / np.outer(at, at)
        values, vectors = abandonable(partial(np.linalg.eigh, scaled)) if len(at) > FEW else np.linalg.eigh(scaled)
        free = values > 1e-14 * part.total
        steps = vectors[:, free].T * np.sqrt(free.sum() * values[free] / part.total)[:, None]
        apart = np.concatenate([steps, -steps]) if free.any() else np.zeros((1, len(at)))
        made = np.full((len(apart), len(center)), np.nan)
        made[:, part.observed] = (part.mean - center[part.observed]) / at + apart
        rows.append(made)
        weights.append(np.full(len(apart), part.total / len(apart)))
    reals = np.concatenate(rows)
    found = EvidenceRows((), np.zeros((len(reals), 0), np.int32), tuple(range(len(center))), reals)
    return found, np.concatenate(weights)


def _regressions(reals: tuple[Real, ...], mu: Floats, sigma: Floats) -> list[Regression]:
    """Each column given all before it."""
    root = _root(sigma)
    scale = np.diagonal(root)
    slopes = np.eye(len(mu)) - np.linalg.solve(root / scale, np.eye(len(mu)))
    starts, noise = (mu - slopes @ mu)[:, None, None], (scale**2)[:, None, None, None]
    return [
        Regression.of(x, reals[:i], (), starts[i], slopes[None, None, i, :i], noise[i]) for i, x in enumerate(reals)
    ]


def solve(covariance: Floats, right: Floats) -> Floats:
    """The solution of a linear system in a covariance; a singular one is refused."""
    _root(covariance)
    return np.asarray(np.linalg.solve(covariance, right), dtype=np.float64)


def _root(covariance: Floats) -> Floats:
    """The Cholesky factor of a covariance; a singular one is refused."""
    chol = Cholesky.of(covariance[None])
    if not chol.definite[0]:
        raise DataError(
            "Some real columns are linear functions of others (or rows are too few to tell), so that their covariance "
            "is singular. Leave one of them out."
        )
    return np.asarray(chol.lower[0] / chol.scale[0][:, None])
