r"""Parameters of linear Gaussians whose contexts share one covariance, and their posterior.

$$p(\mathbf y \mid \mathbf u, d) = N(\mathbf y;\; a_d + B_d \mathbf u;\; C), \qquad
\hat C = \frac{\sum_d R_d}{\sum_d M_d}$$

where $R_d$ are the residual squares of the regression in one context: coefficients are estimated as if each context had
a covariance of its own, and only the covariance is pooled.

Reference: Koller & Friedman, sections 17.2.4 and 17.5; Hastie, Tibshirani & Friedman, *Elements*, section 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.lazy import lazy
from sepset.cpds.counts import joint_codes
from sepset.cpds.priors.dirichlet import RowPrior
from sepset.cpds.priors.gaussian import KnownPart, NormalMean
from sepset.cpds.priors.penalized import PERFECT, floored, smallest_eigenvalues
from sepset.cpds.priors.regression import LinearNormalGamma, LinearNormalInverseWishart
from sepset.cpds.priors.sharedcovariance import SharedLines, SharedPrior, shared_prior
from sepset.cpds.priors.weights import WeightPrior
from sepset.cpds.regressionparameters import RegressionParameters
from sepset.cpds.regressionposterior import RegressionDensity, RegressionPosterior
from sepset.data.scatter import Scatters
from sepset.errors import ModelError
from sepset.factors.algebra import Columns
from sepset.factors.coordinates import matrix, width
from sepset.factors.labels import name_of
from sepset.variables.variable import Vector

if TYPE_CHECKING:
    from sepset.cpds.lineargaussian import LinearGaussian


def check_shared(covariance: Floats, child: Vector) -> None:
    """Raise unless the covariances of all contexts are equal.

    >>> check_shared(np.ones((3, 1, 1)), Vector("x", 1))
    """
    if not (covariance == covariance[:1]).all():
        raise ModelError(
            f"The contexts of {child.name} share one covariance, but have different ones; the first two are "
            f"{np.unique(covariance, axis=0)[:2].tolist()}. Give one covariance, or leave shared= out."
        )


@dataclass(frozen=True, eq=False, repr=False)
class SharedRegressionPosterior(RegressionPosterior):
    """The posterior of the regressions of one block whose contexts share one covariance.

    >>> from sepset.cpds.lineargaussian import LinearGaussian
    >>> from sepset.cpds.priors.regression import NormalGamma
    >>> from sepset.variables.variable import Discrete, Real
    >>> x = LinearGaussian(Real("x"), covariance=1.0, by=Discrete("d"), shared="covariance")
    >>> stats = x.scatters({x.child: np.array([1.0, 2, 3, 4]), x.by[0]: np.array([0, 0, 0, 1])})
    >>> x.parameters.posterior(NormalGamma(0, 1, shape=2, rate=1), [x], stats).contexts[1].shape
    4.0
    """

    @property
    def _prior(self) -> SharedPrior:
        return shared_prior(self.priors)  # type: ignore[arg-type]  # a known variance has no such posterior

    @lazy
    def _joint(self) -> SharedPrior:
        """The joint posterior of all parameters."""
        return self._prior.update(self.stats)

    @lazy
    def contexts(self) -> tuple[Any, ...]:
        """The posterior of each regression by itself."""
        return self._joint.contexts

    def log_marginal_likelihood(self) -> float:
        """The log density of the rows, with the parameters integrated out."""
        return self._prior.log_marginal_likelihood(self.stats)

    def log_gain(self, stats: Any) -> float:
        """The log density of more rows after those already seen."""
        return self._joint.log_marginal_likelihood(self.cpds[0].centered(stats))

    def sampled_cpds(self, rng: np.random.Generator) -> tuple[LinearGaussian, ...]:
        """The CPDs with one draw of all parameters."""
        return self._cpds_at(self._joint.draws(rng))

    def log_predictive(self, columns: Columns) -> Floats:
        """The log density of the block's children in each row, with the parameters integrated out."""
        num_rows = len(columns[self.cpds[0].child])
        entry = np.stack([joint_codes(columns, cpd.by, num_rows, cpd) for cpd in self.cpds], axis=1)
        u = np.stack([matrix(cpd.given, columns, num_rows) for cpd in self.cpds], axis=1)
        y = np.stack([matrix((cpd.child,), columns, num_rows) for cpd in self.cpds], axis=1)
        return self._joint.log_predictives(entry, u, y)

    def log_density(self, cpd: LinearGaussian, parameterization: str) -> float:
        """The log density of a CPD's coefficients and covariance, or of coefficients and log covariance."""
        is_theta = parameterization == "theta"
        return self._joint.log_density(cpd.parameters.lines, cpd.covariance[0], is_theta=is_theta)

    def names(self) -> Iterator[tuple[Vector, Any, dict[str, Any]]]:
        """Every parameter as the child, its name and the states of the discrete parents; the covariance has none."""
        named = list(super().names())
        yield from (name for name in named if not _is_variance(name[1]))
        yield from {(child, text): (child, text, {}) for child, text, _ in named if _is_variance(text)}.values()

    def _marginal(self, parameter: Any, given: Mapping[Any, Any]) -> Any:
        if given or not _is_variance(parameter):
            return super()._marginal(parameter, given)
        return super()._marginal(parameter, {v: v.states[0] for v in self.cpds[0].by})


def _is_variance(parameter: object) -> bool:
    return isinstance(parameter, str) and parameter.split("[")[0] == "variance"


def imagined_together(cpd: LinearGaussian, stats: Scatters) -> tuple[Any, ...]:
    r"""The prior of each context from imaginary rows alone, starting flat in coefficients and the log covariance.

    With $K$ contexts of $p$ coefficients and $M'$ rows in all, the shared covariance has $M' - Kp$ degrees.

    >>> from sepset.cpds.lineargaussian import LinearGaussian
    >>> from sepset.variables.variable import Discrete, Real
    >>> cpd = LinearGaussian(Real("y"), covariance=1.0, by=Discrete("d"), shared="covariance")
    >>> rows = {cpd.child: np.array([1.0, 3.0, 5.0]), cpd.by[0]: np.array([0, 0, 1])}
    >>> imagined_together(cpd, cpd.scatters(rows))[1]
    LinearNormalGamma(mean=[5.0], shape=0.5, rate=1)
    """
    size, num, contexts = cpd.child.size, 1 + width(cpd.given), len(stats.counts)
    kind = LinearNormalGamma if size == 1 else LinearNormalInverseWishart
    flat = kind.flat(num, size).with_noise(-float(num * contexts), np.zeros((size, size)))
    ranks = [np.linalg.matrix_rank(s.products[:-size, :-size]) for s in stats.contexts]
    enough = (stats.counts > 0).all() and min(ranks, default=0) == num - 1
    found = SharedLines((flat,) * contexts).update(stats) if enough else None
    squares = stats.products[:, range(-size, 0), range(-size, 0)].sum(axis=0)
    if found is None or not _is_definite(found.noise.scale, squares) or found.noise.degrees <= size - 1:
        raise ModelError(
            f"{name_of(cpd)}: {stats.counts.sum():g} imaginary rows give no prior of regressions that share one "
            "covariance. "
            f"It takes {num} or more in each context, more than {num * contexts + size - 1} in all, parents that are "
            "not collinear, and a child that they do not fit exactly. Add rows, or use NormalGamma(...); or "
            "PosteriorMode, which takes any rows."
        )
    return found.contexts


def _is_definite(residual: Floats, squares: Floats) -> bool:
    """Whether residual squares are positive in all directions, relative to the squares of the child."""
    if not (squares > 0).all():
        return bool(np.linalg.eigvalsh(residual)[0] > 0)
    return float(np.linalg.eigvalsh(residual / np.sqrt(np.outer(squares, squares)))[0]) > PERFECT


@dataclass(frozen=True, eq=False, repr=False)
class SharedCovarianceParameters(RegressionParameters):
    """The regressions of a linear Gaussian, one per context, and the covariance that they share."""

    @property
    def form(self) -> dict[str, Any]:
        """That the covariance is shared."""
        return {"shared": "covariance"}

    @property
    def key(self) -> Any:
        """The properties that CPDs of one block have in common."""
        return (super().key, "shared covariance")

    def check_arrays(self, arrays: Mapping[str, Floats], tolerance: float) -> None:
        """Raise unless the covariances are symmetric, positive semidefinite, and equal."""
        super().check_arrays(arrays, tolerance)
        check_shared(arrays["covariance"], self.cpd.child)

    def _joint(self, density: RegressionDensity) -> SharedPrior | None:
        """The joint prior of all contexts; None if the variance is known, so that they are independent."""
        prior, num = density.prior, len(self.cpd.intercept)
        if isinstance(prior, NormalMean):
            return None
        if density.is_flat and not isinstance(prior, KnownPart):
            prior = prior.with_noise(num * prior.degrees, prior.scale)
        return shared_prior((prior,) * num)

    def _mode(self, density: RegressionDensity, known: Scatters) -> LinearGaussian:
        joint = self._joint(density)
        if joint is None:
            return super()._mode(density, known)
        return self.from_lines(joint.update(known).modes(is_theta=density.is_theta))

    def _at_variances(self, made: LinearGaussian, counts: Floats) -> LinearGaussian:
        return super()._at_variances(made, np.full_like(counts, counts.sum()))

    def _filled(self, known: Scatters, prior: WeightPrior | None, unseen: object) -> LinearGaussian:
        """Least squares; regressions in contexts without rows as `unseen` says, the covariance from the others."""
        empty, made = known.counts == 0, super()._filled(known, prior, unseen)
        if not empty.any() or empty.all():
            return made
        return self._merged(~empty, self.cpd.from_statistics(known, prior, unseen="keep"), made)

    def _merged(self, chosen: Bools, one: LinearGaussian, other: LinearGaussian) -> LinearGaussian:
        """The regressions of one CPD in chosen contexts, and of another elsewhere; the covariance of the first."""
        found = super()._merged(chosen, one, other)
        return found.with_parameters(found.intercept, found.coefficients, covariance=one.covariance)

    def _with_variance(self, stats: Scatters, limit: Floats, least: float | None) -> LinearGaussian:
        """The CPD with variances of at least `least`; without it, variances of the size of rounding raise an error."""
        count = float(stats.counts.sum())
        if least is not None:
            raised = floored(self.cpd.covariance, least) if count else self.cpd.covariance
            return self.cpd.with_parameters(self.cpd.intercept, self.cpd.coefficients, covariance=raised)
        if count and smallest_eigenvalues(self.cpd.covariance)[0] <= np.average(limit, weights=stats.counts):
            raise self._unbounded("", count)
        return self.cpd

    def posterior(self, prior: object, cpds: Sequence[LinearGaussian], stats: Scatters) -> RegressionPosterior:
        """A matrix-normal inverse-Wishart distribution of all contexts together."""
        known = self.cpd.centered(stats)
        if isinstance(prior, RowPrior):
            priors = imagined_together(self.cpd, self.statistics(*prior.rows(cpds)))
            return SharedRegressionPosterior(tuple(cpds), priors, known)
        each = (self.conjugate(prior),) * len(known.counts)
        kind = RegressionPosterior if isinstance(each[0], NormalMean) else SharedRegressionPosterior
        return kind(tuple(cpds), each, known)

    @property
    def coordinates(self) -> Floats:
        """For each context intercept and coefficients about the center; then the log standard deviation."""
        return self._shared_last(super().coordinates)

    def _shared_last(self, rows: Floats) -> Floats:
        """One row per context whose last entry is about the same variance: the others, then its first value."""
        table = rows.reshape(len(self.cpd.intercept), -1)
        return np.append(table[:, :-1], table[0, -1])

    def _summed_last(self, rows: Floats) -> Floats:
        """One row per context whose last entries add up: the others, then their sum."""
        table = rows.reshape(len(self.cpd.intercept), -1)
        return np.append(table[:, :-1], table[:, -1].sum())

    def at(self, coordinates: Floats) -> LinearGaussian:
        """The CPD with these coordinates."""
        num = len(self.cpd.intercept)
        lines = coordinates[:-1].reshape(num, -1)
        return super().at(np.column_stack([lines, np.full(num, coordinates[-1])]).reshape(-1))

    def score_slope(self, stats: Floats) -> Floats:
        """Residuals times parents, and squared residuals minus the variance, each over the variance."""
        return self._summed_last(super().score_slope(stats))

    def information(self, stats: Floats) -> Floats:
        """Sums of squares over the variance, and twice the count of all rows."""
        return self._summed_last(super().information(stats))

    def units(self, stats: Floats) -> Floats:
        """Those of the regressions, and one for the log standard deviation."""
        each = super().units(stats)
        kept = self._shared_last(np.arange(float(len(each)))).astype(np.int64)
        return np.asarray(each[np.ix_(kept, kept)])

    @property
    def penalized(self) -> Floats:
        """One for each coefficient, zero for intercepts and the standard deviation."""
        return self._shared_last(super().penalized)

    def log_density(self, density: Any) -> float:
        """The log density of all regressions and their covariance, up to a constant."""
        joint = self._joint(density) if isinstance(density, RegressionDensity) else None
        if joint is None:
            return super().log_density(density)
        return joint.log_kernel(self.lines, self.cpd.covariance[0], is_theta=density.is_theta)

    def density_slope(self, density: Any) -> Floats:
        """The gradient of the log density with respect to the coordinates."""
        found = super().density_slope(density)
        if not isinstance(density, RegressionDensity) or isinstance(density.prior, KnownPart):
            return found
        joint, num = self._joint(density), len(self.cpd.intercept)
        slope, own = self._summed_last(found), density.prior.degrees
        again = (num - 1) * float(density.prior.scale[0, 0]) / self.cpd.covariance[0, 0, 0]
        once = num * own - joint.noise.degrees if isinstance(joint, SharedLines) else 0.0
        slope[-1] += once + (num - 1) * (2.0 if density.is_theta else 0.0) - again
        return slope
