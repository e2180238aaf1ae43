"""Where statistics come from: rows in memory, or rows that stay in the engine that holds them; bound to variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.membership import without
from sepset.base.text import brief, listing, nearest
from sepset.data.binding import READ_AS_MISSING, absent_message, delimiter_hint, has_floats, infer_variable
from sepset.data.columns import has_absent
from sepset.data.dataset import Dataset
from sepset.data.engines import LazyRows
from sepset.data.files import read_dataset
from sepset.data.frames import in_row_order, is_lazy, open_frame, opened_frame
from sepset.data.scan import scanned
from sepset.data.suggestions import column_names
from sepset.errors import DataError, ScopeError
from sepset.variables.variable import Discrete, Real, VariableLike, Vector

Weights = ArrayLike | str | None
"""Row weights: numbers, the name of a column, or none."""

ALIKE = 0.7
"""The similarity of two names from which a variable without a column is taken for a misspelled column."""


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
    Universe(1: 'x')
    """
    if isinstance(data, Dataset | str | os.PathLike):
        return as_dataset(data)
    opened = open_frame(data)
    columns = {name: opened.read(name) for name in opened.names}
    return Dataset(columns, [Real(n) if has_floats(c) else infer_variable(n, c) for n, c in columns.items()])


def _named(variables: Iterable[VariableLike]) -> Iterator[VariableLike]:
    """The variables; raises for anything else."""
    for variable in variables:
        if not isinstance(variable, str | Discrete | Vector):
            raise ScopeError(f"Variables are named, or given as variables; found {brief(variable)}.")
        yield variable


@contextmanager
def rows_of(data: object, variables: Iterable[VariableLike], weights: Weights = None) -> Iterator[Dataset | LazyRows]:
    """The rows as a dataset, or, where the data is lazy or a file, as something that answers group-bys.

    Args:
        data: a dataset; a pandas, polars or Arrow frame or a mapping of columns (read here); a lazy polars frame, a
            DuckDB relation or a Dask frame (left where it is); a path of a CSV, TSV or Parquet file (through DuckDB).
        variables: the only ones that will be asked for.
        weights: row weights; the name of a column where the data stays where it is.
    """
    chosen = list(dict.fromkeys(_named(variables)))
    if isinstance(data, str | os.PathLike):
        with scanned(Path(data)) as scan:
            yield _lazy(scan.relation, chosen, weights, scan.columns, scan.is_text)
    elif isinstance(data, Dataset):
        yield _recoded(_weighed(data, weights), chosen)
    elif stays(data, chosen):
        yield _lazy(data, chosen, weights)
    else:
        yield _bound(data, chosen, weights)


def stays(data: object, variables: Iterable[object]) -> bool:
    """Whether rows stay in an engine until they are asked for.

    Dask reads files by pandas, which takes a state such as 'NA' for a missing cell: with such states, rows are read, so
    that these cells can be told from missing ones.

    >>> import polars as pl
    >>> stays(pl.LazyFrame({"x": ["NA"]}), [Discrete("x", ("NA", "no"))]), stays({"x": [1]}, [])
    (True, False)
    """
    if not is_lazy(data):
        return False
    doubtful = any(isinstance(v, Discrete) and not READ_AS_MISSING.isdisjoint(v.states) for v in variables)
    return not (doubtful and opened_frame(data).implementation.is_dask())


def _recoded(rows: Dataset, variables: Iterable[VariableLike]) -> Dataset:
    """The rows with the codes of these variables, where they have a column under the same name with other codes."""
    asked = {v.name: v for v in variables if not isinstance(v, str) and v.name in rows.variables}
    if all(rows.variables[name] == v for name, v in asked.items()):
        return rows
    return Dataset(rows, [asked.get(v.name, v) for v in rows.variables])


def _weighed(dataset: Dataset, weights: Weights) -> Dataset:
    """The dataset with these weights; raises where it has weights already, since nothing says which count."""
    if weights is None:
        return dataset
    if dataset.weights is not None:
        raise DataError(
            "The dataset has row weights, and others were given. Use with_weights(None) to drop its own, or "
            "with_weights(dataset.weights * others) to count by both."
        )
    if isinstance(weights, str):
        raise DataError(f"Weights by name belong to a frame or file. Use weights=dataset.values({weights!r}).")
    return dataset.with_weights(weights)


def _bound(frame: object, variables: list[VariableLike], weights: Weights) -> Dataset:
    """The frame as a dataset of the given variables; the states of those given by name are inferred."""
    names = [v for v in variables if isinstance(v, str)]
    if not names:
        return Dataset(frame, variables, weights=weights)  # type: ignore[arg-type]  # variables all
    opened = open_frame(frame)
    found = set(opened.names)
    absent = [name for name in names if name not in found]
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


def bind(
    data: object, variables: Iterable[Discrete | Vector], weights: Weights = None, *, coded: Dataset | None = None
) -> Dataset:
    """The rows of a dataset, frame or file over these variables; variables without a column are missing throughout.

    Args:
        weights: one per row, or the name of a column of a frame or file; a dataset that has weights takes no others.
        coded: those columns of the data that have been coded before, which are not read again.

    >>> bind({"coin": [1, 0]}, [Discrete("coin")], weights=[2.0, 1.0]).total_weight
    3.0
    """
    wanted = tuple(variables)
    if coded is not None:
        return _completed(coded, data, wanted, weights)
    if isinstance(data, str | os.PathLike):
        return _read(data, wanted, weights)
    if not isinstance(data, Dataset):
        return Dataset(data, wanted, missing_columns="allow", weights=weights)
    rows = _weighed(data, weights)
    if tuple(rows.variables) == wanted:
        return rows
    if all(v.name in rows.variables and rows.variables[v.name] == v for v in wanted):
        return rows.select(wanted)
    return Dataset(rows, wanted, missing_columns="allow")


def _completed(coded: Dataset, data: object, wanted: tuple[Discrete | Vector, ...], weights: Weights) -> Dataset:
    """The coded columns with the weights, and with the columns of all other variables."""
    others = [v for v in wanted if v not in coded.variables]
    if others or isinstance(weights, str):
        rows = coded.with_columns(Dataset(data, others, missing_columns="allow", weights=weights))
    else:
        rows = _weighed(coded, in_row_order(weights, data))
    return rows if tuple(rows.variables) == wanted else rows.select(wanted)


def _read(path: str | os.PathLike[str], wanted: tuple[Discrete | Vector, ...], weights: Weights) -> Dataset:
    if not isinstance(weights, str):
        return _weighed(read_dataset(path, wanted, missing_columns="allow"), weights)
    rows = read_dataset(path, (*wanted, Real(weights)), missing_columns="allow")
    return rows.select(wanted).with_weights(rows.values(weights))


def require_columns(data: object, rows: Dataset, weights: Weights = None) -> None:
    """Raise if no variable has a column, or if one has none while an unused column has nearly its name.

    Such a variable is more likely misspelled than hidden.

    Args:
        data: where the rows come from.
        rows: the rows over the variables.
        weights: the name of a column that is in use, if it is one.

    >>> require_columns({"coin": [1, 0]}, bind({"coin": [1, 0]}, [Discrete("coin"), Discrete("kind")]))
    """
    places = np.flatnonzero(rows.missing_counts == rows.num_rows)
    if not len(places):
        return
    empty = [rows.variables.names[place] for place in places.tolist()]
    names = names_of(data)
    absent = without(empty, names)
    if absent and len(absent) == len(rows.variables):
        found = f"columns are {listing(names)}" if names else "there are no columns"
        near = delimiter_hint(names) or nearest(absent[0], names)
        raise DataError(f"No column is a variable of the network: {found}, variables {listing(absent)}.{near}")
    unused = [name for name in names if name not in rows.variables and name != weights]
    for name in absent if unused else ():
        near = nearest(name, unused, cutoff=ALIKE)
        if near:
            raise DataError(
                f"There is no column {name!r}.{near} Rename the column; or, where {name!r} is hidden, leave the "
                "other column out."
            )


def names_of(data: object) -> list[str]:
    """The names of the columns of a dataset, a frame, a mapping of columns or a file.

    >>> names_of({"a": [1], "b": [2]})
    ['a', 'b']
    """
    return list(data.variables.names) if isinstance(data, Dataset) else column_names(data)


def num_columns(data: object) -> int:
    """The number of columns of a dataset, a frame in memory or a mapping of columns; zero where it is not at hand.

    >>> num_columns({"a": [1], "b": [2]}), num_columns("rows.csv")
    (2, 0)
    """
    if isinstance(data, Dataset):
        return len(data.variables)
    if isinstance(data, Mapping):
        return len(data)
    shape = getattr(data, "shape", ())
    return int(shape[1]) if isinstance(shape, tuple) and len(shape) == 2 and isinstance(shape[1], int) else 0


def refuse_missing(dataset: Dataset, method: str) -> None:
    """Raise if a column or a cell is missing, naming the first of them and what to use instead of `method`."""
    for variable in dataset.variables if dataset.num_rows else ():
        if has_absent(dataset.column(variable)) and dataset.is_missing(variable).all():
            raise DataError(
                f"{method} needs complete data; there is no column {variable.name!r}, or it is empty. Rename the "
                "column; or, where the variable is hidden, use EM."
            )
    dataset.require_complete(method)
