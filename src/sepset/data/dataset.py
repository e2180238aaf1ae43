"""Datasets: immutable rows over variables, coded once."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from sepset.base.arraytypes import AnyArray, AnyInts, Bools, Floats, Ints, Objects
from sepset.base.checks import generator, one_of, row_weights, whole
from sepset.base.display import Shown, Tabulated
from sepset.base.extras import FrameKind
from sepset.base.foreign import often
from sepset.base.frozen import Frozen, fill, made
from sepset.base.text import brief, counted, listing
from sepset.data.binding import REMEDY, bind_frame, missing_message
from sepset.data.codes import cell_type, checked_cells, matrix_columns, named_columns, positions
from sepset.data.columns import WIDE_ROWS, Cells, Levels, absent, absent_cells, counts_absent, has_absent
from sepset.data.duplicates import group_rows
from sepset.data.export import EXPORTS, state_objects
from sepset.data.filecolumns import FileRows, file_columns, naming
from sepset.data.frames import in_row_order, open_frame
from sepset.data.partition import dealt, fold_numbers, in_first_part
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.variables.array import VariableArray
from sepset.variables.matching import has_states_of
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real, State, VariableLike, Vector, listed

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

SHOWN_ROWS = 8
"""The number of rows of a dataset that a display shows."""

MISSING_CELL = "?"
"""The text that stands for a cell without a value."""


class Dataset(Frozen, Tabulated):
    """Rows $\\mathcal D = \\{\\xi[1], \\dots, \\xi[M]\\}$ over variables, coded once and never changed.

    Discrete columns are codes in the smallest signed integer type, -1 where missing; real columns are float64, NaN
    where missing. None, NaN, NaT and nulls are missing. A cell must be a state in value and type: True is not 1, "1" is
    not 1, and 1.0 is 1. Rows count from 0. The data is copied: later changes to the frame do not reach the dataset.

    Args:
        frame: a pandas, polars, Arrow or DuckDB frame, eager or lazy, a mapping from names to columns, the path of a
            CSV, TSV or Parquet file (see `read_dataset`), or a dataset.
        variables: what the columns mean, bound by name; other columns are ignored. Without them, boolean,
            integer, text and categorical columns become `Discrete` and float columns `Real`; floats that are whole
            numbers with 2 to 12 distinct values are `Discrete` too. `notes` says what could be meant otherwise.
        missing_columns: "allow" leaves variables without a column wholly missing.
        weights: how often each row counts, one number per row or the name of a column; finite and not negative. They
            follow their rows into every part of the dataset.

    Reference: Koller & Friedman, section 17.1 (complete data) and 19.1 (missing data).
    Guarantee: cells round-trip; invalid ones are named.
    Tested by: data/test_dataset.py::test_cells_come_back

    >>> rows = Dataset({"grade": ["B", "A", None], "score": [1.5, 2.0, 3.0]})
    >>> rows, rows.codes("grade").tolist(), rows.row(2)
    (Dataset(3 rows, 2 variables: 'grade', 'score'), [1, 0, -1], {'grade': None, 'score': 3.0})
    """

    __slots__ = ("_missing_counts", "columns", "notes", "num_rows", "variables", "weights")
    variables: Universe
    num_rows: int
    weights: Floats | None
    notes: tuple[str, ...]
    columns: tuple[AnyInts | Floats, ...]
    """The stored columns in order, read-only."""
    _missing_counts: Ints | None

    def __init__(
        self,
        data: object,
        variables: Iterable[Discrete | Vector | VariableArray] | None = None,
        *,
        missing_columns: Literal["refuse", "allow"] = "refuse",
        weights: ArrayLike | str | None = None,
    ) -> None:
        scope = None if variables is None else _scope(variables)
        if isinstance(data, str | os.PathLike):
            with naming(data):
                self._bind(file_columns(data, _with_weights(scope, weights)), scope, missing_columns, weights)
        elif isinstance(data, FileRows):
            with naming(data.path):
                self._bind(data.matched(_with_weights(scope, weights)), scope, missing_columns, weights)
        else:
            self._bind(data, scope, missing_columns, weights)

    def _bind(
        self,
        frame: object,
        scope: Universe | None,
        missing_columns: Literal["refuse", "allow"],
        weights: ArrayLike | str | None,
    ) -> None:
        by_name = weights if isinstance(weights, str) else None
        source, notes_kept = frame, None
        if isinstance(frame, Dataset):
            source = frame._plain_columns()
            if scope is None:  # nothing is inferred again: a real column of few whole numbers stays real
                scope, notes_kept = Universe(v for v in frame.variables if v.name != by_name), frame.notes
        opened = open_frame(source, None if scope is None else (*scope.names, *filter(None, [by_name])))
        num_rows = frame.num_rows if isinstance(frame, Dataset) else opened.num_rows
        opened = replace(opened, num_rows=num_rows)  # a dataset without columns may have rows
        bound, columns, notes = bind_frame(
            opened if by_name is None else opened.without(by_name), scope, missing_columns
        )
        given = in_row_order(weights, frame) if by_name is None else opened.numbers(by_name)
        kept = frame.weights if isinstance(frame, Dataset) and given is None else given
        inherited = notes if notes_kept is None else notes_kept
        self._fill(bound, columns, num_rows, None if kept is None else row_weights(kept, num_rows), inherited)

    def _fill(
        self,
        variables: Universe,
        columns: Iterable[AnyInts | Floats],
        num_rows: int,
        weights: Floats | None,
        notes: tuple[str, ...] = (),
    ) -> None:
        kept = tuple(columns)
        for column in kept:
            column.setflags(write=False)
        fill(
            self,
            variables=variables,
            num_rows=num_rows,
            columns=kept,
            weights=weights,
            notes=notes,
            _missing_counts=None,
        )

    @classmethod
    def _make(
        cls,
        variables: Universe,
        columns: Iterable[AnyInts | Floats],
        num_rows: int,
        weights: Floats | None = None,
        notes: tuple[str, ...] = (),
    ) -> Dataset:
        rows = made(cls)
        rows._fill(variables, columns, num_rows, weights, notes)
        return rows

    @classmethod
    def from_codes(
        cls,
        variables: Iterable[Discrete | Vector | VariableArray],
        codes: Mapping[str, ArrayLike] | AnyArray,
        *,
        weights: ArrayLike | None = None,
    ) -> Dataset:
        """The dataset with these codes, as a matrix with one row per case or as one array per name; -1 is missing.

        Real variables take numbers in place of codes. Codes are copied, and checked against each domain.

        >>> Dataset.from_codes([Discrete("coin", ("head", "tail"))], {"coin": [0, 1, -1]}).states("coin").tolist()
        ['head', 'tail', None]
        """
        scope = _scope(variables)
        if isinstance(codes, Mapping):
            given = named_columns(scope, codes)
        else:
            given = matrix_columns(scope, np.asarray(codes))
        sizes = {len(column) for column in given}
        if len(sizes) > 1:
            raise DataError(f"Columns must have one length; found lengths {listing(sorted(sizes))}.")
        num_rows = sizes.pop() if sizes else (0 if isinstance(codes, Mapping) else len(codes))
        columns = (checked_cells(v, c) for v, c in zip(scope, given, strict=True))
        return cls._make(scope, columns, num_rows, None if weights is None else row_weights(weights, num_rows))

    @classmethod
    def _drawn(cls, variables: Universe, columns: Mapping[str, AnyArray], num_rows: int) -> Dataset:
        """The dataset with columns that were made for it: neither checked nor copied, if codes have their type."""
        cells = (columns[v.name].astype(cell_type(v), copy=False) for v in variables)
        return cls._make(variables, cells, num_rows)

    def with_weights(self, weights: ArrayLike | None) -> Dataset:
        """The same rows with these weights, or without any.

        >>> Dataset({"coin": ["head", "tail"]}).with_weights([2, 0.5]).total_weight
        2.5
        """
        checked = None if weights is None else row_weights(weights, self.num_rows)
        return self._make(self.variables, self.columns, self.num_rows, checked, self.notes)

    def with_notes(self, notes: Iterable[str]) -> Dataset:
        """The same rows with these notes.

        >>> Dataset({"coin": ["head", "tail"]}).with_notes(["Tossed on Monday."]).notes
        ('Tossed on Monday.',)
        """
        own = () if isinstance(notes, str) else tuple(notes)
        if isinstance(notes, str) or not all(isinstance(note, str) for note in own):
            raise ArgumentError(f"notes= are several strings; found {brief(notes)}. Put one note in a list.")
        return self._make(self.variables, self.columns, self.num_rows, self.weights, own)

    @property
    def total_weight(self) -> float:
        """The sum of the weights: the number of rows where there are none."""
        return float(self.num_rows if self.weights is None else self.weights.sum())

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.variables.parts, self.columns, self.num_rows, self.weights, self.notes)

    def __len__(self) -> int:
        return self.num_rows

    def keys(self) -> tuple[str, ...]:
        """The names of the columns: `dict(dataset)` has the columns as arrays."""
        return self.variables.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return (key.name if isinstance(key, Discrete | Vector) else key) in self.variables.names

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The cells as `dataset[name]` gives them, one row per case and one column per variable."""
        columns = [self[name] for name in self]
        found = side_by_side(columns, self.num_rows, np.result_type(*columns) if columns else np.float64)
        return found if dtype is None else found.astype(dtype)

    @often
    def column(self, variable: VariableLike) -> AnyInts | Floats:
        """The stored column, read-only: codes of a discrete variable, numbers of a real one."""
        return self.columns[self.variables.id(variable)]

    def codes(self, variable: VariableLike) -> AnyInts:
        """The codes of a discrete variable, read-only; -1 where missing."""
        found = self.variables.named(variable)
        if not isinstance(found, Discrete):
            raise ScopeError(f"{found!r} has no codes. Use values({found.name!r}).")
        return self.column(variable)  # type: ignore[return-value]  # discrete columns hold codes

    def values(self, variable: VariableLike) -> Floats:
        """The numbers of a real variable, read-only; NaN where missing."""
        found = self.variables.named(variable)
        if isinstance(found, Discrete):
            raise ScopeError(f"{found!r} has states, not numbers. Use states({found.name!r}) or codes({found.name!r}).")
        return self.column(variable)  # type: ignore[return-value]  # real columns hold float64

    def states(self, variable: VariableLike) -> Objects:
        """The states of a discrete variable, row by row, as Python objects; None where missing."""
        codes = self.codes(variable)
        found = self.variables.named(variable)
        assert isinstance(found, Discrete)
        read: Objects = state_objects(found)[codes]
        return read

    @overload
    def __getitem__(self, key: slice) -> Dataset: ...
    @overload
    def __getitem__(self, key: VariableLike) -> AnyArray: ...
    def __getitem__(self, key: slice | VariableLike) -> Dataset | AnyArray:
        """A range of rows, or one column as a user reads it: states, or the numbers of a real variable."""
        if isinstance(key, slice):
            weights = None if self.weights is None else self.weights[key].copy()
            size = len(range(self.num_rows)[key])
            return self._make(self.variables, (c[key].copy() for c in self.columns), size, weights, self.notes)
        return self.states(key) if self.variables[key].is_discrete else self.values(key)

    def matrix(self, variables: Iterable[VariableLike] | None = None) -> AnyInts:
        """The codes of discrete variables, one row per case, in the smallest integer type that holds them all.

        >>> Dataset({"a": [True, False], "b": ["x", None]}).matrix()
        array([[ 1,  0],
               [ 0, -1]], dtype=int8)
        """
        columns = [self.codes(v) for v in (self.variables if variables is None else variables)]
        return side_by_side(columns, self.num_rows, np.result_type(np.int8, *(c.dtype for c in columns)))

    def row(self, position: int) -> dict[str, State | None]:
        """One case as a mapping from names to states or numbers; None where missing."""
        try:
            place = range(self.num_rows)[operator.index(position)]
        except IndexError:
            raise DataError(f"There are {self.num_rows} rows, counted from 0; no row {position}.") from None
        return next(self[place : place + 1].rows())

    def rows(self) -> Iterator[dict[str, State | None]]:
        """Every case in turn, as `row` gives it."""
        names = self.variables.names
        if not names:
            yield from ({} for _ in range(self.num_rows))
        for start in range(0, self.num_rows, 1024):
            part = self[start : start + 1024]
            columns = (part._readable(v) for v in part.variables)
            yield from (dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True))

    def _readable(self, variable: Discrete | Vector) -> list[State | None]:
        if variable.is_discrete:
            return list(self.states(variable))
        return [None if value != value else value for value in self.values(variable).tolist()]

    def take(self, rows: Sequence[int] | AnyArray) -> Dataset:
        """The rows at these positions, in this order, or where a mask is true."""
        chosen = np.asarray(rows)
        if chosen.dtype.kind == "b" and chosen.shape != (self.num_rows,):
            raise DataError(f"A mask has one entry per row; found {chosen.shape} for {self.num_rows} rows.")
        places = np.flatnonzero(chosen) if chosen.dtype.kind == "b" else positions(chosen, self.num_rows)
        weights = None if self.weights is None else self.weights[places]
        return self._make(self.variables, (c[places] for c in self.columns), len(places), weights, self.notes)

    def select(self, variables: Iterable[VariableLike]) -> Dataset:
        """The same rows over these variables, in this order."""
        if isinstance(variables, str):
            raise ScopeError(f"Several variables were expected; found {variables!r}. Use select([{variables!r}]).")
        chosen = Universe(self.variables.named(v) for v in variables)
        return self._make(chosen, (self.column(v) for v in chosen), self.num_rows, self.weights, self.notes)

    def with_columns(self, other: Dataset) -> Dataset:
        """The same rows with the columns of another dataset added, and its weights where it has some."""
        if other.num_rows != self.num_rows:
            raise DataError(f"Columns must have one length; found {self.num_rows} and {other.num_rows} rows.")
        weights = self.weights if other.weights is None else other.weights
        together = Universe((*self.variables, *other.variables))
        notes = (*self.notes, *other.notes)
        return self._make(together, (*self.columns, *other.columns), self.num_rows, weights, notes)

    def head(self, count: int = 5) -> Dataset:
        """The first rows."""
        return self[: whole("count", count)]

    def concat(self, *others: Dataset) -> Dataset:
        """The rows of this dataset followed by those of others over the same variables, in any order.

        The codes are those of this dataset, whatever the order of the states of the others. Where some have weights,
        the rows of the others count once.
        """
        everyone = (self, *(self._recoded(other) for other in others))
        columns = (np.concatenate([d.column(v) for d in everyone]) for v in self.variables)
        weights = [np.ones(d.num_rows) if d.weights is None else d.weights for d in everyone]
        joined = np.concatenate(weights) if any(d.weights is not None for d in everyone) else None
        notes = tuple(dict.fromkeys(note for d in everyone for note in d.notes))
        return self._make(self.variables, columns, sum(d.num_rows for d in everyone), joined, notes)

    def _recoded(self, other: Dataset) -> Dataset:
        """Another dataset with the codes of this one; raises unless both have the same variables, with their states."""
        if set(self.variables) == set(other.variables):
            return other
        differing = [v for v in (*self.variables, *other.variables) if _differs(v, self, other)]
        pairs = [(mine, theirs) for mine in self.variables for theirs in other.variables if mine.name == theirs.name]
        if len(pairs) < max(len(self.variables), len(other.variables)) or not all(starmap(has_states_of, pairs)):
            raise DataError(f"Only rows over the same variables join; these differ: {listing(differing)}.")
        return Dataset(other, self.variables)

    def collapse(self) -> Dataset:
        r"""The distinct rows in order of first appearance, each with the total weight of its copies.

        Every statistic that adds up over rows is the same, at the cost of the distinct ones.

        >>> rows = Dataset({"coin": ["head", "tail", "head"]}).collapse()
        >>> rows.states("coin").tolist(), rows.weights.tolist()
        (['head', 'tail'], [2.0, 1.0])
        """
        firsts, groups = group_rows(self.columns, self.variables.cards.tolist(), self.num_rows)
        weights = np.bincount(groups, self.weights, len(firsts)).astype(np.float64)
        return self._make(self.variables, (c[firsts] for c in self.columns), len(firsts), weights, self.notes)

    def split(
        self,
        fraction: float,
        *,
        seed: int | np.random.Generator = 0,
        stratify: VariableLike | Iterable[VariableLike] | None = None,
    ) -> tuple[Dataset, Dataset]:
        r"""A random $f M$ of the rows and all others, each in their old order: a training and a test set.

        Args:
            fraction: the first part's share $f$ of the $M$ rows.
            seed: an integer or a generator.
            stratify: discrete variables whose joint states keep their shares in both parts, up to one row.

        >>> train, test = Dataset({"coin": ["head", "tail"] * 5}).split(0.8, stratify="coin")
        >>> len(train), sorted(test.states("coin"))
        (8, ['head', 'tail'])
        """
        first = in_first_part(dealt(self.num_rows, generator(seed), self._strata(stratify)), fraction)
        return self.take(first), self.take(~first)

    def folds(
        self,
        count: int,
        *,
        seed: int | np.random.Generator = 0,
        stratify: VariableLike | Iterable[VariableLike] | None = None,
    ) -> Iterator[tuple[Dataset, Dataset]]:
        r"""The $K$ pairs of a training and a test set in which each row is tested once.

        Args:
            count: the number of folds $K$, from 2 (halves) to the number of rows (leave one out).
            seed: an integer or a generator.
            stratify: as in `split`.

        >>> [len(test) for train, test in Dataset({"coin": ["head", "tail"] * 5}).folds(3)]
        [4, 3, 3]
        """
        numbers = fold_numbers(dealt(self.num_rows, generator(seed), self._strata(stratify)), count)
        return ((self.take(numbers != fold), self.take(numbers == fold)) for fold in range(count))

    def _strata(self, stratify: VariableLike | Iterable[VariableLike] | None) -> Ints | None:
        if stratify is None:
            return None
        chosen = listed(stratify)
        columns = [self.codes(v) for v in chosen]
        return group_rows(columns, [int(self.variables[v].num_states) for v in chosen], self.num_rows)[1]  # type: ignore[union-attr]  # discrete, as they have codes

    def is_missing(self, variable: VariableLike) -> Bools:
        """Which rows miss the cell of this variable.

        >>> Dataset({"coin": ["head", None]}).is_missing("coin").tolist()
        [False, True]
        """
        return absent(self.column(variable))

    @property
    def mask(self) -> Bools:
        """Which cells are missing, one row per case and one column per variable, in the order of `variables`."""
        return np.ascontiguousarray(absent_cells(self.columns, self.num_rows).T)

    def require_complete(
        self, purpose: str, variables: Iterable[VariableLike] | None = None, *, remedy: str = REMEDY
    ) -> None:
        """Raise where cells are missing, naming the first column that misses one, its row, and the way out.

        Args:
            purpose: what needs complete data, as the subject of the message.
            variables: the columns that matter; all by default.
            remedy: the way out.

        >>> Dataset({"coin": ["head", "tail"]}).require_complete("Counting")
        """
        for variable in self.variables if variables is None else variables:
            if has_absent(self.column(variable)):
                missing = self.is_missing(variable)
                name, row = self.variables.named(variable).name, int(np.argmax(missing))
                raise DataError(missing_message(purpose, name, int(missing.sum()), row, remedy))

    @property
    def num_missing(self) -> dict[str, int]:
        """The number of missing cells of each variable."""
        return dict(zip(self.variables.names, self.missing_counts.tolist(), strict=True))

    @property
    def missing_counts(self) -> Ints:
        """The same as an array, in the order of the columns."""
        if self._missing_counts is None:
            fill(self, _missing_counts=counts_absent(self.columns, self.num_rows))
        return self._missing_counts  # type: ignore[return-value]  # counted above

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        if self._missing_counts is None and self.num_rows > WIDE_ROWS:  # the first column with one is enough
            return not any(has_absent(column) for column in self.columns)
        return not self.missing_counts.any()

    def equals(self, other: Dataset) -> bool:
        """Whether the other has the same variables in the same order, the same rows and the same weights."""
        if tuple(self.variables) != tuple(other.variables) or self.num_rows != other.num_rows:
            return False
        if (self.weights is None) != (other.weights is None):
            return False
        if self.weights is not None and not np.array_equal(self.weights, other.weights):  # type: ignore[arg-type]
            return False
        pairs = zip(self.columns, other.columns, strict=True)
        return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)

    @overload
    def to_frame(self, kind: Literal["pandas"] = "pandas") -> pd.DataFrame: ...
    @overload
    def to_frame(self, kind: Literal["polars"]) -> pl.DataFrame: ...
    @overload
    def to_frame(self, kind: Literal["pyarrow"]) -> pa.Table: ...
    def to_frame(self, kind: FrameKind = "pandas") -> pd.DataFrame | pl.DataFrame | pa.Table:
        """The rows as a frame of another library; text states become categorical columns without being written out.

        Integers, booleans and floats keep their type, in the library's nullable form where cells are missing. States
        of several types become objects in pandas and are refused by polars and Arrow. Row weights are no column: add
        `weights` under a name of your own.

        >>> Dataset({"coin": ["head", "tail", None]}).to_frame("pandas")["coin"].tolist()
        ['head', 'tail', nan]
        """
        return EXPORTS[one_of("kind", kind, EXPORTS)](self.variables, self.columns, self.num_rows)

    def _plain_columns(self) -> dict[str, Levels | Cells]:
        return {
            v.name: Levels(c, v.states, True) if isinstance(v, Discrete) else Cells(c, is_own=True)  # type: ignore[arg-type]
            for v, c in zip(self.variables, self.columns, strict=True)
        }

    def __repr__(self) -> str:
        rows, variables = counted(self.num_rows, "row"), counted(len(self.variables), "variable")
        weight = "" if self.weights is None else f" of weight {self.total_weight:,.6g}"
        return f"Dataset({rows}{weight}, {variables}{_short_names(self.variables)})"

    def _shown(self) -> Shown:
        """The first rows and columns."""
        head = self.variables.names
        cells = [list(row.values()) for row in self.head(SHOWN_ROWS).rows()]
        rows = [[MISSING_CELL if cell is None else str(cell) for cell in row] for row in cells]
        cut = f"first {SHOWN_ROWS} of {self.num_rows:,} rows" if head and self.num_rows > SHOWN_ROWS else ""
        missing = f"{MISSING_CELL} is missing" if any(cell is None for row in cells for cell in row) else ""
        notes = "\n".join(filter(None, ("; ".join(filter(None, (cut, missing))), *self.notes)))
        return Shown(head, rows if head else (), repr(self), notes, words=len(head))


def side_by_side(columns: Sequence[AnyInts | Floats], num_rows: int, dtype: DTypeLike) -> AnyArray:
    """Columns as a matrix with one row per case.

    >>> side_by_side([np.array([1, 2]), np.array([3, 4])], 2, np.int8).tolist()
    [[1, 3], [2, 4]]
    """
    out = np.empty((num_rows, len(columns)), dtype)
    block = 4096  # rows that stay in cache while their columns are laid side by side
    for start in range(0, num_rows, block):
        for place, column in enumerate(columns):
            out[start : start + block, place] = column[start : start + block]
    return out


def _short_names(variables: Universe, limit: int = 6) -> str:
    shown = [repr(v.name) for v in variables[:limit]]
    return f": {', '.join(shown)}{', ...' if len(variables) > limit else ''}" if shown else ""


def _rebuild(
    parts: tuple[Any, ...],
    columns: tuple[Any, ...],
    num_rows: int,
    weights: Floats | None = None,
    notes: tuple[str, ...] = (),
) -> Dataset:
    return Dataset._make(Universe(parts), columns, num_rows, weights, notes)


def _scope(variables: Iterable[Discrete | Vector | VariableArray]) -> Universe:
    return variables if isinstance(variables, Universe) else Universe(variables)


def _with_weights(scope: Universe | None, weights: object) -> Universe | None:
    """The variables to read from a file, with the column that holds weights."""
    if scope is None or not isinstance(weights, str) or weights in scope.names:
        return scope
    return Universe([*scope.parts, Real(weights)])


def _differs(variable: Discrete | Vector, *datasets: Dataset) -> bool:
    return not all(variable in set(d.variables) for d in datasets)
