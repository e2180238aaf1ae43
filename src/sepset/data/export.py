"""Datasets as frames of pandas, polars or Arrow, without writing out a state twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import AnyArray, AnyInts, Floats, Objects
from sepset.base.extras import require
from sepset.base.text import listing
from sepset.errors import DataError
from sepset.variables.universe import Variables
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


def to_pandas(variables: Variables, columns: Columns, num_rows: int) -> pd.DataFrame:
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


def to_polars(variables: Variables, columns: Columns, num_rows: int) -> pl.DataFrame:
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


def to_pyarrow(variables: Variables, columns: Columns, num_rows: int) -> pa.Table:
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


EXPORTS: Mapping[str, Callable[[Variables, Columns, int], Any]] = MappingProxyType(
    {"pandas": to_pandas, "polars": to_polars, "pyarrow": to_pyarrow}
)
"""The frame libraries by name."""
