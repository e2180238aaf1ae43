r"""Linear Gaussian regressions in moment form, one for each state of the discrete parents; noise may be absent.

$$p(\mathbf y \mid \mathbf u, d) = N(\mathbf y;\; a_d + B_d \mathbf u;\; C_d)$$

Moments keep what canonical forms lose: a singular $C_d$ is a deterministic relation, and nothing is
inverted until a question needs it. Where $C_d$ is positive definite, products go through the canonical form.

Reference: Koller & Friedman, definitions 5.14 and 5.15; Lauritzen & Jensen (2001), Stable local computation with
conditional Gaussian distributions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.frozen import fill, made
from sepset.base.lazy import lazy
from sepset.base.logarithms import LOG_2PI, differences
from sepset.base.text import listing
from sepset.errors import NotClosed, ScopeError
from sepset.factors.algebra import AnyVariable, Assignment, Columns, Conditional, check_scope, find, num_entries, split
from sepset.factors.canonical import EPS, Cholesky, Forms
from sepset.factors.coordinates import (
    ON_SUPPORT,
    check_finite,
    columns,
    continuous_scope,
    findings,
    matrix,
    places,
    row_entries,
    selected_entries,
    shaped,
    states_of,
    width,
)
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.hybrid import CanonicalTable, Factors, simplest
from sepset.factors.labels import conditional
from sepset.factors.moments import Gaussian, GaussianMixture, check_covariances, square_roots
from sepset.factors.table import NUMBER, Table
from sepset.semiring import SUM, Semiring
from sepset.variables.variable import Discrete, VariableLike, Vector

RANK = 1e-13
"""Eigenvalues of a singular covariance below this share of the largest are zero."""

SMALL_ROUNDING = 1e-11
"""The rounding of differences, relative to the deviation of the noise, that log densities do not notice."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Regression:
    r"""The factor $N(\mathbf y; a_d + B_d \mathbf u; C_d)$ of a real child given real and discrete parents.

    It is a conditional as well as a factor: it can be drawn from, and integrating its child gives one. Values are
    densities on the support: where $C_d$ is singular, points off the relation have value zero, and on it the density is
    that of the coordinates which are free (one, where nothing is).

    Args:
        child: a `Real` or `Vector`.
        intercept: $a_d$, with the shape of the discrete parents' states in front; one value serves all states.
        coefficients: $B_d$, one column per coordinate of `given`.
        covariance: $C_d$, positive semidefinite; a variance for a `Real`.
        given: the real parents.
        by: the discrete parents.

    Reference: Koller & Friedman definitions 5.14, 5.15; Lauritzen & Jensen (2001).
    Guarantee: exact; densities on the support.
    Tested by: factors/test_regression.py::test_values_on_and_off_a_thin_support

    >>> from sepset.variables.variable import Real
    >>> x, y = Real("x"), Real("y")
    >>> law = Regression(y, 1.0, 2.0, 0.0, given=x)
    >>> law, law.log_value({x: 3.0, y: 7.0}), law.log_value({x: 3.0, y: 6.0})
    (Regression(y | x), 0.0, -inf)
    """

    child: Vector
    given: tuple[Vector, ...]
    by: tuple[Discrete, ...]
    intercept: Floats
    coefficients: Floats
    covariance: Floats

    def __init__(
        self,
        child: Vector,
        intercept: ArrayLike,
        coefficients: ArrayLike | None,
        covariance: ArrayLike,
        *,
        given: Iterable[Vector] | Vector = (),
        by: Iterable[Discrete] | Discrete = (),
    ) -> None:
        reals = continuous_scope(given)
        states = (by,) if isinstance(by, Discrete) else tuple(by)
        scope: tuple[AnyVariable, ...] = (*states, *reals, *continuous_scope(child))
        check_scope(scope)
        shape, size = tuple(v.num_states for v in states), child.size
        slopes = np.zeros((size, 0)) if coefficients is None else coefficients
        a = shaped(intercept, shape, (size,), f"intercepts of {child.name}")
        B = shaped(slopes, shape, (size, width(reals)), f"coefficients of {child.name}")
        C = shaped(covariance, shape, (size, size), f"covariances of {child.name}")
        check_finite(B, f"coefficients of {child.name}")
        check_covariances(a, C, f"covariances of {child.name}", states)
        fill(self, child=child, given=reals, by=states, intercept=a, coefficients=B, covariance=C)

    @classmethod
    def of(
        cls,
        child: Vector,
        given: tuple[Vector, ...],
        by: tuple[Discrete, ...],
        intercept: Floats,
        coefficients: Floats,
        covariance: Floats,
    ) -> Regression:
        """The regression with arrays that are known to be right: one entry per joint state of `by`, in C order."""
        return made(
            cls, child=child, given=given, by=by, intercept=intercept, coefficients=coefficients, covariance=covariance
        )

    @property
    def frontal(self) -> tuple[Vector, ...]:
        """The child."""
        return (self.child,)

    @property
    def parents(self) -> tuple[AnyVariable, ...]:
        """The discrete parents, then the real ones."""
        return (*self.by, *self.given)

    @property
    def scope(self) -> tuple[AnyVariable, ...]:
        """The parents, then the child."""
        return (*self.by, *self.given, self.child)

    @property
    def size(self) -> int:
        """How many numbers it stores."""
        return self.intercept.size + self.coefficients.size + self.covariance.size

    @lazy
    def is_definite(self) -> Bools:
        """Which discrete contexts have a positive definite covariance, and so a canonical form."""
        chol, size = self._cholesky, self.child.size
        if size == 1:
            return chol.definite
        unit = self.covariance * chol.scale[:, :, None] * chol.scale[:, None, :]
        return np.asarray(chol.definite & (np.linalg.eigvalsh(unit)[:, 0] > 4.0 * size * EPS))

    @lazy
    def canonical(self) -> CanonicalGaussian | CanonicalTable:
        """The same factor in canonical form; a singular covariance raises `NotClosed`."""
        if not self.is_definite.all():
            where = states_of(self.by, int(np.argmin(self.is_definite)))
            raise NotClosed(
                f"{self!r} has no canonical form: its covariance is singular{' where ' + where if where else ''}, "
                "which is a deterministic relation. Give it a positive variance, or use joint_gaussian, which works "
                "with moments."
            )
        forms = Forms.from_linear(self.intercept, self.coefficients, self._cholesky)
        return simplest(self.by, (*self.given, self.child), forms)  # type: ignore[return-value]  # the child is real

    @lazy
    def _cholesky(self) -> Cholesky:
        return Cholesky.of(self.covariance)

    def means(self, entry: Ints, u: Floats) -> Floats:
        r"""$a_d + B_d \mathbf u$ for each row.

        Args:
            entry: the joint state of the discrete parents in each row.
            u: the real parents' coordinates, one row each.
        """
        mean = np.array(self.intercept[entry])
        return mean + in_context(self.coefficients, u, entry) if self.given else mean

    def draws(self, entry: Ints, u: Floats, rng: np.random.Generator) -> Floats:
        """A draw of the child for each row, with arguments as for `means`."""
        mean = self.means(entry, u)
        return np.asarray(mean + in_context(square_roots(self.covariance), rng.standard_normal(mean.shape), entry))

    def log_densities(self, entry: Ints, u: Floats, y: Floats) -> Floats:
        """The logarithm of the density at each row, on the support where that is thin, and -inf off it.

        Args:
            entry, u: as for `means`.
            y: the child's coordinates, one row each.
        """
        chol, apart = self._cholesky, self._apart(entry, u, y)
        white = in_context(np.swapaxes(chol.root(), -1, -2), apart, entry)
        constant = chol.half_log_det() + 0.5 * self.child.size * LOG_2PI
        logs = np.asarray(-constant[entry] - 0.5 * (white**2).sum(axis=1))
        for e in np.flatnonzero(~self.is_definite):
            at = np.flatnonzero(entry == e)
            if len(at):
                terms = np.abs(y[at]) + np.abs(self.intercept[e]) + np.abs(u[at]) @ np.abs(self.coefficients[e]).T
                logs[at] = _on_support(self.covariance[e], apart[at], terms)
        return logs

    def _apart(self, entry: Ints, u: Floats, y: Floats) -> Floats:
        """The difference of each row from its mean; with twice the digits if its rounding is near the noise."""
        apart = y - self.means(entry, u)
        sizes = np.abs(u).max(axis=0, initial=0.0), np.abs(y).max(initial=0.0)
        terms = (
            sizes[1] + np.abs(self.intercept).max(initial=0.0) + (np.abs(self.coefficients) @ sizes[0]).max(initial=0.0)
        )
        variance = np.diagonal(self.covariance, axis1=-2, axis2=-1)
        noise = np.sqrt(np.min(variance, where=variance > 0, initial=np.inf))
        if not EPS * terms > SMALL_ROUNDING * noise:
            return np.asarray(apart)
        with np.errstate(over="ignore", invalid="ignore"):
            found = differences(y, self.intercept[entry], self.coefficients[entry], u)
        return np.where(np.isfinite(found), found, apart)

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Columns:
        """A draw of the child for each row of parents."""
        return columns(self.frontal, self.draws(*self._given(rows, num_rows), rng))

    def mode(self, rows: Columns, num_rows: int) -> Columns:
        """The conditional means, which are the modes."""
        return columns(self.frontal, self.means(*self._given(rows, num_rows)))

    def _given(self, rows: Columns, num_rows: int) -> tuple[Ints, Floats]:
        return row_entries(self.by, rows, num_rows), matrix(self.given, rows, num_rows)

    def __mul__(self, other: Any) -> Any:
        """The product, in canonical form; times one it is itself."""
        return self if _is_one(other) else self.canonical * other

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """The quotient, in canonical form."""
        return self if _is_one(other) else self.canonical / other

    def __rtruediv__(self, other: Any) -> Any:
        """A number or another factor over this one."""
        return other / self.canonical

    def __pow__(self, power: float) -> Any:
        """The factor to a real power, in canonical form."""
        return self if power == 1 else self.canonical**power

    def marginalize(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> Any:
        r"""The factor with `out` eliminated; integrating the child alone is exact whatever the covariance.

        $$\int N(\mathbf y; a_d + B_d \mathbf u; C_d)\, d\mathbf y = 1$$
        """
        kept, removed = split(self.scope, out)
        if not removed:
            return self
        if semiring is not SUM or self.child in kept:
            return self.canonical.marginalize(removed, semiring)
        return self._ones().marginalize([v for v in removed if v != self.child])

    def _ones(self) -> Factors:
        """One for every value of the parents."""
        return simplest(self.by, self.given, Forms.vacuous(num_entries(self.by), width(self.given)))

    def eliminate(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> tuple[Conditional, Any]:
        """The conditional of `out` given the rest, and the rest: for the child alone, itself and one."""
        removed = split(self.scope, out)[1]
        if semiring is SUM and removed == (self.child,):
            return self, self._ones()
        return self.canonical.eliminate(removed, semiring)

    def collapse(self, out: Iterable[VariableLike]) -> Any:
        """The factor with `out` eliminated, mixtures replaced by the Gaussian with their moments."""
        removed = split(self.scope, out)[1]
        return self.marginalize(removed) if self.child in removed else self.canonical.collapse(removed)

    def condition(self, assignment: Assignment) -> Any:
        r"""The factor at these states and values; variables outside the scope are ignored.

        Parents leave another regression: their states choose among $d$, and their values move the intercept,
        $a'_d = a_d + B_d \mathbf u$. A value of the child leaves a likelihood of the parents: a table of densities, or
        a canonical form where real parents are left.
        """
        rest = self._given_parents(assignment)
        at = next((value for key, value in assignment.items() if find(self.frontal, key) >= 0), None)
        if at is None:
            return rest
        if rest.given:
            return rest.canonical.condition({self.child: at})
        value = findings(self.frontal, {self.child: at})[1]
        num = num_entries(rest.by)
        logs = rest.log_densities(np.arange(num), np.zeros((num, 0)), np.tile(value, (num, 1)))
        return Table.from_log(rest.by, logs)

    def _given_parents(self, assignment: Assignment) -> Regression:
        by, rows = selected_entries(self.by, assignment)
        known, u = findings(self.given, assignment)
        if len(by) == len(self.by) and not known:
            return self
        given = tuple(v for v in self.given if v not in known)
        inside, left = places(self.given, known), places(self.given, given)
        a, B, C = self.intercept[rows], self.coefficients[rows], self.covariance[rows]
        return Regression.of(self.child, given, by, a + B[:, :, inside] @ u, B[:, :, left], C)

    def log_value(self, assignment: Assignment) -> float:
        """The logarithm of the value at an assignment of the whole scope."""
        point = self.condition(assignment)
        if point.scope:
            missing = [v.name for v in point.scope]
            raise ScopeError(f"log_value needs every variable of the scope; missing {listing(missing)}.")
        return float(point.log_value({}))

    @property
    def log_total(self) -> float:
        """The logarithm of the number of discrete contexts; inf where there are real parents."""
        return np.inf if self.given else float(np.log(num_entries(self.by)))

    def normalize(self) -> Any:
        """The factor divided by its total; with real parents that is infinite and raises."""
        return self if not self.parents else self.canonical.normalize()

    def align(self, scope: Iterable[VariableLike]) -> Any:
        """The canonical form with its variables in another order (discrete first), which must name every one."""
        return self.canonical.align(scope)

    def to_moments(self) -> Gaussian:
        """The child's distribution, where it has no parents."""
        if self.parents:
            raise NotClosed(f"{self!r} depends on {listing([v.name for v in self.parents])}; condition on them first.")
        return Gaussian(self.child, self.intercept[0], covariance=self.covariance[0])

    def to_distribution(self, kept: Iterable[VariableLike]) -> Any:
        """The normalized marginal over `kept`, in moment form where that is the child alone."""
        names = [kept] if isinstance(kept, str | Discrete | Vector) else list(kept)
        if self.given or len(names) != 1 or find(self.frontal, names[0]) < 0:
            return self.canonical.to_distribution(names)
        if not self.by:
            return self.to_moments()
        num = num_entries(self.by)
        return GaussianMixture(self.child, np.full(num, 1.0 / num), means=self.intercept, covariances=self.covariance)

    def __repr__(self) -> str:
        return conditional(self.frontal, self.parents, "Regression")


def in_context(matrices: Floats, rows: Floats, entry: Ints) -> Floats:
    """Each row times the matrix of its context.

    >>> in_context(np.array([[[2.0]], [[3.0]]]), np.array([[1.0], [1.0]]), np.array([1, 0])).tolist()
    [[3.0], [2.0]]
    """
    if len(matrices) == 1:
        return np.asarray(rows @ matrices[0].T)
    if matrices[0].size <= 8:
        return np.asarray(np.einsum("nij,nj->ni", matrices[entry], rows))
    found = np.empty((len(rows), matrices.shape[1]))
    for e in np.flatnonzero(np.bincount(entry, minlength=len(matrices))):
        at = entry == e
        found[at] = rows[at] @ matrices[e].T
    return found


def _on_support(covariance: Floats, apart: Floats, terms: Floats) -> Floats:
    """The log density of deviations under a singular covariance, relative to its range; -inf outside.

    Args:
        terms: the sizes of the numbers that each deviation is a difference of.
    """
    values, vectors = np.linalg.eigh(covariance)
    free = values > RANK * values.max(initial=0.0)
    along = apart @ vectors
    off = np.abs(along[:, ~free]).max(axis=1, initial=0.0) > ON_SUPPORT * terms.max(axis=1, initial=0.0)
    logs = -0.5 * (along[:, free] ** 2 / values[free] + np.log(values[free]) + LOG_2PI).sum(axis=1)
    return np.where(off, -np.inf, logs)


def _is_one(other: Any) -> bool:
    """Whether a factor is the number one."""
    if isinstance(other, NUMBER):
        return float(other) == 1.0
    return isinstance(other, Table) and not other.scope and other.log_total == 0.0
