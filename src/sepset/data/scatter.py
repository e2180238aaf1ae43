r"""Count, mean and centered products of rows: the sufficient statistics of every Gaussian family.

$$M, \qquad \bar{\mathbf x} = \frac1M \sum_m w_m \mathbf x[m], \qquad
S = \sum_m w_m (\mathbf x[m] - \bar{\mathbf x})(\mathbf x[m] - \bar{\mathbf x})^\top$$

Sums of squares lose all digits where means are large; centered products do not. They are taken from rows, merged, and
taken apart again; `Scatter` is about one set of rows, `Scatters` about one set in each context. Products have the
square of the condition of rows: where columns nearly follow from others, a root $A$ of them, $S = A^\top A$, is kept.

Reference: Koller & Friedman, section 17.2.4; Chan, Golub & LeVeque (1983) for merging.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import row_weights
from sepset.base.frozen import fill
from sepset.base.numerics import matrices
from sepset.base.numerics.leastsquares import (
    EPSILON,
    NEAR,
    LinearFit,
    fit_root,
    least_eigenvalues,
    least_squares,
    relative_error,
    residual_products,
    semidefinite_root,
)
from sepset.base.text import readable
from sepset.data.columns import check_range
from sepset.data.dataset import Dataset
from sepset.data.families import Scope
from sepset.errors import DataError, TooLarge
from sepset.variables.variable import Vector

Parts = tuple[Floats, Floats, Floats]
"""Counts, means and scatters, with one axis over contexts."""

_CELLS, _FEWEST = 1 << 15, 1 << 10  # of a block whose product is taken at once: numbers in all, but not fewer rows
_ROUNDING = 1e-9  # of a scatter's size: what taking rows away again may leave below zero


MOST_BYTES = 1 << 31
"""The memory of the centered products of all contexts."""


def check_products(contexts: int, size: int) -> None:
    """Raise where the centered products of so many columns would take too much memory.

    >>> check_products(2, 1000)
    """
    if 8 * contexts * size**2 > MOST_BYTES:
        raise TooLarge(
            f"The products of {size:,} columns in {contexts:,} contexts take {readable(8 * contexts * size**2)}; the "
            f"most is {readable(MOST_BYTES)}. Use fewer columns, for example fewer parents."
        )


def no_rows(contexts: int, size: int) -> Parts:
    """The moments of no rows over `size` columns; raises where they would take too much memory.

    >>> no_rows(1, 2)[1].tolist()
    [[0.0, 0.0]]
    """
    check_products(contexts, size)
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
    out = no_rows(contexts, parts[1].shape[1])
    for turn in _turns(target):
        one = no_rows(contexts, parts[1].shape[1])
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
    names, columns = [v.name for v in reals], [rows.values(v) for v in reals]

    def block(at: slice) -> Floats:
        part = np.stack([column[at] for column in columns])
        check_range(part, names, "Moments need finite numbers", at.start)
        return part

    return _summed(block, rows.num_rows, len(reals), rows.weights, places, contexts)


def centered(rows: Floats, weights: Floats | None = None, places: Ints | None = None, contexts: int = 1) -> Parts:
    """The moments of finite rows `[n, d]`, each in the context at its place; one context where no places are given.

    >>> centered(np.array([[1.0], [3.0], [7.0]]), places=np.array([0, 0, 1]), contexts=2)[1].tolist()
    [[2.0], [7.0]]
    """
    return centered_columns([*rows.T], len(rows), weights, places, contexts)


def centered_columns(
    columns: Sequence[Floats], num_rows: int, weights: Floats | None, places: Ints | None, contexts: int
) -> Parts:
    """The moments of finite columns, as those of rows."""
    if places is not None and len(columns) == 1:
        return _column(np.ascontiguousarray(columns[0]), weights, places, contexts)

    def block(at: slice) -> Floats:
        return np.stack([column[at] for column in columns]) if columns else np.empty((0, len(range(num_rows)[at])))

    return _summed(block, num_rows, len(columns), weights, places, contexts)


def _column(column: Floats, weights: Floats | None, places: Ints, contexts: int) -> Parts:
    """The moments of one column: many children of one class have one each."""
    from sepset.kernels.data.columnmoments import column_moments

    parts = np.zeros(contexts), np.zeros(contexts), np.zeros(contexts)
    share = np.ones(1) if weights is None else np.ascontiguousarray(weights)
    column_moments(np.ascontiguousarray(places), column, share, *parts)
    return parts[0], parts[1][:, None], parts[2][:, None, None]


def _summed(
    block_at: Callable[[slice], Floats],
    num_rows: int,
    size: int,
    weights: Floats | None,
    places: Ints | None,
    contexts: int,
) -> Parts:
    """Block by block, each `[columns, rows]`, so that a block is in cache when it is read again.

    Values are taken about a first one in each context: means of blocks keep the digits that large values would cost.
    """
    parts, step = no_rows(contexts, size), max(_FEWEST, _CELLS // max(1, size))
    centers, is_known = np.zeros((contexts, size)), np.zeros(contexts, np.bool_)
    for start in range(0, num_rows, step):
        at = slice(start, start + step)
        block, weight = block_at(at), None if weights is None else weights[at]
        place = np.zeros(block.shape[1], np.int64) if places is None else places[at]
        if not is_known.all():
            new = np.flatnonzero(~is_known[place] if weight is None else ~is_known[place] & (weight > 0))[::-1]
            centers[place[new]], is_known[place[new]] = block.T[new], True
        if places is None:
            parts = merged(parts, _block_moments(block - centers.T, weight))
        else:
            _add_by_context(place, block - centers[place].T, weight, parts)
    scatter = np.tril(parts[2]) + np.swapaxes(np.tril(parts[2], -1), -1, -2)
    return parts[0], centers + parts[1], scatter


def _places(rows: Dataset, scope: Scope) -> Ints:
    places = np.zeros(rows.num_rows, np.int64)
    for variable in scope:
        places = places * variable.num_states + rows.codes(variable)
    return places


def add_by_context(places: Ints, rows: Floats, weights: Floats, parts: Parts) -> None:
    """Add rows to the moments of the contexts at their places; only lower triangles of products are filled.

    >>> parts = np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1, 1))
    >>> add_by_context(np.zeros(2, int), np.array([[1.0], [3.0]]), np.ones(2), parts)
    >>> parts[2].tolist()
    [[[2.0]]]
    """
    from sepset.kernels.data.scatter import add_rows

    for part in matrices.parts(len(rows), rows.shape[1] ** 2, rows.shape[1]):
        add_rows(places[part], rows[part], weights[part], *parts)


def _add_by_context(places: Ints, block: Floats, weights: Floats | None, parts: Parts) -> None:
    share = np.ones(block.shape[1]) if weights is None else np.ascontiguousarray(weights)
    add_by_context(np.ascontiguousarray(places), np.ascontiguousarray(block.T), share, parts)


def _block_moments(block: Floats, weights: Floats | None) -> Parts:
    """Two passes over columns that are in cache: the mean, to the last digit, then products about it."""
    total = float(block.shape[1]) if weights is None else weights.sum()
    if total == 0:
        return no_rows(1, len(block))
    mean = _average(block, weights, total)
    apart = block - mean[:, None]
    rest = _average(apart, weights, total)
    apart -= rest[:, None]
    weighted = apart if weights is None else weights * apart
    return np.array([total]), (mean + rest)[None], matrices.product(weighted, apart.T)[None]


def _average(block: Floats, weights: Floats | None, total: float) -> Floats:
    return np.asarray(block.sum(axis=1) if weights is None else block @ weights) / total


def roots_of(parts: Parts, columns: Sequence[Floats], weights: Floats | None, context: Ints) -> Floats | None:
    """The roots of the moments of columns, one for each context; None unless products have lost digits in some.

    >>> u = np.array([0.0, 1.0, 2.0, 3.0])
    >>> apart = np.stack([u, u + np.array([1e-9, 0.0, 0.0, 0.0])]) - u.mean()
    >>> roots_of((np.array([4.0]), np.zeros((1, 2)), (apart @ apart.T)[None]), [*apart], None, np.zeros(4, int)).shape
    (1, 2, 2)
    """
    near = _have_lost_digits(parts, context) if len(columns) > 1 else np.zeros(1, np.bool_)
    if not near.any():
        return None
    order = np.argsort(context, kind="stable")
    ends = np.cumsum(np.bincount(context, minlength=len(near)))
    share = np.ones(len(context)) if weights is None else weights
    roots = np.empty_like(parts[2])
    for e in np.flatnonzero(~near):
        roots[e] = semidefinite_root(parts[2][e])
    for e in np.flatnonzero(near):
        rows = order[ends[e - 1] if e else 0 : ends[e]]
        roots[e] = row_root(np.stack([column[rows] for column in columns], axis=1), share[rows])
    return roots


def _have_lost_digits(parts: Parts, context: Ints) -> Bools:
    """Which contexts have columns that nearly follow from others: all whose rows are no more than the columns."""
    num_rows = np.bincount(context, minlength=len(parts[0]))
    varying = (np.einsum("cii->ci", parts[2]) > 0).sum(axis=1)
    found = np.asarray((parts[0] > 0) & (num_rows <= varying))
    if not found.all():
        found[~found] = (parts[0][~found] > 0) & (least_eigenvalues(parts[2][~found]) < NEAR)
    return found


def row_root(rows: Floats, weights: Floats) -> Floats:
    """The triangular factor of weighted rows, less their mean to the last digit.

    >>> np.abs(row_root(np.array([[1.0], [3.0]]), np.array([2.0, 2.0]))).round(9).tolist()
    [[2.0]]
    """
    apart = rows - weights @ rows / weights.sum()
    apart -= weights @ apart / weights.sum()
    return matrices.triangle(np.sqrt(weights)[:, None] * apart)


def merged_roots(one: Parts, other: Parts, roots: Floats | None, others: Floats | None) -> Floats:
    """The roots of two parts of the data together; products of which no root is known give one.

    >>> part = np.array([2.0]), np.array([[1.0]]), np.array([[[8.0]]])
    >>> merged_roots(part, part, None, None).round(9).ravel().tolist() in ([4.0], [-4.0])
    True
    """
    mine, theirs = (
        np.stack([semidefinite_root(products) for products in part[2]]) if known is None else known
        for part, known in ((one, roots), (other, others))
    )
    total = one[0] + other[0]
    share = np.sqrt(one[0] * np.divide(other[0], total, out=np.zeros_like(total), where=total > 0))
    apart = share[:, None, None] * (other[1] - one[1])[:, None]
    return np.stack([matrices.triangle(rows) for rows in np.concatenate([mine, theirs, apart], axis=1)])


def joined_rounding(one: Parts, other: Parts, joined: Parts, rounding: float) -> float:
    r"""The error of joined products, or of their root, relative to their size: at most one.

    Means are rounded to $\varepsilon\lvert\bar x\rvert$, which enters with the weight $\sqrt{M_1 M_2 / M}$; products
    from which others are taken away keep the error of the whole.

    Args:
        one, other: the moments that were joined.
        joined: their sum, or their difference.
        rounding: the relative error of each.

    >>> part = np.array([2.0]), np.array([[1e9]]), np.array([[[2.0]]])
    >>> 1e-8 < joined_rounding(part, part, (np.array([4.0]), part[1], 2 * part[2]), 1e-16) < 1e-6
    True
    """
    before, after = (np.einsum("cii->ci", part[2]) for part in (one, joined))
    seen = (one[0] > 0) & (other[0] > 0) & (joined[0] > 0)
    weight = one[0][seen] * other[0][seen] / joined[0][seen]
    left = after[seen] > 0
    inside, size = before[seen][left], after[seen][left]
    shift = EPSILON * np.maximum(np.abs(one[1]), np.abs(other[1]))[seen] * np.sqrt(weight)[:, None]
    grown = float(np.sqrt(inside / size).max(initial=1.0)) ** 2
    return min(1.0, rounding * grown + float((shift[left] / np.sqrt(size)).max(initial=0.0)))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Scatter:
    r"""The count, mean and centered products of some rows; those of two sets of rows add up.

    Args:
        count: $M$, the number or the total weight of the rows.
        mean: $\bar{\mathbf x}$, one entry per column.
        products: $S$, the centered sums of products, square.
        root: $A$ with $S = A^\top A$, computed from rows where their products have lost digits; else None.
        rounding: the error of the products, or of their root, relative to their size. Means are rounded, and so are
            the differences of large ones where statistics are joined.

    >>> first, second = Scatter.of([1.0, 3.0]), Scatter.of([5.0])
    >>> (first + second).mean.tolist(), (first + second).products.tolist()
    ([3.0], [[8.0]])
    """

    count: float
    mean: Floats
    products: Floats
    root: Floats | None
    rounding: float

    def __init__(
        self,
        count: float,
        mean: ArrayLike,
        products: ArrayLike,
        root: Floats | None = None,
        rounding: float = EPSILON,
    ) -> None:
        center = np.array(mean, dtype=np.float64).reshape(-1)
        matrix = np.array(products, dtype=np.float64).reshape(len(center), len(center))
        if not (np.isfinite(count) and count >= 0 and np.isfinite(center).all() and np.isfinite(matrix).all()):
            raise DataError(f"Statistics are finite, with a count >= 0; found {count}, {center} and {matrix}.")
        fill(self, count=float(count), mean=center, products=0.5 * (matrix + matrix.T), root=root, rounding=rounding)

    @classmethod
    def of(cls, rows: ArrayLike, weights: ArrayLike | None = None) -> Scatter:
        """The statistics of rows: one number each, or one vector each.

        >>> Scatter.of([[0.0, 1.0], [2.0, 3.0]], weights=[1.0, 3.0]).mean.tolist()
        [1.5, 2.5]
        """
        try:
            found = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"Rows are numbers or vectors of them; found {rows!r}.") from error
        x = found[:, None] if found.ndim == 1 else found
        if x.ndim != 2 or not np.isfinite(x).all():
            raise DataError(f"Rows are complete finite numbers or vectors of them; found the shape {found.shape}.")
        check_range(x.T, [f"coordinate {i}" for i in range(x.shape[1])], "Rows are finite numbers", 0)
        share = np.ones(len(x)) if weights is None else row_weights(weights, len(x))
        return Scatters.of(x, np.zeros(len(x), np.int64), 1, share).contexts[0]

    @classmethod
    def nothing(cls, size: int) -> Scatter:
        """The statistics of no rows over `size` columns: what adding leaves unchanged."""
        return cls(0.0, np.zeros(size), np.zeros((size, size)))

    @classmethod
    def from_sums(cls, sums: ArrayLike) -> Scatter:
        r"""The statistics from raw sums $\sum_m w_m \mathbf z_m \mathbf z_m^\top$ with $\mathbf z = (1, \mathbf x)$.

        >>> Scatter.from_sums([[2.0, 4.0], [4.0, 10.0]]).products.tolist()
        [[2.0]]
        """
        total = np.asarray(sums, dtype=np.float64)
        count = float(total[0, 0])
        if count <= 0.0:
            return cls.nothing(len(total) - 1)
        mean = total[0, 1:] / count
        return cls(count, mean, total[1:, 1:] - count * np.outer(mean, mean))

    @property
    def size(self) -> int:
        """The number of columns."""
        return len(self.mean)

    @property
    def covariance(self) -> Floats:
        """The maximum likelihood covariance, divided by the count and not by one less."""
        if self.count == 0.0:
            raise DataError("No rows have no covariance. Give data, or a prior.")
        return self.products / self.count

    def fit(self, size: int = 1) -> LinearFit:
        """The regression of the last `size` columns on the others, from the root where there is one."""
        if self.root is None:
            return least_squares(self.mean, self.products, size)
        return fit_root(self.mean, self.root, size)

    def residual(self, slope: Floats) -> Floats:
        """The products of what a line with this slope, one row for each of the last columns, leaves of them."""
        if self.root is None:
            return residual_products(self.products, slope)
        split = self.size - len(slope)
        left = self.root[:, split:] - self.root[:, :split] @ slope.T
        return left.T @ left

    def relative_error(self, intercept: Floats, slope: Floats) -> float:
        """How far rounding may have moved a regression that was computed from these statistics, relative to it."""
        root = None if self.root is None else self.root / np.sqrt(self.count)
        return relative_error(self.mean, self.covariance, intercept, slope, root, self.rounding)

    def _joined(self, other: Scatter, join: Callable[[Scatters, Scatters], Scatters]) -> Scatter:
        if self.size != other.size:
            raise DataError(f"Statistics of {self.size} columns do not join those of {other.size}.")
        return join(Scatters.stacked([self]), Scatters.stacked([other])).contexts[0]

    def __add__(self, other: Scatter) -> Scatter:
        return self._joined(other, Scatters.__add__)

    def __sub__(self, other: Scatter) -> Scatter:
        """The statistics of the rows without those of `other`, which must be among them."""
        return self._joined(other, Scatters.__sub__)

    def __repr__(self) -> str:
        return f"Scatter({self.count:g} rows, {self.size} columns)"


@dataclass(frozen=True, slots=True, eq=False)
class Scatters:
    """One scatter of (real parents, child) a joint state of the discrete parents; `+` merges, `-` takes rows away.

    Attributes:
        counts: how many rows (or what total weight) each context has.
        means: their means, `[contexts, columns]`.
        products: their centered sums of products, `[contexts, columns, columns]`.
        roots: roots of these, computed from rows where products have lost digits; None where they have not.

    >>> some = Scatters.of(np.array([[1.0], [3.0], [7.0]]), np.array([0, 0, 1]), 2)
    >>> some, (some + some).contexts[0].products.tolist()
    (Scatters(2 contexts, 3 rows), [[4.0]])
    """

    counts: Floats
    means: Floats
    products: Floats
    roots: Floats | None = None
    rounding: float = field(default=EPSILON, kw_only=True)

    def __post_init__(self) -> None:
        fill(self, counts=self.counts, means=self.means, products=self.products, roots=self.roots)

    @classmethod
    def of(cls, rows: Floats, context: Ints, num_contexts: int, weights: Floats | None = None) -> Scatters:
        """The statistics of finite rows, each in its context."""
        return cls.of_columns([*rows.T], context, num_contexts, weights)

    @classmethod
    def of_columns(
        cls, columns: Sequence[Floats], context: Ints, num_contexts: int, weights: Floats | None = None
    ) -> Scatters:
        """The same from finite columns, which are not copied."""
        places = context if num_contexts > 1 else None
        parts = centered_columns(columns, len(context), weights, places, num_contexts)
        return cls(*parts, roots_of(parts, columns, weights, context))

    @classmethod
    def stacked(cls, contexts: Iterable[Scatter]) -> Scatters:
        """One scatter per context, as arrays."""
        parts = tuple(contexts)
        arrays = (
            np.array([s.count for s in parts]),
            np.stack([s.mean for s in parts]),
            np.stack([s.products for s in parts]),
        )
        rounding = max((s.rounding for s in parts), default=EPSILON)
        if all(s.root is None for s in parts):
            return cls(*arrays, rounding=rounding)
        roots = [semidefinite_root(s.products) if s.root is None else s.root for s in parts]
        return cls(*arrays, np.stack(roots), rounding=rounding)

    @classmethod
    def from_sums(cls, sums: Floats, center: Floats | float = 0.0) -> Scatters:
        r"""The statistics from raw sums $\sum_m w_m \mathbf z_m \mathbf z_m^\top$, one matrix per context.

        Args:
            sums: with $\mathbf z = (1, \mathbf x - \mathbf c)$, where $\mathbf x$ is (parents, child).
            center: $\mathbf c$.

        >>> Scatters.from_sums(np.array([[[2.0, 4.0], [4.0, 10.0]]]), 1.0).means.tolist()
        [[3.0]]
        """
        total = np.asarray(sums, dtype=np.float64)
        if not np.isfinite(total).all():
            raise DataError(f"Statistics are finite; found {total}.")
        counts = np.maximum(total[:, 0, 0], 0.0)
        seen = counts > 0
        means = np.divide(total[:, 0, 1:], counts[:, None], out=np.zeros_like(total[:, 0, 1:]), where=seen[:, None])
        products = total[:, 1:, 1:] - counts[:, None, None] * (means[:, :, None] * means[:, None, :])
        products = np.where(seen[:, None, None], 0.5 * (products + products.transpose(0, 2, 1)), 0.0)
        return cls(counts, means + center, products)

    @property
    def contexts(self) -> tuple[Scatter, ...]:
        """The statistics of each context."""
        roots = [None] * len(self.counts) if self.roots is None else self.roots
        rounding = [self.rounding] * len(self.counts)
        return tuple(map(Scatter, self.counts.tolist(), self.means, self.products, roots, rounding))

    @property
    def size(self) -> int:
        """The number of columns."""
        return int(self.means.shape[1])

    @property
    def pooled(self) -> Scatter:
        """The statistics of all rows, whatever their context."""
        count, mean, products = pooled(self._parts, np.zeros(len(self.counts), np.int64), 1)
        size, spread = np.abs(self.means).max(axis=0, initial=0.0), np.sqrt(np.diagonal(products[0]))
        away = np.divide(size, spread, out=np.zeros_like(size), where=spread > 0).max(initial=0.0) * np.sqrt(count[0])
        return Scatter(float(count[0]), mean[0], products[0], rounding=min(1.0, self.rounding * (1.0 + float(away))))

    @property
    def _parts(self) -> Parts:
        return self.counts, self.means, self.products

    def __add__(self, other: Scatters) -> Scatters:
        parts = merged(self._parts, self._same(other))
        rounding = joined_rounding(self._parts, other._parts, parts, max(self.rounding, other.rounding))
        if self.roots is None and other.roots is None:
            return Scatters(*parts, rounding=rounding)
        roots = merged_roots(self._parts, other._parts, self.roots, other.roots)
        return Scatters(*parts, roots, rounding=rounding)

    def __sub__(self, other: Scatters) -> Scatters:
        """The statistics without those of rows that are among them."""
        rest = without(self._parts, self._same(other))
        if any(bad.any() for bad in shortfall(rest, self._parts)):
            raise DataError(f"{other!r} cannot be taken from {self!r}. Take away only rows that were seen.")
        rounding = joined_rounding(self._parts, other._parts, rest, max(self.rounding, other.rounding))
        return Scatters(*rest, rounding=rounding)

    def _same(self, other: object) -> Parts:
        if not isinstance(other, Scatters) or other.means.shape != self.means.shape:
            raise DataError(f"Only statistics of the same contexts add up; found {self!r} and {other!r}.")
        return other._parts

    def __repr__(self) -> str:
        return f"Scatters({len(self.counts)} contexts, {float(self.counts.sum()):g} rows)"
