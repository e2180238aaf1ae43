r"""Parameters of linear Gaussians: one regression per context, with moments as statistics.

$$p(\mathbf y \mid \mathbf u, d) = N(\mathbf y;\; a_d + B_d \mathbf u;\; C_d)$$

Reference: Koller & Friedman, sections 17.2.4, 17.4.4 and 19.2.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sepset.base.arraytypes import AnyArray, Bools, Floats, Ints
from sepset.base.logarithms import LOG_2PI
from sepset.base.numerics.leastsquares import are_near_dependent, inverse_root
from sepset.cpds.counts import Contexts, joint_codes, unseen_message
from sepset.cpds.parameters import ImaginaryRows, Parameters, PriorTerm, complete_rows, is_observed
from sepset.cpds.priors.dirichlet import RowPrior
from sepset.cpds.priors.gaussian import KnownPart
from sepset.cpds.priors.penalized import (
    COLLAPSE,
    EPSILON,
    INEXACT,
    TIGHT,
    floored,
    relative_error,
    residual_shares,
    rounding_variances,
    smallest_eigenvalues,
    smallest_variances,
)
from sepset.cpds.priors.regression import LinearNormalInverseWishart, RegressionPrior
from sepset.cpds.priors.weights import WeightPrior
from sepset.cpds.regressionposterior import LinePrior, RegressionDensity, RegressionPosterior, imagined
from sepset.data.moments import Moments
from sepset.data.scatter import Scatters
from sepset.errors import DataError, NotApplicable, NotClosed
from sepset.factors.algebra import AnyVariable, Columns, Scope
from sepset.factors.coordinates import matrix, states_of, width
from sepset.factors.labels import name_of
from sepset.factors.moments import check_covariances
from sepset.factors.regression import Regression
from sepset.variables.variable import Discrete

if TYPE_CHECKING:
    from sepset.cpds.lineargaussian import LinearGaussian

COLLAPSED = 1e-12
"""The fraction of the variance of the whole column at or below which a variance counts as zero."""


@dataclass(frozen=True, eq=False, repr=False)
class RegressionParameters(Parameters["LinearGaussian", Scatters]):
    r"""The regressions of a linear Gaussian, one per context: $a_d$, $B_d$ and $C_d$.

    Flat statistics are the moments $\sum_m w_m \mathbf z[m] \mathbf z[m]^\top$ in each context, with $\mathbf z =
    (1, \mathbf u - c_u, y - c_y)$. The center $c$ keeps the digits of squares where means are large.

    Attributes:
        origin: the origin of the values of (real parents, child) in the inference engine; zero by default.
        shared: the center of a tied CPD, if moments are taken about that.
        smallest: the variance at or below which the likelihood counts as unbounded.
    """

    origin: Floats | None = None
    shared: Floats | None = None
    smallest: float = 0.0

    @property
    def arrays(self) -> dict[str, Floats]:
        """Intercepts, coefficients and covariances."""
        return {name: getattr(self.cpd, name) for name in ("intercept", "coefficients", "covariance")}

    def check_arrays(self, arrays: Mapping[str, Floats], tolerance: float) -> None:
        """Raise unless the covariances are symmetric and positive semidefinite."""
        what = f"covariances of {self.cpd.child.name}"
        check_covariances(arrays["intercept"], arrays["covariance"], what, self.cpd.by)

    def from_arrays(self, arrays: Mapping[str, Floats]) -> LinearGaussian:
        """The CPD with these parameters."""
        return self.cpd.with_parameters(arrays["intercept"], arrays["coefficients"], covariance=arrays["covariance"])

    @property
    def lines(self) -> Floats:
        """Intercepts above coefficients, `[contexts, 1 + parents, coordinates]`."""
        return np.concatenate([self.cpd.intercept[:, None, :], np.swapaxes(self.cpd.coefficients, 1, 2)], axis=1)

    def from_lines(self, parameters: Sequence[tuple[Floats, Floats]]) -> LinearGaussian:
        """The CPD with these coefficients, intercepts first, and covariances, one pair per context."""
        lines = np.stack([lines for lines, _ in parameters])
        slope = np.ascontiguousarray(np.swapaxes(lines[:, 1:], 1, 2))
        return self.cpd.with_parameters(
            lines[:, 0].copy(), slope, covariance=np.stack([covariance for _, covariance in parameters])
        )

    @property
    def is_default(self) -> bool:
        """Whether it is the standard normal distribution whatever the parents."""
        plain = not self.cpd.intercept.any() and not self.cpd.coefficients.any()
        return plain and bool((self.cpd.covariance == np.eye(self.cpd.child.size)).all())

    def random(self, rng: np.random.Generator, *, interior: bool = False) -> LinearGaussian:
        """The CPD with intercepts moved by about a standard deviation."""
        spread = np.sqrt(np.diagonal(self.cpd.covariance, axis1=1, axis2=2))
        intercept = self.cpd.intercept + rng.normal(size=self.cpd.intercept.shape) * spread
        return self.cpd.with_parameters(intercept, self.cpd.coefficients.copy(), covariance=self.cpd.covariance.copy())

    def tells(self, parent: Discrete) -> bool:
        """Whether some parameter differs between the states of a discrete parent."""
        return parent not in self.cpd.irrelevant({})

    def reordered(self, scope: Scope) -> LinearGaussian:
        """The same regressions, with contexts and parents in another order."""
        return self.cpd.reordered(scope)

    def relabels(self, variable: AnyVariable) -> bool:
        """Whether a variable is a discrete parent."""
        return variable in self.cpd.by

    def relabeled(self, variable: Discrete, order: Ints) -> LinearGaussian:
        """The regressions with the states of a discrete parent in another order."""
        places = np.arange(len(self.cpd.intercept)).reshape([v.num_states for v in self.cpd.by])
        at = np.take(places, order, self.cpd.by.index(variable)).reshape(-1)
        return self.from_arrays({name: array[at] for name, array in self.arrays.items()})

    def statistics(self, columns: Columns, weights: Floats | None = None) -> Scatters:
        """Count, mean and centered products of (real parents, child) in each context."""
        return self.cpd.scatters(columns, weights)

    @property
    def stored(self) -> Literal["moments"] | None:
        """Moments, if every variable is a single number."""
        return "moments" if all(v.size == 1 for v in (*self.cpd.given, self.cpd.child)) else None

    def from_moments(self, moments: Moments) -> Scatters:
        """The statistics of the variables of this CPD, which are among those of the moments."""
        own = moments.select((*self.cpd.given, self.cpd.child))
        size, contexts = len(own.variables), len(self.cpd.intercept)
        shapes = (contexts,), (contexts, size), (contexts, size, size)
        return Scatters(
            *(a.reshape(shape) for a, shape in zip((own.count, own.mean, own.scatter), shapes, strict=True))
        )

    def log_likelihood(self, stats: Scatters, *, has_rows: bool = False) -> float | None:
        """The value from the statistics; None if these have lost the residuals' digits and rows are available."""
        return None if has_rows and self.is_tight(self.cpd.centered(stats)) else self.cpd.log_likelihood(stats)

    def is_tight(self, stats: Scatters) -> bool:
        """Whether sums of squares have lost digits in some context: of a small residual, or of similar parents."""
        split = width(self.cpd.given)
        is_small = split > 0 and bool((residual_shares(self.cpd.covariance, stats) < TIGHT).any())
        return is_small or (split > 1 and any(are_near_dependent(inner[:split, :split]) for inner in stats.products))

    @property
    def is_exact(self) -> bool:
        """True: estimates are least squares."""
        return True

    def _conjugate(self, prior: object) -> LinePrior | None:
        """The prior over the coefficients and coordinates of this CPD; None if it is not conjugate to it."""
        if not isinstance(prior, LinePrior):
            return None
        found = prior.over(1 + width(self.cpd.given), self.cpd.child.size)
        return found.along(self.cpd.given) if isinstance(found, RegressionPrior) else found

    def conjugate(self, prior: object) -> LinePrior:
        """The conjugate prior of each context: one over means only gets coefficients of mean zero."""
        found = self._conjugate(prior)
        if found is None:
            raise NotApplicable(
                f"{name_of(self.cpd)} takes {self._fitting}, or ImaginaryData; found {prior!r}. For a mixed network "
                "give "
                "a list of priors."
            )
        return found

    @property
    def _fitting(self) -> str:
        """The conjugate priors it takes, for messages."""
        num, size = 1 + width(self.cpd.given), self.cpd.child.size
        if size == 1:
            known = "NormalMean, GammaPrecision, " if num == 1 else ""
            return f"{known}NormalGamma, or LinearNormalGamma over {num} coefficients"
        linear = f", or LinearNormalInverseWishart over {num} coefficients of them" if num > 1 else ""
        return f"NormalInverseWishart over {size} coordinates{linear}"

    def takes(self, prior: object) -> bool:
        """Whether a prior is on coefficients, is conjugate, or consists of imaginary rows."""
        return isinstance(prior, WeightPrior | RowPrior) or self._conjugate(prior) is not None

    def prior_term(self, prior: object, cpds: Sequence[LinearGaussian], *, is_theta: bool = False) -> PriorTerm:
        """A density of coefficients, of regressions, or imaginary rows."""
        if isinstance(prior, RowPrior):
            flat = LinearNormalInverseWishart.flat(1 + width(self.cpd.given), self.cpd.child.size)
            density = RegressionDensity(flat, is_theta) if is_theta else None
            return PriorTerm(rows=ImaginaryRows(*prior.rows(cpds)), density=density)
        if isinstance(prior, LinePrior):
            return PriorTerm(density=RegressionDensity(self.conjugate(prior), is_theta))
        if isinstance(prior, WeightPrior):
            return PriorTerm(density=prior)
        raise NotApplicable(
            f"{name_of(self.cpd)} takes a prior such as NormalGamma, LinearNormalGamma, NormalWeights, "
            "LaplaceWeights or "
            f"ImaginaryData; found {prior!r}. For a mixed network give a list of priors."
        )

    def maximized(
        self,
        stats: Scatters,
        prior: PriorTerm | None = None,
        *,
        unseen: object = "raise",
        cpds: Sequence[LinearGaussian] = (),
    ) -> LinearGaussian:
        """Least squares, or the mode under a prior, in each context."""
        known, density = self.cpd.centered(stats), None if prior is None else prior.density
        if prior is not None and prior.rows is not None:
            known = known + self.statistics(prior.rows.of(self.cpd), prior.rows.weights)
        if isinstance(density, WeightPrior):
            return self._filled(known, density, unseen)
        if density is None:
            return self._filled(known, None, unseen)
        if density.is_flat:
            return self._at_variances(self._filled(known, None, unseen), known.counts)
        return self._mode(density, known)

    def _mode(self, density: RegressionDensity, known: Scatters) -> LinearGaussian:
        posts = [density.prior.update(scatter) for scatter in known.contexts]
        return self.from_lines([(post.lines, post.mode_covariance(is_theta=density.is_theta)) for post in posts])

    def _at_variances(self, made: LinearGaussian, counts: Floats) -> LinearGaussian:
        r"""The mode in variances, from that in log variances, if the prior is flat in the latter.

        $$C_d \leftarrow \frac{M_d}{M_d + k + 1} C_d$$

        with $k$ coordinates; contexts without weight are unchanged.
        """
        share = np.where(counts > 0, counts / (counts + made.child.size + 1.0), 1.0)
        return made.with_parameters(
            made.intercept, made.coefficients, covariance=made.covariance * share[:, None, None]
        )

    def _filled(self, known: Scatters, prior: WeightPrior | None, unseen: object) -> LinearGaussian:
        """Least squares, with contexts without rows filled as `unseen` says."""
        empty = known.counts == 0
        if not empty.any():
            return self.cpd.from_statistics(known, prior, unseen="keep")
        if unseen == "marginal":
            known = Scatters.stacked(s if s.count > 0 else known.pooled for s in known.contexts)
            empty = known.counts == 0
        elif isinstance(unseen, LinePrior):
            filling = self._mode(RegressionDensity(self.conjugate(unseen), is_theta=False), known)
            return self._merged(empty, filling, self.cpd.from_statistics(known, prior, unseen="keep"))
        elif unseen not in ("raise", "keep"):
            what = "no regression is uniform; there unseen= is 'raise', 'marginal', 'keep' or a conjugate prior"
            raise NotApplicable(f"{name_of(self.cpd)}: {what}.")
        if empty.any() and unseen != "keep":
            remedy = "Give a prior such as NormalGamma(0, 1, 2, 1), or unseen='marginal'."
            where = np.flatnonzero(empty)
            raise DataError(unseen_message(self.cpd, where, len(empty), self.describe_context, remedy))
        return self.cpd.from_statistics(known, prior, unseen="keep")

    def _merged(self, chosen: Bools, one: LinearGaussian, other: LinearGaussian) -> LinearGaussian:
        """The parameters of one CPD in chosen contexts, and of another elsewhere."""
        mine, theirs = self.of(one).arrays, self.of(other).arrays
        return self.from_arrays({name: np.where(_over(chosen, a), mine[name], a) for name, a in theirs.items()})

    def settled(
        self,
        stats: Scatters,
        prior: PriorTerm | None = None,
        *,
        cpds: Sequence[LinearGaussian] = (),
        rows: tuple[Columns, Floats | None] | None = None,
        floor: float | None = None,
        min_variance: float | None = None,
    ) -> LinearGaussian:
        """This estimate with accurate residuals and positive variances."""
        density = None if prior is None else prior.density
        if isinstance(density, RegressionDensity) and not density.is_flat:
            return self.cpd
        known = self.cpd.centered(stats)
        if rows is None or not self.is_tight(known):
            limit = rounding_variances(known, self.cpd.child.size)
            return self._with_variance(known, limit, min_variance)
        better = self.of(self.refined(cpds or [self.cpd], known, *rows))
        return better._with_variance(known, smallest_variances(better.cpd.coefficients, known), min_variance)

    def refined(
        self, cpds: Sequence[LinearGaussian], stats: Scatters, columns: Columns, weights: Floats | None
    ) -> LinearGaussian:
        r"""This least-squares estimate, corrected by the residuals of the rows it was made from.

        $$r[m] = (y[m] - \bar y) - B\,(\mathbf u[m] - \bar{\mathbf u})$$

        are computed row by row, so they keep their digits: the regression of these residuals on the parents corrects
        the first regression, and its own residual is accurate.

        Args:
            cpds: the CPDs of the block.
            stats: the pooled statistics of the rows.
            columns: the rows.
            weights: one per row, or None.

        >>> from sepset.cpds.lineargaussian import LinearGaussian
        >>> from sepset.variables.variable import Real
        >>> x, y = Real("x"), Real("y")
        >>> rows = {x: np.array([0.0, 1e8, 2e8]), y: np.array([1.0, 1e8, 2e8 + 1])}
        >>> cpd = LinearGaussian(y, coefficients=0.0, covariance=1.0, given=x)
        >>> plain = cpd.from_statistics(cpd.scatters(rows))
        >>> better = plain.parameters.refined([plain], cpd.scatters(rows), rows, None)
        >>> round(float(better.covariance[0, 0, 0]), 9)
        0.222222222
        """
        parts = (self._residuals(cpd, stats, columns, weights) for cpd in cpds)
        return self.cpd._corrected(stats, *map(np.concatenate, zip(*parts, strict=True)))

    def _residuals(
        self, cpd: LinearGaussian, stats: Scatters, columns: Columns, weights: Floats | None
    ) -> tuple[Ints, Floats, Floats]:
        """The context of each row, its real parents less their means and the residuals, and its weight."""
        num_rows, split = len(columns[cpd.child]), width(cpd.given)
        entry = joint_codes(columns, cpd.by, num_rows, cpd)
        apart = matrix((*cpd.given, cpd.child), columns, num_rows) - stats.means[entry]
        apart[:, split:] -= np.einsum("nij,nj->ni", self.cpd.coefficients[entry], apart[:, :split])
        return entry, apart, np.ones(num_rows) if weights is None else np.asarray(weights, np.float64)

    def _with_variance(self, stats: Scatters, limit: Floats, least: float | None) -> LinearGaussian:
        """The CPD with variances of at least `least`; without it, variances of the size of rounding raise an error."""
        seen = stats.counts > 0
        if least is not None:
            raised = np.where(seen[:, None, None], floored(self.cpd.covariance, least), self.cpd.covariance)
            return self.cpd.with_parameters(self.cpd.intercept, self.cpd.coefficients, covariance=raised)
        flat = seen & (smallest_eigenvalues(self.cpd.covariance) <= limit)
        if flat.any():
            e = int(flat.argmax())
            raise self._unbounded(states_of(self.cpd.by, e) if self.cpd.by else "", float(stats.counts[e]))
        return self.cpd

    def _unbounded(self, where: str, count: float) -> DataError:
        """The error about a variance that is zero up to rounding."""
        return DataError(
            f"{name_of(self.cpd)}: the variance is zero{f' where {where}' if where else ''} ({count:g} rows), so the "
            "likelihood is unbounded: the child is constant or fitted perfectly. Use MLE(min_variance=...), or Bayes "
            "or PosteriorMode with NormalGamma(...)."
        )

    def facts(self, stats: Scatters, *, has_rows: bool) -> dict[str, object]:
        """Whether parents are collinear, and whether coefficients or the residual variance have only a few digits."""
        known = self.cpd.centered(stats)
        found: dict[str, object] = {}
        full, size = width(self.cpd.given), self.cpd.child.size
        seen = [s for s in known.contexts if s.count > 0] if full else []
        low = min((s.fit(size).rank for s in seen), default=full)
        if low < full:
            found["parent_rank"] = f"{low} of {full}; coefficients are those of least norm"
        share = float(residual_shares(self.cpd.covariance, known).min(initial=1.0))
        if not has_rows and share < TIGHT:
            found["variance"] = (
                f"{share:.1e} of the child's; from sums of squares its relative error is about "
                f"{min(100 * EPSILON / share, 1.0):.1g}; rows in memory give it accurately"
            )
        if (error := relative_error(known, *self.arrays.values())) > INEXACT:
            found["relative_error"] = error
        return found

    @property
    def is_conjugate(self) -> bool:
        """True: matrix-normal inverse-Wishart priors are conjugate."""
        return True

    def posterior(self, prior: object, cpds: Sequence[LinearGaussian], stats: Scatters) -> RegressionPosterior:
        """A matrix-normal inverse-Wishart distribution in every context."""
        known = self.cpd.centered(stats)
        if not isinstance(prior, RowPrior):
            return RegressionPosterior(tuple(cpds), (self.conjugate(prior),) * len(known.counts), known)
        priors = imagined(self.cpd, self.statistics(*prior.rows(cpds)))
        return RegressionPosterior(tuple(cpds), priors, known)

    def contexts(self, stats: Scatters) -> Contexts:
        """The counts of rows in each joint state of the discrete parents."""
        return Contexts(stats.counts)

    def describe_context(self, context: int) -> str:
        """The states of the discrete parents, for messages."""
        return f"({states_of(self.cpd.by, context)})"

    def for_rows(self, columns: Columns) -> Self:
        """The same operations, with moments about the means of the observed values."""
        scope = (*self.cpd.given, self.cpd.child)
        if any(v.size > 1 for v in scope):
            what = "is not learned from incomplete rows, since it has vectors, which columns of data do not hold"
            raise self.refusal(what, "Make each entry a Real variable.")
        seen = [columns[v][is_observed(columns[v])] for v in scope]
        spread = float(seen[-1].var()) if len(seen[-1]) else 0.0
        center = np.array([c.mean() if len(c) else 0.0 for c in seen])
        return replace(self, origin=center, shared=None, smallest=COLLAPSED * spread)

    def about(self, first: Self) -> Self:
        """The same operations, with moments about the center of a tied CPD."""
        return replace(self, shared=first.center, smallest=first.smallest)

    @property
    def center(self) -> Floats:
        """The center of the moments of (real parents, child)."""
        return self._origin if self.shared is None else self.shared

    @property
    def _origin(self) -> Floats:
        return np.zeros(1 + len(self.cpd.given)) if self.origin is None else self.origin

    @property
    def engine_form(self) -> LinearGaussian:
        """The CPD itself, whose factor is a regression."""
        return self.cpd

    @property
    def engine_values(self) -> Sequence[Regression]:
        """The regression in the engine's coordinates; raises if it fits some rows exactly."""
        cpd, start = self.cpd, self._origin
        if not (cpd.covariance > 0).all():
            raise NotClosed(f"{name_of(cpd)} fits some rows exactly; {COLLAPSE}")
        moved = cpd.intercept + (cpd.coefficients @ start[:-1]) - start[-1]
        return [Regression.of(cpd.child, cpd.given, cpd.by, moved, cpd.coefficients, cpd.covariance)]

    def expected(self, marginals: Sequence[Floats]) -> Floats:
        """The moments, one matrix per context, from those in the engine's coordinates."""
        return marginals[0] if self.shared is None else self.recentered(marginals[0], self._origin)

    def recentered(self, stats: Floats, center: Floats) -> Floats:
        r"""Moments converted from another center: $T S T^\top$, where $T$ moves $(1, \mathbf z)$."""
        T = np.eye(len(center) + 1)
        T[1:, 0] = center - self.center
        return np.asarray(T @ stats @ T.T)

    @property
    def is_counted(self) -> bool:
        """False: moments may be small and still matter."""
        return False

    @property
    def zero(self) -> Floats:
        """A matrix of zeros for each context."""
        return np.zeros((len(self.cpd.intercept), *(len(self.center) + 1,) * 2))

    def tally(self, columns: Columns, weights: Floats) -> Floats:
        r"""$\sum_m w_m \mathbf z[m] \mathbf z[m]^\top$, one matrix per context."""
        scope = (*self.cpd.given, self.cpd.child)
        entry = joint_codes(columns, self.cpd.by, len(weights), self.cpd)
        z = [np.ones(len(weights)), *(columns[v] - c for v, c in zip(scope, self.center, strict=True))]
        stats = self.zero
        for i, left in enumerate(z):
            share = weights * left
            for j, right in enumerate(z[: i + 1]):
                stats[:, i, j] = stats[:, j, i] = np.bincount(entry, share * right, len(stats))
        return stats

    def scatters(self, stats: Floats) -> Scatters:
        """The flat statistics about their own means, in the coordinates of the data."""
        return Scatters.from_sums(stats, self.center)

    def score(self, stats: Floats) -> float:
        r"""$-\frac12 \sum_d (\bar M_d \log 2\pi\sigma_d^2 + E[(y - a_d - B_d \mathbf u)^2] / \sigma_d^2)$."""
        seen = stats[:, 0, 0] > 0
        sums, variance, away = stats[seen], self.cpd.covariance[seen, 0, 0], self._residual_weights[seen]
        squares = np.einsum("ci,cij,cj->c", away, sums, away)
        return -0.5 * float((sums[:, 0, 0] * (LOG_2PI + np.log(variance)) + squares / variance).sum())

    @property
    def _residual_weights(self) -> Floats:
        r"""The weights of $\mathbf z$ whose product with it is the residual, one row per context."""
        coefficients = self._centered_coefficients
        return np.concatenate([-coefficients, np.ones((len(coefficients), 1))], axis=1)

    @property
    def _centered_coefficients(self) -> Floats:
        """Intercept and coefficients about the center, one row per context."""
        a, B, center = self.cpd.intercept[:, 0], self.cpd.coefficients[:, 0], self.center
        return np.column_stack([a + B @ center[:-1] - center[-1], B])

    def estimate(self, stats: Floats, prior: PriorTerm | None = None) -> LinearGaussian:
        """Least squares on expected moments, or the mode under a prior; contexts without rows are unchanged."""
        rest = prior if prior is None else replace(prior, rows=None)
        made = self.maximized(self.scatters(self.joined(stats, prior)), rest, unseen="keep")
        self.of(made).check_bounded(prior)
        return made

    def check_bounded(self, prior: PriorTerm | None = None) -> None:
        """Raise if a variance reached zero, unless a prior keeps it away from there."""
        density = None if prior is None else prior.density
        keeps = isinstance(density, RegressionDensity) and not density.is_flat
        if not keeps and self.cpd.covariance.min() <= self.smallest:
            raise NotClosed(f"{name_of(self.cpd)} fits some rows exactly; {COLLAPSE}")

    def expected_contexts(self, stats: Floats) -> Contexts:
        """The counts of rows in each joint state of the discrete parents."""
        return Contexts(stats[:, 0, 0])

    def start(
        self, columns: Columns, weights: Floats | None, rng: np.random.Generator, prior: PriorTerm | None = None
    ) -> LinearGaussian:
        """A regression in each context, with pooled moments of small weight added so that none is degenerate."""
        rows, share = complete_rows(columns, weights, self.cpd.scope)
        size = len(self.center)
        if len(share) <= size or not share.sum() > 0:
            return self._constant(columns[self.cpd.child])
        stats = self.tally(rows, share)
        pooled = stats.sum(axis=0)
        return self.estimate(stats + pooled * ((size + 1.0) / pooled[0, 0]), prior)

    def _constant(self, column: AnyArray) -> LinearGaussian:
        """The CPD with the mean and the variance of the child's column, whatever its parents."""
        seen = column[is_observed(column)]
        spread = (float(seen.var()) if len(seen) else 1.0) or 1.0
        intercept = np.full((len(self.cpd.intercept), 1), self.center[-1])
        flat, wide = np.zeros_like(self.cpd.coefficients), np.full_like(self.cpd.covariance, spread)
        return self.cpd.with_parameters(intercept, flat, covariance=wide)

    @property
    def coordinates(self) -> Floats:
        """For each context intercept and coefficients about the center, and the log standard deviation."""
        return np.column_stack([self._centered_coefficients, 0.5 * np.log(self.cpd.covariance[:, 0, 0])]).reshape(-1)

    def at(self, coordinates: Floats) -> LinearGaussian:
        """The CPD with these coordinates."""
        rows, center = coordinates.reshape(len(self.cpd.intercept), -1), self.center
        slopes = rows[:, 1:-1]
        intercept = rows[:, 0] + center[-1] - slopes @ center[:-1]
        variance = np.exp(2.0 * np.clip(rows[:, -1], -300.0, 300.0))
        return self.cpd.with_parameters(
            intercept[:, None], slopes[:, None, :].copy(), covariance=variance[:, None, None]
        )

    def score_slope(self, stats: Floats) -> Floats:
        """Residuals times parents, and squared residuals minus the variance, each over the variance."""
        away, variance = self._residual_weights, self.cpd.covariance[:, 0, 0]
        pulls = np.einsum("cij,cj->ci", stats, away) / variance[:, None]
        beyond = np.einsum("ci,ci->c", away, pulls) - stats[:, 0, 0]
        return np.column_stack([pulls[:, :-1], beyond]).reshape(-1)

    def information(self, stats: Floats) -> Floats:
        """Sums of squares over the variance, and twice the counts."""
        squares = np.diagonal(stats, axis1=1, axis2=2)[:, :-1] / self.cpd.covariance[:, 0, 0][:, None]
        return np.column_stack([squares, 2.0 * stats[:, 0, 0]]).reshape(-1)

    def units(self, stats: Floats) -> Floats:
        r"""Those of $\sigma S^{-1/2}$ for intercept and coefficients, $S$ the mean squares; one for $\log\sigma$."""
        size, spread = stats.shape[1], np.sqrt(self.cpd.covariance[:, 0, 0])
        found = np.eye(len(stats) * size)
        for c, sums in enumerate(stats):
            own = slice(c * size, (c + 1) * size - 1)
            found[own, own] = spread[c] * inverse_root(sums[:-1, :-1] / (sums[0, 0] or 1.0))
        return found

    @property
    def penalized(self) -> Floats:
        """One for each coefficient, zero for intercepts and standard deviations."""
        found = np.zeros((len(self.cpd.intercept), self.cpd.coefficients.shape[2] + 2))
        found[:, 1:-1] = 1.0
        return found.reshape(-1)

    def log_density(self, density: Any) -> float:
        """The log density of the regression in every context, up to a constant."""
        if not isinstance(density, RegressionDensity):
            return super().log_density(density)
        pairs = zip(self.lines, self.cpd.covariance, strict=True)
        return sum(density.prior.log_kernel(B, C, is_theta=density.is_theta) for B, C in pairs)

    def density_slope(self, density: Any) -> Floats:
        """The gradient of the log density with respect to the coordinates."""
        if not isinstance(density, RegressionDensity):
            return super().density_slope(density)
        prior, rows, variance = density.prior, self.lines[:, :, 0], self.cpd.covariance[:, 0, 0]
        if isinstance(prior, KnownPart):
            raise self.refusal(f"has a known part under {prior!r}, which gradients would move", "Use EM().")
        apart = rows - prior.lines[:, 0]
        pulls = -(apart @ prior.precision) / variance[:, None]
        squares = float(prior.scale[0, 0]) - (apart * pulls).sum(axis=1) * variance
        power = prior.degrees + rows.shape[1] + (2.0 if density.is_theta else 0.0)
        slopes = pulls[:, 1:] - self.center[:-1] * pulls[:, :1]
        return np.column_stack([pulls[:, 0], slopes, squares / variance - power]).reshape(-1)

    @property
    def written(self) -> Floats:
        """One row per context: intercept, coefficients, variance."""
        return np.column_stack([self.cpd.intercept[:, 0], self.cpd.coefficients[:, 0], self.cpd.covariance[:, 0, 0]])


def _over(contexts: Bools, array: Floats) -> Bools:
    """The mask of contexts, shaped to broadcast with an array over them."""
    return contexts.reshape(-1, *(1,) * (array.ndim - 1))
