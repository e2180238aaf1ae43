"""Datasets as frames of pandas, polars or Arrow, without writing out a state twice; and cells put back into frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import AnyArray, AnyInts, Floats, Ints, Objects
from sepset.base.extras import require
from sepset.base.frames import library_name
from sepset.base.membership import without
from sepset.base.text import listing
from sepset.errors import DataError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, State

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


Columns: TypeAlias = Sequence[AnyInts | Floats]
"""Stored columns: codes of discrete variables, -1 where missing; numbers of real ones, NaN where missing."""


def state_objects(variable: Discrete) -> Objects:
    """The states as Python objects, and None last, where the code of a missing cell finds it.

    >>> state_objects(Discrete("coin", ("head", "tail")))[np.array([1, -1])].tolist()
    ['tail', None]
    """
    found = np.empty(variable.num_states + 1, object)
    found[:-1] = variable.states
    return found


def state_array(states: tuple[State, ...]) -> AnyArray | None:
    """States of one numeric type as an array of that type, or None for text, mixed types and giant integers.

    >>> state_array((1, 2, 5)), state_array(("a", "b"))
    (array([1, 2, 5]), None)
    """
    kinds = {type(state) for state in states}
    if kinds == {bool}:
        return np.array(states, np.bool_)
    if kinds == {int} and all(-(2**63) <= state < 2**63 for state in states):  # type: ignore[operator]  # ints
        return np.array(states, np.int64)
    if float in kinds and kinds <= {int, float}:
        return np.array(states, np.float64)
    return None


def is_text(states: tuple[State, ...]) -> bool:
    """Whether every state is a string."""
    return all(isinstance(state, str) for state in states)


def to_pandas(variables: Universe, columns: Columns, num_rows: int) -> pd.DataFrame:
    """The dataset as a pandas frame: categorical text, nullable integers and booleans where cells are missing."""
    pd = require("pandas", "pandas", "to_frame('pandas')")
    cells = {v.name: _pandas_cells(pd, v, column) for v, column in zip(variables, columns, strict=True)}
    return pd.DataFrame(cells, index=pd.RangeIndex(num_rows), copy=False)  # type: ignore[no-any-return]


def _pandas_cells(pd: Any, variable: Any, column: Any) -> Any:
    if not isinstance(variable, Discrete):
        return column.copy()
    if is_text(variable.states):
        return pd.Categorical.from_codes(column.copy(), dtype=pd.CategoricalDtype(list(variable.states)))
    table = state_array(variable.states)
    if table is None:
        return pd.Series(state_objects(variable)[column], dtype=object)
    cells, missing = table[column], column < 0
    if not missing.any():
        return cells
    if table.dtype.kind == "f":
        return np.where(missing, np.nan, cells)
    nullable = pd.arrays.BooleanArray if table.dtype.kind == "b" else pd.arrays.IntegerArray
    return nullable(cells, missing)


def to_polars(variables: Universe, columns: Columns, num_rows: int) -> pl.DataFrame:
    """The dataset as a polars frame: enum text, nulls where cells are missing."""
    pl = require("polars", "polars", "to_frame('polars')")
    return pl.DataFrame([_polars_cells(pl, v, column) for v, column in zip(variables, columns, strict=True)])  # type: ignore[no-any-return]


def _polars_cells(pl: Any, variable: Any, column: Any) -> Any:
    if not isinstance(variable, Discrete):
        return pl.Series(variable.name, column, nan_to_null=True)
    if is_text(variable.states):
        table = pl.Series(variable.name, [*variable.states, None], dtype=pl.Enum(variable.states))
    else:
        numbers = numeric_states(variable)
        table = pl.Series(variable.name, [*numbers.tolist(), None], dtype=pl.Series(numbers).dtype)
    return table.gather(pl.Series(np.where(column < 0, variable.num_states, column).astype(np.uint32)))


def to_pyarrow(variables: Universe, columns: Columns, num_rows: int) -> pa.Table:
    """The dataset as an Arrow table: dictionaries of text, nulls where cells are missing."""
    pa = require("pyarrow", "pandas", "to_frame('pyarrow')")
    cells = [_arrow_cells(pa, v, column) for v, column in zip(variables, columns, strict=True)]
    return pa.Table.from_arrays(cells, names=list(variables.names))


def _arrow_cells(pa: Any, variable: Any, column: Any) -> Any:
    if not isinstance(variable, Discrete):
        return pa.array(column, mask=np.isnan(column))
    missing = column < 0
    if is_text(variable.states):
        return pa.DictionaryArray.from_arrays(pa.array(column, mask=missing), pa.array(variable.states, pa.string()))
    return pa.array(numeric_states(variable)[column], mask=missing)


def numeric_states(variable: Discrete) -> AnyArray:
    """The states as an array, refused where no single column type holds them."""
    table = state_array(variable.states)
    if table is None:
        raise DataError(
            f"The states of {variable.name}, {listing(variable.states)}, have no common column type. "
            "Use to_frame('pandas'), which keeps objects, or rename the states."
        )
    return table


EXPORTS: Mapping[str, Callable[[Universe, Columns, int], Any]] = MappingProxyType(
    {"pandas": to_pandas, "polars": to_polars, "pyarrow": to_pyarrow}
)
"""The frame libraries by name."""


def library_of(value: object) -> str | None:
    """The library that a frame or column comes from, where its cells can be replaced: pandas, polars or pyarrow.

    >>> library_of({"a": [1, 2]}) is None
    True
    """
    name = library_name(value)
    is_lazy = type(value).__name__ == "LazyFrame"
    return name if name in ("pandas", "polars", "pyarrow") and not is_lazy else None


def frame_columns(frame: Any) -> list[str]:
    """The names of the columns of a frame or a mapping of columns."""
    if isinstance(frame, Mapping):
        return list(frame)
    return list(frame.column_names if library_of(frame) == "pyarrow" else frame.columns)


def with_cells(frame: Any, cells: Mapping[str, tuple[Ints, list[Any]]]) -> Any:
    """The frame with some cells replaced, in its own library and column types; everything else as it was.

    Categories that a column lacks are added at its end. What a column's type cannot hold is refused.

    Args:
        frame: a pandas or polars frame, an Arrow table, or a mapping of columns; the same kind comes back.
        cells: by column, which rows and what to put there.

    >>> with_cells({"coin": ["head", None], "day": [1, 2]}, {"coin": (np.array([1]), ["tail"])})
    {'coin': ['head', 'tail'], 'day': [1, 2]}
    """
    new = {name: _column(frame, name, *found) for name, found in cells.items()}
    if isinstance(frame, Mapping):
        return {name: new.get(name, column) for name, column in frame.items()}
    library = library_of(frame)
    if library == "pandas":
        return frame.assign(**new)
    if library == "polars":
        return frame.with_columns(**new)
    for name, column in new.items():
        frame = frame.set_column(frame.column_names.index(name), frame.schema.field(name), column)
    return frame


def with_columns(frame: Any, cells: Mapping[str, tuple[Discrete, Ints]]) -> Any:
    """The frame with whole columns replaced by states, in its own library; everything else as it was.

    Args:
        frame: a pandas or polars frame, an Arrow table, or a mapping of columns; the same kind comes back.
        cells: the new columns: a variable whose states are text, and the code of every cell, -1 where missing.

    >>> coin = Discrete("coin", ("head", "tail"))
    >>> with_columns({"coin": [0.1, 0.9], "day": [1, 2]}, {"coin": (coin, np.array([1, -1]))})
    {'coin': ['tail', None], 'day': [1, 2]}
    """
    library = library_of(frame)
    if library == "pandas":
        return frame.assign(**{name: _ordered(frame, *cells[name]) for name in cells})
    if library == "polars":
        import polars

        return frame.with_columns([_polars_cells(polars, *cell) for cell in cells.values()])
    if library == "pyarrow":
        import pyarrow

        for name, cell in cells.items():
            frame = frame.set_column(frame.column_names.index(name), name, _arrow_cells(pyarrow, *cell))
        return frame
    if not isinstance(frame, Mapping):
        raise DataError(f"A frame or a mapping of columns was expected; found {type(frame).__name__}.")
    return {**frame, **{name: state_objects(variable)[codes].tolist() for name, (variable, codes) in cells.items()}}


def _ordered(frame: Any, variable: Discrete, codes: Ints) -> Any:
    import pandas as pd

    kind = pd.CategoricalDtype(list(variable.states), ordered=True)
    return pd.Series(pd.Categorical.from_codes(codes, dtype=kind), index=frame.index)


def _column(frame: Any, name: str, places: Ints, cells: list[Any]) -> Any:
    column = frame.column(name) if library_of(frame) == "pyarrow" else frame[name]
    try:
        return _put(column, places, cells)
    except DataError as error:
        raise DataError(f"Column {name!r}: {error}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"Column {name!r} cannot hold {cells[0]!r} ({error}). Change its type, or use impute(...).dataset."
        ) from error


def _put(column: Any, places: Ints, cells: list[Any]) -> Any:
    """The column with some cells replaced, in its own type."""
    library = library_of(column)
    if library == "pandas":
        return _put_pandas(column, places, cells)
    if library == "polars":
        return _put_polars(column, places, cells)
    if library == "pyarrow":
        return _put_arrow(column, places, cells)
    if isinstance(column, np.ndarray):
        _refuse_fractions(column.dtype.kind in "iu", cells)
        made = column.copy()
        made[places] = cells
        return made
    listed = list(column)
    for place, cell in zip(places.tolist(), cells, strict=True):
        listed[place] = cell
    return type(column)(listed) if isinstance(column, list | tuple) else listed


def _refuse_fractions(is_whole: bool, cells: list[Any]) -> None:
    """Some libraries would cut fractions off without a word."""
    if is_whole:
        bad = [c for c in cells if isinstance(c, float) and not c.is_integer()]
        if bad:
            raise DataError(
                f"it holds whole numbers, and {bad[0]:.6g} is not one. Make it floats, or use impute(...).dataset."
            )


def _put_pandas(column: Any, places: Ints, cells: list[Any]) -> Any:
    import pandas as pd

    _refuse_fractions(pd.api.types.is_integer_dtype(column.dtype), cells)
    made = column.copy()
    if isinstance(column.dtype, pd.CategoricalDtype):
        known = set(column.dtype.categories)
        made = made.cat.add_categories([c for c in dict.fromkeys(cells) if c not in known])
        made.iloc[places] = cells
        return made
    if column.dtype == np.object_:
        values: Any = np.empty(len(cells), np.object_)
        values[:] = cells
    else:
        values = pd.array(cells, dtype=column.dtype)
    made.iloc[places] = values
    return made


def _put_polars(column: Any, places: Ints, cells: list[Any]) -> Any:
    import polars as pl

    _refuse_fractions(column.dtype.is_integer(), cells)
    if isinstance(column.dtype, pl.Enum):
        known = column.dtype.categories.to_list()
        column = column.cast(pl.Enum([*known, *without(dict.fromkeys(cells), known)]))
    return column.clone().scatter(places, pl.Series(cells, dtype=column.dtype))


def _put_arrow(column: Any, places: Ints, cells: list[Any]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind, mask = whole.type, np.zeros(len(whole), np.bool_)
    mask[places] = True
    is_coded = pa.types.is_dictionary(kind)
    own = kind.value_type if is_coded else kind
    _refuse_fractions(pa.types.is_integer(own), cells)
    plain = whole.dictionary_decode() if is_coded else whole
    full = pc.replace_with_mask(plain, pa.array(mask), pa.array(cells, type=own))
    if not is_coded:
        return full
    known = whole.dictionary.to_pylist()
    states = pa.array([*known, *without(dict.fromkeys(cells), known)], type=own)
    codes = pc.index_in(full, value_set=states).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(codes, states, ordered=kind.ordered)
