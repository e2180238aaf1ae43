"""Counts and moments computed in the engine that holds the rows: lazy polars, DuckDB, Dask, through Narwhals.

Only groups come back, never rows. Families that fit into one small table together share a group-by, since a scan of
the rows is what costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.data.binding import as_texts, missing_message, unknown_state
from sepset.data.columns import Column, levels_of, numbers_of
from sepset.data.filecolumns import matched
from sepset.data.frames import Frame, open_frame
from sepset.errors import DataError
from sepset.factors.algebra import num_entries
from sepset.variables.variable import Discrete, Vector

Scope = tuple[Discrete, ...]

MOST_SHARED_CELLS = 1 << 12
"""Families share a group-by while their joint table has at most this many cells."""

_ROWS, _SUM, _LEAST, _KNOWN = "rows", "sum", "least", "known"


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Distinct joint states, each with its number of rows and their total weight.

    Attributes:
        codes: each variable's codes, -1 where missing.
    """

    codes: Mapping[Discrete, Ints]
    num_rows: Ints
    weights: Floats

    def table(self, scope: Scope) -> Floats:
        """The total weight of each joint state, flat in C order; groups with a missing cell are left out."""
        known = np.ones(len(self.weights), np.bool_)
        for variable in scope:
            known &= self.codes[variable] >= 0
        return np.bincount(self.places(scope)[known], self.weights[known], num_entries(scope)).astype(np.float64)

    def places(self, scope: Scope) -> Ints:
        """Each group's joint state, as its place in C order, where no cell is missing."""
        places = np.zeros(len(self.weights), np.int64)
        for variable in scope:
            places = places * variable.num_states + self.codes[variable]
        return places

    def require_complete(self, purpose: str) -> None:
        """Raise if cells are missing, naming the column and the number of rows."""
        for variable, codes in self.codes.items():
            absent = codes < 0
            if absent.any():
                raise DataError(missing_message(purpose, variable.name, int(self.num_rows[absent].sum())))


@dataclass(frozen=True, slots=True, eq=False)
class LazyRows:
    """Rows that stay where they are.

    Attributes:
        frame: a Narwhals lazy frame.
        columns: from the names of variables to those of the frame.
        is_text: whether cells are text, matched with states by how the states print.
        weights: the column of row weights, by its name.
    """

    frame: Any
    columns: Mapping[str, str]
    is_text: bool = False
    weights: str | None = None

    def groups(self, scopes: Sequence[Scope]) -> list[Groups]:
        """The distinct joint states of each scope."""
        found = collected([self._grouped(scope) for scope in scopes])
        return [self.read(frame, scope) for frame, scope in zip(found, scopes, strict=True)]

    def renamed(self, names: Sequence[str], prefix: str) -> list[Any]:
        """The columns of these variables under names of our own, so that none clash."""
        import narwhals.stable.v2 as nw

        return [nw.col(self.columns[name]).alias(f"{prefix}{place}") for place, name in enumerate(names)]

    def _grouped(self, scope: Scope) -> Any:
        import narwhals.stable.v2 as nw

        keys = [f"key{place}" for place in range(len(scope))]
        sums = [nw.len().alias(_ROWS)]
        chosen = self.renamed([v.name for v in scope], "key")
        if self.weights is not None:
            chosen += [self.weight_column()]
            sums = self.weight_sums()
        rows = self.frame.select(*chosen) if chosen else self.frame
        return rows.group_by(keys).agg(*sums) if keys else rows.select(*sums)

    def weight_column(self) -> Any:
        """The weights as floats under the name `weight`."""
        import narwhals.stable.v2 as nw

        return nw.col(self.columns[self.weights or ""]).cast(nw.Float64).alias("weight")

    def weight_sums(self) -> list[Any]:
        """The number of rows, and the sum, minimum and count of the column `weight`."""
        import narwhals.stable.v2 as nw

        weight = nw.col("weight")
        known = [weight.sum().alias(_SUM), weight.min().alias(_LEAST), weight.count().alias(_KNOWN)]
        return [nw.len().alias(_ROWS), *known]

    def read(self, frame: Frame, scope: Scope, *, is_checked: bool = False) -> Groups:
        """A collected group-by as groups, its weights checked unless they were."""
        num_rows = numbers_of(frame.read(_ROWS)).astype(np.int64)
        weights = num_rows.astype(np.float64)
        if self.weights is not None and not is_checked:
            weights = self._checked_weights(frame, num_rows)
        codes = {v: self._codes(v, frame.read(f"key{k}"), num_rows) for k, v in enumerate(scope)}
        return Groups(codes, num_rows, weights)

    def _checked_weights(self, frame: Frame, num_rows: Ints) -> Floats:
        """The total weight of each group, refused where some weight was missing, negative or not finite."""
        total, least, known = (numbers_of(frame.read(name)) for name in (_SUM, _LEAST, _KNOWN))
        if (known < num_rows).any():
            raise DataError(f"Column {self.weights!r} misses {int((num_rows - known).sum()):,} weights. Fill them in.")
        bad = ~(np.isfinite(total) & (least >= 0)) & (num_rows > 0)
        if bad.any():
            value = least[bad][0] if (least[bad] < 0).any() else "NaN or infinity"
            raise DataError(f"Weights are finite and not negative; column {self.weights!r} holds {value}.")
        return np.where(num_rows > 0, total, 0.0)

    def _codes(self, variable: Discrete, column: Column, num_rows: Ints) -> Ints:
        found = levels_of(matched(levels_of(column), variable)) if self.is_text else as_texts(variable, column)
        codes = [variable.domain.find(value) for value in found.values]
        for place, code in enumerate(codes):
            count = int(num_rows[found.codes == place].sum()) if code is None else 0
            if count:
                raise DataError(unknown_state(variable, found.values[place], count))
        table = np.array([*(-1 if code is None else code for code in codes), -1], np.int64)
        return table[found.codes]


def collected(frames: Sequence[Any]) -> list[Frame]:
    """The lazy frames in memory, computed together where their engine can, so that it reads the rows once."""
    if not frames:
        return []
    natives = [frame.to_native() for frame in frames]
    if frames[0].implementation.is_polars():
        import polars as pl

        natives = list(pl.collect_all(natives, engine="streaming"))
    elif frames[0].implementation.is_dask():
        from dask.base import compute

        natives = list(compute(*natives))  # type: ignore[no-untyped-call]  # Dask is untyped
    return [open_frame(native) for native in natives]


def shared_scopes(scopes: Sequence[Scope], limit: int = MOST_SHARED_CELLS) -> list[tuple[Scope, list[int]]]:
    """Unions of scopes with at most `limit` joint states, each with the places of the scopes it covers.

    The largest scopes come first; each next one joins the union that grows least.

    >>> a, b, c = (Discrete(name, 10) for name in "abc")
    >>> [(len(union), places) for union, places in shared_scopes([(a, b), (b, c), (a,)], 100)]
    [(2, [0, 2]), (2, [1])]
    """
    unions: list[tuple[dict[Discrete, None], list[int]]] = []
    for place in sorted(range(len(scopes)), key=lambda place: -num_entries(scopes[place])):
        mine = dict.fromkeys(scopes[place])
        grown = [(num_entries(union | mine) / num_entries(union), k) for k, (union, _) in enumerate(unions)]
        fitting = [(growth, k) for growth, k in grown if growth == 1 or growth * num_entries(unions[k][0]) <= limit]
        if not fitting:
            unions.append(({}, []))
        union, places = unions[min(fitting)[1] if fitting else -1]
        union.update(mine)
        places.append(place)
    return [(tuple(union), places) for union, places in unions]


def lazy_moments(rows: LazyRows, reals: Sequence[Vector], scope: Scope) -> tuple[Floats, Floats, Floats, int]:
    r"""The total weight, mean and scatter of each context, flat in C order, and the number of rows.

    With centers $c$ near the means, $\delta = \frac1M \sum_m w_m (x[m] - c)$ is small and nothing cancels in

    $$\bar x = c + \delta, \qquad S = \sum_m w_m (x[m] - c)(x[m] - c)^\top - M \delta \delta^\top.$$
    """
    cells = _cells(rows, reals, scope)
    sums = _sums(rows, cells, len(reals), len(scope))
    first = collected([sums])[0]
    groups = rows.read(first, scope)
    groups.require_complete("Moments")
    _require_numbers(first, groups, reals)
    second = collected([_products(cells, sums, first, len(reals), len(scope))])[0]
    return _assembled(rows, second, len(reals), scope, int(groups.num_rows.sum()))


def _cells(rows: LazyRows, reals: Sequence[Vector], scope: Scope) -> Any:
    """Keys, numbers and weights under names of our own."""
    import narwhals.stable.v2 as nw

    numbers = [column.cast(nw.Float64) for column in rows.renamed([v.name for v in reals], "x")]
    chosen = [*rows.renamed([v.name for v in scope], "key"), *numbers]
    if rows.weights is not None:
        return rows.frame.select(*chosen, rows.weight_column())
    return rows.frame.select(*chosen).with_columns(weight=nw.lit(1.0))


def _by(cells: Any, num_keys: int, sums: Sequence[Any]) -> Any:
    keys = [f"key{place}" for place in range(num_keys)]
    return cells.group_by(keys).agg(*sums) if keys else cells.select(*sums)


def _sums(rows: LazyRows, cells: Any, size: int, num_keys: int) -> Any:
    """Rows, weights and weighted sums of each context."""
    import narwhals.stable.v2 as nw

    weighed = cells.with_columns(*((nw.col(f"x{i}") * nw.col("weight")).alias(f"wx{i}") for i in range(size)))
    numbers = [nw.col(f"wx{i}").sum().alias(f"s{i}") for i in range(size)]
    known = [nw.col(f"x{i}").count().alias(f"n{i}") for i in range(size)]
    return _by(weighed, num_keys, [*rows.weight_sums(), *numbers, *known])


def _require_numbers(frame: Frame, groups: Groups, reals: Sequence[Vector]) -> None:
    for place, variable in enumerate(reals):
        missing = groups.num_rows - numbers_of(frame.read(f"n{place}"))
        if missing.any():
            raise DataError(missing_message("Moments", variable.name, int(missing.sum())))
        if not np.isfinite(numbers_of(frame.read(f"s{place}"))[groups.num_rows > 0]).all():
            raise DataError(
                f"Column {variable.name!r} holds NaN or infinity, which has no moments. "
                "Where it stands for a missing cell use EM, or leave those rows out."
            )


def _products(cells: Any, sums: Any, first: Frame, size: int, num_keys: int) -> Any:
    """Weighted sums of differences from the centers, and of their products."""
    import narwhals.stable.v2 as nw

    if num_keys:
        centers = sums.with_columns(*((nw.col(f"s{i}") / nw.col("sum")).alias(f"c{i}") for i in range(size)))
        keys = [f"key{place}" for place in range(num_keys)]
        centered = cells.join(centers.select(*keys, *(f"c{i}" for i in range(size))), on=keys, how="inner")
    else:
        total = numbers_of(first.read("sum"))[0] or 1.0
        numbers = (float(numbers_of(first.read(f"s{i}"))[0]) / total for i in range(size))
        centered = cells.with_columns(*(nw.lit(value).alias(f"c{i}") for i, value in enumerate(numbers)))
    apart = centered.with_columns(*((nw.col(f"x{i}") - nw.col(f"c{i}")).alias(f"e{i}") for i in range(size)))
    weighed = apart.with_columns(*((nw.col(f"e{i}") * nw.col("weight")).alias(f"we{i}") for i in range(size)))
    pairs = [(i, j) for i in range(size) for j in range(i + 1)]
    paired = weighed.with_columns(*((nw.col(f"we{i}") * nw.col(f"e{j}")).alias(f"p{i}_{j}") for i, j in pairs))
    kept = [nw.col(f"c{i}").min().alias(f"c{i}") for i in range(size)]
    added = [nw.col(name).sum() for name in (*(f"we{i}" for i in range(size)), *(f"p{i}_{j}" for i, j in pairs))]
    return _by(paired, num_keys, [nw.len().alias("rows"), nw.col("weight").sum().alias("sum"), *kept, *added])


def _assembled(
    rows: LazyRows, frame: Frame, size: int, scope: Scope, num_rows: int
) -> tuple[Floats, Floats, Floats, int]:
    groups = rows.read(frame, scope, is_checked=True)
    places, num_contexts = groups.places(scope), groups.table(scope).size
    count, mean = np.zeros(num_contexts), np.zeros((num_contexts, size))
    scatter = np.zeros((num_contexts, size, size))
    some = numbers_of(frame.read("sum")) > 0  # a context without weight has no mean
    at = places[some]
    total = numbers_of(frame.read("sum"))[some]
    delta = np.stack([numbers_of(frame.read(f"we{i}"))[some] for i in range(size)], axis=1) / total[:, None]
    count[at] = total
    mean[at] = np.stack([numbers_of(frame.read(f"c{i}"))[some] for i in range(size)], axis=1) + delta
    for i in range(size):
        for j in range(i + 1):
            product = numbers_of(frame.read(f"p{i}_{j}"))[some] - total * delta[:, i] * delta[:, j]
            scatter[at, i, j] = scatter[at, j, i] = product
    return count, mean, scatter, num_rows
