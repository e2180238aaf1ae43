r"""How well an answer about real variables solves its own equations.

Let $\varepsilon_i = x_i - a_i - \sum_j b_{ij} x_j$ be the residual of each regression, $w_i$ its coefficients of the
hidden numbers (one for a hidden child, $-b_{ij}$ for a hidden parent), and $c_i$ its variance. The posterior mean
$\hat{\mathbf z}$ and covariance $\Sigma$ of the hidden numbers satisfy, with any vector $v$ and $s = \Sigma v$,

$$\sum_i w_i \frac{\varepsilon_i(\hat{\mathbf z})}{c_i} = 0, \qquad \sum_i w_i \frac{w_i^\top s}{c_i} = v, \qquad
\log p(\mathbf o) = \log p(\mathbf o, \hat{\mathbf z}) - \log p(\hat{\mathbf z} \mid \mathbf o).$$

Each is measured relative to the sum of the absolute values of its terms, for which a few units of rounding are the
best that is possible; where these are themselves differences of larger terms, relative to those, and covariances
relative to a small share of their prior size. A regression without noise must hold by itself; equations that it takes
part in have an unknown multiplier and are left out, and so is the third equation. The rounding errors of the log
densities, which the sweep bounds in every context (`conditioning`), count with the probability of the context.

A small residual does not mean a small error. In contexts whose errors were looked into (`precision`), what is left of
the error itself is the residual.

Reference: Oettli & Prager (1964); Higham (2002), Accuracy and stability of numerical algorithms, section 7.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.logarithms import LOG_2PI
from sepset.factors.canonical import EPS
from sepset.inference.gaussian.components import Component
from sepset.inference.gaussian.conditioning import MISSING
from sepset.inference.hybrid.posteriors import Posterior

ROUNDING = 1e-9
"""A residual above this is measured again, relative to the largest terms of the whole computation."""

PRIOR_SHARE = 1e-7
"""The share of its prior size below which a covariance counts as this share."""

MOST_STATES = 8
"""The number of contexts, the most probable ones, in which equations are checked."""


@np.errstate(over="ignore", invalid="ignore")
def residual(posterior: Posterior, targets: Ints, log_shares: Floats) -> float:
    """The largest relative residual of a posterior, in its most probable contexts.

    Args:
        targets: coordinates of the problem whose covariances were asked for.
        log_shares: the log probability of each joint state of the contexts.
    """
    states = np.argsort(-log_shares, kind="stable")[:MOST_STATES]
    states = np.sort(states[log_shares[states] > -np.inf])
    known = float(np.fmax.reduce(posterior.error[states], initial=0.0))
    states = states[np.isnan(posterior.error[states])]
    return max(known, _rounding(posterior, log_shares), _backward(posterior, targets, states) if len(states) else 0.0)


def _backward(posterior: Posterior, targets: Ints, states: Ints) -> float:
    """The largest relative residual of the equations in some contexts."""
    component = posterior.component
    signs = np.where(np.isin(component.hidden, targets), 1.0 - 2.0 * (np.arange(len(component.hidden)) % 2), 0.0)
    equations = Equations(component, states)
    own = equations.log_density(posterior, states)
    if not len(component.hidden):
        return own
    values, products = posterior.values[states], posterior.products(states, signs)
    found = max(
        equations.mean(values, np.abs(values)),
        equations.covariance(products, np.abs(products), signs),
    )
    if found > ROUNDING:
        found = max(
            equations.mean(values, equations.magnitudes(values)),
            equations.covariance(products, np.abs(products) + equations.prior_products(signs), signs),
        )
    return max(found, own)


def _rounding(posterior: Posterior, log_shares: Floats) -> float:
    """The error of the log density that rounding may have caused; relative to its size if there is one context."""
    live = log_shares > -np.inf
    if live.sum() == 1:
        return float(posterior.loss[live][0] / max(1.0, abs(posterior.log_density[live][0])))
    error = np.expm1(np.minimum(posterior.loss[live], 50.0))
    return min(1.0, float((np.exp(log_shares[live]) * error).sum()))


def canonical_loss(component: Component, found: Mapping[int, float]) -> float:
    r"""A bound of the loss of digits in canonical form: $\epsilon \max_i K_{ii} \Sigma_{ii}$, or that of a log density.

    It is taken in the first of the contexts; deviations are bounded by sums of absolute values. Log densities are sums
    of squares such as $x^2 / c$ and $a^2 / c$, of which only $(x - a)^2 / c$ is left.

    Args:
        found: the observed numbers, by coordinate of the whole problem.
    """
    equations = Equations(component, np.zeros(1, np.int64))
    known = np.array([found.get(i, 0.0) for i in component.places.tolist()])
    return max(equations.canonical_loss() if len(component.hidden) else 0.0, equations.log_loss(known))


@dataclass(frozen=True, eq=False)
class Equations:
    """The regressions of a part in some of its contexts."""

    component: Component
    states: Ints

    @lazy
    def _edges(self) -> tuple[Ints, Ints, Floats]:
        """The child, the parent and (for each state) the slope of every arc."""
        start, above, _, slope_first = self.component.coordinates.flat.structure
        count = np.diff(start)
        child = np.repeat(np.arange(len(count)), count)
        number = np.arange(len(above)) - start[child]
        entry = self.component.entries(self.states)
        at = slope_first[child] + entry[:, child] * count[child] + number
        return child, above, self.component.coordinates.flat.slopes[at]

    @lazy
    def _own(self) -> tuple[Floats, Floats]:
        """The intercept and the variance of every regression in each state."""
        flat = self.component.coordinates.flat
        at = flat.structure[2] + self.component.entries(self.states)
        return flat.intercept[at], flat.variance[at]

    @lazy
    def _is_hidden(self) -> Bools:
        return np.asarray(self.component.kinds == MISSING)

    @lazy
    def _is_used(self) -> Bools:
        """Which coordinates are regressions of this part."""
        return self.component.kinds > 0

    def _fitted(self, values: Floats) -> tuple[Floats, Floats]:
        """The sums over the parents of slope times value, and of their absolute values."""
        child, parent, slope = self._edges
        terms = slope * values[:, parent]
        return _summed(terms, child, values.shape[1]), _summed(np.abs(terms), child, values.shape[1])

    def _gradient(self, error: Floats, scale: Floats) -> tuple[Floats, Floats, Bools]:
        r"""$\sum_i w_i e_i / c_i$, the sum of its absolute terms, and the equations without a deterministic part."""
        child, parent, slope = self._edges
        variance = np.where(self._is_used, self._own[1], 1.0)
        noisy = variance > 0
        safe = np.where(noisy, variance, 1.0)
        num = error.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            push, most = (np.where(noisy & self._is_used, x / safe, 0.0) for x in (error, scale))
            total = push - _summed(slope * push[:, child], parent, num)
            terms = most + _summed(np.abs(slope) * most[:, child], parent, num)
        touched = ~noisy | (_summed((~noisy[:, child] & (slope != 0.0)).astype(np.float64), parent, num) > 0)
        return total, terms, ~touched & self._is_hidden

    def magnitudes(self, values: Floats) -> Floats:
        """For each coordinate the sum of the absolute terms that its expectation is made of."""
        return self._accumulated(np.abs(values) + np.where(self._is_hidden, np.abs(self._own[0]), 0.0), self._is_hidden)

    def prior_products(self, signs: Floats) -> Floats:
        r"""A share of a bound of $\Sigma v$ before anything is observed."""
        own = np.where(self._is_used, np.sqrt(self._own[1]), 0.0)
        deviation = self._accumulated(own, self._is_used)[:, self._is_hidden]
        return PRIOR_SHARE * deviation * (deviation @ np.abs(signs))[:, None]

    def canonical_loss(self) -> float:
        r"""$\epsilon \max_i K_{ii} \Sigma_{ii}$ over hidden coordinates, with a bound of the prior variance."""
        _, parent, slope = self._edges
        child, variance = self._edges[0], np.where(self._is_used, self._own[1], np.inf)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            precision = 1.0 / variance + _summed(slope**2 / variance[:, child], parent, variance.shape[1])
            own = np.where(self._is_used, np.sqrt(self._own[1]), 0.0)
            products = precision * self._accumulated(own, self._is_used) ** 2
        worst = np.max(products[:, self._is_hidden], initial=0.0)
        return float(EPS * worst) if np.isfinite(worst) else np.inf

    @np.errstate(divide="ignore", over="ignore", invalid="ignore")
    def log_loss(self, found: Floats) -> float:
        r"""$\epsilon$ times the sum of the squares that a log density in canonical form is made of."""
        sizes = self.magnitudes(np.where(self._is_hidden, 0.0, found)[None])
        terms = (sizes + np.abs(self._own[0]) + self._fitted(sizes)[1]) ** 2 / self._own[1]
        total = float(EPS * terms[:, self._is_used].sum())
        return total if np.isfinite(total) else np.inf

    def _accumulated(self, sizes: Floats, where: Bools) -> Floats:
        """For each coordinate its own size and those of its parents times their slopes, parents first."""
        _, parent, slope = self._edges
        start, steep = self.component.coordinates.flat.structure[0].tolist(), np.abs(slope)
        for i in np.flatnonzero(where).tolist():
            if start[i + 1] > start[i]:
                own = slice(start[i], start[i + 1])
                sizes[:, i] += (steep[:, own] * sizes[:, parent[own]]).sum(axis=1)
        return sizes

    def mean(self, values: Floats, sizes: Floats) -> float:
        """The relative residual of the mean: of relations without noise, and of the gradient at it."""
        intercept, variance = self._own
        fitted, terms = self._fitted(values)[0], self._fitted(sizes)[1]
        error, scale = values - intercept - fitted, sizes + np.abs(intercept) + terms
        total, most, free = self._gradient(error, scale)
        relation = self._is_used & (variance == 0)
        return max(_largest(error, scale, relation), _largest(total, most, free))

    def covariance(self, products: Floats, sizes: Floats, signs: Floats) -> float:
        r"""The relative residual of $s = \Sigma v$."""
        values, most_values = np.zeros((2, len(products), len(self._is_hidden)))
        values[:, self._is_hidden], most_values[:, self._is_hidden] = products, sizes
        wanted = np.zeros(len(self._is_hidden))
        wanted[self._is_hidden] = signs
        fitted, terms = self._fitted(values)[0], self._fitted(most_values)[1]
        error, scale = values - fitted, most_values + terms
        total, most, free = self._gradient(error, scale)
        relation = self._is_used & (self._own[1] == 0)
        return max(_largest(error, scale, relation), _largest(total - wanted, most + np.abs(wanted), free))

    def log_density(self, posterior: Posterior, states: Ints) -> float:
        """The relative difference of the log density from that of everything less that of the hidden numbers."""
        intercept, variance = self._own
        values = posterior.values[states]
        used = self._is_used & (variance > 0)
        if not (self._is_used & ~self._is_hidden).any() or (self._is_used & ~used).any():
            return 0.0
        safe = np.where(used, variance, 1.0)
        fitted, size = self._fitted(values)
        slack = 4.0 * EPS * (np.abs(values) + np.abs(intercept) + size)
        error = np.maximum(np.abs(values - intercept - fitted) - slack, 0.0)
        parts = np.where(used, -0.5 * (LOG_2PI + np.log(safe) + error**2 / safe), 0.0)
        peak, _ = posterior.log_peaks(posterior.component.hidden)
        terms = np.abs(parts).sum(axis=1) + np.abs(peak[states]) + np.abs(posterior.log_density[states])
        gap = np.abs(parts.sum(axis=1) - peak[states] - posterior.log_density[states])
        rounding = np.where(used, (error + slack) / safe * slack, 0.0).sum(axis=1)  # of this very check
        return _largest(np.maximum(gap - rounding, 0.0), np.maximum(terms, 1.0), np.ones(len(states), np.bool_))


def _summed(terms: Floats, place: Ints, size: int) -> Floats:
    """The sums of the columns of terms that have the same place."""
    rows = np.arange(len(terms))[:, None] * size + place
    found = np.bincount(rows.reshape(-1), terms.reshape(-1), len(terms) * size)
    return np.asarray(found, np.float64).reshape(len(terms), size)


def _largest(error: Floats, scale: Floats, where: Bools) -> float:
    """The largest ratio of error to scale, where asked and within the range of floats; 0/0 is zero."""
    counted = where & (scale > 0) & np.isfinite(scale) & np.isfinite(error)
    error = np.where(counted, error, 0.0)
    return float(np.max(np.abs(error) / np.where(counted, scale, 1.0), where=counted, initial=0.0))
