"""Group-bys computed in the engine that holds the rows: lazy polars, DuckDB, Dask, through Narwhals.

Only groups come back, never rows. Families that fit into one small table together share a group-by, since a scan of
the rows is what costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.data.binding import unknown_state
from sepset.data.columns import Levels, levels_of, numbers_of
from sepset.data.files import matched
from sepset.data.frames import Frame, open_frame
from sepset.data.requirements import missing_message
from sepset.errors import DataError
from sepset.variables.variable import Discrete

Scope = tuple[Discrete, ...]

SHARED = 1 << 12
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
        return np.bincount(self.places(scope)[known], self.weights[known], _size(scope)).astype(np.float64)

    def places(self, scope: Scope) -> Ints:
        """Each group's joint state, as its place in C order, where no cell is missing."""
        places = np.zeros(len(self.weights), np.int64)
        for variable in scope:
            places = places * variable.num_states + self.codes[variable]
        return places

    def require_complete(self, purpose: str) -> None:
        """Refuse missing cells, naming the column and how many rows miss it."""
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
        """The number of rows, and what is to be known of the column `weight`."""
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
        codes = {v: self._codes(v, levels_of(frame.read(f"key{k}")), num_rows) for k, v in enumerate(scope)}
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

    def _codes(self, variable: Discrete, levels: Levels, num_rows: Ints) -> Ints:
        found = matched(levels, variable) if self.is_text else levels
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


def shared_scopes(scopes: Sequence[Scope], limit: int = SHARED) -> list[tuple[Scope, list[int]]]:
    """Unions of scopes with at most `limit` joint states, each with the places of the scopes it covers.

    The largest scopes come first; each next one joins the union that grows least.

    >>> a, b, c = (Discrete(name, 10) for name in "abc")
    >>> [(len(union), places) for union, places in shared_scopes([(a, b), (b, c), (a,)], 100)]
    [(2, [0, 2]), (2, [1])]
    """
    unions: list[tuple[dict[Discrete, None], list[int]]] = []
    for place in sorted(range(len(scopes)), key=lambda place: -_size(scopes[place])):
        mine = dict.fromkeys(scopes[place])
        grown = [(_size({**union, **mine}) / _size(union), k) for k, (union, _) in enumerate(unions)]
        fitting = [(growth, k) for growth, k in grown if growth == 1 or growth * _size(unions[k][0]) <= limit]
        if not fitting:
            unions.append(({}, []))
        union, places = unions[min(fitting)[1] if fitting else -1]
        union.update(mine)
        places.append(place)
    return [(tuple(union), places) for union, places in unions]


def _size(variables: Any) -> int:
    return prod(v.num_states for v in variables)
