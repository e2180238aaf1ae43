r"""Conjugate priors of a mean or a precision, the other being known; precision is $\tau = 1 / \sigma^2$.

Each prior has three methods. `update` returns the posterior, which is a prior of the same family: data in one batch, in
any chunks or in any order give the same posterior. `predictive` is the distribution of the next
observation, with the parameters integrated out. `log_marginal_likelihood` is $\log P(\mathcal D)$ under the prior.

Data are rows, or their `Scatter`. If neither is known, see `sepset.cpds.priors.regression`.

Reference: Koller & Friedman, exercises 17.8 to 17.10 (the gamma density as corrected: $y^{\alpha - 1} e^{-\beta y}$).
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
from sepset.data.scatter import Scatter
from sepset.errors import DataError
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


def summary(data: Data, size: int = 1) -> Scatter:
    """The statistics of rows with `size` columns, computed unless they are given."""
    if not isinstance(data, Scatter):
        flat = np.ndim(data) < 2 and np.size(data) % size == 0
        data = Scatter.of(np.reshape(data, (-1, size)) if flat else data)
    if data.size != size:
        raise DataError(f"This prior is over {size} coordinates; the data have {data.size}.")
    return data


@dataclass(frozen=True, slots=True)
class NormalMean:
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


@dataclass(frozen=True, slots=True)
class GammaPrecision:
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
        """The log density of these rows, with the precision integrated out."""
        seen, after = summary(data), self.update(data)
        ratio = math.lgamma(after.shape) - math.lgamma(self.shape)
        rates = self.shape * math.log(self.rate) - after.shape * math.log(after.rate)
        return ratio + rates - 0.5 * seen.count * LOG_2PI

    def sample(self, num_rows: int, seed: Seed = 0) -> Floats:
        """Independent draws of the precision."""
        return generator(seed).gamma(self.shape, 1.0 / self.rate, size=whole("num_rows", num_rows))
