"""Codes and row numbers as users give them, checked once; columns that are filled by portions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyArray, AnyInts, Floats, Ints
from sepset.base.memory import check_rows_fit
from sepset.base.text import brief, listing
from sepset.data.binding import refuse_vector
from sepset.data.columns import MISSING, code_dtype
from sepset.errors import DataError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Vector


def positions(chosen: AnyArray, num_rows: int) -> Ints:
    """Row numbers, checked; negative ones count from the end."""
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise DataError(f"Rows are chosen by a list of whole numbers or a mask; found {chosen!r}.")
    places = chosen.astype(np.int64)
    outside = (places < -num_rows) | (places >= num_rows)
    if outside.any():
        raise DataError(f"There are {num_rows} rows, counted from 0; no row {int(places[outside][0])}.")
    return places


def named_columns(scope: Universe, codes: Mapping[str, ArrayLike]) -> list[AnyArray]:
    """One array per variable, by name; names and variables must match."""
    by_name = {key if isinstance(key, str) else getattr(key, "name", key): cells for key, cells in codes.items()}
    absent = [v.name for v in scope if v.name not in by_name]
    known = set(scope.names)
    extra = [name for name in by_name if name not in known]
    if absent or extra:
        raise DataError(f"Codes and variables must match; without codes: {listing(absent)}; unknown: {listing(extra)}.")
    columns = [np.asarray(by_name[v.name]) for v in scope]
    for variable, column in zip(scope, columns, strict=True):
        if not column.ndim:
            raise DataError(f"{variable.name} takes one column of cells; found {brief(by_name[variable.name])}.")
    return columns


def matrix_columns(scope: Universe, codes: AnyArray) -> list[AnyArray]:
    """One array per variable, from a matrix with one row per case."""
    if codes.ndim != 2 or codes.shape[1] != len(scope):
        raise DataError(f"A matrix of codes has {len(scope)} columns, one per variable; found shape {codes.shape}.")
    return list(codes.T)


def checked_cells(variable: Discrete | Vector, cells: AnyArray) -> AnyInts | Floats:
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


@dataclass(frozen=True, slots=True, eq=False)
class DrawnColumns:
    """Columns of codes in their smallest type, of numbers, and of vectors, that are filled some rows at a time.

    >>> columns = DrawnColumns.of([Discrete("coin", 2)], 3)
    >>> columns.fill(slice(0, 2), {0: [0, 1]})
    >>> columns.fill(slice(2, 3), {0: 1})
    >>> columns.by_name["coin"].tolist()
    [0, 1, 1]
    """

    by_name: dict[str, AnyArray]

    @classmethod
    def of(cls, variables: Iterable[Discrete | Vector], num_rows: int) -> DrawnColumns:
        """Columns to be filled; raises before anything is allocated if they are more than the machine's memory."""
        shapes = [(v.name, cell_type(v), (v.size,) if isinstance(v, Vector) and v.size > 1 else ()) for v in variables]
        check_rows_fit(num_rows, sum(kind.itemsize * (shape or (1,))[0] for _, kind, shape in shapes))
        return cls({name: np.empty((num_rows, *shape), kind) for name, kind, shape in shapes})

    def __len__(self) -> int:
        return len(self.by_name)

    def fill(self, rows: slice, values: Mapping[int, Any]) -> None:
        """Write some rows: a column, or a value for all of them, by position."""
        for position, column in enumerate(self.by_name.values()):
            column[rows] = values[position]


def cell_type(variable: Discrete | Vector) -> np.dtype[Any]:
    """The type of the cells of a variable's column.

    >>> cell_type(Discrete("coin", 2))
    dtype('int8')
    """
    return code_dtype(variable.num_states) if isinstance(variable, Discrete) else np.dtype(np.float64)
