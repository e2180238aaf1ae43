"""Many complete assignments at once: frames, datasets and mappings as columns of codes and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.text import brief
from sepset.data.dataset import Dataset
from sepset.errors import DataError, StateError
from sepset.factors.algebra import AnyVariable, Columns
from sepset.variables.evidence import is_missing, real_value
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete


def complete(frame: object, variables: Universe) -> tuple[Columns, int]:
    """The columns of `variables` in `frame` and the number of rows; a missing cell raises an error that names its row.

    Args:
        frame: a dataset, any data frame, a mapping from names to columns, or one assignment (names to states).
        variables: the variables that give the columns their meaning; other columns are ignored.

    >>> complete({"coin": "tail"}, Universe([Discrete("coin", ("head", "tail"))]))[0].values()
    dict_values([array([1])])
    """
    if isinstance(frame, Mapping) and _is_assignment(frame):
        return _single(frame, variables), 1
    if isinstance(frame, Mapping):
        frame = {variables[key].name if key in variables else key: column for key, column in frame.items()}
    if any(not isinstance(v, Discrete) and v.size > 1 for v in variables):
        return _with_vectors(frame, variables)
    data = frame if isinstance(frame, Dataset) and _covers(frame, variables) else Dataset(frame, variables)
    columns: Columns = {v: data.column(v) for v in variables}
    for variable, column in columns.items():
        absent = column < 0 if isinstance(variable, Discrete) else np.isnan(column)
        if absent.any():
            row = int(np.flatnonzero(absent)[0])
            raise DataError(
                f"Column {variable.name!r} is missing in row {row}; complete assignments are needed here. "
                "Drop the row, or use log_probability with evidence, which sums out missing cells."
            )
    return columns, data.num_rows


def _with_vectors(frame: object, variables: Universe) -> tuple[Columns, int]:
    """Columns if some variables are vectors: frames cannot store those, so a mapping gives them as `[rows, size]`."""
    if not isinstance(frame, Mapping):
        raise DataError("A data frame cannot store vectors; give a mapping with an array of shape (rows, size) each.")
    wide = [v for v in variables if not isinstance(v, Discrete) and v.size > 1]
    names = {v.name for v in wide}
    rest = Universe(v for v in variables if v.name not in names)
    absent = [v.name for v in wide if v.name not in frame]
    if absent:
        raise DataError(f"There is no column for the vector {absent[0]!r}; complete assignments are needed here.")
    arrays: Columns = {v: _numbers(frame[v.name], v) for v in wide}
    num_rows = len(next(iter(arrays.values())))
    columns, found = complete({k: c for k, c in frame.items() if k not in names}, rest) if len(rest) else ({}, num_rows)
    for variable in wide:
        array = arrays[variable]
        if array.shape != (found, variable.size) or not np.isfinite(array).all():
            raise DataError(
                f"{variable!r} needs finite numbers of shape {(found, variable.size)}; found {array.shape}."
            )
    return {v: arrays[v] if v in arrays else columns[v] for v in variables}, found


def _numbers(column: object, variable: AnyVariable) -> Floats:
    try:
        return np.atleast_1d(np.asarray(column, np.float64))
    except (TypeError, ValueError):
        raise DataError(f"{variable!r} needs numbers; found {brief(column)}.") from None


def code_matrix(columns: Columns, variables: Universe, num_rows: int) -> Ints:
    """The codes as `[rows, variables]`; all variables must be discrete."""
    if not len(variables):
        return np.zeros((num_rows, 0), np.int64)
    return np.stack([np.asarray(columns[v], np.int64) for v in variables], axis=1)


def _is_assignment(frame: Mapping[Any, Any]) -> bool:
    return all(isinstance(value, str | int | float | bool | np.generic) or value is None for value in frame.values())


def _single(frame: Mapping[Any, Any], variables: Universe) -> Columns:
    places = {variables.id(key): value for key, value in frame.items() if key in variables}
    columns: Columns = {}
    for position, variable in enumerate(variables):
        value = places.get(position)
        if is_missing(value):
            raise DataError(f"The assignment has no value for {variable.name!r}; complete assignments are needed here.")
        if isinstance(variable, Discrete):
            columns[variable] = np.array([variable.code(value)])
        elif variable.size == 1:
            columns[variable] = real_value(variable, value)
        else:
            raise StateError(f"{variable.name} is a vector of {variable.size}; give a frame of columns.")
    return columns


def _covers(data: Dataset, variables: Universe) -> bool:
    return all(v in data.variables for v in variables)
