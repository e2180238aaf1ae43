r"""Conjugate priors of a mean or a precision, the other being known; precision is $\tau = 1 / \sigma^2$.

Each prior has three methods. `update` returns the posterior, which is a prior of the same family: data in one batch, in
any chunks or in any order give the same posterior. `predictive` is the distribution of the next
observation, with the parameters integrated out. `log_marginal_likelihood` is $\log P(\mathcal D)$ under the prior.

Data are rows, or their `Scatter`. If neither is known, see `sepset.cpds.priors.regression`.

Reference: Koller & Friedman, exercises 17.8 to 17.10 (the gamma density as corrected: $y^{\alpha - 1} e^{-\beta y}$).
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import Seed, check_finite, check_positive, generator, whole
from sepset.base.logarithms import LOG_2PI
from sepset.base.text import brief
from sepset.data.scatter import Scatter
from sepset.errors import DataError, ModelError
from sepset.factors.studentt import StudentT

Data: TypeAlias = Scatter | ArrayLike


@runtime_checkable
class ConjugatePrior(Protocol):
    """The methods of every conjugate prior of Gaussian parameters.

    >>> isinstance(NormalMean(0.0, 1.0, noise=1.0), ConjugatePrior)
    True
    """

    def update(self, data: Data) -> Self:
        """The posterior after these rows."""

    def log_marginal_likelihood(self, data: Data) -> float:
        """The log density of these rows, with the parameters integrated out."""


class KnownPart:
    """A prior of the mean or of the precision of one real variable without real parents, the other being known.

    Estimation takes it as it takes the priors of regressions: coefficients are the mean, covariances the variance.
    """

    __slots__ = ()

    @property
    def kind(self) -> str:
        """The name of the distribution."""
        return "normal"

    def over(self, num_coefficients: int, size: int) -> Self | None:
        """The prior itself for a mean alone; None for a regression on parents, or for a vector."""
        return self if (num_coefficients, size) == (1, 1) else None

    @property
    def lines(self) -> Floats:
        """The expected mean, as the only coefficient."""
        return np.array([[self.mean]])  # type: ignore[attr-defined]  # of its subclasses


@dataclass(frozen=True, slots=True)
class Fixed:
    """The distribution of a number that is known, with the methods of scipy's.

    >>> Fixed(2.0).interval(0.95), Fixed(2.0).sf(1.0)
    ((2.0, 2.0), 1.0)
    """

    value: float

    def mean(self) -> float:
        """The number."""
        return self.value

    def std(self) -> float:
        """Zero."""
        return 0.0

    def interval(self, level: float) -> tuple[float, float]:
        """The number, twice."""
        return self.value, self.value

    def sf(self, above: float) -> float:
        """Whether the number is larger."""
        return float(self.value > above)


def summary(data: Data, size: int = 1) -> Scatter:
    """The statistics of rows with `size` columns, computed unless they are given."""
    if not isinstance(data, Scatter):
        if np.iscomplexobj(data):
            raise DataError(f"Rows have real numbers; found {brief(data)}.")
        flat = np.ndim(data) < 2 and np.size(data) % size == 0
        data = Scatter.of(np.reshape(data, (-1, size)) if flat else data)
    if data.size != size:
        raise DataError(f"This prior is over {size} coordinates; the data have {data.size}.")
    return data


@dataclass(frozen=True, slots=True)
class NormalMean(KnownPart):
    r"""A normal prior of the mean of observations with known precision.

    $$\tau' = M \tau_X + \tau, \qquad \mu' = (M \tau_X \bar x + \tau \mu_0) / \tau'$$

    Args:
        mean: $\mu_0$.
        precision: $\tau$, one over the prior variance of the mean.
        noise: $\tau_X$, the known precision of one observation.

    Reference: Koller & Friedman, exercises 17.8 and 17.9.
    Guarantee: exact.
    Tested by: cpds/priors/test_gaussian.py::test_batches_chunks_and_rows_lead_to_one_posterior

    >>> posterior = NormalMean(0.0, 1.0, noise=1.0).update([1.0, 2.0, 3.0, 4.0])
    >>> posterior.mean, posterior.precision, posterior.predictive().covariance().tolist()
    (2.0, 5.0, [[1.2]])
    """

    mean: float
    precision: float
    _: KW_ONLY
    noise: float

    def __post_init__(self) -> None:
        check_finite("NormalMean", mean=self.mean)
        check_positive("NormalMean", precision=self.precision, noise=self.noise)

    def update(self, data: Data) -> NormalMean:
        """The posterior after these rows."""
        seen = summary(data)
        precision = self.precision + seen.count * self.noise
        # Written as a step from the prior mean: an average of large numbers loses digits.
        mean = self.mean + seen.count * self.noise / precision * (float(seen.mean[0]) - self.mean)
        return NormalMean(mean, precision, noise=self.noise)

    def predictive(self) -> StudentT:
        r"""The next observation: normal with variance $1 / \tau_X + 1 / \tau$."""
        return StudentT(math.inf, self.mean, dispersion=1.0 / self.noise + 1.0 / self.precision)

    def log_marginal_likelihood(self, data: Data) -> float:
        """The log density of these rows, with the mean integrated out."""
        seen = summary(data)
        after = self.precision + seen.count * self.noise
        apart = (float(seen.mean[0]) - self.mean) ** 2 * seen.count * self.precision / after
        return 0.5 * (
            seen.count * (math.log(self.noise) - LOG_2PI)
            + math.log(self.precision / after)
            - self.noise * (float(seen.products[0, 0]) + apart)
        )

    def sample(self, num_rows: int, seed: Seed = 0) -> Floats:
        """Independent draws of the mean."""
        return generator(seed).normal(self.mean, self.precision**-0.5, size=whole("num_rows", num_rows))

    @property
    def degrees(self) -> float:
        """Infinitely many: the precision is known."""
        return math.inf

    def expected_covariance(self) -> Floats:
        """The known variance."""
        return np.array([[1.0 / self.noise]])

    def mode_covariance(self, *, is_theta: bool) -> Floats:
        """The known variance."""
        return self.expected_covariance()

    def draws(self, num_rows: int, seed: Seed = 0) -> tuple[Floats, Floats]:
        """Independent draws of the mean `[n, 1, 1]`, and the known variance `[n, 1, 1]`."""
        means = self.sample(num_rows, seed)
        return means[:, None, None], np.full((len(means), 1, 1), 1.0 / self.noise)

    def log_predictives(self, u: Floats, y: Floats) -> Floats:
        r"""The log density of several observations that share the mean, `[rows, uses, 1]`: jointly normal."""
        apart, uses = y[:, :, 0] - self.mean, y.shape[1]
        after = self.precision + uses * self.noise
        squares = self.noise * ((apart**2).sum(axis=1) - self.noise / after * apart.sum(axis=1) ** 2)
        return np.asarray(0.5 * (uses * (math.log(self.noise) - LOG_2PI) + math.log(self.precision / after) - squares))

    def log_kernel(self, lines: Floats, covariance: Floats, *, is_theta: bool) -> float:
        """The log density of the mean, up to a constant."""
        return -0.5 * self.precision * (float(lines[0, 0]) - self.mean) ** 2

    def log_density(self, lines: Floats, covariance: Floats, *, is_theta: bool) -> float:
        """The log density of the mean; minus infinity at another variance than the known one."""
        if not math.isclose(float(covariance[0, 0]) * self.noise, 1.0, rel_tol=1e-9):
            return -math.inf
        kernel = self.log_kernel(lines, covariance, is_theta=is_theta)
        return kernel + 0.5 * (math.log(self.precision) - LOG_2PI)

    def marginal(self, row: int | None) -> Any:
        """The distribution of the mean, or the known variance where the row is None."""
        from scipy import stats

        return Fixed(1.0 / self.noise) if row is None else stats.norm(self.mean, self.precision**-0.5)


@dataclass(frozen=True, slots=True)
class GammaPrecision(KnownPart):
    r"""A gamma prior of the precision of observations with known mean.

    $$\alpha' = \alpha + M / 2, \qquad \beta' = \beta + \tfrac12 \sum_m (x[m] - \mu)^2$$

    Args:
        shape: $\alpha$.
        rate: $\beta$, a rate and not a scale: the expected precision is $\alpha / \beta$.
        mean: $\mu$, the known mean of an observation.

    Reference: Koller & Friedman, exercise 17.10.
    Guarantee: exact.
    Tested by: cpds/priors/test_gaussian.py::test_evidence_and_prediction_by_quadrature

    >>> GammaPrecision(2.0, 1.0, mean=2.5).update([1.0, 2.0, 3.0, 4.0])
    GammaPrecision(shape=4.0, rate=3.5, mean=2.5)
    """

    shape: float
    rate: float
    _: KW_ONLY
    mean: float

    def __post_init__(self) -> None:
        check_finite("GammaPrecision", mean=self.mean)
        check_positive("GammaPrecision", shape=self.shape, rate=self.rate)

    @property
    def expected_precision(self) -> float:
        r"""$\alpha / \beta$."""
        return self.shape / self.rate

    @property
    def precision_variance(self) -> float:
        r"""$\alpha / \beta^2$."""
        return self.shape / self.rate**2

    def update(self, data: Data) -> GammaPrecision:
        """The posterior after these rows."""
        seen = summary(data)
        squares = float(seen.products[0, 0]) + seen.count * (float(seen.mean[0]) - self.mean) ** 2
        return GammaPrecision(self.shape + 0.5 * seen.count, self.rate + 0.5 * squares, mean=self.mean)

    def predictive(self) -> StudentT:
        r"""The next observation: Student t, $2\alpha$ degrees, squared scale $\beta / \alpha$."""
        return StudentT(2.0 * self.shape, self.mean, dispersion=self.rate / self.shape)

    def log_marginal_likelihood(self, data: Data) -> float:
        """The log density of these rows, with the precision integrated out."""
        seen, after = summary(data), self.update(data)
        ratio = math.lgamma(after.shape) - math.lgamma(self.shape)
        rates = self.shape * math.log(self.rate) - after.shape * math.log(after.rate)
        return ratio + rates - 0.5 * seen.count * LOG_2PI

    def sample(self, num_rows: int, seed: Seed = 0) -> Floats:
        """Independent draws of the precision."""
        return generator(seed).gamma(self.shape, 1.0 / self.rate, size=whole("num_rows", num_rows))

    @property
    def kind(self) -> str:
        """The name of the distribution."""
        return "gamma"

    @property
    def degrees(self) -> float:
        """Twice the shape."""
        return 2.0 * self.shape

    def expected_covariance(self) -> Floats:
        r"""$\beta / (\alpha - 1)$, for $\alpha > 1$."""
        if self.shape <= 1.0:
            raise ModelError(f"The variance has no mean with the shape {self.shape:g}.")
        return np.array([[self.rate / (self.shape - 1.0)]])

    def mode_covariance(self, *, is_theta: bool) -> Floats:
        r"""The mode of the logarithm of the variance, $\beta / \alpha$, or of the variance, $\beta / (\alpha + 1)$."""
        return np.array([[self.rate / (self.shape + (1.0 if is_theta else 0.0))]])

    def draws(self, num_rows: int, seed: Seed = 0) -> tuple[Floats, Floats]:
        """The known mean `[n, 1, 1]`, and independent draws of the variance `[n, 1, 1]`."""
        precisions = self.sample(num_rows, seed)
        return np.full((len(precisions), 1, 1), self.mean), 1.0 / precisions[:, None, None]

    def log_predictives(self, u: Floats, y: Floats) -> Floats:
        """The log density of several observations that share the precision, `[rows, uses, 1]`: jointly Student t."""
        uses, half = y.shape[1], 0.5 * ((y[:, :, 0] - self.mean) ** 2).sum(axis=1)
        after = self.shape + 0.5 * uses
        constant = math.lgamma(after) - math.lgamma(self.shape) + self.shape * math.log(self.rate)
        return np.asarray(constant - 0.5 * uses * LOG_2PI - after * np.log(self.rate + half))

    def log_kernel(self, lines: Floats, covariance: Floats, *, is_theta: bool) -> float:
        """The log density of the variance, or of its logarithm, up to a constant."""
        variance = float(covariance[0, 0])
        return -(self.shape + (1.0 if is_theta else 0.0)) * math.log(variance) - self.rate / variance

    def log_density(self, lines: Floats, covariance: Floats, *, is_theta: bool) -> float:
        """The log density of the variance, or of its logarithm; minus infinity at another mean than the known one."""
        if not math.isclose(float(lines[0, 0]), self.mean, rel_tol=1e-9, abs_tol=1e-300):
            return -math.inf
        kernel = self.log_kernel(lines, covariance, is_theta=is_theta)
        return kernel + self.shape * math.log(self.rate) - math.lgamma(self.shape)

    def marginal(self, row: int | None) -> Any:
        """The distribution of the variance where the row is None, or the known mean."""
        from scipy import stats

        return stats.invgamma(self.shape, scale=self.rate) if row is None else Fixed(self.mean)


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
