"""Moments of real variables: count, mean and centered scatter, per discrete context."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from math import prod

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import number
from sepset.base.display import Shown, Tabulated
from sepset.base.frozen import fill
from sepset.base.text import listing
from sepset.data.binding import refuse_vector
from sepset.data.dataset import Dataset
from sepset.data.engines import LazyRows, lazy_moments
from sepset.data.families import Scope, discrete_scope
from sepset.data.scatter import Parts, merged, moments_of, pooled, shortfall, without
from sepset.data.sources import Weights, finder, rows_of
from sepset.errors import DataError, ScopeError
from sepset.factors.algebra import check_size
from sepset.factors.labels import MOST_SHOWN, cut, moment_names, one_line
from sepset.variables.matching import Match
from sepset.variables.variable import Discrete, Real, VariableLike, Vector, listed


@dataclass(frozen=True, slots=True, eq=False)
class Moments(Tabulated):
    r"""Sufficient statistics of Gaussians: total weight, mean and scatter of real variables in each context.

    $$M = \sum_m w_m, \quad \bar x = \tfrac1M \sum_m w_m x[m], \quad
      S = \sum_m w_m (x[m] - \bar x)(x[m] - \bar x)^\top$$

    Sums of squares are taken about the mean, never about zero, so that a column near $10^9$ keeps its variance.
    Moments of parts of the data merge to those of the whole, in any order and any parts (Chan, Golub and LeVeque 1983):

    $$S = S_1 + S_2 + \tfrac{M_1 M_2}{M_1 + M_2} (\bar x_1 - \bar x_2)(\bar x_1 - \bar x_2)^\top$$

    Attributes:
        variables: the $d$ real variables.
        given: the discrete variables whose joint states are the contexts, in axis order.
        count: the total weight of each context, with one axis for each of `given`.
        mean: the means, with one more axis over `variables`; zero where a context is empty.
        scatter: the centered sums of products, with two more axes.
        num_rows: how many rows were seen.

    Reference: Koller & Friedman, section 17.2.4 (there as raw sums, which cancel).
    Guarantee: exact up to rounding at mean 1e9.
    Tested by: data/test_moments.py::test_every_engine_gives_the_same_answer

    >>> moments = Moments.of({"x": [1e9, 1e9 + 1, 1e9 + 2]}, ["x"])
    >>> moments, moments.covariance.tolist()
    (Moments('x', 3 rows), [[0.6666666666666666]])
    """

    variables: tuple[Vector, ...]
    given: Scope
    _: KW_ONLY
    count: Floats
    mean: Floats
    scatter: Floats
    num_rows: int

    def __post_init__(self) -> None:
        contexts, size = tuple(v.num_states for v in self.given), len(self.variables)
        shapes = {"count": contexts, "mean": (*contexts, size), "scatter": (*contexts, size, size)}
        for name, shape in shapes.items():
            array = np.array(getattr(self, name), np.float64)
            if array.size != prod(shape) or not np.isfinite(array).all():
                raise DataError(f"{name} holds finite numbers of shape {shape}; found the shape {array.shape}.")
            fill(self, **{name: array.reshape(shape)})

    @classmethod
    def of(
        cls,
        data: object,
        variables: Iterable[VariableLike],
        *,
        given: VariableLike | Iterable[VariableLike] = (),
        weights: Weights = None,
    ) -> Moments:
        r"""The moments of the rows, in one pass over rows in memory, or by two group-bys where the rows are.

        Args:
            data: as for `Counts.of`.
            variables: the real variables; names of columns do.
            given: discrete variables whose joint states are kept apart.
            weights: how often each row counts: numbers, or the name of a column. A dataset brings its own.

        Cost: $O(M d^2)$.

        >>> rows = {"x": [1.0, 3.0, 8.0], "k": ["a", "a", "b"]}
        >>> Moments.of(rows, ["x"], given="k").mean.tolist()
        [[2.0], [8.0]]
        """
        asked = [Real(v) if isinstance(v, str) and not isinstance(data, Dataset) else v for v in listed(variables)]
        contexts = listed(given)
        with rows_of(data, [*asked, *contexts], weights) as rows:
            reals = _reals(finder(rows)(v) for v in asked)
            scope = discrete_scope(contexts, finder(rows))
            check_size(scope)
            if isinstance(rows, LazyRows):
                *parts, num_rows = lazy_moments(rows, reals, scope)
                return cls._of_parts(reals, scope, parts, num_rows)
            rows.require_complete("Moments", [*reals, *scope])
            return cls._of_parts(reals, scope, moments_of(rows, reals, scope), rows.num_rows)

    @classmethod
    def _of_parts(cls, variables: tuple[Vector, ...], given: Scope, parts: Sequence[Floats], num_rows: int) -> Moments:
        """The moments with these counts, means and scatters, their contexts on one axis."""
        count, mean, scatter = parts
        return cls(variables, given, count=count, mean=mean, scatter=scatter, num_rows=num_rows)

    @property
    def covariance(self) -> Floats:
        r"""$S / M$, the maximum-likelihood covariance of each context; NaN where a context is empty."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.scatter / self.count[..., None, None])

    @property
    def total(self) -> float:
        """The total weight of all contexts."""
        return float(self.count.sum())

    def __add__(self, other: Moments) -> Moments:
        """The moments of both parts of the data together."""
        if not isinstance(other, Moments):
            return NotImplemented
        parts = merged(self._parts, self._matched(other)._parts)
        return self._of_parts(self.variables, self.given, parts, self.num_rows + other.num_rows)

    def __radd__(self, other: int) -> Moments:
        """Makes `sum(parts)` work, which begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Moments) -> Moments:
        """The moments without the rows that `other` saw; what would fall below zero is refused."""
        if not isinstance(other, Moments):
            return NotImplemented
        parts = without(self._parts, self._matched(other)._parts)
        for bad, what in zip(shortfall(parts, self._parts), ("count", "scatter"), strict=True):
            self._refuse_below(bad, what)
        squares = np.einsum("cii->ci", parts[2])
        squares[:] = np.maximum(squares, 0.0)
        return self._of_parts(self.variables, self.given, parts, max(self.num_rows - other.num_rows, 0))

    @property
    def _parts(self) -> Parts:
        """The arrays with all contexts on one axis."""
        size = len(self.variables)
        return self.count.reshape(-1), self.mean.reshape(-1, size), self.scatter.reshape(-1, size, size)

    def _refuse_below(self, bad: Bools, what: str) -> None:
        if not bad.any():
            return
        codes = np.unravel_index(int(np.argmax(bad)), self.count.shape)
        where = ", ".join(f"{v.name}={v.states[code]!r}" for v, code in zip(self.given, codes, strict=True))
        raise DataError(
            f"The {what} of {listing(v.name for v in self.variables)}{f' with {where}' if where else ''} would "
            "fall below zero. Take away only rows that were seen."
        )

    def update(self, data: object, weights: Weights = None) -> Moments:
        """These moments and those of new rows: data in chunks, or as it arrives."""
        return self + Moments.of(data, self.variables, given=self.given, weights=weights)

    def scale(self, factor: float) -> Moments:
        """Every weight times a factor: old data discounted."""
        number("factor", factor, least=0)
        if not factor * max(self.total, float(self.scatter.max(initial=0.0))) < np.inf:
            raise DataError(f"Moments times {factor!r} are not floats.")
        return Moments(
            self.variables,
            self.given,
            count=self.count * factor,
            mean=self.mean,
            scatter=self.scatter * factor,
            num_rows=self.num_rows,
        )

    def pooled(self, given: Iterable[VariableLike] = ()) -> Moments:
        """The moments with contexts that differ in other variables than `given` merged.

        >>> Moments.of({"x": [1.0, 3.0], "k": ["a", "b"]}, ["x"], given="k").pooled().scatter.tolist()
        [[2.0]]
        """
        names = [v if isinstance(v, str) else v.name for v in given]
        unknown = [name for name in names if name not in [v.name for v in self.given]]
        if unknown:
            raise ScopeError(f"{unknown[0]!r} is not among the contexts {listing(v.name for v in self.given)}.")
        kept = [[v.name for v in self.given].index(name) for name in names]
        places = np.indices(self.count.shape).reshape(len(self.given), -1)
        target = np.zeros(self.count.size, np.int64)
        for axis in kept:
            target = target * self.given[axis].num_states + places[axis]
        parts = pooled(self._parts, target, prod(self.given[axis].num_states for axis in kept))
        return self._of_parts(self.variables, tuple(self.given[axis] for axis in kept), parts, self.num_rows)

    def select(self, variables: VariableLike | Iterable[VariableLike]) -> Moments:
        """The moments of some of the variables, in this order."""
        names = [v.name for v in self.variables]
        chosen = [v if isinstance(v, str) else v.name for v in listed(variables)]
        unknown = [name for name in chosen if name not in names]
        if unknown:
            raise ScopeError(f"No moments of {unknown[0]!r}; there are {listing(names)}.")
        at = [names.index(name) for name in chosen]
        scatter = self.scatter[..., at, :][..., at]
        reals = tuple(self.variables[k] for k in at)
        return Moments(
            reals, self.given, count=self.count, mean=self.mean[..., at], scatter=scatter, num_rows=self.num_rows
        )

    def _matched(self, other: Moments) -> Moments:
        """The other's moments with its variables, contexts and their states in the order of ours."""
        if (self.variables, self.given) == (other.variables, other.given):
            return other
        if {*self.variables} != {*other.variables} or {v.name for v in self.given} != {v.name for v in other.given}:
            raise ScopeError(f"Only moments of the same variables and contexts combine; found {self!r} and {other!r}.")
        own, at = other.select(self.variables), Match.of(other.given, self.given).entries
        count, mean, scatter = (part[at] for part in own._parts)
        return Moments(self.variables, self.given, count=count, mean=mean, scatter=scatter, num_rows=other.num_rows)

    def _shown(self) -> Shown:
        """The weight, means and deviations in each context."""
        counts, means, scatters = (part[:MOST_SHOWN] for part in self._parts)
        with np.errstate(invalid="ignore", divide="ignore"):
            deviations = np.sqrt(np.einsum("cii->ci", scatters) / counts[:, None])
        numbers = np.stack([means, deviations], axis=2).reshape(len(counts), -1)
        codes = zip(*np.unravel_index(np.arange(len(counts)), self.count.shape), strict=True) if self.given else [()]
        rows = [
            (*(one_line(v.states[c]) for v, c in zip(self.given, code, strict=True)), *(f"{x:.6g}" for x in (n, *row)))
            for code, n, row in zip(codes, counts.tolist(), numbers.tolist(), strict=True)
        ]
        head = (*(v.name for v in self.given), "weight", *moment_names([v.name for v in self.variables]))
        return Shown(head, rows, repr(self), cut(self.count.size, "contexts"), words=len(self.given))

    def __repr__(self) -> str:
        contexts = f" given {listing(v.name for v in self.given)}" if self.given else ""
        return f"Moments({listing(v.name for v in self.variables)}{contexts}, {self.num_rows:,} rows)"


def _reals(variables: Iterable[Discrete | Vector]) -> tuple[Vector, ...]:
    found = tuple(variables)
    for variable in found:
        if isinstance(variable, Discrete):
            raise ScopeError(f"{variable!r} has states, not numbers. Use Counts, or put it among `given`.")
        refuse_vector(variable)
    if not found or len(set(found)) < len(found):
        raise ScopeError(f"Moments are of one or more variables, each once; found {listing(v.name for v in found)}.")
    return found  # type: ignore[return-value]  # not discrete, as checked
