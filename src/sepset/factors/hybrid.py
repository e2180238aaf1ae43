r"""Tables of Gaussians: factors over discrete and continuous variables together (conditional linear Gaussians)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.axes import axes_of, plain
from sepset.base.display import Shown, Tabulated
from sepset.base.extras import FrameKind, frame
from sepset.base.frozen import fill, made
from sepset.base.logarithms import log_sum
from sepset.base.text import listing, readable
from sepset.errors import ModelError, NotClosed, ScopeError, TooLarge
from sepset.factors.algebra import (
    MAX_ENTRIES,
    AnyVariable,
    Assignment,
    Columns,
    arrange,
    axis_of,
    check_scope,
    num_entries,
    split,
    union,
)
from sepset.factors.canonical import Cholesky, Forms, merged, shares
from sepset.factors.coordinates import (
    check_finite,
    check_symmetric,
    coordinate_names,
    entries,
    findings,
    places,
    selected_entries,
    shaped,
    states_of,
    width,
)
from sepset.factors.gaussian import CanonicalGaussian, GaussianConditional, check_definite, integrates, log_number
from sepset.factors.labels import (
    MOST_SHOWN,
    conditional,
    cut,
    moment_names,
    moment_numbers,
    one_line,
    short,
)
from sepset.factors.moments import Gaussian, GaussianMixture
from sepset.factors.sparse import SparseTable
from sepset.factors.table import NUMBER, Table, TableConditional
from sepset.semiring import SUM, Semiring
from sepset.variables.variable import Discrete, VariableLike, Vector, listed

FEW_ROWS = 3
"""The largest number of joint states in a line."""

MOST_CURVES = 12
"""The largest number of joint states in a picture."""

AGREEMENT = 1e-12
"""Entries whose $K$ and $h$ differ by less than this, relative to the largest, are one Gaussian."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, init=False, repr=False)
class CanonicalTable(Tabulated):
    r"""A factor $\phi(d, \mathbf x) = C(\mathbf x; K_d, h_d, g_d)$: one canonical form for each joint state $d$.

    A `Table` is the case without reals ($g = \ln\phi$), a `CanonicalGaussian` the case without discrete variables; an
    operation whose result is one of these returns it, and products lift it back. $g_d = -\infty$ is a zero entry, which
    no numerical test looks at. The scope lists the discrete variables first.

    Args:
        scope: discrete and continuous variables.
        K: information matrices, shaped like the discrete states followed by `[n, n]`.
        h: information vectors, likewise with `[n]`.
        g: constants, one a joint state.

    Reference: Koller & Friedman, definition 14.2.
    Guarantee: exact, or `NotClosed.
    Tested by: factors/test_hybrid.py::test_eliminating_reals_first_matches_the_enumerated_mixture

    >>> from sepset.variables.variable import Real
    >>> d, x = Discrete("d", 2), Real("x")
    >>> f = CanonicalTable.from_moments((d, x), [0.0, 3.0], covariances=[1.0, 4.0], log_weights=np.log([0.4, 0.6]))
    >>> f.marginalize(x).values.round(9).tolist(), round(f.collapse(d).to_moments().variance(), 9)
    ([0.4, 0.6], 4.96)
    """

    discrete: tuple[Discrete, ...]
    continuous: tuple[Vector, ...]
    forms: Forms

    def __init__(self, scope: Iterable[AnyVariable], K: ArrayLike, *, h: ArrayLike, g: ArrayLike) -> None:
        discrete, continuous = _parted(scope)
        size = _check_room(discrete, continuous)
        shape = _shape(discrete)
        matrices, vectors = shaped(K, shape, (size, size), "K"), shaped(h, shape, (size,), "h")
        constants = shaped(g, shape, (), "g")
        check_finite(matrices, "K")
        check_finite(vectors, "h")
        check_symmetric(matrices, "K")
        if np.isnan(constants).any() or (constants == np.inf).any():
            raise ModelError("g is finite or -inf in every entry; found NaN or +inf.")
        fill(self, discrete=discrete, continuous=continuous, forms=Forms.of(matrices, vectors, constants))

    @classmethod
    def _make(cls, discrete: tuple[Discrete, ...], continuous: tuple[Vector, ...], forms: Forms) -> CanonicalTable:
        return made(cls, discrete=discrete, continuous=continuous, forms=forms)

    @classmethod
    def of(cls, factor: CanonicalTable | CanonicalGaussian | Table | SparseTable) -> CanonicalTable:
        """A table or Gaussian as a table of Gaussians."""
        if isinstance(factor, CanonicalTable):
            return factor
        if isinstance(factor, CanonicalGaussian):
            return cls._make((), factor.scope, factor.forms)
        table = factor if isinstance(factor, Table) else factor.to_table()
        logs = table.log_values.reshape(-1)
        return cls._make(table.scope, (), Forms.of(np.zeros((len(logs), 0, 0)), np.zeros((len(logs), 0)), logs))

    @classmethod
    def ones(cls, scope: Iterable[AnyVariable] = ()) -> CanonicalTable:
        """The neutral factor over `scope`: one everywhere."""
        discrete, continuous = _parted(scope)
        size = _check_room(discrete, continuous)
        return cls._make(discrete, continuous, Forms.vacuous(num_entries(discrete), size))

    @classmethod
    def from_moments(
        cls, scope: Iterable[AnyVariable], means: ArrayLike, *, covariances: ArrayLike, log_weights: ArrayLike = 0.0
    ) -> CanonicalTable:
        r"""The factor $w_d\,N(\mathbf x; \mu_d; \Sigma_d)$; a weight of $-\infty$ is a zero entry."""
        discrete, continuous = _parted(scope)
        size, shape = _check_room(discrete, continuous), _shape(discrete)
        logs = shaped(log_weights, shape, (), "log_weights")
        mu, sigma = shaped(means, shape, (size,), "means"), shaped(covariances, shape, (size, size), "covariances")
        check_finite(mu, "means")
        check_finite(sigma, "covariances")
        check_symmetric(sigma, "covariances")
        sigma[logs == -np.inf] = np.eye(size)
        chol = Cholesky.of(sigma)
        if not chol.definite.all():
            where = states_of(discrete, int(np.argmin(chol.definite)))
            raise NotClosed(f"The covariance where {where} is not positive definite; it has no canonical form.")
        return cls._make(discrete, continuous, Forms.from_moments(mu, chol, logs))

    @property
    def scope(self) -> tuple[AnyVariable, ...]:
        """The discrete variables, then the continuous ones."""
        return (*self.discrete, *self.continuous)

    @property
    def K(self) -> Floats:
        """The information matrices, one per entry in C order."""
        return self.forms.K

    @property
    def h(self) -> Floats:
        """The information vectors, one per entry in C order."""
        return self.forms.h

    @property
    def g(self) -> Floats:
        """The constants, one per entry in C order; -inf for a zero entry."""
        return self.forms.g

    @property
    def size(self) -> int:
        """How many numbers it stores."""
        return self.forms.K.size + self.forms.h.size + self.forms.g.size

    def _spread(self, discrete: tuple[Discrete, ...], continuous: tuple[Vector, ...]) -> Forms:
        if discrete == self.discrete and continuous == self.continuous:
            return self.forms
        rows = entries(discrete, self.discrete)
        return self.forms.spread(rows, places(continuous, self.continuous), width(continuous))

    def _joined(self, other: CanonicalTable) -> tuple[tuple[Discrete, ...], tuple[Vector, ...], Forms, Forms]:
        union(self.scope, other.scope)
        discrete = union(self.discrete, other.discrete)
        continuous = union(self.continuous, other.continuous)
        _check_room(discrete, continuous)
        return discrete, continuous, self._spread(discrete, continuous), other._spread(discrete, continuous)

    def __mul__(self, other: Any) -> Any:
        """The product, entry by entry over the union of scopes; tables, Gaussians and numbers are lifted."""
        if isinstance(other, NUMBER):
            return CanonicalTable._make(self.discrete, self.continuous, self.forms.shifted(log_number(float(other))))
        if not _is_liftable(other):
            return NotImplemented
        discrete, continuous, mine, theirs = self._joined(CanonicalTable.of(other))
        return simplest(discrete, continuous, mine.times(theirs))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """The quotient, entry by entry; it may be improper; $0/0 = 0$, and a positive value over zero raises."""
        if isinstance(other, NUMBER):
            other = Table((), [float(other)])
        if not _is_liftable(other):
            return NotImplemented
        discrete, continuous, mine, theirs = self._joined(CanonicalTable.of(other))
        bad = np.flatnonzero(mine.alive & ~theirs.alive)
        if bad.size:
            where = states_of(discrete, int(bad[0]))
            raise NotClosed(
                f"{self!r} / {other!r} divides a positive value by zero{' where ' + where if where else ''}; "
                "only 0/0 is defined (as 0)."
            )
        return simplest(discrete, continuous, mine.over(theirs))

    def __rtruediv__(self, other: Any) -> Any:
        """A number, table or Gaussian over this factor."""
        if isinstance(other, NUMBER):
            other = CanonicalTable.of(Table((), [1.0])) * float(other)
        return CanonicalTable.of(other) / self if _is_liftable(other) else NotImplemented

    def __pow__(self, power: float) -> CanonicalTable:
        """Each entry to a real power; $0^0 = 1$, and zero to a negative power raises."""
        if power == 0:
            return CanonicalTable.ones(self.scope)
        if power < 0 and not self.forms.alive.all():
            raise NotClosed(f"{self!r} ** {power:g} raises a zero to a negative power.")
        return CanonicalTable._make(self.discrete, self.continuous, self.forms.power(power))

    def align(self, scope: Iterable[VariableLike]) -> CanonicalTable:
        """The same factor with its variables in another order (discrete first), which must name every one of them."""
        discrete, continuous = _parted(arrange(self.scope, scope))
        return CanonicalTable._make(discrete, continuous, self._spread(discrete, continuous))

    def marginalize(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> Factors:
        r"""The factor with `out` eliminated exactly: reals first (one integral per entry), then discrete variables.

        $$\tau(a, \mathbf x) = \sum_b \int \phi(a, b, \mathbf x, \mathbf y)\,d\mathbf y$$

        A sum of different Gaussians is a mixture, outside the family: with reals left in the scope, discrete variables
        can be summed exactly only where the entries agree up to their weight; otherwise `NotClosed` (use `collapse`).

        Cost: cubic in the eliminated coordinates, times the number of entries.
        Reference: Koller & Friedman, section 14.3.2.
        """
        discrete, continuous, forms, groups, _ = self._integrated(out, semiring)
        if groups.shape[1] > 1:
            forms, agree = _summed(forms, groups, semiring)
            self._check_agreement(agree, discrete)
        return simplest(discrete, continuous, forms)

    def _integrated(
        self, out: Iterable[VariableLike], semiring: Semiring
    ) -> tuple[tuple[Discrete, ...], tuple[Vector, ...], Forms, Ints, Cholesky]:
        """The kept variables, the forms without the reals of `out`, and the entries of each kept joint state."""
        kept, removed = split(self.scope, out)
        keep_discrete, keep_continuous = _parted(kept)
        discrete, continuous = _parted(removed)
        at = places(self.continuous, continuous)
        chol = self.forms.block(at)
        check_definite(chol, continuous, self.discrete, self)
        forms = self.forms.without(at, chol, integrate=integrates(semiring)) if continuous else self.forms
        rows = entries(keep_discrete + discrete, self.discrete)
        return keep_discrete, keep_continuous, forms, rows.reshape(num_entries(keep_discrete), -1), chol

    def _check_agreement(self, agree: Bools, discrete: tuple[Discrete, ...]) -> None:
        if not agree.all():
            where = states_of(discrete, int(np.argmin(agree)))
            raise NotClosed(
                f"Eliminating discrete variables of {self!r} with reals left in its scope gives a mixture of different "
                f"Gaussians{' where ' + where if where else ''}. Eliminate the reals first, or use collapse (moments)."
            )

    def eliminate(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> tuple[HybridConditional, Factors]:
        """The conditional of `out` given the rest, and the rest; exact, or `NotClosed` as for `marginalize`."""
        discrete, continuous, forms, groups, chol = self._integrated(out, semiring)
        result, agree = _summed(forms, groups, semiring)
        self._check_agreement(agree, discrete)
        removed = split(self.scope, out)[1]
        frontal, reals = _parted(removed)
        gaussian = GaussianConditional.of(reals, continuous, self.discrete, self.continuous, self.forms, chol)
        at = places(self.continuous, reals)
        weights = [self.forms.without(at, chol, integrate=integrate).g for integrate in (True, False)]
        tables = [TableConditional(frontal, discrete, Table.from_log(self.discrete, logs)) for logs in weights]
        return HybridConditional(gaussian, *tables), simplest(discrete, continuous, result)

    def collapse(self, out: Iterable[VariableLike]) -> Factors:
        r"""The factor with `out` eliminated, mixtures replaced by the Gaussian with their mass, mean and covariance.

        Reals are integrated first (exactly), then for each kept joint state $a$ the entries consistent with it are
        merged, $w_b \propto \int\phi(a, b, \mathbf x)\,d\mathbf x$. Entries of positive weight that must be merged have
        to be normalizable; else `NotClosed`. Where the entries agree up to their weight nothing is lost.

        Reference: Koller & Friedman, definition 14.3 (weak marginalization).
        Guarantee: first two moments exact.
        Tested by: factors/test_hybrid.py::test_collapse_keeps_mass_mean_and_covariance
        """
        discrete, continuous, forms, groups, _ = self._integrated(out, SUM)
        result, agree = _summed(forms, groups, SUM)
        if not agree.all():
            result = self._merged(forms, groups, result, np.flatnonzero(~agree))
        return simplest(discrete, continuous, result)

    def _merged(self, forms: Forms, groups: Ints, exact: Forms, rows: Ints) -> Forms:
        """`exact` with the groups `rows` replaced by the Gaussians of their first two moments."""
        members = groups[rows]
        parts = forms.take(members.reshape(-1))
        chol = parts.block(np.arange(forms.size))
        if not chol.definite.all():
            where = states_of(self.discrete, int(members.reshape(-1)[np.argmin(chol.definite)]))
            raise NotClosed(
                f"Collapsing {self!r} merges a Gaussian that is not normalizable (where {where}). "
                "Multiply in the factors of its parents first."
            )
        mean, covariance, log_mass = parts.moments(chol)
        weights, totals = shares(log_mass.reshape(members.shape))
        size = forms.size
        joint = merged(weights, mean.reshape(*members.shape, size), covariance.reshape(*members.shape, size, size))
        new = Forms.from_moments(joint[0], Cholesky.of(joint[1]), totals)
        K, h, g = exact.K.copy(), exact.h.copy(), exact.g.copy()
        K[rows], h[rows], g[rows] = new.K, new.h, new.g
        return Forms.of(K, h, g)

    def condition(self, assignment: Assignment) -> Factors:
        """The factor at these states and values, over the rest of the scope; others are ignored."""
        discrete, rows = selected_entries(self.discrete, assignment)
        known, values = findings(self.continuous, assignment)
        if len(discrete) == len(self.discrete) and not known:
            return self
        continuous = tuple(v for v in self.continuous if v not in known)
        return simplest(discrete, continuous, self.forms.take(rows).at(places(self.continuous, known), values))

    def log_value(self, assignment: Assignment) -> float:
        """The logarithm of the value at an assignment of the whole scope; -inf for a zero entry."""
        discrete, rows = selected_entries(self.discrete, assignment)
        known, values = findings(self.continuous, assignment)
        missing = [v.name for v in (*discrete, *self.continuous) if v not in known]
        if missing:
            raise ScopeError(f"log_value needs every variable of the scope; missing {listing(missing)}.")
        return self.forms.log_value(int(rows[0]), values)

    @property
    def log_total(self) -> float:
        """The logarithm of the sum of the integrals of all entries; inf where one of them is improper."""
        totals = self.forms.log_totals()
        return np.inf if (totals == np.inf).any() else float(log_sum(totals, 0))

    def normalize(self) -> CanonicalTable:
        """The factor divided by its total."""
        total = self.log_total
        if total == np.inf:
            self.marginalize(self.continuous)
        if total == -np.inf:
            raise NotClosed(f"{self!r} is zero everywhere and cannot be normalized. Check the evidence or the factors.")
        return CanonicalTable._make(self.discrete, self.continuous, self.forms.shifted(-total))

    def to_mixture(self, kept: Iterable[VariableLike] | None = None) -> GaussianMixture:
        """The exact marginal of the reals `kept` (by default all): one component a joint state of positive weight."""
        names = self.continuous if kept is None else listed(kept)
        scope = tuple(self.continuous[axis_of(self.continuous, v)] for v in names)
        out = [v for v in self.continuous if v not in scope]
        forms = self._integrated(out, SUM)[2]
        chol = forms.block(np.arange(forms.size))
        check_definite(chol, scope, self.discrete, self)
        mean, covariance, log_mass = forms.moments(chol)
        weights, total = shares(log_mass[None, :])
        if total[0] == -np.inf:
            raise NotClosed(f"{self!r} is zero everywhere and has no distribution. Check the evidence or the factors.")
        live = np.flatnonzero(forms.alive)
        left = tuple(v for v in self.continuous if v in scope)
        share = weights[0, live] / weights[0, live].sum()
        return GaussianMixture(left, share, means=mean[live], covariances=covariance[live]).marginal(scope)

    def to_distribution(self, kept: Iterable[VariableLike]) -> Table | Gaussian | GaussianMixture | CanonicalTable:
        """The normalized marginal over `kept`: a table for discrete variables, this class where reals are among them.

        Reals alone are a mixture, or a Gaussian where one component has all the weight.
        """
        names = listed(kept)
        discrete, continuous = _parted(self.scope[axis_of(self.scope, v)] for v in names)
        if not discrete:
            mixture = self.to_mixture(continuous)
            return mixture.to_gaussian() if mixture.num_components == 1 else mixture
        rest = self.marginalize([v for v in self.scope if v not in discrete and v not in continuous])
        return rest.normalize().align(names)  # type: ignore[return-value]  # discrete variables are left

    def _moments(self) -> tuple[Floats, Floats] | None:
        """The probability of each joint state, and the means and deviations in it; None if a form is improper.

        States of probability zero have no moments: theirs are NaN.
        """
        alive = np.flatnonzero(self.forms.alive)
        if not alive.size or not np.isfinite(self.log_total):
            return None
        forms = self.forms.take(alive)
        mean, covariance, log_mass = forms.moments(forms.block(np.arange(forms.size)))
        rows = np.full((len(self.forms.g), 2 * width(self.continuous)), np.nan)
        rows[alive] = moment_numbers(mean, covariance)
        shares = np.zeros(len(rows))
        shares[alive] = np.exp(log_mass - log_sum(log_mass, 0))
        return shares, rows

    def _rows(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The titles and rows of a table: states, then probability and moments; constants of improper forms."""
        found, names = self._moments(), coordinate_names(self.continuous)
        if found is None:
            titles, numbers = _parameters(self.forms, names)
        else:
            titles, numbers = ["probability", *moment_names(names)], np.column_stack(found)
        states = itertools.product(*(v.states for v in self.discrete))
        rows = [(*row, *values) for row, values in zip(states, numbers.tolist(), strict=True)]
        return [*(v.name for v in self.discrete), *titles], rows

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per joint state: its probability, and the means and deviations in it.

        >>> from sepset.variables.variable import Real
        >>> scope, weights = (Discrete("d", 2), Real("x")), np.log([0.5, 0.5])
        >>> f = CanonicalTable.from_moments(scope, [0.0, 3.0], covariances=[1.0, 4.0], log_weights=weights)
        >>> f.to_frame().round(6).to_dict("records")[1]
        {'d': 1, 'probability': 0.5, 'x mean': 3.0, 'x deviation': 2.0}
        """
        titles, rows = self._rows()
        columns: dict[str, list[Any]] = {}
        for title, column in zip(titles, zip(*rows, strict=True), strict=True):
            columns[title + "_" * (title in columns)] = list(column)
        return frame(columns, kind)

    def in_words(self) -> str:
        """The first joint states with their probabilities and moments in one line.

        >>> from sepset.variables.variable import Real
        >>> scope, weights = (Discrete("d", 2), Real("x")), np.log([0.5, 0.5])
        >>> f = CanonicalTable.from_moments(scope, [0.0, 3.0], covariances=[1.0, 4.0], log_weights=weights)
        >>> f.in_words()
        '0: probability 0.5, x mean 0, x deviation 1; 1: probability 0.5, x mean 3, x deviation 2'
        """
        titles, rows = self._rows()
        first, some = len(self.discrete), rows[:FEW_ROWS]
        parts = [
            " ".join(map(one_line, row[:first])) + ": " + ", ".join(f"{t} {v:.4g}" for t, v in moments if v == v)
            for row, moments in ((row, list(zip(titles[first:], row[first:], strict=True))) for row in some)
        ]
        return "; ".join([*parts, *(["..."] if len(rows) > FEW_ROWS else [])])

    def plot(self, ax: Any = None) -> Any:
        """The density of one real coordinate in each joint state, times its probability, on matplotlib axes."""
        found = self._moments()
        if found is None or width(self.continuous) != 1 or len(found[0]) > MOST_CURVES:
            raise ScopeError(
                f"A table of Gaussians has a picture if it is of one real number in at most {MOST_CURVES} joint "
                f"states and can be normalized; {self!r} is not. Ask about fewer variables."
            )
        axes, (shares, moments) = axes_of(ax), found
        live = shares > 0
        reach = 4.0 * moments[live, 1]
        grid = np.linspace((moments[live, 0] - reach).min(), (moments[live, 0] + reach).max(), 400)
        for entry in np.flatnonzero(live):
            mean, deviation = moments[entry]
            curve = shares[entry] * np.exp(-0.5 * ((grid - mean) / deviation) ** 2) / (deviation * math.sqrt(math.tau))
            axes.plot(grid, curve, label=plain(states_of(self.discrete, int(entry))))
        axes.set(xlabel=plain(coordinate_names(self.continuous)[0]), ylabel="density times probability")
        axes.legend(fontsize="small")
        return axes

    def _shown(self) -> Shown:
        titles, rows = self._rows()
        first = len(self.discrete)
        cells = [(*map(str, row[:first]), *("" if v != v else f"{v:.6g}" for v in row[first:])) for row in rows]
        return Shown(titles, cells[:MOST_SHOWN], short(self), cut(len(rows), "joint states"), words=first)

    def __repr__(self) -> str:
        return short(self)


def _parameters(forms: Forms, names: Sequence[str]) -> tuple[list[str], Floats]:
    """The titles and numbers of canonical forms: the constant, the vector, and the upper half of the matrix."""
    upper = np.triu_indices(len(names))
    places = itertools.combinations_with_replacement(range(len(names)), 2)
    pairs = [f"K {names[i]} {names[j]}" if i != j else f"K {names[i]}" for i, j in places]
    return ["g", *(f"h {name}" for name in names), *pairs], np.column_stack([forms.g, forms.h, forms.K[:, *upper]])


Factors = Table | CanonicalGaussian | CanonicalTable
"""The closed family: what operations on tables of Gaussians return."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HybridConditional:
    """The conditional of variables eliminated from a table of Gaussians: discrete states, then reals given them."""

    gaussian: GaussianConditional
    totals: TableConditional
    peaks: TableConditional

    @property
    def frontal(self) -> tuple[AnyVariable, ...]:
        """The eliminated variables, discrete ones first."""
        return (*self.totals.frontal, *self.gaussian.frontal)

    @property
    def parents(self) -> tuple[AnyVariable, ...]:
        """The variables it is conditioned on, discrete ones first."""
        return (*self.totals.parents, *self.gaussian.given)

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Columns:
        """A draw of the frontal variables for each row of parents."""
        states = self.totals.sample(rows, num_rows, rng)
        return {**states, **self.gaussian.sample({**rows, **states}, num_rows, rng)}

    def mode(self, rows: Columns, num_rows: int) -> Columns:
        """The frontal values of highest density for each row of parents."""
        states = self.peaks.mode(rows, num_rows)
        return {**states, **self.gaussian.mode({**rows, **states}, num_rows)}

    def __repr__(self) -> str:
        return conditional(self.frontal, self.parents)


def simplest(discrete: tuple[Discrete, ...], continuous: tuple[Vector, ...], forms: Forms) -> Factors:
    """The factor as a `Table` (no reals), a `CanonicalGaussian` (no discrete variables) or a `CanonicalTable`."""
    if not continuous:
        return Table.from_log(discrete, forms.g)
    if not discrete:
        return CanonicalGaussian._make(continuous, forms)
    return CanonicalTable._make(discrete, continuous, forms)


def _summed(forms: Forms, groups: Ints, semiring: Semiring) -> tuple[Forms, Bools]:
    """The heaviest entry of each group with the weight of all, and whether the entries agree up to their weight."""
    g, alive = forms.g[groups], forms.alive[groups]
    lead = groups[np.arange(len(groups)), g.argmax(axis=1)]
    first = forms.take(lead)
    agree = _close(forms.K, first.K, groups, alive) & _close(forms.h, first.h, groups, alive)
    return Forms.of(first.K, first.h, semiring.log_reduce(g, 1)), agree


def _close(arrays: Floats, first: Floats, groups: Ints, alive: Bools) -> Bools:
    members = np.where(alive.reshape(*alive.shape, *(1,) * (arrays.ndim - 1)), arrays[groups], first[:, None])
    axes = tuple(range(1, members.ndim))
    gap = np.abs(members - first[:, None]).max(axis=axes, initial=0.0)
    return np.asarray(gap <= AGREEMENT * np.abs(members).max(axis=axes, initial=0.0))


def _is_liftable(factor: object) -> bool:
    return isinstance(factor, CanonicalTable | CanonicalGaussian | Table) or hasattr(factor, "to_table")


def _parted(scope: Iterable[AnyVariable]) -> tuple[tuple[Discrete, ...], tuple[Vector, ...]]:
    variables = check_scope(scope)
    discrete = tuple(v for v in variables if isinstance(v, Discrete))
    return discrete, tuple(v for v in variables if isinstance(v, Vector))


def _shape(discrete: tuple[Discrete, ...]) -> tuple[int, ...]:
    return tuple(v.num_states for v in discrete)


def _check_room(discrete: tuple[Discrete, ...], continuous: tuple[Vector, ...]) -> int:
    """The number of coordinates, refusing a factor that would not fit before anything is allocated."""
    size, count = width(continuous), num_entries(discrete)
    numbers = count * (size * size + size + 1)
    if numbers > MAX_ENTRIES:
        raise TooLarge(
            f"A table of {float(min(count, 10**300)):.3g} Gaussians over {size} coordinates would take "
            f"{readable(8 * numbers)}; the limit is {readable(8 * MAX_ENTRIES)}. Use an approximate method."
        )
    return size
