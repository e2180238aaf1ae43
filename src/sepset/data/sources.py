"""Where statistics come from: rows in memory, or rows that stay in the engine that holds them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from sepset.data.binding import absent_message, has_floats, infer_variable
from sepset.data.dataset import Dataset
from sepset.data.engines import LazyRows
from sepset.data.filerows import file_rows
from sepset.data.frames import is_lazy, open_frame
from sepset.data.scan import scanned
from sepset.errors import DataError
from sepset.variables.variable import Discrete, Real, VariableLike, Vector

Weights = ArrayLike | str | None
"""Row weights: numbers, the name of a column, or none."""


def as_dataset(data: object, variables: Iterable[VariableLike] | None = None) -> Dataset:
    """The dataset itself, or the rows of a frame or file; with only some of its columns where they are named.

    >>> as_dataset({"coin": ["head", "tail"], "tries": [1, 2]}, ["coin"])
    Dataset(2 rows, 1 variable: 'coin')
    """
    rows = data if isinstance(data, Dataset) else Dataset(data)
    return rows if variables is None else rows.select(variables)


def measured(data: object) -> Dataset:
    """The rows as `as_dataset` gives them, with every column of floats real: for methods about measurements.

    >>> measured({"x": [1.0, 2.0]}).variables
    Variables(1: 'x')
    """
    if isinstance(data, Dataset | str | os.PathLike):
        return as_dataset(data)
    opened = open_frame(data)
    columns = {name: opened.read(name) for name in opened.names}
    return Dataset(columns, [Real(n) if has_floats(c) else infer_variable(n, c) for n, c in columns.items()])


def replayable(data: object, names: Iterable[str] | None = None) -> object:
    """The data as something that can be read twice: columns that are iterators become lists, and a file is read once.

    Args:
        data: rows of any kind.
        names: the columns of a file that will be asked for; without them a file stays where it is.

    >>> replayable({"a": iter([1, 2]), "b": [3, 4]})
    {'a': [1, 2], 'b': [3, 4]}
    """
    if isinstance(data, str | os.PathLike) and names is not None:
        return file_rows(data, names) or data
    if not isinstance(data, Mapping) or not any(isinstance(column, Iterator) for column in data.values()):
        return data
    return {name: list(column) if isinstance(column, Iterator) else column for name, column in data.items()}


@contextmanager
def rows_of(data: object, variables: Iterable[VariableLike], weights: Weights = None) -> Iterator[Dataset | LazyRows]:
    """The rows as a dataset, or, where the data is lazy or a file, as something that answers group-bys.

    Args:
        data: a dataset; a pandas, polars or Arrow frame or a mapping of columns (read here); a lazy polars frame, a
            DuckDB relation or a Dask frame (left where it is); a path of a CSV, TSV or Parquet file (through DuckDB).
        variables: the only ones that will be asked for.
        weights: row weights; the name of a column where the data stays where it is.
    """
    chosen = list(dict.fromkeys(variables))
    if isinstance(data, str | os.PathLike):
        with scanned(Path(data)) as scan:
            yield _lazy(scan.relation, chosen, weights, scan.columns, scan.is_text)
    elif isinstance(data, Dataset):
        yield _weighed(data, weights)
    elif is_lazy(data):
        yield _lazy(data, chosen, weights)
    else:
        yield _bound(data, chosen, weights)


def _weighed(dataset: Dataset, weights: Weights) -> Dataset:
    if weights is None:
        return dataset
    if dataset.weights is not None:
        raise DataError("The dataset has row weights, and others were given. Use with_weights(None) to drop its own.")
    if isinstance(weights, str):
        raise DataError(f"Weights by name belong to a frame. Use weights=dataset.values({weights!r}).")
    return dataset.with_weights(weights)


def _bound(frame: object, variables: list[VariableLike], weights: Weights) -> Dataset:
    """The frame as a dataset of the given variables; the states of those given by name are inferred."""
    names = [v for v in variables if isinstance(v, str)]
    if not names:
        return Dataset(frame, variables, weights=weights)  # type: ignore[arg-type]  # variables all
    opened = open_frame(frame)
    absent = [name for name in names if name not in opened.names]
    if absent:
        raise DataError(absent_message(absent, opened.names))
    inferred = Dataset({name: opened.read(name) for name in names})
    known = [inferred.variables[v] if isinstance(v, str) else v for v in variables]
    return Dataset(frame, known, weights=weights)


def _lazy(
    frame: Any,
    variables: list[VariableLike],
    weights: Weights,
    columns: Mapping[str, str] | None = None,
    is_text: bool = False,
) -> LazyRows:
    import narwhals.stable.v2 as nw

    opened: Any = nw.from_native(frame)
    known = {name: name for name in opened.collect_schema().names()} if columns is None else columns
    if weights is not None and not isinstance(weights, str):
        raise DataError("Rows that stay where they are take weights by the name of a column; found numbers.")
    for variable in variables:
        if isinstance(variable, str):
            raise DataError(
                f"The states of {variable!r} are unknown. Give the variable: nothing is read to infer them."
            )
    wanted = [v.name for v in variables if isinstance(v, Discrete | Vector)] + ([weights] if weights else [])
    absent = [name for name in wanted if name not in known]
    if absent:
        raise DataError(absent_message(absent, known))
    return LazyRows(opened, known, is_text, weights)


def finder(rows: Dataset | LazyRows) -> Callable[[VariableLike], Discrete | Vector]:
    """Turns names into variables, where the rows know them."""
    if isinstance(rows, Dataset):
        return rows.variables.__getitem__
    return lambda variable: variable  # type: ignore[return-value]  # names were refused
