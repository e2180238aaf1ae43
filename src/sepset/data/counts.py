r"""Counts $M[\mathbf u, x]$ of families: additive, mergeable, weighted, computed where the data is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyArray, AnyInts, Bytes, Floats, Ints
from sepset.base.checks import number, one_of
from sepset.base.display import Shown, Tabulated
from sepset.base.frozen import fill, fixed, made, read_only
from sepset.base.text import joined, listing
from sepset.base.threads import NEVER, in_order, num_threads
from sepset.data.dataset import Dataset
from sepset.data.engines import LazyRows, shared_scopes
from sepset.data.families import Family, Scope, discrete_scope, members
from sepset.data.sources import Weights, finder, rows_of
from sepset.errors import DataError, ScopeError, TooLarge
from sepset.factors.algebra import check_size, num_entries
from sepset.factors.labels import MOST_SHOWN, cut, one_line
from sepset.variables.matching import Match, state_order
from sepset.variables.variable import Discrete, VariableLike, listed

Missing = Literal["refuse", "skip"]

_ROUNDING = 1e-12  # a difference this small relative to its minuend is zero up to rounding
_MOST_CELLS = 1 << 31
_SCRATCH_BYTES = 1 << 20  # codes gathered at a time: they stay in the second-level cache
_MOST_LANED_CELLS = 1 << 16  # up to this many, rows go to several tables in turn


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Counts(Tabulated):
    r"""Sufficient statistics of table CPDs: how often each joint state of each family occurs.

    $$M[\mathbf u, x] = \sum_m w_m \, \mathbf 1\{\mathbf U[m] = \mathbf u, X[m] = x\}$$

    Counts of parts of the data add up to counts of the whole, in any order and any parts.

    Args:
        families: each `(child, parents)`, a scope `(*parents, child)`, or anything with a scope, such as a CPD.
        tables: the (expected) counts of each family, with axes `(*parents, child)` or flat in C order.
        num_rows: how many rows were counted.
        total: their total weight $M$; by default the sum of the first table.

    Attributes:
        families: the scopes `(*parents, child)`.
        tables: one read-only array per family.

    Reference: Koller & Friedman, section 17.2.3 (definition 17.2).
    Guarantee: exact; any chunks, engines, threads.
    Tested by: data/test_counts.py::test_every_engine_gives_the_same_answer

    >>> rain, wet = Discrete("rain", ("no", "yes")), Discrete("wet", ("no", "yes"))
    >>> rows = {"rain": ["no", "yes", "yes"], "wet": ["no", "yes", "no"]}
    >>> counts = Counts.of(rows, [(rain, ()), (wet, (rain,))])
    >>> counts, counts["wet"]
    (Counts(2 families, 3 rows), array([[1., 0.],
           [1., 1.]]))
    """

    families: tuple[Scope, ...]
    tables: tuple[Floats, ...]
    num_rows: int
    total: float

    def __init__(
        self,
        families: Iterable[Family],
        tables: Iterable[ArrayLike],
        *,
        num_rows: int,
        total: float | None = None,
    ) -> None:
        scopes = tuple(discrete_scope(members(family), _itself) for family in families)
        arrays = tuple(np.array(table, np.float64) for table in tables)
        if len(scopes) != len(arrays):
            raise DataError(f"One table per family is needed; found {len(arrays)} tables for {len(scopes)} families.")
        shaped = tuple(_shaped(scope, array) for scope, array in zip(scopes, arrays, strict=True))
        self._fill(scopes, shaped, num_rows, _total(shaped, num_rows) if total is None else total)

    def _fill(self, families: tuple[Scope, ...], tables: tuple[Floats, ...], num_rows: int, total: float) -> None:
        read = tuple(map(read_only, tables))
        fill(self, families=families, tables=read, num_rows=int(num_rows), total=float(total))

    def _like(self, tables: Iterable[Floats], num_rows: int, total: float) -> Counts:
        counts = made(Counts)
        counts._fill(self.families, tuple(tables), num_rows, total)
        return counts

    @classmethod
    def of(
        cls,
        data: object,
        families: Iterable[Family],
        *,
        weights: Weights = None,
        missing: Missing = "refuse",
        threads: int | None = 1,
    ) -> Counts:
        r"""The counts of all families, in one pass over rows in memory, or by group-bys where the rows are.

        Args:
            data: a `Dataset`, any eager frame or mapping of columns; a lazy polars frame, a DuckDB relation, a Dask
                frame, or the path of a CSV, TSV or Parquet file, of which only groups are read into memory.
            families: each `(child, parents)`, a scope `(*parents, child)`, or anything with a scope, such as a CPD.
                Names are enough where the data is a dataset or an eager frame.
            weights: how often each row counts: numbers, or the name of a column. A dataset brings its own.
            missing: "refuse" rows with missing cells, or "skip" them in the families that they touch (available
                cases, which is unbiased only if cells go missing completely at random).
            threads: for rows in memory; None for one a processor. No count depends on it.

        Cost: $O(M \sum_f |f|)$ in memory; else a few scans of the columns.

        >>> Counts.of({"coin": ["head", "tail", "head"]}, ["coin"], weights=[1, 1, 0.5]).tables
        (array([1.5, 1. ]),)
        """
        one_of("missing", missing, ("refuse", "skip"))
        asked = [members(family) for family in families]
        with rows_of(data, (v for family in asked for v in family), weights) as rows:
            scopes = tuple(discrete_scope(family, finder(rows)) for family in asked)
            _check_sizes(scopes)
            if isinstance(rows, LazyRows):
                tables, num_rows, total = _count_lazily(rows, scopes, missing)
            else:
                tables, num_rows, total = _count_in_memory(rows, scopes, missing, threads)
        counts = made(cls)
        counts._fill(scopes, tuple(map(_shaped, scopes, tables)), num_rows, total)
        return counts

    def __len__(self) -> int:
        return len(self.families)

    def __getitem__(self, child: VariableLike) -> Floats:
        """The counts of the family with this child, with axes `(*parents, child)`."""
        named = isinstance(child, str | Discrete)
        found = [i for i, scope in enumerate(self.families) if named and child in (scope[-1], scope[-1].name)]
        if len(found) == 1:
            return self.tables[found[0]]
        name = getattr(child, "name", child)
        if found:
            raise ScopeError(f"{len(found)} families have the child {name!r}. Use table(scope).")
        raise ScopeError(
            f"No family has the child {name!r}; children are {listing(s[-1].name for s in self.families)}. "
            "Several variables together are table(scope)."
        )

    def table(self, scope: VariableLike | Sequence[VariableLike]) -> Floats:
        r"""The counts $M[\mathbf z]$ of any variables that some family holds together, axes in the order given.

        The states of a variable given by itself are in its own order, whatever that of the counted one.

        $$M[\mathbf z] = \sum_{\mathbf y} M[\mathbf y, \mathbf z]$$

        >>> a, b = Discrete("a"), Discrete("b")
        >>> counts = Counts([(b, [a])], [[[1, 2], [3, 4]]], num_rows=10)
        >>> counts.table(["b", "a"]).tolist(), counts.table("a").tolist(), counts.table([]).tolist()
        ([[1.0, 3.0], [2.0, 4.0]], [3.0, 7.0], 10.0)
        """
        asked = listed(scope)
        names = [v if isinstance(v, str) else v.name for v in asked]
        if not names:
            return np.array(self.total)
        holding = [k for k, family in enumerate(self.families) if set(names) <= {v.name for v in family}]
        if not holding or len(set(names)) < len(names):
            raise ScopeError(f"No family holds {listing(names)} together. Count that family: Counts.of(data, [...]).")
        best = min(holding, key=lambda k: self.tables[k].size)
        places = [[v.name for v in self.families[best]].index(name) for name in names]
        summed = tuple(axis for axis in range(len(self.families[best])) if axis not in places)
        rest = [axis for axis in range(len(self.families[best])) if axis in places]
        table = np.asarray(self.tables[best].sum(axis=summed).transpose([rest.index(place) for place in places]))
        own = [self.families[best][place] for place in places]
        wanted = [v if isinstance(v, Discrete) else mine for v, mine in zip(asked, own, strict=True)]
        return table if wanted == own else table[np.ix_(*map(state_order, own, wanted))]

    def __add__(self, other: Counts) -> Counts:
        """The counts of both parts of the data together."""
        if not isinstance(other, Counts):
            return NotImplemented
        tables = (a + b for a, b in zip(self.tables, self._aligned(other), strict=True))
        return self._like(tables, self.num_rows + other.num_rows, self.total + other.total)

    def __radd__(self, other: int) -> Counts:
        """Makes `sum(parts)` work, which begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Counts) -> Counts:
        """The counts without the rows that `other` counted; a cell that would fall below zero is refused.

        What rounding of weights leaves of an empty cell, 1e-12 of what it held, is zero.
        """
        if not isinstance(other, Counts):
            return NotImplemented
        pairs = zip(self.families, self.tables, self._aligned(other), strict=True)
        tables = tuple(_difference(*three) for three in pairs)
        return self._like(tables, max(self.num_rows - other.num_rows, 0), max(self.total - other.total, 0.0))

    def scale(self, factor: float) -> Counts:
        """Every count times a factor: old data discounted, or a mean over several sets of counts."""
        number("factor", factor, least=0)
        return self._like((table * factor for table in self.tables), self.num_rows, self.total * factor)

    def update(
        self, data: object, weights: Weights = None, *, missing: Missing = "refuse", threads: int | None = 1
    ) -> Counts:
        """These counts and those of new rows: data in chunks, or as it arrives."""
        return self + Counts.of(data, self.families, weights=weights, missing=missing, threads=threads)

    def _aligned(self, other: Counts) -> list[Floats]:
        """The other's tables in the order of our families, of their variables and of the states of these."""
        if self.families == other.families:
            return list(other.tables)
        ours, theirs = (_by_names(families) for families in (self.families, other.families))
        differing = ours.keys() ^ theirs.keys()
        if differing or len(ours) != len(self.families) or len(theirs) != len(other.families):
            first = next((s for s in (*self.families, *other.families) if _names_of(s) in differing), self.families[0])
            raise ScopeError(f"Only counts of the same families combine; they differ in {listing(first)}.")
        return [_reordered(other, theirs[_names_of(scope)], scope) for scope in self.families]

    def _shown(self) -> Shown:
        """The counts of each context of each family, states by name."""
        rows = [row for family in zip(self.families, self.tables, strict=True) for row in _first_rows(*family)]
        total = sum(table[..., 0].size for table in self.tables)
        return Shown(("variable", "given", "counts"), rows[:MOST_SHOWN], repr(self), cut(total, "contexts"), words=3)

    def __repr__(self) -> str:
        weight = "" if self.total == self.num_rows else f" of weight {self.total:,.6g}"
        families = "1 family" if len(self.families) == 1 else f"{len(self.families)} families"
        return f"Counts({families}, {self.num_rows:,} rows{weight})"


def _first_rows(family: Scope, table: Floats) -> Iterator[tuple[str, str, str]]:
    """The child, the states of its parents and its counts, for as many contexts as are shown."""
    *parents, child = family
    flat = table.reshape(-1, child.num_states)
    for place, counts in enumerate(flat[:MOST_SHOWN].tolist()):
        codes = np.unravel_index(place, table.shape[:-1])
        given = ", ".join(f"{p.name}={one_line(p.states[code])}" for p, code in zip(parents, codes, strict=True))
        told = [f"{one_line(state)} {count:,.6g}" for state, count in zip(child.states, counts, strict=True)]
        yield child.name, given, joined(told)


def _names_of(scope: Scope) -> tuple[str, frozenset[str]]:
    """The child of a family, and all its variables."""
    return scope[-1].name, frozenset(v.name for v in scope)


def _by_names(families: Sequence[Scope]) -> dict[tuple[str, frozenset[str]], int]:
    return {_names_of(scope): place for place, scope in enumerate(families)}


def _reordered(counts: Counts, place: int, scope: Scope) -> Floats:
    """The table of one family over the same variables in another order."""
    own, table = counts.families[place], counts.tables[place]
    if own == scope:
        return table
    return np.asarray(table.reshape(-1)[Match.of(own, scope).entries].reshape([v.num_states for v in scope]))


def _itself(variable: VariableLike) -> Discrete:
    if isinstance(variable, str):
        raise ScopeError(f"The states of {variable!r} are unknown here. Give the variable.")
    return variable  # type: ignore[return-value]  # checked to be discrete by the caller


def _shaped(scope: Scope, table: Floats) -> Floats:
    shape = tuple(v.num_states for v in scope)
    names = ", ".join(v.name for v in scope)
    if table.shape not in (shape, (num_entries(scope),)):
        raise DataError(f"The counts of ({names}) have the shape {shape}; found {table.shape}.")
    if not (np.isfinite(table).all() and (table >= 0).all()):
        raise DataError(f"The counts of ({names}) must be finite and not negative.")
    return np.ascontiguousarray(table).reshape(shape)


def _total(tables: tuple[Floats, ...], num_rows: int) -> float:
    return float(tables[0].sum()) if tables else float(num_rows)


def _check_sizes(scopes: tuple[Scope, ...]) -> None:
    """Raise if the tables do not fit in memory, before anything is allocated."""
    for scope in scopes:
        check_size(scope)
    cells = sum(map(num_entries, scopes))
    if cells >= _MOST_CELLS:
        raise TooLarge(f"{len(scopes)} families have {cells:,} counts; at most {_MOST_CELLS - 1:,} fit. Count some.")


def _count_in_memory(
    rows: Dataset, scopes: tuple[Scope, ...], missing: Missing, threads: int | None
) -> tuple[list[Floats], int, float]:
    if missing == "refuse":
        rows.require_complete("Counting", dict.fromkeys(v for scope in scopes for v in scope))
    return tally(rows, scopes, rows.weights, threads), rows.num_rows, rows.total_weight


def _count_lazily(rows: LazyRows, scopes: tuple[Scope, ...], missing: Missing) -> tuple[list[Floats], int, float]:
    unions = shared_scopes(scopes) or [((), [])]
    tables: dict[int, Floats] = {}
    groups = rows.groups([union for union, _ in unions])
    for found, (_, places) in zip(groups, unions, strict=True):
        if missing == "refuse":
            found.require_complete("Counting")
        tables.update((place, found.table(scopes[place])) for place in places)
    num_rows, total = int(groups[0].num_rows.sum()), float(groups[0].weights.sum())
    return [tables[place] for place in range(len(scopes))], num_rows, total


def _difference(scope: Scope, minuend: Floats, subtrahend: Floats) -> Floats:
    rest = minuend - subtrahend
    rest[np.abs(rest) <= _ROUNDING * minuend] = 0.0
    below = np.argwhere(rest < 0)
    if len(below):
        cell = tuple(below[0].tolist())
        where = ", ".join(f"{v.name}={v.states[code]!r}" for v, code in zip(scope, cell, strict=True))
        raise DataError(
            f"{subtrahend[cell]:g} cases cannot be taken from the {minuend[cell]:g} with {where}. "
            "Take away only rows that were counted."
        )
    return rest


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Where the cells of several families lie in one flat array, family after family."""

    columns: list[AnyInts]
    ptr: Ints
    places: Ints
    strides: Ints
    offsets: Ints
    num_cells: int

    @classmethod
    def of(cls, dataset: Dataset, scopes: Sequence[Sequence[Discrete]]) -> _Layout:
        """Columns in order of first use, so that a family's columns lie near each other."""
        index: dict[Discrete, int] = {}
        places = [index.setdefault(v, len(index)) for scope in scopes for v in scope]
        strides = [step for scope in scopes for step in _strides(scope)]
        sizes = [num_entries(scope) for scope in scopes]
        return cls(
            [dataset.codes(v) for v in index],
            np.cumsum([0, *map(len, scopes)], dtype=np.int64),
            np.array(places, np.int64),
            np.array(strides, np.int64),
            np.cumsum([0, *sizes[:-1]], dtype=np.int64)[: len(scopes)],
            sum(sizes),
        )


def _strides(scope: Sequence[Discrete]) -> list[int]:
    return [num_entries(scope[place + 1 :]) for place in range(len(scope))]


def tally(
    dataset: Dataset, scopes: Sequence[tuple[Discrete, ...]], weights: Floats | None, threads: int | None = 1
) -> list[Floats]:
    r"""The (weighted) counts of each scope, flat in C order; rows that miss a cell of a scope are not in its count.

    Args:
        threads: the scopes are divided among them, so that no sum depends on their number; None for all processors.

    Cost: $O(M \sum_f |f|)$, one pass over the rows.

    >>> coin = Discrete("coin", ("head", "tail"))
    >>> tally(Dataset.from_codes([coin], {"coin": [0, 1, 1]}), [(coin,)], None)
    [array([1., 2.])]
    """
    from sepset.kernels.data.counting import LANES

    lanes = LANES if sum(map(num_entries, scopes)) <= _MOST_LANED_CELLS else 1
    workers = min(num_threads(threads), len(scopes))
    if not scopes:
        return []
    if workers == 1:
        return _tally(dataset, scopes, weights, lanes)
    tasks = [partial(_tally, dataset, scopes[first::workers], weights, lanes) for first in range(workers)]
    found: list[Any] = [None] * len(scopes)
    for first, part in enumerate(in_order(tasks, workers)):
        found[first::workers] = part
    return found


def _tally(
    dataset: Dataset,
    scopes: Sequence[tuple[Discrete, ...]],
    weights: Floats | None,
    lanes: int,
    cancel: Bytes = NEVER,
) -> list[Floats]:
    from sepset.kernels.data.counting import TILE, count_rows, weigh_rows

    layout = _Layout.of(dataset, scopes)
    scratch = _scratch(layout.columns, TILE)
    counts: AnyArray = np.zeros((lanes, layout.num_cells + 1), np.int64 if weights is None else np.float64)
    where = layout.ptr, layout.places, layout.strides, layout.offsets
    for start in range(0, dataset.num_rows, scratch.shape[1]):
        if cancel[0]:
            break
        size, is_complete = _gather(layout.columns, start, scratch)
        if weights is None:
            count_rows(scratch, size, is_complete, *where, counts)
        else:
            weigh_rows(scratch, size, is_complete, *where, fixed(weights[start : start + size]), counts)
    return np.split(counts.sum(axis=0).astype(np.float64)[:-1], layout.offsets[1:])


def _scratch(columns: Sequence[AnyInts], tile: int) -> AnyArray:
    """Room for the codes of a run of rows, some whole tiles of them, in the narrower of two types."""
    dtype = np.dtype(np.int8 if all(c.dtype == np.int8 for c in columns) else np.int32)
    tiles = max(1, _SCRATCH_BYTES // (dtype.itemsize * max(len(columns), 1) * tile))
    return np.empty((len(columns), tiles * tile), dtype)


def _gather(columns: Sequence[AnyInts], start: int, scratch: AnyArray) -> tuple[int, bool]:
    """Fill the scratch from row `start` on: how many rows, and whether none of their cells is missing."""
    size = 0
    for place, column in enumerate(columns):
        part = column[start : start + scratch.shape[1]]
        size = len(part)
        scratch[place, :size] = part
    return size, bool(scratch[:, :size].min(initial=0) >= 0)
