r"""The hidden numbers of one part of a network given the observed ones, in every state of its contexts.

In each state they are $\mathbf z = \hat{\mathbf z} + F \mathbf e$ with independent noise
$\mathbf e \sim N(0, \operatorname{diag} D)$ and unit triangular $F$, so that the covariance of some of them is
$F_R D F_R^\top$, a sum without subtraction, and the largest density of all of them is
$\prod_j (2 \pi D_j)^{-1/2}$.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.logarithms import LOG_2PI
from sepset.factors.canonical import EPS
from sepset.inference.gaussian.components import Component
from sepset.inference.gaussian.conditioning import MISSING, CompletedRows, Spread, require_range
from sepset.inference.gaussian.precision import SharpRows

SMALL = 1e-200
"""Noise below this or above its inverse is divided among both factors of a product."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The hidden numbers of a part, in every joint state of its contexts.

    Attributes:
        component: the part.
        values: the numbers of the part, hidden ones at their expectation; one row per joint state.
        log_density: the log density of the observed numbers in each state.
        exact: the number of observed values that follow without noise from others, in each state.
        loss: a bound of the rounding error of the log density in each state.
        error: the relative error of moments and log density in each state that was looked into; NaN elsewhere.

    Reference: Bierman (1977); Koller & Friedman theorem 7.4.
    Guarantee: exact; small noise keeps its digits.
    Tested by: claims/test_gaussian_digits.py::test_random_networks_with_noise_of_many_scales
    """

    component: Component
    values: Floats = field(repr=False)
    log_density: Floats = field(repr=False)
    exact: Ints = field(repr=False)
    loss: Floats = field(repr=False)
    error: Floats = field(repr=False)

    @classmethod
    def of(cls, component: Component, values: Mapping[int, float]) -> Posterior:
        """The posterior given observed values, by coordinate of the whole problem.

        Cost: for each state and coordinate, the square of the number of hidden ones, once for a set of observed ones.
        """
        known = np.array([values.get(i, np.nan) for i in component.places.tolist()])
        rows = np.tile(known, (component.num_states, 1))
        (logs, loss, error), exact = np.empty((3, len(rows))), np.empty(len(rows), np.int64)
        for part, spread in component.spreads():
            group = np.arange(part.stop - part.start)
            found = CompletedRows.given(component.coordinates, spread, rows[part], group)
            done = SharpRows.of(component.coordinates, found, rows[part])
            rows[part], logs[part], exact[part] = done.values, done.log_density, done.exact
            loss[part], error[part] = done.loss, done.error
        _check_range(component, rows, logs)
        return cls(component, rows, logs, exact, loss, error)

    @lazy
    def _row(self) -> dict[int, int]:
        """The place of each hidden coordinate among the hidden ones."""
        return {int(i): row for row, i in enumerate(self.component.hidden)}

    def _rows(self, coordinates: Ints) -> list[int]:
        return [self._row[int(i)] for i in coordinates]

    def means(self, coordinates: Ints) -> Floats:
        """The expectations of hidden coordinates, one row per state."""
        hidden = self.values[:, self.component.kinds == MISSING]
        return np.asarray(hidden[:, self._rows(coordinates)])

    def covariances(self, coordinates: Ints) -> Floats:
        """The covariance of hidden coordinates in each state."""
        rows, size = self._rows(coordinates), len(coordinates)
        found = np.empty((len(self.values), size, size))
        for part, spread in self.component.spreads():
            F, D = _loadings(spread, rows)
            with np.errstate(over="ignore", invalid="ignore"):
                left, right = _weighed(F, D)
                found[part] = left @ right.swapaxes(1, 2)
        require_range(found)
        return found

    @lazy
    def variances(self) -> Floats:
        """The variance of every hidden coordinate in each state."""
        size = len(self.component.hidden)
        found = np.empty((len(self.values), size))
        for part, spread in self.component.spreads():
            F, D = _loadings(spread, list(range(size)))
            with np.errstate(over="ignore", invalid="ignore"):
                found[part] = (F * D[:, None, :] * F).sum(axis=2)
        return found

    def single(self, coordinate: int) -> tuple[Floats, Floats]:
        """The mean and the variance of one hidden coordinate in each state."""
        place = int(np.flatnonzero(self.component.places == coordinate)[0])
        variance = self.variances[:, self._row[coordinate]]
        require_range(variance)
        return self.values[:, place], variance

    def products(self, states: Ints, vector: Floats) -> Floats:
        r"""$\Sigma v$ in some states, for a vector with one number per hidden coordinate."""
        found = np.empty((len(states), len(vector)))
        for part, spread in self.component.spreads():
            at = np.flatnonzero((states >= part.start) & (states < part.stop))
            F, D = (x[states[at] - part.start] for x in _loadings(spread, list(range(len(vector)))))
            with np.errstate(over="ignore", invalid="ignore"):
                found[at] = np.einsum("sij,sj->si", F, D * (vector @ F))
        return found

    def log_peaks(self, coordinates: Ints) -> tuple[Floats, Ints]:
        """In each state the log density of hidden coordinates at their mean, and the number of them without noise."""
        rows = self._rows(coordinates)
        logs, exact = np.empty(len(self.values)), np.empty(len(self.values), np.int64)
        for part, spread in self.component.spreads():
            logs[part], exact[part] = _peaks(*_loadings(spread, rows))
        return logs, exact

    def draws(self, states: Ints, rng: np.random.Generator) -> Floats:
        """A draw of all hidden coordinates for each of these states."""
        drawn = self.values[states][:, self.component.kinds == MISSING]
        for part, spread in self.component.spreads():
            F, D = _loadings(spread, list(range(drawn.shape[1])))
            at = np.flatnonzero((states >= part.start) & (states < part.stop))
            for state in np.unique(states[at]).tolist():
                rows, own = at[states[at] == state], state - part.start
                noise = np.sqrt(D[own]) * rng.standard_normal((len(rows), drawn.shape[1]))
                drawn[rows] += noise @ F[own].T
        return np.asarray(drawn)


def _loadings(spread: Spread, rows: list[int]) -> tuple[Floats, Floats]:
    """$F_R$ and $D$ in each state: all groups of a part have the same hidden coordinates."""
    num = len(spread.groups.kinds)
    size = int(spread.groups.begin[-1]) // max(1, num)
    return spread.loadings.reshape(num, size, size)[:, rows], spread.noise.reshape(num, size)


def _weighed(F: Floats, D: Floats) -> tuple[Floats, Floats]:
    r"""Two matrices whose product is $F D F^\top$; each has half of the noise if products may leave the range."""
    if D.min(initial=1.0, where=D > 0) > SMALL and D.max(initial=1.0) < 1.0 / SMALL:
        return F * D[:, None, :], F
    half = np.ldexp(1.0, np.frexp(D)[1] // 2)  # a power of two: nothing rounds
    return F * (D / half)[:, None, :], F * half[:, None, :]


def _peaks(F: Floats, D: Floats) -> tuple[Floats, Ints]:
    r"""$-\tfrac12 \log \det 2 \pi F D F^\top$ over the dimensions with noise, and the number of those without."""
    size, width = F.shape[1:]
    if size == width:
        pivots = np.sqrt(D)
    else:
        roots = F * np.sqrt(D)[:, None, :]
        pivots = np.abs(np.diagonal(np.linalg.qr(roots.swapaxes(1, 2), mode="r"), axis1=1, axis2=2))
        pivots = np.where(pivots > 16.0 * width * EPS * np.linalg.norm(roots, axis=2), pivots, 0.0)
    free = pivots > 0
    logs = np.where(free, -0.5 * LOG_2PI - np.log(np.where(free, pivots, 1.0)), 0.0)
    return logs.sum(axis=1), np.asarray((~free).sum(axis=1), np.int64)


def _check_range(component: Component, values: Floats, logs: Floats) -> None:
    """Raise if numbers left the range of float64; impossible values have the log density of minus infinity."""
    spread_ends = [spread.variance for _, spread in component.spreads()] if component.size else []
    require_range(values, np.where(logs == -np.inf, 0.0, logs), *spread_ends)
