r"""Linear Gaussian CPDs, with or without discrete parents (conditional linear Gaussians).

$$p(\mathbf y \mid \mathbf u, d) = N(\mathbf y;\; a_d + B_d \mathbf u;\; C_d)$$

Reference: Koller & Friedman, definitions 5.15 and 5.16.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import one_of
from sepset.base.display import Shown, Tabulated
from sepset.base.foreign import often
from sepset.base.frames import by_label
from sepset.base.frozen import fill, made
from sepset.base.logarithms import LOG_2PI
from sepset.base.numerics.leastsquares import LinearFit, fit_rows
from sepset.cpds.counts import checked_weights, joint_codes, num_rows_of
from sepset.cpds.cpd import ParameterBlock, RealChild
from sepset.cpds.priors.penalized import penalized
from sepset.cpds.priors.weights import WeightPrior
from sepset.cpds.registry import Fields, discrete_and_real, registered
from sepset.cpds.regressionparameters import RegressionParameters
from sepset.cpds.sharedcovariance import SharedCovarianceParameters, check_shared
from sepset.data.columns import check_range
from sepset.data.scatter import Scatter, Scatters
from sepset.errors import DataError, ModelError, NotApplicable, NotClosed, ScopeError
from sepset.factors.algebra import AnyVariable, Columns, Scope, axis_of, check_scope, find, num_entries
from sepset.factors.canonical import Cholesky
from sepset.factors.coordinates import (
    check_finite,
    columns,
    coordinate_names,
    entries,
    matrix,
    numbers,
    places,
    shaped,
    states_of,
    width,
)
from sepset.factors.decomposition import Decomposition
from sepset.factors.entries import in_contexts
from sepset.factors.labels import MOST_SHOWN, conditional, cut, with_numbers
from sepset.factors.moments import check_covariances
from sepset.factors.regression import Regression
from sepset.variables.matching import Match
from sepset.variables.variable import Discrete, Vector

Shared: TypeAlias = Literal["covariance"] | None
"""The parameters that all contexts of a linear Gaussian have in common."""

MOST_TERMS = 3
"""The largest number of coefficients in an equation on one line."""


@registered("linear_gaussian")
@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, init=False, repr=False)
class LinearGaussian(RealChild, Tabulated):
    r"""The density of a real child, linear in its real parents: one regression for each state of its discrete ones.

    A zero variance is a deterministic relation, which every question about a network obeys. It has no canonical form,
    so products with other factors raise an error.

    Args:
        child: a `Real` or `Vector`; a discrete child of real parents is outside the family.
        intercept: $a_d$; by default zero.
        coefficients: $B_d$, one column per coordinate of `given`; or a mapping from parent to its columns.
        covariance: $C_d$; a variance for a `Real`.
        given: the real parents.
        by: the discrete parents. Parameters may then be shaped like their states, or map these (a tuple of several) to
            values; one value is used for all of them.
        block: the name of its parameters; CPDs with equal blocks share them.
        shared: "covariance" if the contexts have one covariance, which is then estimated from all rows; by default each
            has its own.

    Reference: Koller & Friedman 5.5; Lauritzen (1992).
    Guarantee: exact.
    Tested by: cpds/test_lineargaussian.py::test_the_factor_is_the_density

    >>> from sepset.variables.variable import Real
    >>> d, x, y = Discrete("d", 2), Real("x"), Real("y")
    >>> cpd = LinearGaussian(y, [0.0, 1.5], coefficients=[-1.5, 0.0], covariance=[0.36, 0.49], given=x, by=d)
    >>> cpd, cpd.num_parameters
    (LinearGaussian(y | d[2], x), 6)
    >>> LinearGaussian(y, [0.0, 1.5], covariance=0.36, by=d, shared="covariance")
    LinearGaussian(y | d[2]; shared covariance)
    >>> LinearGaussian(y, {1: 1.5, 0: 0.0}, covariance=0.36, by=d).intercept.tolist()
    [[0.0], [1.5]]
    """

    child: Vector
    given: tuple[Vector, ...]
    by: tuple[Discrete, ...]
    block: ParameterBlock
    shared: Shared
    intercept: Floats
    coefficients: Floats
    covariance: Floats

    def __init__(
        self,
        child: Vector,
        intercept: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        *,
        coefficients: ArrayLike | Mapping[Any, Any] | None = None,
        covariance: ArrayLike | Mapping[Any, ArrayLike],
        given: Iterable[Vector] | Vector = (),
        by: Iterable[Discrete] | Discrete = (),
        block: ParameterBlock | str | None = None,
        shared: Shared = None,
    ) -> None:
        _check_child(child)
        one_of("shared", shared, ("covariance", None))
        reals, states = checked_parents(child, given, by)
        size = child.size
        a = _in_contexts(np.zeros(size) if intercept is None else intercept, states, (size,), "intercept", child)
        B = _coefficients(coefficients, reals, states, child)
        C = _in_contexts(covariance, states, (size, size), "covariance", child)
        self._set(child, reals, states, ParameterBlock.of(block, child), shared, a, B, C)
        check_finite(B, f"coefficients of {child.name}")
        check_covariances(a, C, f"covariances of {child.name}", states)
        if shared:
            check_shared(C, child)

    @classmethod
    def standard(
        cls, child: Vector, given: Iterable[Vector] | Vector = (), *, by: Iterable[Discrete] | Discrete = ()
    ) -> LinearGaussian:
        """The standard normal distribution whatever the parents: a CPD to be fitted.

        >>> from sepset.variables.variable import Real
        >>> LinearGaussian.standard(Real("y"), given=Real("x"), by=Discrete("d", 3)).covariance.ravel().tolist()
        [1.0, 1.0, 1.0]
        """
        _check_child(child)
        reals, states = checked_parents(child, given, by)
        num, size = num_entries(states), child.size
        result, covariance = made(cls), np.zeros((num, size, size))
        covariance[:, range(size), range(size)] = 1.0
        zeros = np.zeros((num, size)), np.zeros((num, size, width(reals)))
        result._set(child, reals, states, ParameterBlock.of(None, child), None, *zeros, covariance)
        return result

    def _set(
        self,
        child: Vector,
        given: tuple[Vector, ...],
        by: tuple[Discrete, ...],
        block: ParameterBlock,
        shared: Shared,
        intercept: Floats,
        coefficients: Floats,
        covariance: Floats,
    ) -> None:
        fill(self, child=child, given=given, by=by, block=block, shared=shared)
        fill(self, intercept=intercept, coefficients=coefficients, covariance=covariance)

    @property
    def num_parameters(self) -> int:
        """The intercepts, coefficients and distinct entries of the covariances."""
        size, num = self.child.size, len(self.intercept)
        return num * size * (1 + width(self.given)) + (1 if self.shared else num) * (size * (size + 1) // 2)

    def factors(self) -> tuple[Regression]:
        """The density as one factor, in moment form."""
        return (self.regression,)

    def decomposition(self) -> Decomposition:
        """Its one factor."""
        return Decomposition(self.factors())

    @property
    def regression(self) -> Regression:
        """The density of the child given its parents, as a factor."""
        return Regression.of(self.child, self.given, self.by, self.intercept, self.coefficients, self.covariance)

    def _cholesky(self, complaint: str, needed: Bools | None = None) -> Cholesky:
        """The factorization of all covariances; a singular one raises an error, unless it is not needed."""
        chol = Cholesky.of(self.covariance)
        good = chol.definite if needed is None else chol.definite | ~needed
        if not good.all():
            where = states_of(self.by, int(np.argmin(good)))
            raise NotClosed(
                f"{self.label} {complaint}: its covariance is singular{' where ' + where if where else ''}, which is a "
                "deterministic relation. Give it a positive variance, or use joint_gaussian, which works with moments."
            )
        return chol

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Floats:
        """A draw of the child for each row of its parents: `[n]` for a `Real`, else `[n, size]`."""
        drawn = self.regression.draws(*self._parents_of(rows, num_rows), rng)
        return columns((self.child,), drawn)[self.child]

    def _parents_of(self, rows: Columns, num_rows: int) -> tuple[Ints, Floats]:
        """The discrete context of each row, and the coordinates of its real parents."""
        entry = joint_codes(rows, self.by, num_rows, self)
        missing = [v.name for v in self.given if v not in rows]
        if missing:
            raise DataError(f"{self.label} needs a column for {missing[0]}.")
        return entry, matrix(self.given, rows, num_rows)

    def log_probability(self, rows: Columns) -> Floats:
        """The logarithm of the density of the child given its parents, one value per row."""
        num_rows = num_rows_of(rows, self.child, self)
        parents, regression = self._parents_of(rows, num_rows), self.regression
        if not regression.is_definite.all():
            self._cholesky("has no density")
        return regression.log_densities(*parents, matrix((self.child,), rows, num_rows))

    def log_likelihood(self, stats: Floats | Scatters) -> float:
        r"""The log density of all rows with these statistics, which are sufficient.

        $$-\tfrac12 \sum_d \left( M_d \log |2\pi C_d| + \operatorname{tr}(C_d^{-1} R_d) \right), \qquad
        R_d = W_d S_d W_d^\top + M_d\, \mathbf r_d \mathbf r_d^\top$$

        with $W = (-B, I)$ and $\mathbf r$ the residual of the means. A context without weight adds nothing.

        Args:
            stats: what `statistics` or `scatters` returns, or sums of those.
        """
        known, size = self.centered(stats), self.child.size
        count = known.counts
        if size == 1 and (self.covariance > 0).all():
            return self._log_likelihood_of_real(known)
        chol = self._cholesky("has no density", count > 0)
        W = np.concatenate([-self.coefficients, np.broadcast_to(np.eye(size), self.covariance.shape)], axis=2)
        apart = np.einsum("cij,cj->ci", W, known.means) - self.intercept
        inner = W @ known.products @ np.swapaxes(W, 1, 2)
        residue = inner + count[:, None, None] * apart[:, :, None] * apart[:, None, :]
        squares = np.einsum("cij,cij->c", chol.inverse(), residue)
        return float(-(count @ (chol.half_log_det() + 0.5 * size * LOG_2PI)) - 0.5 * squares.sum())

    def _log_likelihood_of_real(self, known: Scatters) -> float:
        """The same for a `Real` with positive variances, without factorizing a matrix."""
        W = np.concatenate([-self.coefficients[:, 0], np.ones((len(known.counts), 1))], axis=1)
        apart = (W * known.means).sum(axis=1) - self.intercept[:, 0]
        squares = np.einsum("ci,cij,cj->c", W, known.products, W) + known.counts * apart**2
        variance = self.covariance[:, 0, 0]
        return float(-0.5 * (known.counts @ (LOG_2PI + np.log(variance)) + (squares / variance).sum()))

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The discrete parents outside `context` whose state changes no parameter in that context."""
        codes = {axis: self.by[axis].code(s) for key, s in context.items() if (axis := find(self.by, key)) >= 0}
        consistent = np.ones(len(self.intercept), np.bool_)
        for axis, code in codes.items():
            consistent &= entries(self.by, (self.by[axis],)) == code
        free = tuple(v for axis, v in enumerate(self.by) if axis not in codes)
        parts = (self.intercept, self.coefficients, self.covariance)
        flat = np.concatenate([p.reshape(len(p), -1) for p in parts], axis=1)[consistent]
        return tuple(v for v in free if _is_constant(flat, free, v))

    def statistics(self, codes: Columns, weights: Floats | None = None) -> Floats:
        r"""The additive statistics, one matrix per joint state of the discrete parents.

        $$\sum_m w_m \mathbf z_m \mathbf z_m^\top, \qquad \mathbf z = (1, \mathbf u, \mathbf y)$$
        """
        columns, entry, share = self._observed(codes, weights)
        z = np.stack([np.ones(len(entry)), *columns], axis=1)
        weighted = z if share is None else z * share[:, None]
        order = np.argsort(entry, kind="stable")
        ends = np.cumsum(np.bincount(entry, minlength=len(self.intercept)))[:-1]
        parts = zip(np.split(weighted[order], ends), np.split(z[order], ends), strict=True)
        return np.stack([left.T @ right for left, right in parts])

    def scatters(self, codes: Columns, weights: Floats | None = None) -> Scatters:
        """The same statistics, centered: sums of squares lose digits if means are large, these do not."""
        columns, entry, share = self._observed(codes, weights)
        return Scatters.of_columns(columns, entry, len(self.intercept), share)

    def _observed(self, codes: Columns, weights: Floats | None) -> tuple[list[Floats], Ints, Floats | None]:
        """The columns of (real parents, child), the discrete context of each row, and its weight."""
        num_rows = num_rows_of(codes, self.child, self)
        entry = joint_codes(codes, self.by, num_rows, self)
        share = checked_weights(weights, num_rows, self)
        missing = [v.name for v in self.given if v not in codes]
        if missing:
            raise DataError(f"{self.label} needs a column for {missing[0]}.")
        scope = (*self.given, self.child)
        columns = [x for v in scope for x in numbers(codes[v], v, num_rows).T]
        check_range(columns, [v.name for v in scope for _ in range(v.size)], f"{self.label} needs complete finite rows")
        return columns, entry, share

    @often
    def from_statistics(
        self,
        stats: Floats | Scatters,
        prior: WeightPrior | None = None,
        *,
        unseen: Literal["raise", "keep"] = "raise",
    ) -> LinearGaussian:
        r"""The maximum likelihood estimate: least squares in each discrete context.

        $$B_d = S_{YU} S_{UU}^{-1}, \quad a_d = \bar{\mathbf y} - B_d \bar{\mathbf u}, \quad
        C_d = (S_{YY} - B_d S_{UY}) / M_d$$

        with $S$ the centered scatter; a shared covariance is $\sum_d M_d C_d / \sum_d M_d$. Collinear
        parents share their effect (the least-norm solution).

        Args:
            stats: what `statistics` or `scatters` returns, or sums of those.
            prior: `NormalWeights` or `LaplaceWeights` on the coefficients, for the maximum a posteriori estimate; or
            None.
            unseen: contexts without data "raise" an error, or "keep" their parameters.

        Reference: Koller & Friedman, section 17.2.4.
        Guarantee: maximum likelihood.
        Tested by: cpds/test_lineargaussian.py::test_the_estimate_is_least_squares
        """
        if prior is not None and not isinstance(prior, WeightPrior):
            raise NotApplicable(
                f"{self.label} takes no prior such as {prior!r}. Use NormalWeights or LaplaceWeights, or Bayes and "
                "PosteriorMode."
            )
        known = self.centered(stats)
        empty = np.flatnonzero(known.counts == 0)
        if empty.size and unseen == "raise":
            where = states_of(self.by, int(empty[0])) or "asked"
            raise DataError(f"{self.label} has no data where {where}. Use unseen='keep'.")
        return self._regressed(known, prior)

    def _regressed(self, known: Scatters, prior: WeightPrior | None) -> LinearGaussian:
        """Least squares, or penalized least squares, in each context; those without rows keep their parameters."""
        if not self.given and (known.counts > 0).all():
            return self._at_means(known)
        a, B, C = self.intercept.copy(), self.coefficients.copy(), self.covariance.copy()
        seen = np.flatnonzero(known.counts > 0)
        scatters = [known.contexts[e] for e in seen]
        for e, scatter, fit in zip(seen, scatters, self._regressions(scatters, prior), strict=True):
            a[e], B[e], C[e] = fit.intercept, fit.slope, fit.residual / scatter.count
        if self.shared and seen.size:
            C[:] = np.average(C, axis=0, weights=known.counts)
        return self.with_parameters(a, B, covariance=C)

    def _corrected(self, known: Scatters, entry: Ints, rows: Floats, weights: Floats) -> LinearGaussian:
        """The regressions with those of their residuals added; contexts without rows keep their parameters.

        Args:
            known: the statistics of the rows.
            entry: the context of each row.
            rows: the real parents less their means, and the residuals.
            weights: one per row.
        """
        a, B, C, split = self.intercept.copy(), self.coefficients.copy(), self.covariance.copy(), width(self.given)
        for e in np.flatnonzero(known.counts > 0).tolist():
            away = fit_rows(rows[entry == e], weights[entry == e], self.child.size)
            B[e] += away.slope
            a[e] = known.means[e, split:] + away.intercept - B[e] @ known.means[e, :split]
            C[e] = away.residual / known.counts[e]
        if self.shared:
            C[:] = np.average(C, axis=0, weights=known.counts)
        return self.with_parameters(a, B, covariance=C)

    def _at_means(self, known: Scatters) -> LinearGaussian:
        """The mean and the covariance of each context, or one covariance."""
        covariance = known.products / known.counts[:, None, None]
        if self.shared:
            pooled = np.average(covariance, axis=0, weights=known.counts)
            covariance = np.repeat(pooled[None], len(covariance), axis=0)
        return self.with_parameters(known.means, self.coefficients, covariance=covariance)

    def _regressions(self, scatters: list[Scatter], prior: WeightPrior | None) -> list[LinearFit]:
        """The regression in each context; priors on coefficients depend on the variance, which may be shared."""
        if prior is None:
            return [s.fit(self.child.size) for s in scatters]
        if self.shared:
            return penalized(scatters, prior, self.child.size)
        return [fit for s in scatters for fit in penalized([s], prior, self.child.size)]

    @often
    def centered(self, stats: Floats | Scatters) -> Scatters:
        """The statistics, centered, after checking their shape."""
        expected = (len(self.intercept), *(1 + width(self.given) + self.child.size,) * 2)
        if isinstance(stats, Scatters):
            found: tuple[int, ...] = (len(stats.counts), 1 + stats.size, 1 + stats.size)
        else:
            found = np.shape(stats)
        if found != expected:
            raise DataError(f"{self.label} has statistics of shape {expected}; found {found}.")
        return stats if isinstance(stats, Scatters) else Scatters.from_sums(stats)

    @often
    def with_parameters(self, intercept: Floats, coefficients: Floats, *, covariance: Floats) -> LinearGaussian:
        """The same CPD with these parameters, one entry per joint state of the discrete parents."""
        result = made(LinearGaussian)
        result._set(self.child, self.given, self.by, self.block, self.shared, intercept, coefficients, covariance)
        return result

    def reordered(self, scope: Scope) -> LinearGaussian:
        """The same density over variables of the same names, its contexts and real parents in their order.

        Args:
            scope: the parents, then the child.
        """
        by, given = discrete_and_real(scope[:-1])
        at, axes = Match.of(self.by, by).entries, Match.of(self.given, given).axes
        coordinates = places(self.given, [self.given[axis] for axis in axes])
        arrays = self.intercept[at], self.coefficients[at][:, :, coordinates], self.covariance[at]
        Match.of((self.child,), scope[-1:])
        result = made(LinearGaussian)
        result._set(self.child, given, by, self.block, self.shared, *arrays)
        return result

    @classmethod
    def from_form(cls, child: Vector, fields: Fields, *, parents: tuple[AnyVariable, ...], block: str | None) -> Self:
        """The CPD described by a file."""
        _check_child(child)
        by, given = discrete_and_real(parents)
        num, size = num_entries(by), child.size
        return cls(
            child,
            fields["intercept"].array((num, size)),
            coefficients=fields["coefficients"].array((num, size, width(given))),
            covariance=fields["covariance"].array((num, size, size)),
            given=given,
            by=by,
            block=block,
            shared=fields["shared"].text() if "shared" in fields else None,  # type: ignore[arg-type]  # checked there
        )

    @property
    def parameters(self) -> RegressionParameters:
        """The regressions, with all operations that learning needs."""
        return SharedCovarianceParameters(self) if self.shared else RegressionParameters(self)

    def _shown(self) -> Shown:
        """One row per joint state of the discrete parents and coordinate: intercept, coefficients and deviation."""
        names, total = coordinate_names((self.child,)), num_entries(self.by)
        states = itertools.islice(itertools.product(*(v.states for v in self.by)), MOST_SHOWN)
        rows = [
            (*map(str, row), *([name] if len(names) > 1 else []), *(f"{v:.6g}" for v in self._numbers(d, k)))
            for d, row in enumerate(states)
            for k, name in enumerate(names)
        ]
        words = [*(v.name for v in self.by), *(["coordinate"] if len(names) > 1 else [])]
        head = (*words, "intercept", *coordinate_names(self.given), "deviation")
        return Shown(head, rows, self.label, cut(total, "rows"), words=len(words))

    def _numbers(self, entry: int, place: int) -> list[float]:
        """The intercept, the coefficients and the deviation of a coordinate in a joint state."""
        size, num = self.child.size, num_entries(self.by)
        a, B = self.intercept.reshape(num, size), self.coefficients.reshape(num, size, -1)
        deviation = math.sqrt(float(self.covariance.reshape(num, size, size)[entry, place, place]))
        return [float(a[entry, place]), *B[entry, place].tolist(), deviation]

    @property
    def label(self) -> str:
        """The kind of CPD with its child and parents, as in `LinearGaussian(y | x)`; errors name it so."""
        plain = conditional((self.child,), self.parents, "LinearGaussian")
        return f"{plain[:-1]}; shared covariance)" if self.shared else plain

    def __repr__(self) -> str:
        """With its equation, if there is one of few terms."""
        if self.child.size > 1 or num_entries(self.by) > 1 or len(coordinate_names(self.given)) > MOST_TERMS:
            return self.label
        intercept, *coefficients, deviation = self._numbers(0, 0)
        terms = zip(coefficients, coordinate_names(self.given), strict=True)
        slopes = "".join(f" {'-' if b < 0 else '+'} {abs(b):.4g} {name}" for b, name in terms)
        return with_numbers(self.label, f"{intercept:.4g}{slopes}, deviation {deviation:.4g}")


def is_linear_gaussian(cpd: object) -> TypeGuard[LinearGaussian]:
    """Whether a CPD is a linear Gaussian, so that joint distributions with it stay Gaussian in each discrete context.

    >>> is_linear_gaussian(LinearGaussian(Vector("x", 1), covariance=1.0))
    True
    """
    return isinstance(cpd, LinearGaussian)


def checked_parents(
    child: Vector, given: Iterable[Vector] | Vector, by: Iterable[Discrete] | Discrete
) -> tuple[tuple[Vector, ...], tuple[Discrete, ...]]:
    """The real and the discrete parents of a real child, each as a tuple; those of the other kind raise an error."""
    reals = (given,) if isinstance(given, Vector | Discrete) else tuple(given)
    states = (by,) if isinstance(by, Vector | Discrete) else tuple(by)
    for real in reals:
        if not isinstance(real, Vector):
            raise ScopeError(f"given= takes the real parents of {child.name}; {real!r} belongs in by=.")
    for state in states:
        if not isinstance(state, Discrete):
            raise ScopeError(f"by= takes the discrete parents of {child.name}; {state!r} belongs in given=.")
    scope: tuple[AnyVariable, ...] = (*states, *reals, child)
    check_scope(scope)
    return reals, states


def _check_child(child: object) -> None:
    if not isinstance(child, Vector):
        raise ScopeError(
            f"A LinearGaussian has a real child; {child!r} is not. A discrete variable with real parents is outside "
            "conditional linear Gaussian networks: give it discrete parents, as in TableCPD."
        )


def _in_contexts(value: Any, by: tuple[Discrete, ...], core: tuple[int, ...], noun: str, child: Vector) -> Floats:
    """One array for each joint state of the discrete parents: from numbers in order, or by these states."""
    named, what = by_label(value) if by else value, f"{noun}s of {child.name}"
    if isinstance(named, Mapping):
        each = in_contexts(named, by, f"LinearGaussian of {child.name}", noun)
        named = [shaped(one, (), core, what)[0] for one in each]
    return shaped(named, tuple(v.num_states for v in by), core, what)


def _coefficients(
    coefficients: ArrayLike | Mapping[Any, Any] | None,
    given: tuple[Vector, ...],
    by: tuple[Discrete, ...],
    child: Vector,
) -> Floats:
    what, size = f"coefficients of {child.name}", child.size
    if coefficients is None:
        if given:
            raise ModelError(f"{child.name} has real parents; give coefficients=, one column per coordinate of them.")
        coefficients = np.zeros((size, 0))
    coefficients = by_label(coefficients)
    if not isinstance(coefficients, Mapping):
        return shaped(coefficients, tuple(v.num_states for v in by), (size, width(given)), what)
    parts = {
        axis_of(given, v): _in_contexts(c, by, (size, given[axis_of(given, v)].size), "coefficient", child)
        for v, c in coefficients.items()
    }
    missing = [v.name for axis, v in enumerate(given) if axis not in parts]
    if missing:
        raise ModelError(f"The {what} leave out its parent {missing[0]}. Give each parent its columns.")
    nothing = np.zeros((num_entries(by), size, 0))
    return np.concatenate([nothing, *(parts[axis] for axis in range(len(given)))], axis=2)


def _is_constant(flat: Floats, scope: tuple[Discrete, ...], variable: Discrete) -> bool:
    rest = tuple(v for v in scope if v != variable)
    rows = entries((*rest, variable), scope).reshape(num_entries(rest), -1)
    return bool((flat[rows] == flat[rows[:, :1]]).all())
