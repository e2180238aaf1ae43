r"""Conjugate priors of Gaussian parameters; precision is $\tau = 1 / \sigma^2$, and every gamma has a rate.

Each prior is a value with three questions. `update` returns the posterior, which is a prior of the same family:
data in one batch, in any chunks or in any order lead to the same. `predictive` is the distribution of the next
observation with the parameters integrated out. `log_marginal_likelihood` is $\log P(\mathcal D)$ under the prior.

Data are rows, or their `Scatter`.

Reference: Koller & Friedman, exercises 17.8 to 17.11 (the gamma density as corrected: $y^{\alpha - 1} e^{-\beta y}$).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import Seed, check_finite, check_positive, generator, whole
from sepset.base.logarithms import LOG_2PI
from sepset.cpds.scatter import Scatter
from sepset.errors import DataError
from sepset.factors.studentt import StudentT

Data: TypeAlias = Scatter | ArrayLike


@runtime_checkable
class ConjugatePrior(Protocol):
    """What every conjugate prior of Gaussian parameters answers.

    >>> isinstance(NormalGamma(0.0, 1.0, 2.0, 1.0), ConjugatePrior)
    True
    """

    def update(self, data: Data) -> Self:
        """The posterior after these rows."""

    def log_marginal_likelihood(self, data: Data) -> float:
        """The log probability density of these rows, the parameters integrated out."""


def summary(data: Data, size: int = 1) -> Scatter:
    """The statistics of rows over `size` columns, or those given."""
    if not isinstance(data, Scatter):
        flat = np.ndim(data) < 2 and np.size(data) % size == 0
        data = Scatter.of(np.reshape(data, (-1, size)) if flat else data)
    if data.size != size:
        raise DataError(f"This prior is about {size} coordinates; the data have {data.size}.")
    return data


def log_gamma_ratio(shape: float, rate: float, new_shape: float, new_rate: float) -> float:
    r"""$\log [\Gamma(a') b^a / (\Gamma(a) b'^{a'})]$, what all the evidences share."""
    return math.lgamma(new_shape) - math.lgamma(shape) + shape * math.log(rate) - new_shape * math.log(new_rate)


@dataclass(frozen=True, slots=True)
class NormalMean:
    r"""A normal prior of the mean, the precision of an observation being known.

    $$\tau' = M \tau_X + \tau, \qquad \mu' = (M \tau_X \bar x + \tau \mu_0) / \tau'$$

    Args:
        mean: $\mu_0$.
        precision: $\tau$, one over the prior variance of the mean.
        noise: $\tau_X$, the known precision of one observation.

    Reference: Koller & Friedman, exercises 17.8 and 17.9.

    >>> posterior = NormalMean(0.0, 1.0, noise=1.0).update([1.0, 2.0, 3.0, 4.0])
    >>> posterior.mean, posterior.precision, posterior.predictive().covariance().tolist()
    (2.0, 5.0, [[1.2]])
    """

    mean: float
    precision: float
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
        return NormalMean(mean, precision, self.noise)

    def predictive(self) -> StudentT:
        r"""The next observation: normal with variance $1 / \tau_X + 1 / \tau$."""
        return StudentT(math.inf, self.mean, 1.0 / self.noise + 1.0 / self.precision)

    def log_marginal_likelihood(self, data: Data) -> float:
        """The log density of these rows, the mean integrated out."""
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


@dataclass(frozen=True, slots=True)
class GammaPrecision:
    r"""A gamma prior of the precision, the mean being known.

    $$\alpha' = \alpha + M / 2, \qquad \beta' = \beta + \tfrac12 \sum_m (x[m] - \mu)^2$$

    Args:
        shape: $\alpha$.
        rate: $\beta$, a rate and not a scale: the expected precision is $\alpha / \beta$.
        mean: $\mu$, the known mean of an observation.

    Reference: Koller & Friedman, exercise 17.10.

    >>> GammaPrecision(2.0, 1.0, mean=2.5).update([1.0, 2.0, 3.0, 4.0])
    GammaPrecision(shape=4.0, rate=3.5, mean=2.5)
    """

    shape: float
    rate: float
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
        return GammaPrecision(self.shape + 0.5 * seen.count, self.rate + 0.5 * squares, self.mean)

    def predictive(self) -> StudentT:
        r"""The next observation: Student t, $2\alpha$ degrees, squared scale $\beta / \alpha$."""
        return StudentT(2.0 * self.shape, self.mean, self.rate / self.shape)

    def log_marginal_likelihood(self, data: Data) -> float:
        """The log density of these rows, the precision integrated out."""
        seen, after = summary(data), self.update(data)
        return log_gamma_ratio(self.shape, self.rate, after.shape, after.rate) - 0.5 * seen.count * LOG_2PI

    def sample(self, num_rows: int, seed: Seed = 0) -> Floats:
        """Independent draws of the precision."""
        return generator(seed).gamma(self.shape, 1.0 / self.rate, size=whole("num_rows", num_rows))


@dataclass(frozen=True, slots=True)
class NormalGamma:
    r"""A normal-gamma prior of mean and precision: $\tau \sim \text{Gamma}(\alpha, \beta)$, $\mu \mid \tau \sim
    N(\mu_0; 1 / (\lambda\tau))$.

    $$\lambda' = \lambda + M, \quad \mu_0' = \frac{\lambda\mu_0 + M\bar x}{\lambda'}, \quad \alpha' = \alpha +
    \frac M2, \quad \beta' = \beta + \frac S2 + \frac{\lambda M (\bar x - \mu_0)^2}{2\lambda'}$$

    The same as a normal-inverse-gamma prior of mean and variance with spread $V = 1 / \lambda$.

    Args:
        mean: $\mu_0$.
        strength: $\lambda$, the number of observations the prior mean is worth.
        shape: $\alpha$.
        rate: $\beta$.

    Reference: Koller & Friedman, exercise 17.11.

    >>> NormalGamma(0.0, 1.0, 2.0, 1.0).update([1.0, 2.0, 3.0, 4.0])
    NormalGamma(mean=2.0, strength=5.0, shape=4.0, rate=6.0)
    """

    mean: float
    strength: float
    shape: float
    rate: float

    def __post_init__(self) -> None:
        check_finite("NormalGamma", mean=self.mean)
        check_positive("NormalGamma", strength=self.strength, shape=self.shape, rate=self.rate)

    @property
    def expected_precision(self) -> float:
        r"""$\alpha / \beta$."""
        return self.shape / self.rate

    @property
    def expected_variance(self) -> float:
        r"""$\beta / (\alpha - 1)$, the mean of $\sigma^2 = 1 / \tau$; infinite for $\alpha \le 1$."""
        return self.rate / (self.shape - 1.0) if self.shape > 1.0 else math.inf

    def update(self, data: Data) -> NormalGamma:
        """The posterior after these rows."""
        seen = summary(data)
        strength, apart = self.strength + seen.count, float(seen.mean[0]) - self.mean
        between = self.strength * seen.count / strength * apart**2
        return NormalGamma(
            self.mean + seen.count / strength * apart,
            strength,
            self.shape + 0.5 * seen.count,
            self.rate + 0.5 * (float(seen.products[0, 0]) + between),
        )

    def predictive(self) -> StudentT:
        r"""The next observation: Student t, $2\alpha$ degrees, squared scale $\beta(\lambda + 1) / (\alpha\lambda)$."""
        return StudentT(2.0 * self.shape, self.mean, self.rate * (1.0 + 1.0 / self.strength) / self.shape)

    def mean_marginal(self) -> StudentT:
        r"""The mean alone: Student t, $2\alpha$ degrees, squared scale $\beta / (\alpha\lambda)$."""
        return StudentT(2.0 * self.shape, self.mean, self.rate / (self.shape * self.strength))

    def log_marginal_likelihood(self, data: Data) -> float:
        """The log density of these rows, mean and precision integrated out."""
        seen, after = summary(data), self.update(data)
        ratio = log_gamma_ratio(self.shape, self.rate, after.shape, after.rate)
        return ratio + 0.5 * math.log(self.strength / after.strength) - 0.5 * seen.count * LOG_2PI

    def sample(self, num_rows: int, seed: Seed = 0) -> tuple[Floats, Floats]:
        """Independent draws of the mean and of the precision."""
        rng = generator(seed)
        precisions = rng.gamma(self.shape, 1.0 / self.rate, size=whole("num_rows", num_rows))
        return rng.normal(self.mean, (self.strength * precisions) ** -0.5), precisions
