r"""Gaussian factors in canonical form, and the linear conditional that eliminating from one leaves behind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.display import Shown, Tabulated
from sepset.base.frozen import fill, made
from sepset.base.text import listing
from sepset.errors import ModelError, NotClosed, ScopeError
from sepset.factors.algebra import Assignment, Columns, arrange, split, union
from sepset.factors.canonical import Cholesky, Forms
from sepset.factors.coordinates import (
    check_finite,
    check_symmetric,
    columns,
    continuous_scope,
    coordinate_names,
    findings,
    matrix,
    moments_by_name,
    places,
    row_entries,
    shaped,
    states_of,
    width,
)
from sepset.factors.labels import MOST_SHOWN, conditional, cut, short
from sepset.factors.moments import Gaussian, check_covariances
from sepset.factors.table import NUMBER
from sepset.semiring import MAX, SUM, Semiring
from sepset.variables.variable import Discrete, VariableLike, Vector

if TYPE_CHECKING:
    from sepset.factors.hybrid import CanonicalTable

ALL = np.zeros(1, np.int64)

MOST_COLUMNS = 8
"""The largest number of columns of an information matrix that are shown."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, init=False, repr=False)
class CanonicalGaussian(Tabulated):
    r"""A factor $C(\mathbf x; K, h, g) = \exp(-\tfrac12 \mathbf x^\top K \mathbf x + h^\top \mathbf x + g)$ over reals.

    $K$ is symmetric and may be singular or indefinite: conditionals and quotients are not normalizable, and need not be
    until their integral is asked. $g = -\infty$ is the factor that is zero everywhere.

    Args:
        scope: `Real` and `Vector` variables; their coordinates end to end.
        K: the information matrix.
        h: the information vector.
        g: the constant.

    Reference: Koller & Friedman, definition 14.1.
    Guarantee: exact up to rounding of its terms, so that large means and nearly singular K cost digits that `Gaussian`
        keeps; improper forms are legal.
    Tested by: factors/test_gaussian.py::test_integrals_agree_with_a_grid

    >>> from sepset.variables.variable import Real
    >>> x, y, z = Real("x"), Real("y"), Real("z")
    >>> f = CanonicalGaussian((x, y), [[1, -1], [-1, 1]], h=[1, -1], g=-3)
    >>> g = CanonicalGaussian((y, z), [[3, -2], [-2, 4]], h=[5, -1], g=1)
    >>> (f * g).h.tolist(), (f * g).g
    ([1.0, 4.0, -1.0], -2.0)
    """

    scope: tuple[Vector, ...]
    forms: Forms

    def __init__(self, scope: Iterable[Vector] | Vector, K: ArrayLike, *, h: ArrayLike, g: float = 0.0) -> None:
        variables = continuous_scope(scope)
        size = width(variables)
        matrices, vectors = shaped(K, (), (size, size), "K"), shaped(h, (), (size,), "h")
        check_finite(matrices, "K")
        check_finite(vectors, "h")
        check_symmetric(matrices, "K")
        if np.isnan(g) or g == np.inf:
            raise ModelError(f"g is finite or -inf; found {g}.")
        fill(self, scope=variables, forms=Forms.of(matrices, vectors, np.array([float(g)])))

    @classmethod
    def _make(cls, scope: tuple[Vector, ...], forms: Forms) -> CanonicalGaussian:
        return made(cls, scope=scope, forms=forms)

    @classmethod
    def ones(cls, scope: Iterable[Vector] | Vector = ()) -> CanonicalGaussian:
        """The vacuous form over `scope`: one everywhere, the neutral factor."""
        variables = continuous_scope(scope)
        return cls._make(variables, Forms.vacuous(1, width(variables)))

    @classmethod
    def from_moments(
        cls, scope: Iterable[Vector] | Vector, mean: ArrayLike, *, covariance: ArrayLike, log_mass: float = 0.0
    ) -> CanonicalGaussian:
        r"""The density $N(\mu; \Sigma)$ (times $e^{\ell}$); a singular $\Sigma$ has no canonical form and raises.

        >>> from sepset.variables.variable import Real
        >>> CanonicalGaussian.from_moments(Real("x"), 3.0, covariance=4.0).K.tolist()
        [[0.25]]
        """
        variables = continuous_scope(scope)
        size = width(variables)
        mean, covariance = moments_by_name(variables, mean, covariance)
        mu, sigma = shaped(mean, (), (size,), "means"), shaped(covariance, (), (size, size), "covariances")
        check_covariances(mu, sigma)
        chol = Cholesky.of(sigma)
        if not chol.definite[0]:
            raise NotClosed(_singular([v.name for v in variables]))
        return cls._make(variables, Forms.from_moments(mu, chol, np.array([float(log_mass)])))

    @classmethod
    def from_linear(
        cls,
        child: Vector,
        parents: Iterable[Vector] | Vector,
        *,
        offset: ArrayLike,
        slope: ArrayLike,
        covariance: ArrayLike,
    ) -> CanonicalGaussian:
        r"""The conditional density $p(\mathbf y \mid \mathbf x) = N(a + B\mathbf x; C)$ over (parents, child).

        Args:
            child: $\mathbf y$.
            parents: $\mathbf x$, in the order of the columns of $B$.
            offset: $a$.
            slope: $B$.
            covariance: $C$, positive definite.

        Reference: Koller & Friedman, section 14.2.1.

        >>> from sepset.variables.variable import Real
        >>> x, y = Real("x"), Real("y")
        >>> CanonicalGaussian.from_linear(y, x, offset=1.0, slope=2.0, covariance=0.5).marginalize(y).K.tolist()
        [[0.0]]
        """
        above = continuous_scope(parents)
        scope = continuous_scope((*above, child))
        a = shaped(offset, (), (child.size,), "offsets")
        B = shaped(slope, (), (child.size, width(above)), "slopes")
        C = shaped(covariance, (), (child.size, child.size), "covariances")
        check_finite(B, "slopes")
        check_covariances(a, C)
        chol = Cholesky.of(C)
        if not chol.definite[0]:
            raise NotClosed(_singular([child.name]))
        return cls._make(scope, Forms.from_linear(a, B, chol))

    @property
    def K(self) -> Floats:
        """The information matrix."""
        return np.asarray(self.forms.K[0])

    @property
    def h(self) -> Floats:
        """The information vector."""
        return np.asarray(self.forms.h[0])

    @property
    def g(self) -> float:
        """The constant; -inf for the factor that is zero everywhere."""
        return float(self.forms.g[0])

    @property
    def size(self) -> int:
        """How many numbers it stores."""
        return self.forms.K.size + self.forms.h.size + 1

    @property
    def is_proper(self) -> bool:
        """Whether its integral is finite."""
        return bool(self.forms.block(self._places(self.scope)).definite[0])

    def _places(self, part: Iterable[Vector]) -> Ints:
        return places(self.scope, part)

    def _spread(self, scope: tuple[Vector, ...]) -> Forms:
        if scope == self.scope:
            return self.forms
        return self.forms.spread(ALL, places(scope, self.scope), width(scope))

    def _lifted(self) -> CanonicalTable:
        from sepset.factors.hybrid import CanonicalTable

        return CanonicalTable.of(self)

    def __mul__(self, other: Any) -> Any:
        """The product over the union of scopes: information adds; a number scales, a table gives a `CanonicalTable`."""
        if isinstance(other, NUMBER):
            return CanonicalGaussian._make(self.scope, self.forms.shifted(log_number(float(other))))
        if not isinstance(other, CanonicalGaussian):
            return self._lifted() * other
        scope = union(self.scope, other.scope)
        return CanonicalGaussian._make(scope, self._spread(scope).times(other._spread(scope)))

    def __rmul__(self, other: Any) -> Any:
        """The product with a number or a table on the left."""
        return self * other

    def __truediv__(self, other: Any) -> Any:
        """The quotient: information subtracts, perhaps to an improper one; $0/0 = 0$, $x/0$ raises."""
        if isinstance(other, NUMBER):
            other = CanonicalGaussian._make((), Forms.vacuous(1, 0)) * other
        if not isinstance(other, CanonicalGaussian):
            return self._lifted() / other
        if self.forms.alive[0] and not other.forms.alive[0]:
            raise NotClosed(f"{self!r} / {other!r} divides a positive value by zero; only 0/0 is defined (as 0).")
        scope = union(self.scope, other.scope)
        return CanonicalGaussian._make(scope, self._spread(scope).over(other._spread(scope)))

    def __rtruediv__(self, other: Any) -> Any:
        """A number or a table over this factor."""
        return self._lifted().__rtruediv__(other)

    def __pow__(self, power: float) -> CanonicalGaussian:
        """The factor to a real power; $0^0 = 1$, and zero to a negative power raises."""
        if power == 0:
            return CanonicalGaussian.ones(self.scope)
        if power < 0 and not self.forms.alive[0]:
            raise NotClosed(f"{self!r} ** {power:g} raises a zero to a negative power.")
        return CanonicalGaussian._make(self.scope, self.forms.power(power))

    def align(self, scope: Iterable[VariableLike]) -> CanonicalGaussian:
        """The same factor with its variables in another order, which must name every variable of the scope."""
        order = arrange(self.scope, scope)
        return CanonicalGaussian._make(order, self._spread(order))

    def marginalize(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> CanonicalGaussian:
        r"""The factor with `out` integrated (`SUM`) or maximized (`MAX`) away.

        $$K' = K_{XX} - K_{XY}K_{YY}^{-1}K_{YX}, \qquad h' = h_X - K_{XY}K_{YY}^{-1}h_Y$$

        It is finite if and only if $K_{YY}$ is positive definite, whatever the rest of $K$; otherwise `NotClosed`.
        Variables outside the scope are ignored.

        Cost: cubic in the coordinates of `out`, quadratic in the rest.
        Reference: Koller & Friedman, equation 14.5.
        """
        return self._eliminated(out, semiring)[0]

    def _eliminated(
        self, out: Iterable[VariableLike], semiring: Semiring
    ) -> tuple[CanonicalGaussian, tuple[Vector, ...], Cholesky | None]:
        kept, removed = split(self.scope, out)
        if not removed:
            return self, (), None
        at = self._places(removed)
        chol = self.forms.block(at)
        check_definite(chol, removed, (), self)
        forms = self.forms.without(at, chol, integrate=integrates(semiring))
        return CanonicalGaussian._make(kept, forms), removed, chol

    def eliminate(
        self, out: Iterable[VariableLike], semiring: Semiring = SUM
    ) -> tuple[GaussianConditional, CanonicalGaussian]:
        """The linear Gaussian of `out` given the rest, and the rest."""
        rest, removed, chol = self._eliminated(out, semiring)
        return GaussianConditional.of(removed, rest.scope, (), self.scope, self.forms, chol), rest

    def collapse(self, out: Iterable[VariableLike]) -> CanonicalGaussian:
        """The marginal: Gaussians are closed under integration."""
        return self.marginalize(out)

    def condition(self, assignment: Assignment) -> CanonicalGaussian:
        r"""The factor at these values, over the rest of the scope; variables outside the scope are ignored.

        $$K' = K_{XX},\quad h' = h_X - K_{XY}\mathbf y,\quad
        g' = g + h_Y^\top\mathbf y - \tfrac12\mathbf y^\top K_{YY}\mathbf y$$

        Reference: Koller & Friedman, equation 14.6.
        """
        known, values = findings(self.scope, assignment)
        if not known:
            return self
        kept = tuple(v for v in self.scope if v not in known)
        return CanonicalGaussian._make(kept, self.forms.at(self._places(known), values))

    def log_value(self, assignment: Assignment) -> float:
        """The logarithm of the value at an assignment of the whole scope."""
        point = self.condition(assignment)
        if point.scope:
            raise ScopeError(
                f"log_value needs every variable of the scope; missing {listing([v.name for v in point.scope])}."
            )
        return point.g

    @property
    def log_total(self) -> float:
        r"""$\log\int C = g + \tfrac12 h^\top K^{-1} h + \tfrac12 \log\det 2\pi K^{-1}$; inf for an improper factor."""
        return float(self.forms.log_totals()[0])

    def normalize(self) -> CanonicalGaussian:
        """The density: the factor divided by its integral."""
        total = self.marginalize(self.scope).g
        if total == -np.inf:
            raise NotClosed(f"{self!r} is zero everywhere and cannot be normalized. Check the evidence or the factors.")
        return CanonicalGaussian._make(self.scope, self.forms.shifted(-total))

    def to_moments(self) -> Gaussian:
        r"""The normalized factor by its moments, $\Sigma = K^{-1}$ and $\mu = K^{-1} h$; an improper one raises."""
        chol = self.forms.block(self._places(self.scope))
        check_definite(chol, self.scope, (), self)
        if not self.forms.alive[0]:
            raise NotClosed(f"{self!r} is zero everywhere and has no moments. Check the evidence or the factors.")
        mean, covariance, _ = self.forms.moments(chol)
        return Gaussian._make(self.scope, mean[0], covariance[0])

    def to_distribution(self, kept: Iterable[VariableLike]) -> Gaussian:
        """The normalized marginal over `kept`, in that order."""
        return self.to_moments().marginal(kept)

    def _shown(self) -> Shown:
        """One row per coordinate of the canonical form, and its constant."""
        names = coordinate_names(self.scope)
        limit, few = slice(MOST_SHOWN), slice(MOST_COLUMNS)
        cells = zip(names[limit], self.h[limit].tolist(), self.K[limit, few].tolist(), strict=True)
        rows = [(name, f"{h:.6g}", *(f"{k:.6g}" for k in row)) for name, h, row in cells]
        more = "; ".join(filter(None, (f"g = {self.g:.6g}", cut(len(names), "coordinates"))))
        return Shown(("variable", "h", *(f"K {name}" for name in names[few])), rows, short(self), more)

    def __repr__(self) -> str:
        return short(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GaussianConditional:
    r"""The conditional of eliminated reals: $\mathbf y \mid \mathbf x, d \sim N(a_d + B_d\mathbf x; R_d R_d^\top)$.

    `frontal` are the eliminated reals, `given` the reals and `by` the discrete variables they depend on.
    """

    frontal: tuple[Vector, ...]
    given: tuple[Vector, ...]
    by: tuple[Discrete, ...]
    alive: Bools
    offset: Floats
    slope: Floats
    root: Floats

    @classmethod
    def of(
        cls,
        frontal: tuple[Vector, ...],
        given: tuple[Vector, ...],
        by: tuple[Discrete, ...],
        scope: tuple[Vector, ...],
        forms: Forms,
        chol: Cholesky | None,
    ) -> GaussianConditional:
        """The conditional of `frontal` under forms over `scope`, with the factorization of its block of $K$."""
        out, kept = places(scope, frontal), places(scope, given)
        factored = forms.block(out) if chol is None else chol
        root = factored.root()
        offset = (root @ factored.whiten(forms.h[:, out, None]))[:, :, 0]
        slope = -(root @ factored.whiten(forms.K[:, out[:, None], kept]))
        return cls(frontal, given, by, forms.alive, offset, slope, root)

    @property
    def parents(self) -> tuple[Discrete | Vector, ...]:
        """The variables it is conditioned on, discrete ones first."""
        return (*self.by, *self.given)

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Columns:
        """A draw of the frontal variables for each row of parents."""
        return self._drawn(rows, num_rows, rng.standard_normal((num_rows, width(self.frontal))))

    def mode(self, rows: Columns, num_rows: int) -> Columns:
        """The conditional means, which are the modes."""
        return self._drawn(rows, num_rows, np.zeros((num_rows, width(self.frontal))))

    def _drawn(self, rows: Columns, num_rows: int, noise: Floats) -> Columns:
        entry = row_entries(self.by, rows, num_rows)
        x = matrix(self.given, rows, num_rows)
        result = np.empty_like(noise)
        for e in np.unique(entry):
            if not self.alive[e]:
                raise NotClosed(f"{self!r} has no positive value where {states_of(self.by, int(e)) or 'asked'}.")
            at = entry == e
            result[at] = self.offset[e] + x[at] @ self.slope[e].T + noise[at] @ self.root[e].T
        return columns(self.frontal, result)

    def __repr__(self) -> str:
        return conditional(self.frontal, self.parents)


def integrates(semiring: Semiring) -> bool:
    """True for `SUM`, False for `MAX`; reals have no other sum here."""
    if semiring is not SUM and semiring is not MAX:
        raise NotClosed(f"Reals are eliminated by SUM (an integral) or MAX; found {semiring}.")
    return semiring is SUM


def check_definite(chol: Cholesky, out: Iterable[Vector], by: tuple[Discrete, ...], factor: object) -> None:
    """Raise if an integral is infinite, naming the variables and the entry."""
    if chol.definite.all():
        return
    where = states_of(by, int(np.argmin(chol.definite)))
    raise NotClosed(
        f"The integral of {factor!r} over {listing([v.name for v in out])} is infinite"
        f"{' where ' + where if where else ''}: their information matrix is not positive definite. "
        "Multiply in a prior (or the remaining factors) first."
    )


def log_number(number: float) -> float:
    """The logarithm of a non-negative finite number."""
    if not 0.0 <= number < np.inf:
        raise ModelError(f"A factor is multiplied by a finite number >= 0; found {number}.")
    return float(np.log(number)) if number > 0 else -np.inf


def _singular(names: list[str]) -> str:
    return (
        f"The covariance of {listing(names)} is singular, so it has no canonical form: a deterministic relation has no "
        "density. Give it a positive variance, or use Gaussian (moments), which allows zero."
    )
