r"""Conjugate priors of Gaussian parameters with more than one dimension: mean vectors, covariances and lines.

They answer what `ConjugatePrior` asks, as the priors of one mean and one precision do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import Seed, check_positive, finite_array, generator, whole
from sepset.base.frozen import fill, made
from sepset.base.logarithms import LOG_2PI
from sepset.cpds.priors.gaussian import Data, log_gamma_ratio, summary
from sepset.cpds.priors.lineroots import absorbed, log_det, precisions_of, root_of, spreads
from sepset.errors import DataError, ModelError
from sepset.factors.studentt import StudentT


@dataclass(frozen=True, slots=True, eq=False, init=False)
class NormalInverseWishart:
    r"""A normal-inverse-Wishart prior of a mean vector and a covariance matrix.

    $$\Sigma \sim \text{IW}(\Lambda, \nu), \quad \mu \mid \Sigma \sim N(\mu_0; \Sigma / \kappa), \qquad
    \Lambda' = \Lambda + S + \frac{\kappa M}{\kappa'} (\bar{\mathbf x} - \mu_0)(\bar{\mathbf x} - \mu_0)^\top$$

    with $\kappa' = \kappa + M$, $\nu' = \nu + M$ and $\mu_0' = (\kappa\mu_0 + M\bar{\mathbf x}) / \kappa'$.

    Args:
        mean: $\mu_0$.
        strength: $\kappa$, the number of observations the prior mean is worth.
        degrees: $\nu > d - 1$.
        scale: $\Lambda$, a sum of squares (and not its inverse): $E[\Sigma] = \Lambda / (\nu - d - 1)$.

    Reference: Murphy, *Machine Learning* (2012), section 4.6.3.

    >>> prior = NormalInverseWishart([0.0, 0.0], 1.0, 4.0, np.eye(2))
    >>> prior.update([[2.0, 0.0], [4.0, 0.0]]).mean.tolist()
    [2.0, 0.0]
    """

    mean: Floats
    strength: float
    degrees: float
    scale: Floats

    def __init__(self, mean: ArrayLike, strength: float, degrees: float, scale: ArrayLike) -> None:
        center = finite_array("NormalInverseWishart", "mean", mean).reshape(-1)
        size = len(center)
        matrix = finite_array("NormalInverseWishart", "scale", scale)
        if matrix.size != size**2:
            raise ModelError(f"A mean of {size} coordinates needs a scale of shape {(size, size)}; got {matrix.shape}.")
        check_positive("NormalInverseWishart", strength=strength, degrees=degrees)
        if not degrees > size - 1:
            raise ModelError(f"NormalInverseWishart over {size} coordinates needs degrees > {size - 1}; got {degrees}.")
        matrix = matrix.reshape(size, size)
        root_of("NormalInverseWishart", matrix)
        matrix = 0.5 * (matrix + matrix.T)
        fill(self, mean=center, strength=float(strength), degrees=float(degrees), scale=matrix)

    def update(self, data: Data) -> NormalInverseWishart:
        """The posterior after these rows."""
        seen = summary(data, len(self.mean))
        strength, apart = self.strength + seen.count, seen.mean - self.mean
        between = self.strength * seen.count / strength * np.outer(apart, apart)
        mean = self.mean + seen.count / strength * apart
        return NormalInverseWishart(mean, strength, self.degrees + seen.count, self.scale + seen.products + between)

    def expected_covariance(self) -> Floats:
        r"""$\Lambda / (\nu - d - 1)$, for $\nu > d + 1$."""
        spare = self.degrees - len(self.mean) - 1.0
        if spare <= 0:
            raise ModelError(f"The covariance has no mean with {self.degrees:g} degrees over {len(self.mean)} columns.")
        return np.asarray(self.scale / spare)

    def predictive(self) -> StudentT:
        r"""The next observation: Student t with $k = \nu - d + 1$ degrees, dispersion $\Lambda(1 + 1/\kappa) / k$."""
        degrees = self.degrees - len(self.mean) + 1.0
        return StudentT(degrees, self.mean, self.scale * ((1.0 + 1.0 / self.strength) / degrees))

    def log_marginal_likelihood(self, data: Data) -> float:
        """The log density of these rows, mean and covariance integrated out."""
        from scipy.special import multigammaln

        size, after = len(self.mean), self.update(data)
        count = summary(data, size).count
        return float(
            multigammaln(0.5 * after.degrees, size)
            - multigammaln(0.5 * self.degrees, size)
            + 0.5 * (self.degrees * _log_det(self.scale) - after.degrees * _log_det(after.scale))
            + 0.5 * size * (math.log(self.strength / after.strength) - count * math.log(math.pi))
        )

    def sample(self, num_rows: int, seed: Seed = 0) -> tuple[Floats, Floats]:
        """Independent draws of the mean `[n, d]` and of the covariance `[n, d, d]`."""
        rng, size, num_rows = generator(seed), len(self.mean), whole("num_rows", num_rows)
        factor = wishart_roots(self.scale, self.degrees, num_rows, rng)
        covariances = np.swapaxes(factor, 1, 2) @ factor
        noise = np.einsum("nji,nj->ni", factor, rng.standard_normal((num_rows, size)))
        return self.mean + noise / math.sqrt(self.strength), covariances

    def __repr__(self) -> str:
        return (
            f"NormalInverseWishart({len(self.mean)} coordinates, {self.strength:g} strength, {self.degrees:g} degrees)"
        )


@dataclass(frozen=True, slots=True, eq=False, init=False)
class LinearNormalGamma:
    r"""A normal-gamma prior of the line and the noise of a linear Gaussian CPD.

    $$\tau \sim \text{Gamma}(a, b), \quad \beta \mid \tau \sim N(m_0; (\tau\Lambda_0)^{-1}), \qquad
    \Lambda = \Lambda_0 + Z^\top Z, \quad m = \Lambda^{-1}(\Lambda_0 m_0 + Z^\top x)$$

    where a row of $Z$ is $(1, \mathbf u)$; $a' = a + M/2$ and $b' = b + \frac12(x^\top x + m_0^\top\Lambda_0 m_0 -
    m^\top\Lambda m)$. Data are rows $(\mathbf u, x)$, the child last.

    Args:
        mean: $m_0$, the intercept and then a coefficient a parent.
        precision: $\Lambda_0$, a positive definite matrix, or one number a coefficient, or one for all.
        shape: $a$.
        rate: $b$.

    Reference: Koller & Friedman, section 17.4.4.

    >>> prior = LinearNormalGamma([0.0, 0.0], 1e-9, 1.0, 1e-9)
    >>> prior.update([[0, 1], [1, 3], [2, 2], [3, 5]]).mean.round(6).tolist()
    [1.1, 1.1]
    """

    mean: Floats
    precision: Floats
    shape: float
    rate: float
    root: Floats = field(repr=False)

    def __init__(self, mean: ArrayLike, precision: ArrayLike, shape: float, rate: float) -> None:
        center = finite_array("LinearNormalGamma", "mean", mean).reshape(-1)
        check_positive("LinearNormalGamma", shape=shape, rate=rate)
        matrix = precisions_of("LinearNormalGamma", precision, len(center))
        root = root_of("LinearNormalGamma", matrix)
        fill(self, mean=center, precision=0.5 * (matrix + matrix.T), shape=float(shape), rate=float(rate), root=root)

    def update(self, data: Data) -> LinearNormalGamma:
        r"""The posterior after these rows $(\mathbf u, x)$.

        Both precision and rate come from roots (see `absorbed`): the printed forms are differences of large numbers.
        """
        seen = summary(data, len(self.mean))
        if seen.count == 0.0:
            return self
        root, mean, squares = absorbed(self.root, self.mean[:, None], seen)
        rate = self.rate + 0.5 * float(squares[0, 0])
        return LinearNormalGamma.from_root(mean[:, 0], root, self.shape + 0.5 * seen.count, rate)

    @classmethod
    def from_root(cls, mean: Floats, root: Floats, shape: float, rate: float) -> LinearNormalGamma:
        r"""The prior of precision $R^\top R$, which the root holds where the product would lose its digits."""
        return made(cls, mean=mean.copy(), precision=root.T @ root, shape=shape, rate=rate, root=root.copy())

    def predictive(self, parents: ArrayLike = ()) -> StudentT:
        r"""The child at these parents: Student t, $2a$ degrees, squared scale $(b/a)(1 + z^\top\Lambda^{-1}z)$."""
        z = with_one(parents, len(self.mean) - 1)
        spread = float(spreads(self.root, z[None])[0, 0])
        return StudentT(2.0 * self.shape, float(z @ self.mean), self.rate / self.shape * (1.0 + spread))

    def coefficients(self) -> StudentT:
        r"""The line alone: Student t, $2a$ degrees, dispersion $(b/a)\Lambda^{-1}$."""
        inverse = spreads(self.root, np.eye(len(self.mean)))
        return StudentT(2.0 * self.shape, self.mean, self.rate / self.shape * inverse)

    @property
    def expected_precision(self) -> float:
        """$a / b$."""
        return self.shape / self.rate

    @property
    def expected_variance(self) -> float:
        r"""$b / (a - 1)$, the mean of $\sigma^2 = 1 / \tau$; infinite for $a \le 1$."""
        return self.rate / (self.shape - 1.0) if self.shape > 1.0 else math.inf

    def log_marginal_likelihood(self, data: Data) -> float:
        """The log density of the child's values given the parents', line and noise integrated out."""
        after, count = self.update(data), summary(data, len(self.mean)).count
        ratio = log_gamma_ratio(self.shape, self.rate, after.shape, after.rate)
        return ratio + 0.5 * (log_det(self.root) - log_det(after.root) - count * LOG_2PI)

    def sample(self, num_rows: int, seed: Seed = 0) -> tuple[Floats, Floats]:
        """Independent draws of the line `[n, 1 + parents]` and of the precision."""
        rng, num_rows = generator(seed), whole("num_rows", num_rows)
        precisions = rng.gamma(self.shape, 1.0 / self.rate, size=num_rows)
        noise = np.linalg.solve(self.root, rng.standard_normal((num_rows, len(self.mean))).T).T
        return self.mean + noise / np.sqrt(precisions)[:, None], precisions

    def __repr__(self) -> str:
        return f"LinearNormalGamma(mean={self.mean.tolist()}, shape={self.shape:g}, rate={self.rate:g})"


def with_one(parents: ArrayLike, number: int) -> Floats:
    r"""$(1, \mathbf u)$ of the values of so many real parents.

    >>> with_one([2, 3], 2).tolist()
    [1.0, 2.0, 3.0]
    """
    try:
        values = np.asarray(parents, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise DataError(f"The parents of a line have numbers; found {parents!r}.") from None
    if len(values) != number:
        raise DataError(f"The line has {number} parents; found {len(values)} values.")
    if not np.isfinite(values).all():
        raise DataError(f"The parents of a line have finite numbers; found {values.tolist()}.")
    return np.concatenate([[1.0], values])


def wishart_roots(scale: Floats, degrees: float, num_rows: int, rng: np.random.Generator) -> Floats:
    r"""Roots $F$ of independent draws $\Sigma = F^\top F$ from an inverse Wishart, `[n, d, d]`.

    A Wishart precision is made of normals and chi-squares (Bartlett's decomposition) and inverted.

    >>> wishart_roots(np.eye(2), 3.0, 5, np.random.default_rng(0)).shape
    (5, 2, 2)
    """
    size = len(scale)
    root = np.linalg.cholesky(np.linalg.inv(scale))
    lower = np.tril(rng.standard_normal((num_rows, size, size)), -1)
    squares = rng.chisquare(degrees - np.arange(size), size=(num_rows, size))
    lower[:, range(size), range(size)] = np.sqrt(squares)
    return np.asarray(np.linalg.inv(root @ lower))


def _log_det(matrix: Floats) -> float:
    return float(2.0 * np.log(np.diagonal(np.linalg.cholesky(matrix))).sum())
