"""Datasets: immutable rows over variables, coded once."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepset.arrays import VariableArray
from sepset.data.binding import bind_frame, refuse_vector
from sepset.data.columns import MISSING, Cells, Codes, Levels, Values, code_dtype
from sepset.data.frames import open_frame
from sepset.errors import DataError, ScopeError, listing
from sepset.universe import Variables
from sepset.variables import Discrete, State, VariableLike, Vector

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from rich.console import Group

FrameKind = Literal["pandas", "polars", "pyarrow"]
"""The libraries a dataset can be handed to."""


class Dataset:
    """Rows $\\mathcal D = \\{\\xi[1], \\dots, \\xi[M]\\}$ over variables, coded once and never changed.

    Discrete columns are codes in the smallest signed integer type, -1 where missing; real columns are float64, NaN
    where missing. None, NaN, NaT and nulls are missing. A cell must be a state in value and type: True is not 1, "1" is
    not 1, and 1.0 is 1. Rows count from 0. The data is copied: later changes to the frame do not reach the dataset.

    Args:
        frame: a pandas, polars, Arrow or DuckDB frame, eager or lazy, a mapping from names to columns, or a dataset.
        variables: what the columns mean, bound by name; other columns are ignored. Without them, boolean,
            integer, text and categorical columns become `Discrete` and float columns `Real`.
        missing_columns: "allow" leaves variables without a column wholly missing.

    Reference: Koller & Friedman, section 17.1 (complete data) and 19.1 (missing data).

    >>> rows = Dataset({"grade": ["B", "A", None], "score": [1.5, 2.0, 3.0]})
    >>> rows, rows.codes("grade").tolist(), rows.row(2)
    (Dataset(3 rows, 2 variables: 'grade', 'score'), [1, 0, -1], {'grade': None, 'score': 3.0})
    """

    __slots__ = ("_columns", "num_rows", "variables")
    variables: Variables
    num_rows: int
    _columns: tuple[Codes | Values, ...]

    def __init__(
        self,
        frame: object,
        variables: Iterable[Discrete | Vector | VariableArray] | None = None,
        *,
        missing_columns: Literal["refuse", "allow"] = "refuse",
    ) -> None:
        scope = None if variables is None else _scope(variables)
        source = frame._plain_columns() if isinstance(frame, Dataset) else frame
        opened = open_frame(source, None if scope is None else scope.names)
        num_rows = frame.num_rows if isinstance(frame, Dataset) else opened.num_rows
        bound, columns = bind_frame(opened, scope, missing_columns)
        self._fill(bound, columns, num_rows)

    def _fill(self, variables: Variables, columns: Iterable[Codes | Values], num_rows: int) -> None:
        kept = tuple(columns)
        for column in kept:
            column.setflags(write=False)
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "num_rows", num_rows)
        object.__setattr__(self, "_columns", kept)

    @classmethod
    def _make(cls, variables: Variables, columns: Iterable[Codes | Values], num_rows: int) -> Dataset:
        made = object.__new__(cls)
        made._fill(variables, columns, num_rows)
        return made

    @classmethod
    def from_codes(
        cls,
        variables: Iterable[Discrete | Vector | VariableArray],
        codes: Mapping[str, ArrayLike] | NDArray[Any],
    ) -> Dataset:
        """The dataset with these codes, as a matrix with one row a case or as one array a name; -1 is missing.

        Real variables take numbers in place of codes. Codes are copied, and checked against each domain.

        >>> Dataset.from_codes([Discrete("coin", ("head", "tail"))], {"coin": [0, 1, -1]}).states("coin").tolist()
        ['head', 'tail', None]
        """
        scope = _scope(variables)
        if isinstance(codes, Mapping):
            given = _named_columns(scope, codes)
        else:
            given = _matrix_columns(scope, np.asarray(codes))
        sizes = {len(column) for column in given}
        if len(sizes) > 1:
            raise DataError(f"Columns must have one length; found lengths {listing(sorted(sizes))}.")
        num_rows = sizes.pop() if sizes else (0 if isinstance(codes, Mapping) else len(codes))
        return cls._make(scope, (_checked(v, c) for v, c in zip(scope, given, strict=True)), num_rows)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Datasets are immutable; cannot set {name!r}.")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.variables.parts, self._columns, self.num_rows)

    def __len__(self) -> int:
        return self.num_rows

    def column(self, variable: VariableLike) -> Codes | Values:
        """The stored column, read-only: codes of a discrete variable, numbers of a real one."""
        return self._columns[self.variables.id(variable)]

    def codes(self, variable: VariableLike) -> Codes:
        """The codes of a discrete variable, read-only; -1 where missing."""
        found = self.variables[variable]
        if not isinstance(found, Discrete):
            raise ScopeError(f"{found!r} has no codes. Use values({found.name!r}).")
        return self.column(variable)  # type: ignore[return-value]  # discrete columns hold codes

    def values(self, variable: VariableLike) -> Values:
        """The numbers of a real variable, read-only; NaN where missing."""
        found = self.variables[variable]
        if isinstance(found, Discrete):
            raise ScopeError(f"{found!r} has states, not numbers. Use states({found.name!r}) or codes({found.name!r}).")
        return self.column(variable)  # type: ignore[return-value]  # real columns hold float64

    def states(self, variable: VariableLike) -> NDArray[np.object_]:
        """The states of a discrete variable, row by row, as Python objects; None where missing."""
        codes = self.codes(variable)
        found = self.variables[variable]
        assert isinstance(found, Discrete)
        return _object_array([*found.states, None])[codes]

    @overload
    def __getitem__(self, key: slice) -> Dataset: ...
    @overload
    def __getitem__(self, key: VariableLike) -> NDArray[Any]: ...
    def __getitem__(self, key: slice | VariableLike) -> Dataset | NDArray[Any]:
        """A range of rows, or one column as a user reads it: states, or the numbers of a real variable."""
        if isinstance(key, slice):
            return self._make(self.variables, (c[key].copy() for c in self._columns), len(range(self.num_rows)[key]))
        return self.states(key) if self.variables[key].is_discrete else self.values(key)

    def matrix(self, variables: Iterable[VariableLike] | None = None) -> Codes:
        """The codes of discrete variables, one row a case, in the smallest integer type that holds them all.

        >>> Dataset({"a": [True, False], "b": ["x", None]}).matrix()
        array([[ 1,  0],
               [ 0, -1]], dtype=int8)
        """
        columns = [self.codes(v) for v in (self.variables if variables is None else variables)]
        dtype = np.result_type(np.int8, *(c.dtype for c in columns))
        out = np.empty((self.num_rows, len(columns)), dtype)
        block = 4096  # rows that stay in cache while their columns are laid side by side
        for start in range(0, self.num_rows, block):
            for place, column in enumerate(columns):
                out[start : start + block, place] = column[start : start + block]
        return out

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

    def take(self, rows: Sequence[int] | NDArray[Any]) -> Dataset:
        """The rows at these positions, in this order, or where a mask is true."""
        chosen = np.asarray(rows)
        if chosen.dtype.kind == "b" and chosen.shape != (self.num_rows,):
            raise DataError(f"A mask has one entry a row; found {chosen.shape} for {self.num_rows} rows.")
        places = np.flatnonzero(chosen) if chosen.dtype.kind == "b" else _positions(chosen, self.num_rows)
        return self._make(self.variables, (c[places] for c in self._columns), len(places))

    def select(self, variables: Iterable[VariableLike]) -> Dataset:
        """The same rows over these variables, in this order."""
        if isinstance(variables, str):
            raise ScopeError(f"Several variables were expected; found {variables!r}. Use select([{variables!r}]).")
        chosen = Variables(self.variables[v] for v in variables)
        return self._make(chosen, (self.column(v) for v in chosen), self.num_rows)

    def head(self, count: int = 5) -> Dataset:
        """The first rows."""
        return self[: max(count, 0)]

    def concat(self, *others: Dataset) -> Dataset:
        """The rows of this dataset followed by those of others over the same variables, in any order."""
        for other in others:
            if set(self.variables) != set(other.variables):
                differing = [v for v in (*self.variables, *other.variables) if _differs(v, self, other)]
                raise DataError(f"Only rows over the same variables join; these differ: {listing(differing)}.")
        everyone = (self, *others)
        columns = (np.concatenate([d.column(v) for d in everyone]) for v in self.variables)
        return self._make(self.variables, columns, sum(d.num_rows for d in everyone))

    @property
    def num_missing(self) -> dict[str, int]:
        """The number of missing cells of each variable."""
        return {v.name: int(np.count_nonzero(_absent(c))) for v, c in zip(self.variables, self._columns, strict=True)}

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        return not any(_absent(column).any() for column in self._columns)

    def equals(self, other: Dataset) -> bool:
        """Whether the other has the same variables in the same order and the same rows."""
        if tuple(self.variables) != tuple(other.variables) or self.num_rows != other.num_rows:
            return False
        pairs = zip(self._columns, other._columns, strict=True)
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
        of several types become objects in pandas and are refused by polars and Arrow.

        >>> Dataset({"coin": ["head", "tail", None]}).to_frame("pandas")["coin"].tolist()
        ['head', 'tail', nan]
        """
        from sepset.data.export import EXPORTS

        if kind not in EXPORTS:
            raise DataError(f"Frames are {listing(EXPORTS)}; found {kind!r}.")
        return EXPORTS[kind](self)

    def _plain_columns(self) -> dict[str, Levels | Cells]:
        pairs = zip(self.variables, self._columns, strict=True)
        return {v.name: Levels(c, v.states, True) if isinstance(v, Discrete) else Cells(c) for v, c in pairs}  # type: ignore[arg-type]

    def __repr__(self) -> str:
        rows, variables = _count(self.num_rows, "row"), _count(len(self.variables), "variable")
        return f"Dataset({rows}, {variables}{_short_names(self.variables)})"

    def __rich__(self) -> Group:
        from sepset.data.show import rich_table

        return rich_table(self)

    def _repr_html_(self) -> str:
        from sepset.data.show import html_table

        return html_table(self)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _short_names(variables: Variables, limit: int = 6) -> str:
    shown = [repr(v.name) for v in variables[:limit]]
    return f": {', '.join(shown)}{', ...' if len(variables) > limit else ''}" if shown else ""


def _rebuild(parts: tuple[Any, ...], columns: tuple[Any, ...], num_rows: int) -> Dataset:
    return Dataset._make(Variables(parts), columns, num_rows)


def _scope(variables: Iterable[Discrete | Vector | VariableArray]) -> Variables:
    return variables if isinstance(variables, Variables) else Variables(variables)


def _object_array(items: Sequence[object]) -> NDArray[np.object_]:
    out = np.empty(len(items), object)
    out[:] = items
    return out


def _absent(column: Codes | Values) -> NDArray[np.bool_]:
    return np.isnan(column) if column.dtype.kind == "f" else column < 0


def _differs(variable: Discrete | Vector, *datasets: Dataset) -> bool:
    return not all(variable in set(d.variables) for d in datasets)


def _positions(chosen: NDArray[Any], num_rows: int) -> NDArray[np.int64]:
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise DataError(f"Rows are chosen by a list of whole numbers or a mask; found {chosen!r}.")
    places = chosen.astype(np.int64)
    outside = (places < -num_rows) | (places >= num_rows)
    if outside.any():
        raise DataError(f"There are {num_rows} rows, counted from 0; no row {int(places[outside][0])}.")
    return places


def _named_columns(scope: Variables, codes: Mapping[str, ArrayLike]) -> list[NDArray[Any]]:
    by_name = {key if isinstance(key, str) else getattr(key, "name", key): cells for key, cells in codes.items()}
    absent = [v.name for v in scope if v.name not in by_name]
    extra = [name for name in by_name if name not in set(scope.names)]
    if absent or extra:
        raise DataError(f"Codes and variables must match; without codes: {listing(absent)}; unknown: {listing(extra)}.")
    return [np.asarray(by_name[v.name]) for v in scope]


def _matrix_columns(scope: Variables, codes: NDArray[Any]) -> list[NDArray[Any]]:
    if codes.ndim != 2 or codes.shape[1] != len(scope):
        raise DataError(f"A matrix of codes has {len(scope)} columns, one a variable; found shape {codes.shape}.")
    return list(codes.T)


def _checked(variable: Discrete | Vector, cells: NDArray[Any]) -> Codes | Values:
    """A contiguous copy of given codes or numbers, after their range was checked."""
    if cells.ndim != 1 or (cells.size and cells.dtype.kind not in ("iu" if variable.is_discrete else "iuf")):
        wanted = "integer codes" if variable.is_discrete else "numbers"
        raise DataError(f"{variable.name} takes one column of {wanted}; found shape {cells.shape}, type {cells.dtype}.")
    if not isinstance(variable, Discrete):
        refuse_vector(variable)
        return cells.astype(np.float64)
    outside = (cells < MISSING) | (cells >= variable.num_states)
    if outside.any():
        row = int(np.argmax(outside))
        raise DataError(
            f"{variable.name} has codes 0 to {variable.num_states - 1}, and -1 for missing; "
            f"found {cells[row]} in row {row}."
        )
    return cells.astype(code_dtype(variable.num_states))
