"""Datasets as frames of pandas, polars or Arrow, without writing out a state twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.arraytypes import AnyArray
from sepset.base.extras import require
from sepset.base.text import listing
from sepset.errors import DataError
from sepset.variables.variable import Discrete, State

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from sepset.data.dataset import Dataset


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


def to_pandas(dataset: Dataset) -> pd.DataFrame:
    """The dataset as a pandas frame: categorical text, nullable integers and booleans where cells are missing."""
    pd = require("pandas", "pandas", "to_frame('pandas')")
    columns = {v.name: _pandas_cells(pd, dataset, v) for v in dataset.variables}
    return pd.DataFrame(columns, index=pd.RangeIndex(dataset.num_rows), copy=False)  # type: ignore[no-any-return]


def _pandas_cells(pd: Any, dataset: Dataset, variable: Any) -> Any:
    if not isinstance(variable, Discrete):
        return dataset.values(variable).copy()
    codes = dataset.codes(variable)
    if is_text(variable.states):
        return pd.Categorical.from_codes(codes.copy(), dtype=pd.CategoricalDtype(list(variable.states)))
    table = state_array(variable.states)
    if table is None:
        return pd.Series(dataset.states(variable), dtype=object)
    cells, missing = table[codes], codes < 0
    if not missing.any():
        return cells
    if table.dtype.kind == "f":
        return np.where(missing, np.nan, cells)
    nullable = pd.arrays.BooleanArray if table.dtype.kind == "b" else pd.arrays.IntegerArray
    return nullable(cells, missing)


def to_polars(dataset: Dataset) -> pl.DataFrame:
    """The dataset as a polars frame: enum text, nulls where cells are missing."""
    pl = require("polars", "polars", "to_frame('polars')")
    return pl.DataFrame([_polars_cells(pl, dataset, v) for v in dataset.variables])  # type: ignore[no-any-return]


def _polars_cells(pl: Any, dataset: Dataset, variable: Any) -> Any:
    if not isinstance(variable, Discrete):
        return pl.Series(variable.name, dataset.values(variable), nan_to_null=True)
    codes = dataset.codes(variable)
    if is_text(variable.states):
        table = pl.Series(variable.name, [*variable.states, None], dtype=pl.Enum(variable.states))
    else:
        numbers = numeric_states(variable)
        table = pl.Series(variable.name, [*numbers.tolist(), None], dtype=pl.Series(numbers).dtype)
    return table.gather(pl.Series(np.where(codes < 0, variable.num_states, codes).astype(np.uint32)))


def to_pyarrow(dataset: Dataset) -> pa.Table:
    """The dataset as an Arrow table: dictionaries of text, nulls where cells are missing."""
    pa = require("pyarrow", "pandas", "to_frame('pyarrow')")
    names = list(dataset.variables.names)
    return pa.Table.from_arrays([_arrow_cells(pa, dataset, v) for v in dataset.variables], names=names)


def _arrow_cells(pa: Any, dataset: Dataset, variable: Any) -> Any:
    if not isinstance(variable, Discrete):
        values = dataset.values(variable)
        return pa.array(values, mask=np.isnan(values))
    codes = dataset.codes(variable)
    missing = codes < 0
    if is_text(variable.states):
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), pa.array(variable.states, pa.string()))
    return pa.array(numeric_states(variable)[codes], mask=missing)


def numeric_states(variable: Discrete) -> AnyArray:
    """The states as an array, refused where no single column type holds them."""
    table = state_array(variable.states)
    if table is None:
        raise DataError(
            f"The states of {variable.name}, {listing(variable.states)}, have no common column type. "
            "Use to_frame('pandas'), which keeps objects, or rename the states."
        )
    return table


EXPORTS: Mapping[str, Callable[[Dataset], Any]] = MappingProxyType(
    {"pandas": to_pandas, "polars": to_polars, "pyarrow": to_pyarrow}
)
"""The frame libraries by name."""
