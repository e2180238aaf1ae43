r"""The conjugate prior of lines with vectors as children: matrix normal and inverse Wishart.

Every other conjugate prior of a linear Gaussian is a case of it: with one coordinate it is the normal-gamma of a line,
without parents the normal-inverse-Wishart, without either the normal-gamma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import Seed, check_positive, finite_array, generator, whole
from sepset.base.frozen import fill, made
from sepset.cpds.priors.gaussian import Data, NormalGamma, summary
from sepset.cpds.priors.lineroots import absorbed, log_det, precisions_of, root_of, spreads
from sepset.cpds.priors.multivariate import LinearNormalGamma, NormalInverseWishart, wishart_roots, with_one
from sepset.cpds.scatter import Scatter
from sepset.errors import ModelError
from sepset.factors.studentt import StudentT


@dataclass(frozen=True, slots=True, eq=False, init=False)
class LinearNormalInverseWishart:
    r"""A matrix-normal inverse-Wishart prior of the lines and the covariance of a vector with real parents.

    $$\Sigma \sim \text{IW}(\Psi, \nu), \quad B \mid \Sigma \sim MN(B_0; \Lambda_0^{-1}, \Sigma), \qquad
    \Lambda = \Lambda_0 + Z^\top Z, \quad B' = \Lambda^{-1}(\Lambda_0 B_0 + Z^\top Y)$$

    where a row of $Z$ is $(1, \mathbf u)$; $\nu' = \nu + M$ and $\Psi' = \Psi + (Y - Z B')^\top (Y - Z B') +
    (B' - B_0)^\top \Lambda_0 (B' - B_0)$. Data are rows $(\mathbf u, \mathbf y)$, the child last.

    With one coordinate it is `LinearNormalGamma` of shape $\nu / 2$ and rate $\Psi / 2$.

    Args:
        mean: $B_0$, a row for the intercept and one a parent, a column a coordinate of the child.
        precision: $\Lambda_0$, a positive definite matrix, or one number a row of `mean`, or one for all.
        degrees: $\nu > d - 1$.
        scale: $\Psi$, a sum of squares: $E[\Sigma] = \Psi / (\nu - d - 1)$.

    Reference: Murphy, *Machine Learning* (2012), section 7.6.3.2 for one coordinate; Geisser (1965).

    >>> prior = LinearNormalInverseWishart(np.zeros((2, 2)), 1e-9, 4.0, np.eye(2))
    >>> prior.update([[0, 1, 0], [1, 3, 0], [2, 2, 0], [3, 5, 0]]).mean.round(6).tolist()
    [[1.1, 0.0], [1.1, 0.0]]
    """

    mean: Floats
    precision: Floats
    degrees: float
    scale: Floats
    root: Floats = field(repr=False)

    def __init__(self, mean: ArrayLike, precision: ArrayLike, degrees: float, scale: ArrayLike) -> None:
        lines = finite_array(NAME, "mean", mean)
        if lines.ndim != 2:
            raise ModelError(f"{NAME} needs a mean of coefficients by coordinates; found the shape {lines.shape}.")
        num, size = lines.shape
        matrix = precisions_of(NAME, precision, num)
        squares = finite_array(NAME, "scale", scale)
        if squares.size != size**2:
            raise ModelError(
                f"{NAME} over {size} coordinates needs a scale of shape {(size, size)}; found {squares.shape}."
            )
        check_positive(NAME, degrees=degrees)
        if not degrees > size - 1:
            raise ModelError(f"{NAME} over {size} coordinates needs degrees > {size - 1}; found {degrees}.")
        squares = squares.reshape(size, size)
        root_of(NAME, squares)
        self._set(lines, root_of(NAME, matrix), float(degrees), squares)

    def _set(self, mean: Floats, root: Floats, degrees: float, scale: Floats) -> None:
        scale = 0.5 * (scale + scale.T)
        fill(self, mean=mean, precision=root.T @ root, degrees=degrees, scale=scale, root=root)

    @classmethod
    def _made(cls, mean: Floats, root: Floats, degrees: float, scale: Floats) -> LinearNormalInverseWishart:
        prior = made(cls)
        prior._set(mean, root, degrees, scale)
        return prior

    @classmethod
    def of(cls, prior: AnyConjugate) -> LinearNormalInverseWishart:
        """Any conjugate prior of a linear Gaussian, as the case of this one that it is.

        >>> LinearNormalInverseWishart.of(NormalGamma(0.0, 1.0, 2.0, 1.5))
        LinearNormalInverseWishart(1 coefficients of 1 coordinates, 4 degrees)
        """
        if isinstance(prior, LinearNormalInverseWishart):
            return prior
        if isinstance(prior, NormalInverseWishart):
            return cls._made(prior.mean[None], np.array([[math.sqrt(prior.strength)]]), prior.degrees, prior.scale)
        if isinstance(prior, NormalGamma):
            root, mean = np.array([[math.sqrt(prior.strength)]]), np.array([[prior.mean]])
        else:
            root, mean = prior.root, prior.mean[:, None]
        return cls._made(mean, root, 2.0 * prior.shape, np.array([[2.0 * prior.rate]]))

    @classmethod
    def flat(cls, num_coefficients: int, size: int = 1) -> LinearNormalInverseWishart:
        r"""The improper prior $p(B, \Sigma) \propto |\Sigma|^{-(d + 1)/2}$: flat in lines and logarithms of variances.

        It is no distribution until enough rows have joined it; its mode in logarithms of variances is then the
        maximum likelihood estimate. To start from, for imaginary rows.
        """
        zeros = np.zeros((num_coefficients, num_coefficients))
        return cls._made(np.zeros((num_coefficients, size)), zeros, -float(num_coefficients), np.zeros((size, size)))

    @property
    def size(self) -> int:
        """The number of coordinates of the child."""
        return int(self.mean.shape[1])

    def _seen(self, data: Data) -> Scatter:
        return summary(data, len(self.mean) - 1 + self.size)

    def update(self, data: Data) -> LinearNormalInverseWishart:
        r"""The posterior after these rows $(\mathbf u, \mathbf y)$."""
        seen = self._seen(data)
        if seen.count == 0.0:
            return self
        root, mean, squares = absorbed(self.root, self.mean, seen)
        return self._made(mean, root, self.degrees + seen.count, self.scale + squares)

    def expected_covariance(self) -> Floats:
        r"""$\Psi / (\nu - d - 1)$, for $\nu > d + 1$."""
        spare = self.degrees - self.size - 1.0
        if spare <= 0:
            raise ModelError(f"The covariance has no mean with {self.degrees:g} degrees over {self.size} coordinates.")
        return np.asarray(self.scale / spare)

    def predictive(self, parents: ArrayLike = ()) -> StudentT:
        r"""The child at these parents: Student t with $k = \nu - d + 1$ degrees.

        Its dispersion is $\Psi\,(1 + z^\top\Lambda^{-1}z) / k$.
        """
        z = with_one(parents, len(self.mean) - 1)
        degrees = self.degrees - self.size + 1.0
        spread = 1.0 + float(spreads(self.root, z[None])[0, 0])
        return StudentT(degrees, z @ self.mean, self.scale * (spread / degrees))

    def coefficient(self, row: int, coordinate: int = 0) -> StudentT:
        r"""One entry of $B$ alone: Student t with $k = \nu - d + 1$ degrees.

        Its squared scale is $(\Lambda^{-1})_{ii}\,\Psi_{jj} / k$.
        """
        degrees = self.degrees - self.size + 1.0
        unit = np.eye(len(self.mean))[[row]]
        spread = float(spreads(self.root, unit)[0, 0])
        return StudentT(degrees, self.mean[row, coordinate], self.scale[coordinate, coordinate] * spread / degrees)

    def variance(self, coordinate: int = 0) -> tuple[float, float]:
        r"""The shape and the scale of $\Sigma_{jj}$ alone, inverse gamma: $(\nu - d + 1) / 2$ and $\Psi_{jj} / 2$."""
        return 0.5 * (self.degrees - self.size + 1.0), 0.5 * float(self.scale[coordinate, coordinate])

    def log_marginal_likelihood(self, data: Data) -> float:
        """The log density of the child's values given the parents', lines and covariance integrated out."""
        from scipy.special import multigammaln

        size, after, count = self.size, self.update(data), self._seen(data).count
        gamma = multigammaln(0.5 * after.degrees, size) - multigammaln(0.5 * self.degrees, size)
        squares = self.degrees * _log_det(self.scale) - after.degrees * _log_det(after.scale)
        lines = log_det(self.root) - log_det(after.root) - count * math.log(math.pi)
        return float(gamma + 0.5 * (squares + size * lines))

    def sample(self, num_rows: int, seed: Seed = 0) -> tuple[Floats, Floats]:
        """Independent draws of the lines `[n, 1 + parents, d]` and of the covariance `[n, d, d]`."""
        rng, num_rows = generator(seed), whole("num_rows", num_rows)
        factor = wishart_roots(self.scale, self.degrees, num_rows, rng)
        noise = rng.standard_normal((num_rows, *self.mean.shape))
        return self.mean + np.linalg.solve(self.root, noise @ factor), np.swapaxes(factor, 1, 2) @ factor

    def __repr__(self) -> str:
        return f"{NAME}({len(self.mean)} coefficients of {self.size} coordinates, {self.degrees:g} degrees)"


AnyConjugate: TypeAlias = NormalGamma | LinearNormalGamma | NormalInverseWishart | LinearNormalInverseWishart
"""Every conjugate prior of a linear Gaussian's parameters."""

NAME = "LinearNormalInverseWishart"


def _log_det(matrix: Floats) -> float:
    return float(np.linalg.slogdet(matrix)[1])
