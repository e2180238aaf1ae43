r"""Conjugate priors of regressions: matrix-normal inverse-Wishart, and its special cases.

| | one coordinate of the child | several |
|---|---|---|
| no parents | `NormalGamma` | `NormalInverseWishart` |
| real parents | `LinearNormalGamma` | `LinearNormalInverseWishart` |

They have the methods of every `ConjugatePrior`. Data are rows $(\mathbf u, \mathbf y)$, the child last, or a `Scatter`.

Reference: Koller & Friedman, section 17.4.4 and exercise 17.11; Geisser (1965) for vectors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import Seed, below, check_finite, check_positive, finite_array, generator, number, whole
from sepset.base.frozen import fill
from sepset.base.logarithms import LOG_2PI
from sepset.base.memory import check_fits
from sepset.base.numerics.leastsquares import semidefinite_root
from sepset.cpds.priors.gaussian import Data, summary, wishart_roots
from sepset.cpds.priors.parents import Names, parents_of, with_one
from sepset.cpds.priors.precisions import (
    log_det,
    precisions_of,
    root_of,
    spreads,
    upper_root,
    wishart_scale,
    with_positive_diagonal,
)
from sepset.data.scatter import Scatter
from sepset.errors import ArgumentError, DataError, ModelError
from sepset.factors.studentt import StudentT
from sepset.variables.variable import Vector

STEPS = 8
"""The most steps of a posterior, each of which corrects some sixteen digits."""

LARGEST = 1e153
"""The size of numbers below which their squares, summed over many rows, do not overflow."""


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class RegressionPrior:
    r"""A matrix-normal inverse-Wishart distribution of the coefficients and the covariance of a regression.

    $$\Sigma \sim \text{IW}(\Psi, \nu), \quad B \mid \Sigma \sim MN(B_0; \Lambda_0^{-1}, \Sigma), \qquad
    \Lambda = \Lambda_0 + Z^\top Z, \quad B' = \Lambda^{-1}(\Lambda_0 B_0 + Z^\top Y)$$

    where a row of $Z$ is $(1, \mathbf u)$; $\nu' = \nu + M$ and $\Psi' = \Psi + (Y - Z B')^\top (Y - Z B') +
    (B' - B_0)^\top \Lambda_0 (B' - B_0)$. The named priors are special cases; `lines` is their `mean`.

    Attributes:
        lines: $B_0$, the mean of the coefficients: one row for the intercept and for each parent, one column for each
            coordinate of the child.
        precision: $\Lambda_0$.
        root: $R$ with $\Lambda_0 = R^\top R$. The precision squares the means of the parents: with parents near $10^9$
            floats lose its digits. Its root keeps them, and is updated by one QR decomposition.
        degrees: $\nu$.
        scale: $\Psi$, a sum of squares: $E[\Sigma] = \Psi / (\nu - d - 1)$.
        given: the names of the real parents in the order of the coefficients; empty for the order of the CPD's parents.

    Reference: Golub & Van Loan, *Matrix Computations*, section 5.3, for the root.
    """

    lines: Floats
    precision: Floats
    root: Floats
    degrees: float
    scale: Floats
    given: tuple[str, ...]

    def _fill(
        self,
        lines: Floats,
        precision: Floats,
        root: Floats,
        degrees: float,
        scale: Floats,
        given: tuple[str, ...] = (),
    ) -> Self:
        fill(self, lines=lines, precision=0.5 * (precision + precision.T), root=root)
        fill(self, degrees=degrees, scale=0.5 * (scale + scale.T), given=given)
        return self

    @classmethod
    def flat(cls, num_coefficients: int, size: int = 1) -> Self:
        r"""The improper prior $p(B, \Sigma) \propto |\Sigma|^{-(d + 1)/2}$: flat in coefficients and log variances.

        It is not a distribution until it is updated with enough rows; its mode in log variances is then the maximum
        likelihood estimate. Priors of imaginary rows start from it.
        """
        rows, size = whole("num_coefficients", num_coefficients), whole("size", size, least=1)
        check_fits(8 * (rows * (rows + size) + size * size), f"A prior of {rows:,} by {size:,} coefficients")
        zeros, lines, scale = np.zeros((rows, rows)), np.zeros((rows, size)), np.zeros((size, size))
        return cls.__new__(cls)._fill(lines, zeros, zeros, -float(num_coefficients), scale)

    def with_noise(self, degrees: float, scale: Floats) -> Self:
        """The same coefficients with another distribution of the covariance."""
        if np.shape(scale) != self.scale.shape:
            raise ModelError(f"The scale of the noise has the shape {self.scale.shape}; found {np.shape(scale)}.")
        new = type(self).__new__(type(self))
        return new._fill(self.lines, self.precision, self.root, number("degrees", degrees), scale, self.given)

    @property
    def size(self) -> int:
        """The number of coordinates of the child."""
        return int(self.lines.shape[1])

    def over(self, num_coefficients: int, size: int) -> RegressionPrior | None:
        """The prior of a regression with these numbers of coefficients and coordinates; None if it is of another."""
        return self if self.lines.shape == (num_coefficients, size) else None

    def along(self, parents: Sequence[Vector]) -> RegressionPrior | None:
        """The prior with its coefficients in the order of these parents; None if it names others.

        >>> from sepset.variables.variable import Real
        >>> named = LinearNormalGamma([1.0, 2.0, 3.0], [1, 2, 3], shape=1.0, rate=1.0, given=["u", "v"])
        >>> named.along([Real("v"), Real("u")])
        LinearNormalGamma(mean=[1.0, 3.0, 2.0], shape=1, rate=1, given=('v', 'u'))
        """
        names = tuple(v.name for v in parents)
        if names == self.given or not self.given:
            return self
        if sorted(names) != sorted(self.given):
            return None
        sizes = {v.name: v.size for v in parents}
        ends = dict(
            zip(self.given, itertools.accumulate((sizes[name] for name in self.given), initial=1), strict=False)
        )
        order = np.array([0, *(i for name in names for i in range(ends[name], ends[name] + sizes[name]))])
        root = upper_root(self.root[:, order])
        new = type(self).__new__(type(self))
        return new._fill(self.lines[order], self.precision[np.ix_(order, order)], root, self.degrees, self.scale, names)

    def _seen(self, data: Data) -> Scatter:
        return summary(data, len(self.lines) - 1 + self.size)

    def update(self, data: Data) -> Self:
        r"""The posterior after these rows $(\mathbf u, \mathbf y)$."""
        seen = self._seen(data)
        if seen.count == 0.0:
            return self
        parts = self._joined(seen) if len(self.lines) > 1 else self._joined_without_parents(seen)
        lines, precision, root, squares = parts
        made = type(self).__new__(type(self))
        return made._fill(lines, precision, root, self.degrees + seen.count, self.scale + squares, self.given)

    def _joined_without_parents(self, seen: Scatter) -> tuple[Floats, Floats, Floats, Floats]:
        """Means in closed form, as a step from the prior mean: an average of large numbers loses digits."""
        apart = seen.mean - self.lines
        check_near(self.root @ apart)
        precision = self.precision + seen.count
        between = self.precision * seen.count / precision * (apart.T @ apart)
        return self.lines + seen.count / precision * apart, precision, np.sqrt(precision), seen.products + between

    def _joined(self, seen: Scatter) -> tuple[Floats, Floats, Floats, Floats]:
        r"""Coefficients, precision, root and added squares: the squares of three differences are least together.

        $$R(B_0 - B'), \qquad \sqrt M\,(\bar y - \bar z^\top B'), \qquad T(\hat B - B'), \qquad
        R'^\top R' = R^\top R + Z^\top Z$$

        With $T^\top T$ the centered products of the parents, and $\hat B$ least squares. Each step corrects the one
        before: neither a strong prior nor a weak one costs digits. Errors of $B'$ enter the squares squared.
        """
        size, split = self.size, len(self.lines) - 1
        fit = seen.fit(size)
        fitted = np.concatenate([fit.intercept[None], fit.slope.T])
        with np.errstate(over="ignore", invalid="ignore"):
            check_near(np.concatenate([self.root, self.root @ (self.lines - fitted)], axis=1))
        center = np.sqrt(seen.count) * np.append(1.0, seen.mean[:split])
        spread = semidefinite_root(seen.products[:split, :split]) if seen.root is None else seen.root[:, :split]
        inner = np.concatenate([np.zeros((len(spread), 1)), spread], axis=1)
        turned, upper = np.linalg.qr(np.concatenate([self.root, center[None], inner]))
        lines = self.lines.copy()
        for _ in range(STEPS):
            at_mean = np.sqrt(seen.count) * (seen.mean[split:] - lines[0] - seen.mean[:split] @ lines[1:])
            apart = np.concatenate([self.root @ (self.lines - lines), at_mean[None], inner @ (fitted - lines)])
            step = np.linalg.solve(upper, turned.T @ apart)
            lines = lines + step
            if (np.abs(step) <= 1e-15 * np.abs(lines)).all():
                break
        root = with_positive_diagonal(upper)
        moved = apart[: len(self.root) + 1]
        return lines, root.T @ root, root, seen.residual(lines[1:].T) + moved.T @ moved

    def expected_covariance(self) -> Floats:
        r"""$\Psi / (\nu - d - 1)$, for $\nu > d + 1$."""
        spare = self.degrees - self.size - 1.0
        if spare <= 0:
            raise ModelError(f"The covariance has no mean with {self.degrees:g} degrees over {self.size} coordinates.")
        return np.asarray(self.scale / spare)

    def mode_covariance(self, *, is_theta: bool) -> Floats:
        r"""With $p$ coefficients, $\Psi / (\nu + p)$ in log variances and $\Psi / (\nu + p + d + 1)$ in variances."""
        return np.asarray(self.scale / (self.degrees + len(self.lines) + (self.size + 1.0 if is_theta else 0.0)))

    def predictive(self, parents: ArrayLike = ()) -> StudentT:
        r"""The child at these parents: Student t with $k = \nu - d + 1$ degrees.

        Its dispersion is $\Psi\,(1 + z^\top\Lambda^{-1}z) / k$.
        """
        z = with_one(parents, len(self.lines) - 1)
        degrees = self.degrees - self.size + 1.0
        spread = 1.0 + float(spreads(self.root, z[None])[0, 0])
        return StudentT(degrees, z @ self.lines, dispersion=self.scale * (spread / degrees))

    def coefficient(self, row: int, coordinate: int = 0) -> StudentT:
        r"""The marginal of one entry of $B$: Student t with $k = \nu - d + 1$ degrees.

        Its squared scale is $(\Lambda^{-1})_{ii}\,\Psi_{jj} / k$.
        """
        degrees = self.degrees - self.size + 1.0
        i, j = below("row", row, len(self.lines)), below("coordinate", coordinate, self.size)
        spread = float(spreads(self.root, np.eye(len(self.lines))[[i]])[0, 0])
        return StudentT(degrees, self.lines[i, j], dispersion=self.scale[j, j] * spread / degrees)

    def variance(self, coordinate: int = 0) -> tuple[float, float]:
        r"""The shape and the scale of the inverse gamma of $\Sigma_{jj}$: $(\nu - d + 1) / 2$ and $\Psi_{jj} / 2$."""
        place = below("coordinate", coordinate, self.size)
        return 0.5 * (self.degrees - self.size + 1.0), 0.5 * float(self.scale[place, place])

    def log_marginal_likelihood(self, data: Data) -> float:
        """The log density of the child's values given the parents', with coefficients and covariance integrated out."""
        from scipy.special import multigammaln

        size, after, count = self.size, self.update(data), self._seen(data).count
        gamma = multigammaln(0.5 * after.degrees, size) - multigammaln(0.5 * self.degrees, size)
        squares = self.degrees * _log_det(self.scale) - after.degrees * _log_det(after.scale)
        normal = log_det(self.root) - log_det(after.root) - count * math.log(math.pi)
        return float(gamma + 0.5 * (squares + size * normal))

    def log_predictives(self, u: Floats, y: Floats) -> Floats:
        r"""The log density of several uses of one regression, `[rows, uses, ...]`: one matrix Student t per row."""
        if u.ndim != 3 or y.ndim != 3 or u.shape[:2] != y.shape[:2]:
            raise ArgumentError(f"u= and y= are [rows, uses, coordinates]; found the shapes {u.shape} and {y.shape}.")
        z = np.concatenate([np.ones((*u.shape[:2], 1)), u], axis=2)
        return self.log_matrix_t(y - z @ self.lines, np.eye(y.shape[1]) + spreads(self.root, z))

    def log_matrix_t(self, apart: Floats, spread: Floats) -> Floats:
        r"""The log density of residuals $E$ of $q$ uses with the spread $S$, one value per row.

        $$\frac{\Gamma_d(\frac{\nu + q}2)}{\Gamma_d(\frac\nu2)\, \pi^{qd/2}}
        \frac{|\Psi|^{\nu/2}}{|\Psi + E^\top S^{-1} E|^{(\nu + q)/2}\, |S|^{d/2}}$$

        Args:
            apart: $E$, `[rows, uses, coordinates]`.
            spread: $S = I + Z\Lambda^{-1}Z^\top$ for uses of one regression, `[rows, uses, uses]`.
        """
        from scipy.special import multigammaln

        num, size = apart.shape[1:]
        after = self.scale + np.swapaxes(apart, 1, 2) @ np.linalg.solve(spread, apart)
        constant = multigammaln(0.5 * (self.degrees + num), size) - multigammaln(0.5 * self.degrees, size)
        constant += 0.5 * self.degrees * _log_det(self.scale) - 0.5 * num * size * np.log(np.pi)
        dets = (self.degrees + num) * np.linalg.slogdet(after)[1] + size * np.linalg.slogdet(spread)[1]
        return np.asarray(constant - 0.5 * dets)

    def log_kernel(self, lines: Floats, covariance: Floats, *, is_theta: bool) -> float:
        """The log density of coefficients and (log) covariance, up to a constant that does not depend on them."""
        if np.shape(lines) != self.lines.shape or np.shape(covariance) != self.scale.shape:
            shapes = f"{self.lines.shape} and {self.scale.shape}; found {np.shape(lines)} and {np.shape(covariance)}"
            raise ArgumentError(f"lines= and covariance= have the shapes {shapes}.")
        apart = self.root @ (lines - self.lines)
        squares = float(np.trace(np.linalg.solve(covariance, apart.T @ apart + self.scale)))
        power = self.degrees + len(lines) + (self.size + 1.0 if is_theta else 0.0)
        return -0.5 * (power * _log_det(covariance) + squares)

    def log_density(self, lines: Floats, covariance: Floats, *, is_theta: bool) -> float:
        """The log density of coefficients and covariance, or of coefficients and log covariance."""
        from scipy.special import multigammaln

        normal = self.size * log_det(self.root) - lines.size * LOG_2PI
        wishart = self.degrees * (_log_det(self.scale) - self.size * math.log(2.0))
        constant = 0.5 * (normal + wishart) - multigammaln(0.5 * self.degrees, self.size)
        return float(constant + self.log_kernel(lines, covariance, is_theta=is_theta))

    def draws(self, num_rows: int, seed: Seed = 0) -> tuple[Floats, Floats]:
        """Independent draws of the coefficients `[n, 1 + parents, d]` and of the covariance `[n, d, d]`."""
        rng, num_rows = generator(seed), whole("num_rows", num_rows)
        factor = wishart_roots(self.scale, self.degrees, num_rows, rng)
        noise = rng.standard_normal((num_rows, *self.lines.shape))
        return self.lines + np.linalg.solve(self.root, noise @ factor), np.swapaxes(factor, 1, 2) @ factor

    def _content(self) -> tuple[object, ...]:
        arrays = (self.lines, self.precision, self.root, self.scale)
        return type(self), self.given, self.degrees, *(a.shape for a in arrays), *(a.tobytes() for a in arrays)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RegressionPrior) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())


class _GammaPrior(RegressionPrior):
    """Shared parts of the priors for one coordinate, whose precision has a gamma distribution."""

    __slots__ = ()

    @property
    def shape(self) -> float:
        r"""Half the degrees: $\tau \sim \text{Gamma}(a, b)$."""
        return 0.5 * self.degrees

    @property
    def rate(self) -> float:
        """Half the sum of squares."""
        return 0.5 * float(self.scale[0, 0])

    @property
    def expected_precision(self) -> float:
        """$a / b$."""
        return self.shape / self.rate

    @property
    def expected_variance(self) -> float:
        r"""$b / (a - 1)$, the mean of $\sigma^2 = 1 / \tau$; infinite for $a \le 1$."""
        return self.rate / (self.shape - 1.0) if self.shape > 1.0 else math.inf


class NormalGamma(_GammaPrior):
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
    Guarantee: exact.
    Tested by: cpds/priors/test_regression.py::test_published_normal_gamma

    >>> NormalGamma(0.0, 1.0, shape=2.0, rate=1.0).update([1.0, 2.0, 3.0, 4.0])
    NormalGamma(mean=2.0, strength=5.0, shape=4.0, rate=6.0)
    """

    __slots__ = ()

    def __init__(self, mean: float, strength: float, *, shape: float, rate: float) -> None:
        check_finite("NormalGamma", mean=mean)
        check_positive("NormalGamma", strength=strength, shape=shape, rate=rate)
        precision = np.array([[float(strength)]])
        self._fill(np.array([[float(mean)]]), precision, np.sqrt(precision), 2.0 * shape, np.array([[2.0 * rate]]))

    @property
    def mean(self) -> float:
        r"""$\mu_0$."""
        return float(self.lines[0, 0])

    @property
    def strength(self) -> float:
        r"""$\lambda$."""
        return float(self.precision[0, 0])

    def over(self, num_coefficients: int, size: int) -> LinearNormalGamma | None:
        """The prior with coefficients of mean zero, each as strong as the mean."""
        if size != 1:
            return None
        mean = np.append(self.mean, np.zeros(whole("num_coefficients", num_coefficients, least=1) - 1))
        return LinearNormalGamma(mean, self.strength, shape=self.shape, rate=self.rate)

    def mean_marginal(self) -> StudentT:
        r"""The marginal of the mean: Student t, $2\alpha$ degrees, squared scale $\beta / (\alpha\lambda)$."""
        return self.coefficient(0)

    def sample(self, num_rows: int, seed: Seed = 0) -> tuple[Floats, Floats]:
        """Independent draws of the mean and of the precision."""
        lines, covariances = self.draws(num_rows, seed)
        return lines[:, 0, 0], 1.0 / covariances[:, 0, 0]

    def __repr__(self) -> str:
        return f"NormalGamma(mean={self.mean}, strength={self.strength}, shape={self.shape}, rate={self.rate})"


class LinearNormalGamma(_GammaPrior):
    r"""A normal-gamma prior of the coefficients and the noise of a linear Gaussian CPD.

    $$\tau \sim \text{Gamma}(a, b), \quad \beta \mid \tau \sim N(m_0; (\tau\Lambda_0)^{-1}), \qquad
    \Lambda = \Lambda_0 + Z^\top Z, \quad m = \Lambda^{-1}(\Lambda_0 m_0 + Z^\top x)$$

    where a row of $Z$ is $(1, \mathbf u)$; $a' = a + M/2$ and $b' = b + \frac12(x^\top x + m_0^\top\Lambda_0 m_0 -
    m^\top\Lambda m)$. Data are rows $(\mathbf u, x)$, the child last.

    Args:
        mean: $m_0$, the intercept and then one coefficient per parent.
        precision: $\Lambda_0$, a positive definite matrix, or one number per coefficient, or one for all.
        shape: $a$.
        rate: $b$.
        given: the names of the parents in the order of the coefficients. Without it this is the order in which the CPD
            lists them.

    Reference: Koller & Friedman, section 17.4.4.
    Guarantee: exact.
    Tested by: cpds/priors/test_regression.py::test_line_evidence_is_a_joint_student_t

    >>> prior = LinearNormalGamma([0.0, 0.0], 1e-9, shape=1.0, rate=1e-9)
    >>> prior.update([[0, 1], [1, 3], [2, 2], [3, 5]]).mean.round(6).tolist()
    [1.1, 1.1]
    """

    __slots__ = ()

    def __init__(self, mean: ArrayLike, precision: ArrayLike, *, shape: float, rate: float, given: Names = ()) -> None:
        center = finite_array("LinearNormalGamma", "mean", mean).reshape(-1)
        check_positive("LinearNormalGamma", shape=shape, rate=rate)
        matrix = precisions_of("LinearNormalGamma", precision, len(center))
        root, parents = root_of("LinearNormalGamma", matrix), parents_of("LinearNormalGamma", given, len(center))
        self._fill(center[:, None], matrix, root, 2.0 * shape, np.array([[2.0 * rate]]), parents)

    @property
    def mean(self) -> Floats:
        """$m_0$."""
        return np.asarray(self.lines[:, 0])

    def coefficients(self) -> StudentT:
        r"""The marginal of all coefficients: Student t, $2a$ degrees, dispersion $(b/a)\Lambda^{-1}$."""
        inverse = spreads(self.root, np.eye(len(self.mean)))
        return StudentT(2.0 * self.shape, self.mean, dispersion=self.rate / self.shape * inverse)

    def sample(self, num_rows: int, seed: Seed = 0) -> tuple[Floats, Floats]:
        """Independent draws of the coefficients `[n, 1 + parents]` and of the precision."""
        lines, covariances = self.draws(num_rows, seed)
        return lines[:, :, 0], 1.0 / covariances[:, 0, 0]

    def __repr__(self) -> str:
        parents = f", given={self.given}" if self.given else ""
        return f"LinearNormalGamma(mean={self.mean.tolist()}, shape={self.shape:g}, rate={self.rate:g}{parents})"


class NormalInverseWishart(RegressionPrior):
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
    Guarantee: exact.
    Tested by: cpds/priors/test_regression.py::test_wishart_batch_is_sequential_and_evidence_is_a_product_of_predictions

    >>> prior = NormalInverseWishart([0.0, 0.0], 1.0, degrees=4.0, scale=np.eye(2))
    >>> prior.update([[2.0, 0.0], [4.0, 0.0]]).mean.tolist()
    [2.0, 0.0]
    """

    __slots__ = ()

    def __init__(self, mean: ArrayLike, strength: float, *, degrees: float, scale: ArrayLike) -> None:
        center = finite_array("NormalInverseWishart", "mean", mean).reshape(-1)
        check_positive("NormalInverseWishart", strength=strength)
        squares = wishart_scale("NormalInverseWishart", scale, degrees, len(center))
        precision = np.array([[float(strength)]])
        self._fill(center[None], precision, np.sqrt(precision), float(degrees), squares)

    @property
    def mean(self) -> Floats:
        r"""$\mu_0$."""
        return np.asarray(self.lines[0])

    @property
    def strength(self) -> float:
        r"""$\kappa$."""
        return float(self.precision[0, 0])

    def over(self, num_coefficients: int, size: int) -> RegressionPrior | None:
        """The prior with coefficients of mean zero, each as strong as the mean."""
        if size != self.size or num_coefficients == 1:
            return self if size == self.size else None
        lines = np.concatenate([self.lines, np.zeros((num_coefficients - 1, size))])
        return LinearNormalInverseWishart(lines, self.strength, degrees=self.degrees, scale=self.scale)

    def sample(self, num_rows: int, seed: Seed = 0) -> tuple[Floats, Floats]:
        """Independent draws of the mean `[n, d]` and of the covariance `[n, d, d]`."""
        lines, covariances = self.draws(num_rows, seed)
        return lines[:, 0], covariances

    def __repr__(self) -> str:
        return f"NormalInverseWishart({self.size} coordinates, {self.strength:g} strength, {self.degrees:g} degrees)"


class LinearNormalInverseWishart(RegressionPrior):
    r"""A matrix-normal inverse-Wishart prior of the coefficients and the covariance of a vector with real parents.

    $$\Sigma \sim \text{IW}(\Psi, \nu), \quad B \mid \Sigma \sim MN(B_0; \Lambda_0^{-1}, \Sigma)$$

    Data are rows $(\mathbf u, \mathbf y)$, the child last. See `RegressionPrior` for the update. With one coordinate it
    is `LinearNormalGamma` of shape $\nu / 2$ and rate $\Psi / 2$.

    Args:
        mean: $B_0$, one row for the intercept and for each parent, one column for each coordinate of the child.
        precision: $\Lambda_0$, a positive definite matrix, or one number per row of `mean`, or one for all.
        degrees: $\nu > d - 1$.
        scale: $\Psi$, a sum of squares: $E[\Sigma] = \Psi / (\nu - d - 1)$.
        given: the names of the parents in the order of the coefficients. Without it this is the order in which the CPD
            lists them.

    Reference: Murphy, *Machine Learning* (2012), section 7.6.3.2 for one coordinate; Geisser (1965).
    Guarantee: exact.
    Tested by: cpds/priors/test_regression.py::test_evidence_of_vectors_is_a_product_of_predictions

    >>> prior = LinearNormalInverseWishart(np.zeros((2, 2)), 1e-9, degrees=4.0, scale=np.eye(2))
    >>> prior.update([[0, 1, 0], [1, 3, 0], [2, 2, 0], [3, 5, 0]]).mean.round(6).tolist()
    [[1.1, 0.0], [1.1, 0.0]]
    """

    __slots__ = ()

    def __init__(
        self, mean: ArrayLike, precision: ArrayLike, *, degrees: float, scale: ArrayLike, given: Names = ()
    ) -> None:
        name = "LinearNormalInverseWishart"
        lines = finite_array(name, "mean", mean)
        if lines.ndim != 2:
            raise ModelError(f"{name} needs a mean of coefficients by coordinates; found the shape {lines.shape}.")
        matrix = precisions_of(name, precision, len(lines))
        squares = wishart_scale(name, scale, degrees, lines.shape[1])
        parents = parents_of(name, given, len(lines))
        self._fill(lines, matrix, root_of(name, matrix), float(degrees), squares, parents)

    @property
    def mean(self) -> Floats:
        """$B_0$."""
        return self.lines

    def sample(self, num_rows: int, seed: Seed = 0) -> tuple[Floats, Floats]:
        """Independent draws of the coefficients `[n, 1 + parents, d]` and of the covariance `[n, d, d]`."""
        return self.draws(num_rows, seed)

    def __repr__(self) -> str:
        size = f"{len(self.lines)} coefficients of {self.size} coordinates"
        parents = f", given={self.given}" if self.given else ""
        return f"LinearNormalInverseWishart({size}, {self.degrees:g} degrees{parents})"


def check_near(apart: Floats) -> None:
    """Raise if the squared distance of rows from the prior mean would overflow."""
    if not np.abs(apart).max(initial=0.0) < LARGEST:
        raise DataError("The rows lie so far from the prior mean that squares overflow. Rescale a column.")


def _log_det(matrix: Floats) -> float:
    return float(np.linalg.slogdet(matrix)[1])
