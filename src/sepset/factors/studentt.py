r"""The Student t distribution: what is predicted of a Gaussian whose variance is not known.

$$p(\mathbf x) = \frac{\Gamma(\frac{\nu + d}2)}{\Gamma(\frac\nu2) (\nu\pi)^{d/2} |\Psi|^{1/2}}
\left(1 + \frac{(\mathbf x - \mu)^\top \Psi^{-1} (\mathbf x - \mu)}\nu\right)^{-(\nu + d)/2}$$

With $\nu = \infty$ it is the normal distribution, so that every Gaussian predictive is one kind of value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import Seed, fraction, generator, whole
from sepset.base.display import Plain, Worded
from sepset.base.frozen import fill
from sepset.base.memory import check_rows_fit, row_blocks
from sepset.errors import ArgumentError, ModelError, NotApplicable
from sepset.factors.canonical import Cholesky
from sepset.factors.moments import square_roots, whitened


@dataclass(frozen=True, slots=True, eq=False, init=False)
class StudentT(Worded, Plain):
    r"""The Student t distribution with $\nu$ degrees of freedom, in one or more dimensions.

    Args:
        degrees: $\nu > 0$; infinity makes it normal.
        location: $\mu$, a number or a vector.
        dispersion: $\Psi$, the squared scale: a number or a positive definite matrix.

    Reference: Koller & Friedman, exercise 17.11; Murphy, *Machine Learning* (2012), section 2.5.1.
    Guarantee: exact.
    Tested by: factors/test_studentt.py::test_several_dimensions_are_scipys

    >>> t = StudentT(8, 2.0, dispersion=1.8)
    >>> round(float(np.exp(t.log_density(3.0))), 7), round(float(t.scale[0]), 7)
    (0.2130712, 1.3416408)
    """

    degrees: float
    location: Floats
    dispersion: Floats

    def __init__(self, degrees: float, location: ArrayLike, *, dispersion: ArrayLike) -> None:
        center = np.array(location, dtype=np.float64).reshape(-1)
        matrix = np.array(dispersion, dtype=np.float64)
        if not len(center) or matrix.size != len(center) ** 2:
            raise ModelError(
                f"A Student t has a location and a square dispersion of as many rows; found {len(center)} numbers "
                f"and the shape {matrix.shape}."
            )
        matrix = matrix.reshape(len(center), len(center))
        if not degrees > 0:
            raise ModelError(f"A Student t has degrees of freedom > 0; found {degrees!r}.")
        spread = 0.5 * (matrix + matrix.T)
        if not (np.isfinite(center).all() and np.isfinite(matrix).all() and Cholesky.of(spread[None]).definite[0]):
            raise ModelError("A Student t has a finite location and a positive definite dispersion.")
        fill(self, degrees=float(degrees), location=center, dispersion=spread)

    @property
    def scale(self) -> Floats:
        """The scale of each coordinate: the root of the dispersion's diagonal."""
        return np.sqrt(np.diagonal(self.dispersion))

    def mean(self) -> Floats:
        """The location; NaN where there is no mean, with one degree of freedom or fewer."""
        return self.location if self.degrees > 1 else np.full(len(self.location), np.nan)

    def covariance(self) -> Floats:
        r"""$\Psi \nu / (\nu - 2)$; infinite on the diagonal with two degrees of freedom or fewer."""
        if math.isinf(self.degrees):
            return self.dispersion
        if self.degrees <= 2:
            raise NotApplicable(f"A Student t with {self.degrees:g} degrees of freedom has no finite covariance.")
        return np.asarray(self.dispersion * (self.degrees / (self.degrees - 2.0)))

    def log_density(self, points: ArrayLike) -> Floats:
        """The logarithm of the density at each point: a number, one number per row, or one vector per row."""
        from scipy.special import gammaln

        size = len(self.location)
        x = np.asarray(points, dtype=np.float64)
        if size > 1 and (x.ndim not in (1, 2) or x.shape[-1] != size):
            raise ArgumentError(f"points= are vectors of {size} numbers, one per row; found the shape {x.shape}.")
        rows = x.reshape(-1, size)
        (half,), (squares,) = whitened(self.dispersion[None], rows, self.location[None])
        if math.isinf(self.degrees):
            logs = -0.5 * (squares + size * math.log(2.0 * math.pi)) - half
        else:
            nu = self.degrees
            constant = gammaln(0.5 * (nu + size)) - gammaln(0.5 * nu) - 0.5 * size * math.log(nu * math.pi) - half
            logs = constant - 0.5 * (nu + size) * np.log1p(squares / nu)
        return np.asarray(logs if x.ndim == (2 if size > 1 else 1) else logs.reshape(x.shape if size == 1 else ()))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """The ends of the central interval of each coordinate with this probability."""
        from scipy.special import ndtri, stdtrit

        place = 0.5 + 0.5 * fraction("level", level, ends=True)
        reach = self.scale * (ndtri(place) if math.isinf(self.degrees) else stdtrit(self.degrees, place))
        return self.location - reach, self.location + reach

    def tail(self, threshold: float) -> float:
        """The probability that a single coordinate exceeds a threshold."""
        from scipy.special import ndtr, stdtr

        if len(self.location) != 1:
            raise NotApplicable(f"A tail is of one coordinate; this has {len(self.location)}.")
        apart = (float(self.location[0]) - threshold) / float(self.scale[0])
        return float(ndtr(apart) if math.isinf(self.degrees) else stdtr(self.degrees, apart))

    def sample(self, num_rows: int, seed: Seed = 0) -> Floats:
        """Independent draws, `[n]` in one dimension and else `[n, size]`."""
        rng, size = generator(seed), len(self.location)
        check_rows_fit(whole("num_rows", num_rows), 8 * size)
        root, drawn = square_roots(self.dispersion[None])[0].T, np.empty((num_rows, size))
        for rows in row_blocks(num_rows, size):
            noise = rng.standard_normal(drawn[rows].shape) @ root
            if not math.isinf(self.degrees):
                noise /= np.sqrt(rng.chisquare(self.degrees, size=len(noise)) / self.degrees)[:, None]
            drawn[rows] = self.location + noise
        return np.asarray(drawn[:, 0] if size == 1 else drawn)

    def __repr__(self) -> str:
        location, scale = (", ".join(f"{x:.6g}" for x in part.tolist()) for part in (self.location, self.scale))
        return f"StudentT({self.degrees:g} degrees of freedom, location {location}, scale {scale})"
