r"""Moments of real variables: count, mean and centered scatter, per discrete context.

How they are taken from rows, merged, and taken apart again without losing digits is below the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import number
from sepset.base.frozen import fill
from sepset.base.text import listing
from sepset.data.binding import refuse_vector
from sepset.data.dataset import Dataset
from sepset.data.engines import LazyRows, lazy_moments
from sepset.data.families import Scope, discrete_scope
from sepset.data.sources import Weights, finder, rows_of
from sepset.errors import DataError, ScopeError
from sepset.factors.algebra import check_size
from sepset.variables.variable import Discrete, Real, VariableLike, Vector, listed

Parts = tuple[Floats, Floats, Floats]
"""Counts, means and scatters, with one axis over contexts."""

SMALLEST, LARGEST = 1e-140, 1e140
"""Between these, sums of squares over any number of rows are floats with all their digits."""

_BLOCK = 1 << 14  # rows whose product is taken at once
_ROUNDING = 1e-9  # of a scatter's size: what taking rows away again may leave below zero


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
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

    >>> moments = Moments.of({"x": [1e9, 1e9 + 1, 1e9 + 2]}, ["x"])
    >>> moments, moments.covariance.tolist()
    (Moments('x', 3 rows), [[0.6666666666666666]])
    """

    variables: tuple[Vector, ...]
    given: Scope
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
                return cls(reals, scope, *lazy_moments(rows, reals, scope))
            rows.require_complete("Moments", [*reals, *scope])
            return cls(reals, scope, *moments_of(rows, reals, scope), rows.num_rows)

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
        self._check_alike(other)
        parts = merged(self._parts, other._parts)
        return Moments(self.variables, self.given, *parts, self.num_rows + other.num_rows)

    def __radd__(self, other: int) -> Moments:
        """Makes `sum(parts)` work, which begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Moments) -> Moments:
        """The moments without the rows that `other` saw; what would fall below zero is refused."""
        if not isinstance(other, Moments):
            return NotImplemented
        self._check_alike(other)
        parts = without(self._parts, other._parts)
        for bad, what in zip(shortfall(parts, self._parts), ("count", "scatter"), strict=True):
            self._refuse_below(bad, what)
        squares = np.einsum("cii->ci", parts[2])
        squares[:] = np.maximum(squares, 0.0)
        return Moments(self.variables, self.given, *parts, max(self.num_rows - other.num_rows, 0))

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
        return self + Moments.of(data, self.variables, self.given, weights)

    def scale(self, factor: float) -> Moments:
        """Every weight times a factor: old data discounted."""
        number("factor", factor, least=0)
        if not factor * max(self.total, float(self.scatter.max(initial=0.0))) < np.inf:
            raise DataError(f"Moments times {factor!r} are not floats.")
        return Moments(self.variables, self.given, self.count * factor, self.mean, self.scatter * factor, self.num_rows)

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
        return Moments(self.variables, tuple(self.given[axis] for axis in kept), *parts, self.num_rows)

    def select(self, variables: Iterable[VariableLike]) -> Moments:
        """The moments of some of the variables, in this order."""
        names = [v.name for v in self.variables]
        chosen = [v if isinstance(v, str) else v.name for v in variables]
        unknown = [name for name in chosen if name not in names]
        if unknown:
            raise ScopeError(f"No moments of {unknown[0]!r}; there are {listing(names)}.")
        at = [names.index(name) for name in chosen]
        scatter = self.scatter[..., at, :][..., at]
        reals = tuple(self.variables[k] for k in at)
        return Moments(reals, self.given, self.count, self.mean[..., at], scatter, self.num_rows)

    def _check_alike(self, other: Moments) -> None:
        if (self.variables, self.given) != (other.variables, other.given):
            raise ScopeError(f"Only moments of the same variables and contexts combine; found {self!r} and {other!r}.")

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


def _empty(contexts: int, size: int) -> Parts:
    return np.zeros(contexts), np.zeros((contexts, size)), np.zeros((contexts, size, size))


def merged(one: Parts, other: Parts) -> Parts:
    r"""The moments of two parts of the data together, context by context.

    $$S = S_1 + S_2 + \tfrac{M_1 M_2}{M_1 + M_2} (\bar x_1 - \bar x_2)(\bar x_1 - \bar x_2)^\top$$

    Reference: Chan, Golub and LeVeque (1983).
    """
    count = one[0] + other[0]
    share = np.divide(other[0], count, out=np.zeros_like(count), where=count > 0)
    delta = other[1] - one[1]
    mean = np.where((one[0] > 0)[:, None], one[1] + share[:, None] * delta, other[1])
    outer = delta[:, :, None] * delta[:, None, :]
    return count, mean, one[2] + other[2] + (one[0] * share)[:, None, None] * outer


def without(whole: Parts, part: Parts) -> Parts:
    """The moments that merge with `part` to `whole`; counts that are zero up to rounding are zero, with their moments.

    Where nothing is left of the count but other rows were seen, the scatter falls below zero (see `shortfall`).
    """
    count = whole[0] - part[0]
    count[np.abs(count) <= 1e-12 * whole[0]] = 0.0
    rest = np.where(count > 0, count, 1.0)
    delta = whole[1] - part[1]
    mean = whole[1] + (part[0] / rest)[:, None] * delta
    outer = delta[:, :, None] * delta[:, None, :]
    scatter = whole[2] - part[2] - (whole[0] * part[0] / rest)[:, None, None] * outer
    mean[count == 0], scatter[count == 0] = 0.0, 0.0
    strange = (count == 0)[:, None] & _differ(whole, part, delta)
    np.einsum("cii->ci", scatter)[strange] = -np.inf
    return count, mean, scatter


def _differ(whole: Parts, part: Parts, delta: Floats) -> Bools:
    """Where the columns of two parts of equal count are not the same rows, by more than rounding."""
    before, other = (np.einsum("cii->ci", p[2]) for p in (whole, part))
    apart = np.abs(before - other) + whole[0][:, None] * delta**2
    return np.asarray(apart > _ROUNDING * before + 1e-24 * whole[0][:, None] * whole[1] ** 2)


def pooled(parts: Parts, target: Ints, contexts: int) -> Parts:
    """The moments with the context at each place merged into that of its target."""
    out = _empty(contexts, parts[1].shape[1])
    for turn in _turns(target):
        one = _empty(contexts, parts[1].shape[1])
        for mine, theirs in zip(one, parts, strict=True):
            mine[target[turn]] = theirs[turn]
        out = merged(out, one)
    return out


def _turns(target: Ints) -> list[Ints]:
    """Places whose targets differ within each turn, so that each turn is one merge."""
    order = np.argsort(target, kind="stable")
    firsts = np.searchsorted(target[order], target[order])
    turn = np.arange(len(target)) - firsts
    return [order[turn == number] for number in range(int(turn.max(initial=-1)) + 1)]


def shortfall(rest: Parts, whole: Parts) -> tuple[Bools, Bools]:
    """The contexts whose count, or whose scatter, falls below zero by more than rounding: rows never seen were taken.

    >>> shortfall(without(centered(np.ones((1, 1))), centered(np.ones((2, 1)))), centered(np.ones((1, 1))))[0].tolist()
    [True]
    """
    squares, before = (np.einsum("cii->ci", part[2]) for part in (rest, whole))
    return rest[0] < 0, (squares < -_ROUNDING * before).any(axis=-1)


def moments_of(rows: Dataset, reals: Sequence[Vector], scope: Scope) -> Parts:
    """The moments of the rows in each joint state of `scope`, in C order."""
    contexts = prod(v.num_states for v in scope)
    places = _places(rows, scope) if scope else None

    def block(start: int) -> Floats:
        part = np.stack([rows.values(v)[start : start + _BLOCK] for v in reals], axis=1)
        check_range(part, [v.name for v in reals], "Moments need finite numbers", start)
        return part

    return _summed(block, rows.num_rows, len(reals), rows.weights, places, contexts)


def centered(rows: Floats, weights: Floats | None = None, places: Ints | None = None, contexts: int = 1) -> Parts:
    """The moments of finite rows `[n, d]`, each in the context at its place; one context where no places are given.

    >>> centered(np.array([[1.0], [3.0], [7.0]]), places=np.array([0, 0, 1]), contexts=2)[1].tolist()
    [[2.0], [7.0]]
    """
    if places is not None and rows.shape[1] == 1:
        return _column(np.ascontiguousarray(rows[:, 0]), weights, places, contexts)
    return _summed(lambda start: rows[start : start + _BLOCK], len(rows), rows.shape[1], weights, places, contexts)


def _column(column: Floats, weights: Floats | None, places: Ints, contexts: int) -> Parts:
    """The moments of one column: many children of one class have one each."""
    from sepset.kernels.data.columnmoments import column_moments

    parts = np.zeros(contexts), np.zeros(contexts), np.zeros(contexts)
    share = np.ones(1) if weights is None else np.ascontiguousarray(weights)
    column_moments(np.ascontiguousarray(places), column, share, *parts)
    return parts[0], parts[1][:, None], parts[2][:, None, None]


def _summed(
    block_at: Callable[[int], Floats],
    num_rows: int,
    size: int,
    weights: Floats | None,
    places: Ints | None,
    contexts: int,
) -> Parts:
    """Block by block, so that a block is in cache when it is read again."""
    share = np.ones(num_rows) if weights is None else weights
    parts = _empty(contexts, size)
    for start in range(0, num_rows, _BLOCK):
        block, weight = block_at(start), share[start : start + _BLOCK]
        if places is None:
            parts = merged(parts, _block_moments(block, weight))
        else:
            _add_by_context(places[start : start + _BLOCK], block, weight, parts)
    return parts[0], parts[1], np.tril(parts[2]) + np.swapaxes(np.tril(parts[2], -1), -1, -2)


def _places(rows: Dataset, scope: Scope) -> Ints:
    places = np.zeros(rows.num_rows, np.int64)
    for variable in scope:
        places = places * variable.num_states + rows.codes(variable)
    return places


def check_range(rows: Floats, names: Sequence[str], need: str, start: int | None = None) -> None:
    """Raise for numbers that are not finite, and for columns whose squares are too large or too small to be floats.

    Args:
        rows: `[rows, columns]`.
        names: of the columns.
        need: what an error begins with.
        start: the number of the first row, where these are some of the rows; small numbers are then let pass.

    >>> check_range(np.array([[1.0], [-1e200]]), ["x"], "This needs finite rows")
    Traceback (most recent call last):
    sepset.errors.DataError: Column 'x' holds numbers up to 1e+200, whose squares are not floats. Rescale it so that ...
    """
    top = np.abs(rows).max(axis=0, initial=0.0)
    bad = ~((top < LARGEST) & ((top > SMALLEST) | (top == 0.0) | (start is not None)))
    if not bad.any():
        return
    place = int(bad.argmax())
    if np.isfinite(top[place]):
        raise DataError(
            f"Column {names[place]!r} holds numbers up to {top[place]:.3g}, whose squares are not floats. Rescale it "
            f"so that its largest number lies between {SMALLEST:g} and {LARGEST:g}."
        )
    row = int((~np.isfinite(rows[:, place])).argmax())
    raise DataError(f"{need}. Column {names[place]!r}, row {(start or 0) + row}: {rows[row, place]}.")


def _add_by_context(places: Ints, block: Floats, weights: Floats, parts: Parts) -> None:
    from sepset.kernels.data.scatter import add_rows

    add_rows(np.ascontiguousarray(places), np.ascontiguousarray(block), np.ascontiguousarray(weights), *parts)


def _block_moments(block: Floats, weights: Floats) -> Parts:
    """Two passes over rows that are in cache: the mean, to the last digit, then products about it."""
    total = weights.sum()
    if total == 0:
        return _empty(1, block.shape[1])
    mean = weights @ block / total
    mean += weights @ (block - mean) / total
    apart = block - mean
    return np.array([total]), mean[None], ((weights[:, None] * apart).T @ apart)[None]
