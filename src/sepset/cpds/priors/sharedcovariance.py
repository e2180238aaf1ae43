r"""Conjugate priors of several regressions, one per context, that share one covariance.

$$\Sigma \sim \text{IW}(\Psi, \nu), \qquad B_d \mid \Sigma \sim MN(B_0; \Lambda_0^{-1}, \Sigma) \text{ for every } d$$

Given the covariance the regressions are independent, and each is updated by its own rows. The squares of all of them
add up: $\nu' = \nu + \sum_d M_d$ and $\Psi' = \Psi + \sum_d Q_d$, where $Q_d$ is what the rows of one context add.

Reference: Koller & Friedman, section 17.4.4; Murphy, *Machine Learning* (2012), sections 4.2.2 and 7.6.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.logarithms import LOG_2PI
from sepset.cpds.priors.gaussian import GammaPrecision, wishart_roots
from sepset.cpds.priors.precisions import log_det
from sepset.cpds.priors.regression import RegressionPrior
from sepset.data.scatter import Scatters

Pair: TypeAlias = tuple[Floats, Floats]
"""Coefficients, the intercept first, and the covariance of one regression."""


@dataclass(frozen=True, slots=True)
class SharedLines:
    """The joint distribution of coefficients in every context and of the covariance that they share.

    Attributes:
        contexts: the marginal distribution of each regression; all have the same degrees and scale.

    >>> from sepset.cpds.priors.regression import NormalGamma
    >>> seen = Scatters.of(np.array([[1.0], [2.0], [6.0]]), np.array([0, 0, 1]), 2)
    >>> after = SharedLines((NormalGamma(0.0, 1.0, shape=2.0, rate=1.0),) * 2).update(seen)
    >>> after.contexts[0].degrees, float(after.contexts[1].lines[0, 0])
    (7.0, 3.0)
    """

    contexts: tuple[RegressionPrior, ...]

    @property
    def noise(self) -> RegressionPrior:
        """The first regression, for the degrees and the scale of the covariance."""
        return self.contexts[0]

    def update(self, seen: Scatters) -> SharedLines:
        """The posterior after these rows."""
        nothing = np.zeros_like(self.noise.scale)
        bare = [own.with_noise(own.degrees, nothing) for own in self.contexts]
        posts = [own.update(scatter) for own, scatter in zip(bare, seen.contexts, strict=True)]
        degrees = self.noise.degrees + float(seen.counts.sum())
        scale = self.noise.scale + sum((post.scale for post in posts), nothing)
        return SharedLines(tuple(post.with_noise(degrees, scale) for post in posts))

    def log_marginal_likelihood(self, seen: Scatters) -> float:
        r"""The log density of these rows, with the parameters integrated out.

        $$\log \frac{\Gamma_k(\nu'/2)}{\Gamma_k(\nu/2)} + \tfrac12 \left( \nu \log|\Psi| - \nu' \log|\Psi'|
        + k \sum_d \log \frac{|\Lambda_d|}{|\Lambda_d'|} - k M \log \pi \right)$$
        """
        after = self.update(seen)
        roots = sum(log_det(a.root) - log_det(b.root) for a, b in zip(self.contexts, after.contexts, strict=True))
        normal = self.noise.size * (roots - float(seen.counts.sum()) * math.log(math.pi))
        return self._log_wishart() - after._log_wishart() + 0.5 * normal

    def _log_wishart(self) -> float:
        r"""$\frac\nu2 \log |\Psi| - \log \Gamma_k(\nu/2)$."""
        from scipy.special import multigammaln

        half = 0.5 * self.noise.degrees
        return float(half * np.linalg.slogdet(self.noise.scale)[1] - multigammaln(half, self.noise.size))

    def modes(self, *, is_theta: bool) -> list[Pair]:
        r"""The mode of coefficients and (log) covariance: with $p$ coefficients in all, $\Psi / (\nu + p)$."""
        return [(own.lines, self.noise.scale / self._power(is_theta=is_theta)) for own in self.contexts]

    def _power(self, *, is_theta: bool) -> float:
        num = sum(len(own.lines) for own in self.contexts)
        return self.noise.degrees + num + (self.noise.size + 1.0 if is_theta else 0.0)

    def draws(self, rng: np.random.Generator) -> list[Pair]:
        """One draw: a covariance, and coefficients in each context given it."""
        factor = wishart_roots(self.noise.scale, self.noise.degrees, 1, rng)[0]
        covariance = factor.T @ factor
        return [
            (own.lines + np.linalg.solve(own.root, rng.standard_normal(own.lines.shape) @ factor), covariance)
            for own in self.contexts
        ]

    def log_predictives(self, entry: Ints, u: Floats, y: Floats) -> Floats:
        """The log density of rows that use the regressions several times, `[rows, uses, ...]`, with their contexts."""
        z = np.concatenate([np.ones((*u.shape[:2], 1)), u], axis=2)
        lines, roots = (np.stack([getattr(own, name) for own in self.contexts]) for name in ("lines", "root"))
        apart = y - np.einsum("nqp,nqpk->nqk", z, lines[entry])
        white = np.einsum("nqij,nqi->nqj", np.linalg.inv(roots)[entry], z)
        shared = (entry[:, :, None] == entry[:, None, :]) * np.einsum("nqi,nri->nqr", white, white)
        return self.noise.log_matrix_t(apart, np.eye(y.shape[1]) + shared)

    def log_kernel(self, lines: Floats, covariance: Floats, *, is_theta: bool) -> float:
        """The log density of coefficients and (log) covariance, up to a constant that does not depend on them."""
        apart = [own.root @ (B - own.lines) for own, B in zip(self.contexts, lines, strict=True)]
        inner = sum((a.T @ a for a in apart), self.noise.scale)
        squares = float(np.trace(np.linalg.solve(covariance, inner)))
        return -0.5 * (self._power(is_theta=is_theta) * float(np.linalg.slogdet(covariance)[1]) + squares)

    def log_density(self, lines: Floats, covariance: Floats, *, is_theta: bool) -> float:
        """The log density of the coefficients of each context and of the (log) covariance."""
        size = self.noise.size
        normal = size * sum(log_det(own.root) for own in self.contexts) - lines.size * LOG_2PI
        wishart = self._log_wishart() - 0.5 * self.noise.degrees * size * math.log(2.0)
        return 0.5 * normal + wishart + self.log_kernel(lines, covariance, is_theta=is_theta)


@dataclass(frozen=True, slots=True)
class SharedPrecision:
    """A known mean, and the distribution of the precision that all contexts share.

    Attributes:
        noise: the distribution of the precision.
        num_contexts: the number of contexts.

    >>> seen = Scatters.of(np.array([[1.0], [2.0], [6.0]]), np.array([0, 0, 1]), 2)
    >>> SharedPrecision(GammaPrecision(2.0, 1.0, mean=0.0), 2).update(seen).noise
    GammaPrecision(shape=3.5, rate=21.5, mean=0.0)
    """

    noise: GammaPrecision
    num_contexts: int

    @property
    def contexts(self) -> tuple[GammaPrecision, ...]:
        """The same distribution for each context."""
        return (self.noise,) * self.num_contexts

    def update(self, seen: Scatters) -> SharedPrecision:
        """The posterior after these rows."""
        return SharedPrecision(self.noise.update(seen.pooled), self.num_contexts)

    def log_marginal_likelihood(self, seen: Scatters) -> float:
        """The log density of these rows, with the precision integrated out."""
        return self.noise.log_marginal_likelihood(seen.pooled)

    def modes(self, *, is_theta: bool) -> list[Pair]:
        """The known mean, and the mode of the (log) variance."""
        return [(self.noise.lines, self.noise.mode_covariance(is_theta=is_theta))] * self.num_contexts

    def draws(self, rng: np.random.Generator) -> list[Pair]:
        """The known mean, and one draw of the variance."""
        means, variances = self.noise.draws(1, rng)
        return [(means[0], variances[0])] * self.num_contexts

    def log_predictives(self, entry: Ints, u: Floats, y: Floats) -> Floats:
        """The log density of rows that use the precision several times, `[rows, uses, 1]`."""
        return self.noise.log_predictives(u, y)

    def log_kernel(self, lines: Floats, covariance: Floats, *, is_theta: bool) -> float:
        """The log density of the (log) variance, up to a constant."""
        return self.noise.log_kernel(lines[0], covariance, is_theta=is_theta)

    def log_density(self, lines: Floats, covariance: Floats, *, is_theta: bool) -> float:
        """The log density of the (log) variance; minus infinity at another mean than the known one."""
        known = np.isclose(lines, self.noise.mean, rtol=1e-9, atol=1e-300).all()
        return self.noise.log_density(lines[0], covariance, is_theta=is_theta) if known else -math.inf


SharedPrior: TypeAlias = SharedLines | SharedPrecision
"""A distribution of all regressions of a CPD whose contexts share one covariance."""


def shared_prior(priors: Sequence[RegressionPrior | GammaPrecision]) -> SharedPrior:
    """The joint distribution from that of each context, whose covariance all of them share.

    >>> from sepset.cpds.priors.regression import NormalGamma
    >>> len(shared_prior([NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)] * 3).contexts)
    3
    """
    first = priors[0]
    if isinstance(first, GammaPrecision):
        return SharedPrecision(first, len(priors))
    return SharedLines(tuple(own for own in priors if isinstance(own, RegressionPrior)))
