r"""Gaussians and mixtures of Gaussians by their moments: the answers of continuous and hybrid models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.axes import axes_of
from sepset.base.checks import fraction, generator, whole
from sepset.base.display import Report, Shown
from sepset.base.extras import FrameKind, frame
from sepset.base.frozen import fill, made
from sepset.base.logarithms import LOG_2PI, log_sum
from sepset.base.memory import check_rows_fit, row_blocks
from sepset.base.text import brief, listing
from sepset.errors import ImpossibleEvidence, ModelError, NotClosed, ScopeError
from sepset.factors.algebra import Assignment, axis_of
from sepset.factors.canonical import (
    EPS,
    MOST,
    Cholesky,
    Elimination,
    divergence,
    doubtful,
    merged,
    squares,
    symmetric,
)
from sepset.factors.coordinates import (
    ON_SUPPORT,
    check_finite,
    check_symmetric,
    columns,
    continuous_scope,
    coordinate_names,
    findings,
    moments_by_name,
    places,
    point,
    shaped,
    states_of,
    width,
)
from sepset.factors.labels import FEW, MOST_SHOWN, cut, moment_names, moment_numbers, short, with_numbers
from sepset.variables.variable import Discrete, VariableLike, Vector, listed

ROUNDING = 4.0 * EPS
"""A few units of rounding, relative to what they round."""

MODE_STEPS = 1000
"""The most ascent steps that the mode of a mixture takes."""


MOST_CORRELATED = 6
"""The largest number of coordinates whose correlations are shown."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, init=False, repr=False)
class Gaussian(Report):
    r"""The normal distribution $N(\mu; \Sigma)$ over real variables; $\Sigma$ may be singular.

    Args:
        scope: `Real` and `Vector` variables.
        mean: $\mu$, the coordinates of the scope end to end; a number for one `Real`.
        covariance: $\Sigma$; the variance for one `Real`.

    Reference: Koller & Friedman 7.1.
    Guarantee: exact.
    Tested by: factors/test_moments.py::test_marginals_slice_and_conditioning_is_the_schur_complement

    >>> from sepset.variables.variable import Real
    >>> joint = Gaussian((Real("x"), Real("y")), [1.0, 2.0], covariance=[[2.0, 1.0], [1.0, 2.0]])
    >>> joint.marginal("y").mean(), joint.condition({"x": 3.0}).mean()
    (2.0, 3.0)
    """

    scope: tuple[Vector, ...]
    mu: Floats
    covariance: Floats

    def __init__(self, scope: Iterable[Vector] | Vector, mean: ArrayLike, *, covariance: ArrayLike) -> None:
        variables = continuous_scope(scope)
        size = width(variables)
        mean, covariance = moments_by_name(variables, mean, covariance)
        mu, sigma = shaped(mean, (), (size,), "means")[0], shaped(covariance, (), (size, size), "covariances")[0]
        check_covariances(mu[None], sigma[None])
        fill(self, scope=variables, mu=np.array(mu), covariance=symmetric(sigma))

    @classmethod
    def _make(cls, scope: tuple[Vector, ...], mu: Floats, covariance: Floats) -> Gaussian:
        return made(cls, scope=scope, mu=np.array(mu), covariance=symmetric(covariance))

    def mean(self) -> Any:
        r"""$\mu$: bare for one variable, else by name."""
        return point(self.scope, self.mu)

    def mode(self) -> Any:
        """The mean, which is the mode."""
        return self.mean()

    def variance(self) -> Any:
        """The variance of each coordinate, in the shape of the mean."""
        return point(self.scope, np.diagonal(self.covariance))

    def entropy(self) -> float:
        r"""$\tfrac12 \log\det 2\pi e\Sigma$ in nats; $-\infty$ where $\Sigma$ is singular."""
        chol = Cholesky.of(self.covariance[None])
        if not chol.definite[0]:
            return -np.inf
        half = whitened(self.covariance[None], self.mu[None], self.mu[None])[0][0]
        return float(half + 0.5 * len(self.mu) * (LOG_2PI + 1.0))

    def sample(self, num_rows: int, seed: int | np.random.Generator = 0) -> dict[str, Floats]:
        """Independent draws by name: `[n]` for a `Real`, `[n, size]` for a `Vector`."""
        check_rows_fit(whole("num_rows", num_rows), 8 * len(self.mu))
        rng, root, drawn = generator(seed), square_roots(self.covariance[None])[0].T, np.empty((num_rows, len(self.mu)))
        for rows in row_blocks(num_rows, len(self.mu)):
            drawn[rows] = self.mu + rng.standard_normal(drawn[rows].shape) @ root
        return {v.name: c for v, c in columns(self.scope, drawn).items()}

    def interval(self, level: float = 0.95) -> Any:
        """The central interval (low, high) of each coordinate with this probability."""
        from scipy.special import ndtri

        reach = ndtri(0.5 + 0.5 * fraction("level", level, ends=True)) * np.sqrt(np.diagonal(self.covariance))
        return _ends(self.scope, self.mu - reach, self.mu + reach)

    def marginal(self, kept: Iterable[VariableLike]) -> Gaussian:
        """The marginal over `kept`, in that order: rows and columns of the moments."""
        scope = _chosen(self.scope, kept)
        at = places(self.scope, scope)
        return Gaussian._make(scope, self.mu[at], self.covariance[at[:, None], at])

    def condition(self, assignment: Assignment) -> Gaussian:
        r"""The posterior of the rest.

        $$\mu_X + \Sigma_{XY}\Sigma_{YY}^{-1}(\mathbf y - \mu_Y), \qquad
        \Sigma_{XX} - \Sigma_{XY}\Sigma_{YY}^{-1}\Sigma_{YX}$$

        A value outside the support of a singular Gaussian raises `ImpossibleEvidence`.
        """
        known, values = findings(self.scope, assignment)
        rest = tuple(v for v in self.scope if v not in known)
        x, y = places(self.scope, rest), places(self.scope, known)
        order, num = np.concatenate([y, x]), len(y)
        joint, mean = self.covariance[order[:, None], order], self.mu[order]
        chol = Cholesky.of(joint[None])
        if not chol.definite[0] or doubtful(chol)[0]:
            return Gaussian._make(rest, *self._eliminated(joint, mean, values, known))
        root = (chol.lower / chol.scale[:, :, None])[0]  # of the covariance, those known first
        gain = root[num:, :num] @ np.linalg.solve(root[:num, :num], values - mean[:num])
        return Gaussian._make(rest, mean[num:] + gain, root[num:, num:] @ root[num:, num:].T)

    def _eliminated(
        self, joint: Floats, mean: Floats, values: Floats, known: tuple[Vector, ...]
    ) -> tuple[Floats, Floats]:
        """The mean and covariance of the last coordinates given values of the first, which may follow from others."""
        num = len(values)
        left = Elimination.of(joint, np.concatenate([values, np.zeros(len(mean) - num)]), mean, num)
        sizes = np.sqrt(np.diagonal(joint))[:num] + np.abs(values) + np.abs(mean[:num])
        residues = np.abs(np.array(left.residues, np.float64))
        broken = (np.array(left.pivots, np.float64) == 0.0) & (residues > ON_SUPPORT * sizes)
        if broken.any():
            raise ImpossibleEvidence(
                f"The values of {listing([v.name for v in known])} break a deterministic relation by "
                f"{residues[broken].max():.3g}."
            )
        return -np.array(left.apart, np.float64), np.array(left.covariance, np.float64)

    def log_density(self, assignment: Assignment) -> float:
        r"""The logarithm of the density at an assignment of the whole scope; a singular Gaussian has none.

        $$-\tfrac12(\mathbf x - \mu)^\top\Sigma^{-1}(\mathbf x - \mu) - \tfrac12\log\det 2\pi\Sigma$$
        """
        known, values = findings(self.scope, assignment)
        missing = [v.name for v in self.scope if v not in known]
        if missing:
            raise ScopeError(f"log_density needs every variable of the scope; missing {listing(missing)}.")
        return float(self._as_mixture().log_densities(values[None, :])[0])

    def kl(self, other: Gaussian) -> float:
        r"""The divergence from this to `other` in nats; inf where this one is singular.

        $$KL(p \| q) = \tfrac12\Bigl[\mathrm{tr}(\Sigma_q^{-1}\Sigma_p) + \delta^\top\Sigma_q^{-1}\delta - n
        + \log\tfrac{\det\Sigma_q}{\det\Sigma_p}\Bigr], \qquad \delta = \mu_q - \mu_p$$
        """
        same = other.marginal(self.scope)
        if len(other.scope) != len(self.scope):
            raise ScopeError(f"KL needs one scope; {self!r} and {other!r} differ. Use marginal first.")
        mine, theirs = Cholesky.of(self.covariance[None]), Cholesky.of(same.covariance[None])
        if not theirs.definite[0]:
            raise NotClosed(f"KL to {other!r} needs a positive definite covariance there.")
        if not mine.definite[0]:
            return np.inf
        if len(self.mu) <= MOST:
            return max(divergence(self.covariance, same.covariance, self.mu, same.mu), 0.0)
        spread = (theirs.whiten(square_roots(self.covariance[None])) ** 2).sum()
        shift = (theirs.whiten((same.mu - self.mu)[None, :, None]) ** 2).sum()
        logs = theirs.half_log_det()[0] - mine.half_log_det()[0]
        return max(float(0.5 * (spread + shift - len(self.mu)) + logs), 0.0)

    def in_words(self) -> str:
        """The mean and standard deviation of each coordinate in one line.

        >>> from sepset.variables.variable import Real
        >>> Gaussian(Real("x"), 1.5, covariance=4.0).in_words()
        'mean 1.5, deviation 2'
        """
        return _moments_in_words(self.mu, self.covariance)

    def plot(self, ax: Any = None) -> Any:
        """The density over one coordinate, or its contours over two, on matplotlib axes."""
        return self._as_mixture().plot(ax)

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per coordinate: its name, mean and deviation.

        >>> from sepset.variables.variable import Real
        >>> Gaussian(Real("x"), 1.5, covariance=4.0).to_frame().to_dict("records")
        [{'variable': 'x', 'mean': 1.5, 'deviation': 2.0}]
        """
        deviations = np.sqrt(np.diagonal(self.covariance))
        columns = {"mean": self.mu.tolist(), "deviation": deviations.tolist()}
        return frame({"variable": coordinate_names(self.scope), **columns}, kind)

    def _shown(self) -> Shown:
        """One row per coordinate: its mean and deviation, and its correlations with the others."""
        names, deviations = coordinate_names(self.scope), np.sqrt(np.diagonal(self.covariance))
        joint = names if 1 < len(names) <= MOST_CORRELATED else []
        scale = np.outer(deviations, deviations)
        ratios = np.divide(self.covariance, scale, out=np.zeros_like(scale), where=scale > 0)
        moments = zip(names, self.mu.tolist(), deviations.tolist(), ratios.tolist(), strict=True)
        rows = [(n, f"{m:.6g}", f"{s:.6g}", *(f"{r:.4g}" for r in c[: len(joint)])) for n, m, s, c in moments]
        head = ("variable", "mean", "deviation", *(f"correlation with {name}" for name in joint))
        return Shown(head, rows[:MOST_SHOWN], short(self), cut(len(names), "coordinates"))

    def to_dict(self) -> dict[str, Any]:
        """The names of the variables, the mean and the covariance.

        >>> from sepset.variables.variable import Real
        >>> Gaussian(Real("x"), 1.5, covariance=4.0).to_dict()
        {'variables': ['x'], 'mean': [1.5], 'covariance': [[4.0]]}
        """
        names = [v.name for v in self.scope]
        return {"variables": names, "mean": self.mu.tolist(), "covariance": self.covariance.tolist()}

    def _as_mixture(self) -> GaussianMixture:
        return GaussianMixture(self.scope, [1.0], means=self.mu[None], covariances=self.covariance[None])

    def __repr__(self) -> str:
        return with_numbers(short(self), self.in_words())


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, init=False, repr=False)
class GaussianMixture(Report):
    r"""The mixture $\sum_i w_i N(\mu_i; \Sigma_i)$ over real variables.

    Args:
        scope: `Real` and `Vector` variables.
        weights: $w_i \ge 0$, summing to one.
        means: one row per component.
        covariances: one matrix per component.

    Reference: Koller & Friedman 14.3.
    Guarantee: exact; the mode by local search.
    Tested by: factors/test_moments.py::test_mixtures_marginalize_and_condition

    >>> from sepset.variables.variable import Real
    >>> mixture = GaussianMixture(Real("x"), [0.4, 0.6], means=[0.0, 3.0], covariances=[1.0, 4.0])
    >>> round(mixture.mean(), 9), round(mixture.variance(), 9)
    (1.8, 4.96)
    """

    scope: tuple[Vector, ...]
    weights: Floats
    means: Floats
    covariances: Floats

    def __init__(
        self, scope: Iterable[Vector] | Vector, weights: ArrayLike, *, means: ArrayLike, covariances: ArrayLike
    ) -> None:
        variables, shares = continuous_scope(scope), np.array(weights, dtype=np.float64)
        count, size = shares.size, width(variables)
        if shares.shape != (count,) or not (shares >= 0).all() or not abs(shares.sum() - 1.0) <= 1e-9:
            raise ModelError(f"Mixture weights are a list >= 0 that sums to one; found a sum of {shares.sum()}.")
        mu, sigma = (
            shaped(means, (count,), (size,), "means"),
            shaped(covariances, (count,), (size, size), "covariances"),
        )
        check_covariances(mu, sigma)
        fill(self, scope=variables, weights=shares, means=mu, covariances=sigma)

    @classmethod
    def _make(cls, scope: tuple[Vector, ...], weights: Floats, means: Floats, covariances: Floats) -> GaussianMixture:
        return made(cls, scope=scope, weights=weights, means=means, covariances=symmetric(covariances))

    @property
    def num_components(self) -> int:
        """The number of components."""
        return self.weights.size

    def to_gaussian(self) -> Gaussian:
        """The Gaussian with the mixture's first two moments."""
        mean, covariance = merged(self.weights[None], self.means[None], self.covariances[None])
        return Gaussian._make(self.scope, mean[0], covariance[0])

    def mean(self) -> Any:
        r"""$\sum_i w_i \mu_i$: bare for one variable, else by name."""
        return self.to_gaussian().mean()

    def variance(self) -> Any:
        """The variance of each coordinate, in the shape of the mean."""
        return self.to_gaussian().variance()

    def in_words(self) -> str:
        """The mean and standard deviation of each coordinate in one line."""
        return self.to_gaussian().in_words()

    def log_densities(self, rows: Floats) -> Floats:
        """The logarithm of the density at each row of coordinates."""
        if np.ndim(rows) != 2 or np.shape(rows)[1] != self.means.shape[1]:
            raise ScopeError(f"Rows have {self.means.shape[1]} coordinates each; found {brief(rows)}.")
        return log_sum(self._log_parts(rows), 0)

    def _log_parts(self, rows: Floats) -> Floats:
        """The logarithm of each weighted component (down) at each row of coordinates (across)."""
        self._definite()
        logs, squares = whitened(self.covariances, rows, self.means)
        constant = logs + 0.5 * self.means.shape[1] * LOG_2PI
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.weights)[:, None] - constant[:, None] - 0.5 * squares)

    def _definite(self) -> Cholesky:
        chol = Cholesky.of(self.covariances)
        if not chol.definite.all():
            raise NotClosed(f"{self!r} has no density: component {int(np.argmin(chol.definite))} is singular.")
        return chol

    def mode(self) -> Any:
        r"""The highest of the peaks reached by ascending from each component's mean (a search, exact for one).

        Each step solves $\bigl(\sum_i r_i \Sigma_i^{-1}\bigr)\mathbf x = \sum_i r_i \Sigma_i^{-1}\mu_i$ with $r_i$ the
        component's share of the density, and never descends.
        """
        K = self._definite().inverse()
        h = (K @ self.means[:, :, None])[:, :, 0]
        x = self.means
        for _ in range(MODE_STEPS):
            share = np.exp(self._log_parts(x) - self.log_densities(x)).T
            moved = np.linalg.solve(np.einsum("nc,cij->nij", share, K), (share @ h)[:, :, None])[:, :, 0]
            if np.abs(moved - x).max(initial=0.0) <= 1e-14 * np.abs(x).max(initial=1e-300):
                break
            x = moved
        return point(self.scope, x[int(np.argmax(self.log_densities(x)))])

    def entropy(self) -> float:
        r"""$-\int p \log p$ in nats by quadrature over one coordinate; more have no closed form and raise."""
        if self.means.shape[1] != 1:
            raise NotClosed(
                f"The entropy of {self!r} has no closed form. Average -log_densities over a sample instead."
            )
        self._definite()
        deviations = np.sqrt(self.covariances[:, 0, 0])
        grid = np.unique(self.means[:, 0, None] + deviations[:, None] * np.linspace(-12.0, 12.0, 4001))
        logs = self.log_densities(grid[:, None])
        heights = np.exp(logs) * logs
        return float(-0.5 * ((heights[1:] + heights[:-1]) * np.diff(grid)).sum())

    def sample(self, num_rows: int, seed: int | np.random.Generator = 0) -> dict[str, Floats]:
        """Independent draws by name: `[n]` for a `Real`, `[n, size]` for a `Vector`."""
        check_rows_fit(whole("num_rows", num_rows), 8 * self.means.shape[1])
        size, chances = self.means.shape[1], self.weights / self.weights.sum()
        rng, roots, drawn = generator(seed), square_roots(self.covariances), np.empty((num_rows, size))
        for rows in row_blocks(num_rows, size * size):
            which = rng.choice(self.num_components, size=rows.stop - rows.start, p=chances)
            noise = rng.standard_normal((len(which), size))
            drawn[rows] = self.means[which] + np.einsum("nij,nj->ni", roots[which], noise)
        return {v.name: c for v, c in columns(self.scope, drawn).items()}

    def interval(self, level: float = 0.95) -> Any:
        """The central interval (low, high) of each coordinate with this probability."""
        tail = 0.5 * (1.0 - fraction("level", level))
        low = np.array([self._quantile(tail, i) for i in range(self.means.shape[1])])
        high = np.array([self._quantile(1.0 - tail, i) for i in range(self.means.shape[1])])
        return _ends(self.scope, low, high)

    def _quantile(self, probability: float, coordinate: int) -> float:
        from scipy.optimize import brentq
        from scipy.special import ndtr, ndtri

        mean, deviation = self.means[:, coordinate], np.sqrt(self.covariances[:, coordinate, coordinate])
        ends = mean + deviation * ndtri(probability)
        low, high = float(ends.min()), float(ends.max())
        if high - low <= ROUNDING * max(abs(low), abs(high)):
            return 0.5 * (low + high)
        scale = np.maximum(deviation, 1e-300)

        def surplus(place: float) -> float:
            return float(self.weights @ ndtr((low - mean + place * (high - low)) / scale)) - probability

        return low + (high - low) * float(brentq(surplus, -ROUNDING, 1.0 + ROUNDING, xtol=ROUNDING))

    def marginal(self, kept: Iterable[VariableLike]) -> GaussianMixture:
        """The marginal over `kept`, in that order: that of each component."""
        scope = _chosen(self.scope, kept)
        at = places(self.scope, scope)
        return GaussianMixture(
            scope, self.weights, means=self.means[:, at], covariances=self.covariances[:, at[:, None], at]
        )

    def condition(self, assignment: Assignment) -> GaussianMixture:
        """The posterior of the rest: each component conditioned, and reweighted by its density at the values."""
        known, values = findings(self.scope, assignment)
        if not known:
            return self
        parts = [Gaussian._make(self.scope, m, c).condition(assignment) for m, c in self._components()]
        logs = np.array([p.log_densities(values[None])[0] for p in self._alone(known)])
        with np.errstate(divide="ignore"):
            logs = logs + np.log(self.weights)
        weights = np.exp(logs - log_sum(logs, 0))
        means, covariances = [p.mu for p in parts], [p.covariance for p in parts]
        return GaussianMixture(
            parts[0].scope, weights / weights.sum(), means=np.array(means), covariances=np.array(covariances)
        )

    def _components(self) -> Iterable[tuple[Floats, Floats]]:
        return zip(self.means, self.covariances, strict=True)

    def _alone(self, kept: tuple[Vector, ...]) -> list[GaussianMixture]:
        at = places(self.scope, kept)
        return [
            GaussianMixture(kept, [1.0], means=m[None, at], covariances=c[None, at[:, None], at])
            for m, c in self._components()
        ]

    def plot(self, ax: Any = None) -> Any:
        """The density over one coordinate, or its contours over two, on matplotlib axes."""
        if self.means.shape[1] not in (1, 2):
            raise ScopeError(f"Only one or two coordinates have a picture; {self!r} has {self.means.shape[1]}.")
        axes = axes_of(ax)
        reach = 4.0 * np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))
        ends = zip((self.means - reach).min(axis=0), (self.means + reach).max(axis=0), strict=True)
        if self.means.shape[1] == 1:
            grid = np.linspace(*next(iter(ends)), 400)
            axes.plot(grid, np.exp(self.log_densities(grid[:, None])))
            axes.set_xlabel(self.scope[0].name)
            axes.set_ylabel("density")
            return axes
        first, second = (np.linspace(low, high, 120) for low, high in ends)
        mesh = np.meshgrid(first, second)
        logs = self.log_densities(np.stack([m.ravel() for m in mesh], axis=1))
        axes.contour(*mesh, np.exp(logs).reshape(mesh[0].shape))
        axes.set_xlabel(self.scope[0].name)
        axes.set_ylabel(self.scope[-1].name)
        return axes

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per component: its weight, and the mean and deviation of every coordinate."""
        rows = np.array(moment_numbers(self.means, self.covariances))
        titles = moment_names(coordinate_names(self.scope))
        return frame({"weight": self.weights.tolist(), **dict(zip(titles, rows.T.tolist(), strict=True))}, kind)

    def _shown(self) -> Shown:
        """One row per component."""
        first = slice(MOST_SHOWN)
        moments = moment_numbers(self.means[first], self.covariances[first])
        weights = self.weights[first].tolist()
        rows = [(f"{w:.6g}", *(f"{v:.6g}" for v in row)) for w, row in zip(weights, moments, strict=True)]
        head = ("weight", *moment_names(coordinate_names(self.scope)))
        more = filter(None, (self.in_words(), cut(self.num_components, "components")))
        return Shown(head, rows, short(self), "; ".join(more), words=0)

    def to_dict(self) -> dict[str, Any]:
        """The names of the variables, and the weight, mean and covariance of each component."""
        names = [v.name for v in self.scope]
        arrays = {"weights": self.weights, "means": self.means, "covariances": self.covariances}
        return {"variables": names, **{name: array.tolist() for name, array in arrays.items()}}

    def __repr__(self) -> str:
        return with_numbers(short(self), f"{self.num_components} components, {self.in_words()}")


def _moments_in_words(mean: Floats, covariance: Floats) -> str:
    deviations = np.sqrt(np.diagonal(covariance)[:FEW]).tolist()
    parts = [f"mean {m:.4g}, deviation {s:.4g}" for m, s in zip(mean[:FEW].tolist(), deviations, strict=True)]
    return "; ".join([*parts, *(["..."] if mean.size > FEW else [])])


def check_covariances(
    means: Floats, covariances: Floats, what: str = "covariances", by: tuple[Discrete, ...] = ()
) -> None:
    """Raise for moments that are not finite, or covariances that are not symmetric and positive semidefinite."""
    check_finite(means, f"means next to {what}")
    check_finite(covariances, what)
    check_symmetric(covariances, what)
    if covariances.size:
        unit = _unit(covariances)[0]
        values = np.linalg.eigvalsh(unit) if unit.shape[-1] > 1 else unit[:, 0]
        bad = np.flatnonzero(values[:, 0] < -1e-9 * np.maximum(np.abs(values[:, -1]), 1e-300))
        if bad.size:
            where = f" where {states_of(by, int(bad[0]))}" if by else ""
            least = np.linalg.eigvalsh(covariances[bad[0]])[0]
            raise ModelError(f"The {what} have the eigenvalue {least:.6g}{where}; all must be >= 0.")


def _unit(covariances: Floats) -> tuple[Floats, Floats]:
    """The matrices with a diagonal of ones, or minus ones, and the scale of each coordinate: units do not matter."""
    deviation = np.sqrt(np.abs(np.diagonal(covariances, axis1=-2, axis2=-1)))
    scale = np.where(deviation > 0, deviation, 1.0)
    return covariances / scale[:, :, None] / scale[:, None, :], scale


def square_roots(covariances: Floats) -> Floats:
    r"""$R$ with $R R^\top = \Sigma$ for each covariance, singular ones too."""
    chol = Cholesky.of(covariances)
    result = chol.lower / chol.scale[:, :, None]
    for i in np.flatnonzero(~chol.definite):
        (unit,), (scale,) = _unit(covariances[i : i + 1])
        values, vectors = np.linalg.eigh(unit)
        result[i] = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(result)


def whitened(covariances: Floats, rows: Floats, means: Floats) -> tuple[Floats, Floats]:
    r"""$\tfrac12 \log\det \Sigma_i$, and $(\mathbf x - \mu_i)^\top \Sigma_i^{-1} (\mathbf x - \mu_i)$ for each row.

    Args:
        covariances: those of some Gaussians, none of them singular.
        rows: the points $\mathbf x$.
        means: one for each Gaussian.
    """
    chol = Cholesky.of(covariances)
    logs, apart = chol.half_log_det(), np.swapaxes(rows[None, :, :] - means[:, None, :], 1, 2)
    found = (chol.whiten(apart) ** 2).sum(axis=1)
    for i in np.flatnonzero(doubtful(chol)).tolist():
        logs[i] = 0.5 * Elimination.of(covariances[i], means[i], means[i], len(means[i])).log_det
        found[i] = squares(covariances[i], rows, means[i])
    return logs, found


def _chosen(scope: tuple[Vector, ...], kept: Iterable[VariableLike]) -> tuple[Vector, ...]:
    names = listed(kept)
    return continuous_scope(scope[axis_of(scope, v)] for v in names)


def _ends(scope: tuple[Vector, ...], low: Floats, high: Floats) -> Any:
    lows, highs = point(scope, low), point(scope, high)
    if isinstance(lows, dict):
        return {name: (lows[name], highs[name]) for name in lows}
    return lows, highs
