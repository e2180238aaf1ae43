r"""How EM sees linear Gaussians: regressions in the engine, and the expected moments of (1, parents, child)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.logarithms import LOG_2PI
from sepset.cpds.counts import joint_codes
from sepset.cpds.cpd import CPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.moments import Scatters
from sepset.cpds.priors.dirichlet import RowPrior
from sepset.cpds.scatter import Scatter
from sepset.errors import NotClosed
from sepset.factors.algebra import Columns
from sepset.factors.regression import Regression
from sepset.learning.estimation.linepriors import conjugate_for, flat_prior, is_conjugate, posterior_of
from sepset.learning.estimation.regression import at_variances, mode_of
from sepset.learning.incomplete.families import ImaginedRows, WeightPrior, joined, weight_penalty, weight_prior


@dataclass(frozen=True, slots=True, eq=False)
class GaussianFamily:
    r"""A linear Gaussian during EM: moments of $\mathbf z = (1, \mathbf u - c_u, y - c_y)$ in each discrete context.

    The centers keep the digits of squares where means are large. A variance that falls below `smallest` is a collapse.

    Attributes:
        center: $c$, which all CPDs of a block share.
        smallest: the variance at which the likelihood has no bound.
        origin: where the engine's numbers start, which may be elsewhere for each CPD of a block.
    """

    center: Floats
    smallest: float = 0.0
    origin: Floats | None = None

    @property
    def is_counted(self) -> bool:
        """No: moments may be small and still matter."""
        return False

    def nothing(self, cpd: LinearGaussian) -> Floats:
        """The statistics of no rows."""
        return np.zeros((len(cpd.intercept), *(len(self.center) + 1,) * 2))

    def engine(self, cpd: LinearGaussian) -> CPD:
        """The CPD itself, whose factor is a regression."""
        return cpd

    def numbers(self, cpd: LinearGaussian) -> Sequence[Regression]:
        """The regression of the engine's numbers; one that fits some rows exactly is refused."""
        if not (cpd.covariance > 0).all():
            raise NotClosed(f"{cpd!r} fits some rows exactly; {collapse_advice()}")
        shift = self.center if self.origin is None else self.origin
        moved = cpd.intercept + (cpd.coefficients @ shift[:-1]) - shift[-1]
        return [Regression.of(cpd.child, cpd.given, cpd.by, moved, cpd.coefficients, cpd.covariance)]

    def statistics(self, cpd: LinearGaussian, marginals: Sequence[Floats]) -> Floats:
        """The moments, one matrix per joint state of the discrete parents, from those of the engine's numbers."""
        return marginals[0] if self.origin is None else moved_moments(marginals[0], self.origin, self.center)

    def scatters(self, stats: Floats) -> Scatters:
        """The statistics about their own means, in the data's coordinates."""
        parts = [Scatter.from_sums(total) for total in stats]
        return Scatters.stacked(Scatter(p.count, p.mean + self.center, p.products) for p in parts)

    def complete(self, cpd: Any, columns: Columns, weights: Floats) -> Floats:
        r"""The statistics of complete rows, $\sum_m w_m \mathbf z_m \mathbf z_m^\top$ in each context."""
        entry = joint_codes(columns, cpd.by, len(weights), cpd)
        scope = zip((*cpd.given, cpd.child), self.center, strict=True)
        z = [np.ones(len(weights)), *(columns[v] - c for v, c in scope)]
        stats = self.nothing(cpd)
        for i, left in enumerate(z):
            for j, right in enumerate(z[: i + 1]):
                stats[:, i, j] = stats[:, j, i] = np.bincount(entry, weights * left * right, len(stats))
        return stats

    def spread(self, cpd: LinearGaussian, stats: Floats) -> Scatters:
        """The moments of each context."""
        return self.scatters(stats)

    def estimate(self, cpd: LinearGaussian, stats: Floats, alpha: LinePrior | None) -> LinearGaussian:
        """Least squares on expected moments, or the mode under a prior; contexts without mass keep their line."""
        stats, rest = joined(self, cpd, stats, alpha)
        known = self.scatters(stats)
        if not isinstance(rest, ConjugatePrior):
            made = cpd.from_statistics(known, rest, unseen="keep")
        elif rest.is_flat:
            made = at_variances(cpd.from_statistics(known, unseen="keep"), known.counts)
        else:
            return mode_of(cpd, posterior_of(cpd, rest.prior, known), "theta" if rest.is_theta else "softmax")
        if made.covariance.min() <= self.smallest:
            raise NotClosed(f"{cpd!r} fits some rows exactly; {collapse_advice()}")
        return made

    def alpha(self, cpds: Sequence[Any], prior: object, is_theta: bool) -> LinePrior:
        """The prior: on coefficients, conjugate, or imaginary rows."""
        if isinstance(prior, RowPrior):
            rest = ConjugatePrior(flat_prior(cpds[0]), is_theta) if is_theta else None
            return ImaginedRows(*prior.rows(cpds), rest)
        if is_conjugate(prior):
            return ConjugatePrior(conjugate_for(cpds[0], prior), is_theta)
        return weight_prior(cpds[0], prior)

    def log_prior(self, cpd: LinearGaussian, alpha: LinePrior | None) -> float:
        """The log density of the line in every context, up to a constant; zero without a prior."""
        if isinstance(alpha, ImaginedRows):
            return alpha.log_probability(cpd) + self.log_prior(cpd, alpha.rest)
        if isinstance(alpha, ConjugatePrior):
            lines = zip(cpd.intercept, cpd.coefficients, cpd.covariance, strict=True)
            return sum(alpha.log_density(np.concatenate([a, B[0]]), float(C[0, 0])) for a, B, C in lines)
        return 0.0 if alpha is None else weight_penalty(alpha, cpd.coefficients)

    def score(self, cpd: LinearGaussian, stats: Floats) -> float:
        r"""$-\frac12 \sum_d (\bar M_d \log 2\pi\sigma_d^2 + E[(y - a_d - B_d \mathbf u)^2] / \sigma_d^2)$."""
        total = 0.0
        for a, B, C, sums in zip(cpd.intercept, cpd.coefficients, cpd.covariance, stats, strict=True):
            if sums[0, 0] > 0:
                line = np.concatenate([self.center[-1:] - a - B @ self.center[:-1], -B[0], [1.0]])
                total -= 0.5 * float(sums[0, 0] * (LOG_2PI + np.log(C[0, 0])) + line @ sums @ line / C[0, 0])
        return total


@dataclass(frozen=True, slots=True, eq=False)
class ConjugatePrior:
    """A normal-gamma prior of a line, and whether its mode is taken in the variance or in its logarithm."""

    prior: Any
    is_theta: bool

    @property
    def is_flat(self) -> bool:
        """Whether it is flat in lines and logarithms of variances: no distribution, a start for imaginary rows."""
        return bool(self.prior.shape <= 0)

    def log_density(self, line: Floats, variance: float) -> float:
        r"""$(a + p/2 + t)\log\tau - \tau\,(b + \frac12 d^\top \Lambda d)$, with $t = 1$ for the variance itself."""
        apart = line - self.prior.mean
        power = self.prior.shape + 0.5 * len(line) + self.is_theta
        return float(
            -power * np.log(variance) - (self.prior.rate + 0.5 * apart @ self.prior.precision @ apart) / variance
        )


LinePrior: TypeAlias = WeightPrior | ConjugatePrior | ImaginedRows
"""What a prior amounts to for a linear Gaussian."""


def moved_moments(stats: Floats, before: Floats, after: Floats) -> Floats:
    r"""Moments about another center: $T S T^\top$, where $T$ moves $(1, \mathbf z)$.

    >>> moved_moments(np.array([[[2.0, 0.0], [0.0, 1.0]]]), np.array([3.0]), np.array([1.0])).tolist()
    [[[2.0, 4.0], [4.0, 9.0]]]
    """
    T = np.eye(len(before) + 1)
    T[1:, 0] = before - after
    return np.asarray(T @ stats @ T.T)


def collapse_advice() -> str:
    """What to do where a variance reached zero."""
    return (
        "the likelihood has no bound there (a variance reached zero). Give a prior such as NormalGamma, use fewer "
        "states or parents, tie the variances, or start elsewhere (another seed, more restarts)."
    )
