"""Columns of cells as arrays: codes into distinct values, or numbers with a mask.

Every backend's column is first brought to one of two plain forms, `Levels` or `Cells`; all that follows is NumPy. Work
in Python is done once for each distinct value, never once for each cell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import AnyArray, AnyInts, Bools, Floats, Ints, Objects
from sepset.data.duplicates import ROWS_TO_COMPILE, group_words
from sepset.errors import DataError
from sepset.variables.variable import plain

MISSING = -1
"""The code of a missing cell."""

TEXT = frozenset((str,))
_BLOCK = 1 << 12  # floats that are looked at together: most columns of them are seen not to be whole at once
PRESENT = frozenset((str, int, bool))
"""The types whose values are never missing."""

SMALLEST, LARGEST = 1e-140, 1e140
"""Between these, sums of squares over any number of rows are floats with all their digits."""


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """A column as codes into its distinct values; -1 is missing.

    `fixed` says that the column's type declares the values and their order: categorical, enum or boolean columns.

    >>> from_objects(["b", None, "a", "b"])
    Levels(codes=array([ 0, -1,  1,  0], dtype=int32), values=('b', 'a'), fixed=False)
    """

    codes: AnyInts
    values: tuple[object, ...]
    fixed: bool = False

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A column of booleans, integers or floats, with an optional mask of missing cells.

    `is_own` says that the array is never changed, so that a dataset may keep it without a copy.

    >>> import numpy as np
    >>> len(Cells(np.array([1, 2, 3])))
    3
    """

    values: AnyArray
    missing: Bools | None = None
    is_own: bool = False

    def __len__(self) -> int:
        return len(self.values)


Column: TypeAlias = Levels | Cells
"""The two plain forms of a column."""


def code_dtype(num_states: int) -> np.dtype[Any]:
    """The smallest signed integer type whose codes reach `num_states - 1`.

    >>> code_dtype(128), code_dtype(129)
    (dtype('int8'), dtype('int16'))
    """
    for kind in (np.int8, np.int16):
        if num_states - 1 <= np.iinfo(kind).max:
            return np.dtype(kind)
    return np.dtype(np.int32)


def is_missing(value: object) -> bool:
    """Whether a cell is None, NaN, NaT or pandas' NA.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and math.isnan(value)


def as_state(value: object) -> object:
    """A Python scalar for a NumPy scalar, a float for a decimal, and its text for an interval of `pandas.cut`.

    >>> import pandas as pd
    >>> from decimal import Decimal
    >>> as_state(pd.Interval(0, 1)), as_state(np.int64(3)), as_state(Decimal("1.5"))
    ('(0, 1]', 3, 1.5)
    """
    if type(value).__name__ == "Decimal":
        return float(value)  # type: ignore[arg-type]  # a decimal is a number
    return str(value) if type(value).__name__ == "Interval" else plain(value)


def as_categories(values: Iterable[object]) -> tuple[object, ...]:
    """The states of a categorical column; whole numbers that are floats, as missing cells make them, are integers.

    >>> as_categories([0.0, 1.0]), as_categories([0.5, 1.0])
    ((0, 1), (0.5, 1.0))
    """
    states = tuple(map(as_state, values))
    are_whole = all(state is None or (isinstance(state, float) and state.is_integer()) for state in states)
    return tuple(None if state is None else int(state) for state in states) if are_whole else states  # type: ignore[call-overload]


def from_array(values: AnyArray) -> Column:
    """The plain form of a one-dimensional NumPy array; a masked array's mask means missing."""
    if values.ndim != 1:
        raise DataError(f"A column has one dimension; found an array of shape {values.shape}.")
    missing = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    if values.dtype.kind in "biuf":
        return Cells(np.asarray(values), missing)
    if values.dtype.kind in "mM":  # nanoseconds would come as integers
        values = values.astype(f"{values.dtype.kind}8[us]")
    if values.dtype.kind in "US" and values.dtype.itemsize and len(values) >= ROWS_TO_COMPILE:
        levels = _from_text(np.ascontiguousarray(values))
    else:
        levels = from_objects(np.asarray(values) if values.dtype == object else values.tolist())
    return levels if missing is None else _masked(levels, missing, prune=True)


def from_objects(cells: Sequence[object] | Objects) -> Levels:
    """The distinct values of a sequence of Python objects, in order of first appearance.

    Where there are many, cells that are one and the same object are found first, by their addresses alone: libraries
    that read files make each distinct text once.
    """
    if len(cells) < ROWS_TO_COMPILE:
        return _from_few(cells.tolist() if isinstance(cells, np.ndarray) else cells)
    array = cells if isinstance(cells, np.ndarray) else _object_array(cells)
    addresses = _addresses(array)
    if 2 * len(np.unique(addresses[:ROWS_TO_COMPILE])) > ROWS_TO_COMPILE:
        return _from_few(cells.tolist() if isinstance(cells, np.ndarray) else cells)
    firsts, groups = group_words(addresses.reshape(-1, 1))
    few = _from_few(array[firsts].tolist(), firsts)
    return Levels(few.codes[groups], few.values)


def _object_array(cells: Sequence[object]) -> Objects:
    array = np.empty(len(cells), object)
    array[:] = cells
    return array


def _addresses(array: Objects) -> Ints:
    """Where each object lies: equal addresses are one object. They are compared, never followed."""
    import ctypes

    kept = np.ascontiguousarray(array)
    return np.array((ctypes.c_int64 * len(kept)).from_address(kept.ctypes.data), np.int64)


def _from_text(values: AnyArray) -> Levels:
    """Text of one width, grouped as words."""
    padded = -(-values.dtype.itemsize // 8) * 8
    words = values.astype(f"{values.dtype.kind}{padded // (4 if values.dtype.kind == 'U' else 1)}")
    firsts, groups = group_words(words.view(np.int64).reshape(len(values), -1))
    return Levels(groups, tuple(values[firsts].tolist()))


def _from_few(cells: Sequence[object], rows: Ints | None = None) -> Levels:
    """One look at each cell; `rows` says where they stood, for errors."""
    keys: Sequence[object] = cells
    if not {bool, np.bool_}.isdisjoint(map(type, cells)):
        keys = [(isinstance(cell, bool | np.bool_), cell) for cell in cells]  # True == 1 in Python; states differ
    try:
        distinct = list(dict.fromkeys(keys))
    except TypeError:
        raise DataError(_unhashable(cells, rows)) from None
    index = {key: code for code, key in enumerate(distinct)}
    codes = np.fromiter(map(index.__getitem__, keys), np.int32, len(cells))
    values = distinct if keys is cells else [key[1] for key in distinct]  # type: ignore[index]  # pairs, as made above
    return drop_missing(codes, values if TEXT.issuperset(map(type, values)) else list(map(as_state, values)))


def _unhashable(cells: Sequence[object], rows: Ints | None) -> str:
    for place, cell in enumerate(cells):
        try:
            hash(cell)
        except TypeError:
            row = place if rows is None else int(rows[place])
            return f"Row {row} holds {cell!r} ({type(cell).__name__}). A cell is a string, an int, a bool or a float."
    return "A cell is a string, an int, a bool or a float."


def drop_missing(codes: AnyInts, values: Sequence[object], fixed: bool = False) -> Levels:
    """The same column with missing values among `values` turned into the code -1."""
    if PRESENT.issuperset(map(type, values)):
        return Levels(codes, tuple(values), fixed)
    gone = np.fromiter(map(is_missing, values), np.bool_, len(values))
    if not gone.any():
        return Levels(codes, tuple(values), fixed)
    table = np.full(len(values) + 1, MISSING, np.int32)
    table[:-1][~gone] = np.arange(np.count_nonzero(~gone), dtype=np.int32)
    return Levels(table[codes], tuple(itertools.compress(values, ~gone)), fixed)


def levels_of(column: Column) -> Levels:
    """The column as codes into its distinct values, sorted where it held numbers.

    >>> import numpy as np
    >>> levels_of(Cells(np.array([3.0, np.nan, 1.0]))).values
    (1, 3)
    """
    if isinstance(column, Levels):
        return column
    values, missing = column.values, column.missing
    if values.dtype.kind == "b":
        return _masked(Levels(values.astype(np.int8), (False, True), fixed=True), missing)
    if values.dtype.kind == "f":
        return _float_levels(values, missing)
    return _masked(_integer_levels(values), missing, prune=True)


def _masked(levels: Levels, missing: Bools | None, prune: bool = False) -> Levels:
    if missing is None or not missing.any():
        return levels
    codes = np.where(missing, MISSING, levels.codes)
    masked = Levels(codes, levels.values, levels.fixed)
    return occurring(masked) if prune else masked


def occurring(levels: Levels) -> Levels:
    """The column without the values that no cell holds.

    >>> occurring(Levels(np.array([1, -1]), (False, True))).values
    (True,)
    """
    present = np.zeros(len(levels.values) + 1, np.bool_)
    present[levels.codes] = True
    held = [value if here else None for value, here in zip(levels.values, present.tolist(), strict=False)]
    return drop_missing(levels.codes, held, levels.fixed)


def _float_levels(values: AnyArray, missing: Bools | None) -> Levels:
    absent = np.isnan(values) if missing is None else np.isnan(values) | missing
    known = values[~absent]
    whole = bool(np.all(np.abs(known) < 2**53)) and bool(np.all(known == np.trunc(known)))
    levels = _integer_levels(known.astype(np.int64)) if whole else _sorted_levels(known)
    codes = np.full(len(values), MISSING, np.int32)
    codes[~absent] = levels.codes
    return Levels(codes, levels.values)


def _integer_levels(values: AnyArray) -> Levels:
    """Distinct integers by counting where their range is small, else by sorting."""
    if not len(values):
        return Levels(np.zeros(0, np.int32), ())
    low, high = int(values.min()), int(values.max())
    if high - low > max(2 * len(values), 1 << 16) or high > np.iinfo(np.int64).max:
        return _sorted_levels(values)
    offsets = values.astype(np.int64) - low
    present = np.zeros(high - low + 1, np.bool_)
    present[offsets] = True
    distinct = np.flatnonzero(present)
    codes = offsets if len(distinct) == len(present) else (np.cumsum(present, dtype=np.int32) - 1)[offsets]
    return Levels(codes, tuple((distinct + low).tolist()))


def _sorted_levels(values: AnyArray) -> Levels:
    distinct, codes = np.unique(values, return_inverse=True)
    return Levels(codes.reshape(-1), tuple(distinct.tolist()))


def numbers_of(column: Column) -> Floats:
    """The column as float64 with NaN for missing; text and booleans are refused with their row.

    >>> numbers_of(from_objects([1, None, 2.5])).tolist()
    [1.0, nan, 2.5]
    """
    if isinstance(column, Levels):
        return _level_numbers(column)
    if column.values.dtype.kind == "b":
        return _level_numbers(levels_of(column))
    if column.is_own and column.missing is None and column.values.dtype == np.float64:
        return column.values
    values = np.array(column.values, np.float64)
    if column.missing is not None:
        values[column.missing] = np.nan
    return values


def _level_numbers(levels: Levels) -> Floats:
    numeric = [is_number(value) for value in levels.values]
    table = [float(v) if n else math.nan for v, n in zip(levels.values, numeric, strict=True)]  # type: ignore[arg-type]  # numbers
    if not all(numeric):
        row = first_row(levels, [code for code, ok in enumerate(numeric) if not ok])
        if row is not None:
            value = levels.values[int(levels.codes[row])]
            raise DataError(f"row {row} holds {value!r} ({type(value).__name__}), which is not a number.")
    return np.array([*table, math.nan])[levels.codes]


def is_number(value: object) -> bool:
    """Whether a value is an int, a float or another real number, and not a bool."""
    if isinstance(value, bool | str):
        return False
    return hasattr(value, "__float__")


def whole_numbers(column: Column) -> list[int] | None:
    """The distinct numbers of a column of floats, sorted, where all of them are whole; else None.

    >>> whole_numbers(Cells(np.array([2.0, np.nan, 1.0]))), whole_numbers(Cells(np.array([0.5, 1.0])))
    ([1, 2], None)
    """
    if isinstance(column, Cells) and column.values.dtype.kind == "f":
        known = column.values if column.missing is None else column.values[~column.missing]
        if not all(_are_whole(known[at : at + _BLOCK]) for at in range(0, len(known), _BLOCK)):
            return None
        distinct = _integer_levels(known[~np.isnan(known)].astype(np.int64)).values
        return [int(value) for value in distinct]  # type: ignore[call-overload]  # numbers
    values = levels_of(column).values
    numbers = [float(value) if is_number(value) else math.nan for value in values]  # type: ignore[arg-type]  # numbers
    if not all(abs(number) < 2**53 and number.is_integer() for number in numbers):
        return None
    return sorted({int(value) for value in values})  # type: ignore[call-overload]  # numbers


def _are_whole(numbers: Floats) -> bool:
    """Whether floats are whole, and small enough for all digits of it to be kept; NaN does not count."""
    known = numbers[~np.isnan(numbers)].astype(np.float64)
    return bool((np.abs(known) < 2**53).all()) and bool((known == np.trunc(known)).all())


def first_row(levels: Levels, codes: Sequence[int]) -> int | None:
    """The first row whose code is among `codes`, or None."""
    wanted = np.zeros(len(levels.values) + 1, np.bool_)
    wanted[list(codes)] = True
    hits = wanted[levels.codes]
    return int(np.argmax(hits)) if hits.any() else None


def absent(column: AnyInts | Floats) -> Bools:
    """Which cells of a stored column are missing: codes below zero, numbers that are NaN.

    >>> absent(np.array([0, -1])).tolist(), absent(np.array([np.nan, 1.0])).tolist()
    ([False, True], [True, False])
    """
    return np.isnan(column) if column.dtype.kind == "f" else column < 0


def has_absent(column: AnyInts | Floats) -> bool:
    """Whether some cell of a stored column is missing: one pass, nothing stored."""
    lowest = column.min(initial=0)
    return bool(lowest != lowest if column.dtype.kind == "f" else lowest < 0)


WIDE_ROWS = 1024
"""The number of rows up to which the columns of one type are looked at together: a table may have very many of them."""


def absent_cells(columns: Sequence[AnyInts | Floats], num_rows: int) -> Bools:
    """Which cells are missing, one row for each stored column.

    >>> absent_cells([np.array([0, -1]), np.array([np.nan, 2.0])], 2).tolist()
    [[False, True], [True, False]]
    """
    found = np.empty((len(columns), num_rows), np.bool_)
    if num_rows > WIDE_ROWS:
        for own, column in zip(found, columns, strict=True):
            own[:] = absent(column)
        return found
    kinds: dict[np.dtype[Any], list[int]] = {}
    for place, column in enumerate(columns):
        kinds.setdefault(column.dtype, []).append(place)
    for places in kinds.values():
        together = np.concatenate([columns[place] for place in places])
        found[places] = absent(together).reshape(len(places), num_rows)
    return found


def counts_absent(columns: Sequence[AnyInts | Floats], num_rows: int) -> Ints:
    """The number of missing cells of each stored column.

    >>> counts_absent([np.array([0, -1, -1]), np.array([1.0, np.nan, 2.0])], 3).tolist()
    [2, 1]
    """
    if num_rows > WIDE_ROWS:
        return np.array([np.count_nonzero(absent(column)) for column in columns], np.int64)
    return np.asarray(absent_cells(columns, num_rows).sum(axis=1), np.int64)


def check_range(columns: Sequence[Floats] | Floats, names: Sequence[str], need: str, start: int | None = None) -> None:
    """Raise for numbers that are not finite, and for columns whose squares are too large or too small to be floats.

    Args:
        columns: one after the other, or the rows of a matrix.
        names: of the columns.
        need: what an error begins with.
        start: the number of the first row, where these are some of the rows; small numbers are then let pass.

    >>> check_range([np.array([1.0, -1e200])], ["x"], "This needs finite rows")
    Traceback (most recent call last):
    sepset.errors.DataError: Column 'x' holds numbers up to 1e+200, whose squares are not floats. Rescale it so that ...
    """
    top = _largest(columns)
    bad = ~((top < LARGEST) & ((top > SMALLEST) | (top == 0.0) | (start is not None)))
    if not bad.any():
        return
    place = int(bad.argmax())
    if np.isfinite(top[place]):
        raise DataError(
            f"Column {names[place]!r} holds numbers up to {top[place]:.3g}, whose squares are not floats. Rescale it "
            f"so that its largest number lies between {SMALLEST:g} and {LARGEST:g}."
        )
    row = int((~np.isfinite(columns[place])).argmax())
    raise DataError(f"{need}. Column {names[place]!r}, row {(start or 0) + row}: {columns[place][row]}.")


def _largest(columns: Sequence[Floats] | Floats) -> Floats:
    """The largest size of a number in each column; NaN where one is NaN. Long columns are looked at one by one."""
    if isinstance(columns, np.ndarray) and columns.shape[1] < 64 * len(columns):
        return np.asarray(np.abs(columns).max(axis=1, initial=0.0))
    return np.array([np.maximum(column.max(initial=0.0), -column.min(initial=0.0)) for column in columns])
