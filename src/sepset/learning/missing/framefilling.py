"""Imputation of frames as they are: holes filled in the caller's own library and column types, all else untouched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.data.dataset import Dataset
from sepset.errors import DataError
from sepset.learning.missing.filling import Kind
from sepset.learning.missing.imputation import asked_variables, impute
from sepset.learning.task import bind
from sepset.models.model import Model
from sepset.variables.variable import Discrete, VariableLike, Vector


def impute_frame(
    model: Model | Sequence[Model],
    frame: Any,
    *,
    kind: Kind = "mode",
    copies: int | None = None,
    variables: Iterable[VariableLike] | None = None,
    seed: int | np.random.Generator = 0,
    threads: int | None = None,
) -> Any:
    r"""The frame with missing cells filled from $P(\mathbf h \mid \mathbf o)$ of each row, everything else as it was.

    Columns keep their type: categories (with states they lack added at the end), nullable integers and booleans,
    text, floats of any width. Other columns, their order and the index stay. What a column's type cannot hold, such as
    a mean of 2.5 among whole numbers, is refused.

    Args:
        model: as in `impute`.
        frame: a pandas or polars frame, an Arrow table, or a mapping of columns; the same kind comes back.
        kind, seed, threads: as in `impute`.
        copies: how many frames, drawn independently (`kind="draw"`); None for one by itself.
        variables: which columns to fill; all that are variables of the model, by default.

    Reference: Koller & Friedman, section 19.1.3; Rubin (1987).

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> coin = BayesNet(TableCPD(Discrete("coin", ("head", "tail")), [0.3, 0.7]))
    >>> impute_frame(coin, {"coin": ["head", None], "day": [1, 2]})
    {'coin': ['head', 'tail'], 'day': [1, 2]}
    """
    if _library(frame) is None and not isinstance(frame, Mapping):
        raise DataError(
            f"impute_frame fills pandas and polars frames, Arrow tables and mappings of columns; found "
            f"{type(frame).__name__}. Use impute, or collect a lazy frame first."
        )
    known = (model[0] if isinstance(model, list | tuple) and model else model).variables  # type: ignore[union-attr]
    asked = [v for v in asked_variables(known, frame, variables) if v.name in _names(frame)]
    rows = bind(frame, known)
    more: dict[str, Any] = {"kind": kind, "variables": asked, "seed": seed, "threads": threads}
    if copies is None:
        return _filled(frame, rows, impute(model, rows, **more), asked)  # type: ignore[arg-type]
    return tuple(_filled(frame, rows, full, asked) for full in impute(model, rows, copies=copies, **more))


def _library(value: object) -> str | None:
    """The library that a frame or column comes from, as far as it is known here."""
    name = type(value).__module__.partition(".")[0]
    is_lazy = type(value).__name__ == "LazyFrame"
    return name if name in ("pandas", "polars", "pyarrow") and not is_lazy else None


def _names(frame: Any) -> list[str]:
    if isinstance(frame, Mapping):
        return list(frame)
    return list(frame.column_names if _library(frame) == "pyarrow" else frame.columns)


def _filled(frame: Any, rows: Dataset, full: Dataset, asked: Sequence[Discrete | Vector]) -> Any:
    """The frame with the cells that rows miss taken from the completed rows."""
    new = {}
    for variable in asked:
        places = np.flatnonzero(rows.is_missing(variable)).astype(np.int64)
        if len(places):
            part = full.take(places)
            cells = part.states(variable) if isinstance(variable, Discrete) else part.values(variable)
            new[variable.name] = _column(frame, variable.name, places, np.asarray(cells).tolist())
    if isinstance(frame, Mapping):
        return {name: new.get(name, cells) for name, cells in frame.items()}
    library = _library(frame)
    if library == "pandas":
        return frame.assign(**new)
    if library == "polars":
        return frame.with_columns(**new)
    for name, cells in new.items():
        frame = frame.set_column(frame.column_names.index(name), frame.schema.field(name), cells)
    return frame


def _column(frame: Any, name: str, places: Ints, cells: list[Any]) -> Any:
    column = frame.column(name) if _library(frame) == "pyarrow" else frame[name]
    try:
        return _put(column, places, cells)
    except DataError as error:
        raise DataError(f"Column {name!r}: {error}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"Column {name!r} cannot hold {cells[0]!r} ({error}). Change its type, or use impute."
        ) from error


def _put(column: Any, places: Ints, cells: list[Any]) -> Any:
    """The column with some cells replaced, in its own type."""
    library = _library(column)
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
                f"it holds whole numbers, and {bad[0]:.6g} is none. Make it a column of floats, or use impute."
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
        column = column.cast(pl.Enum([*known, *(c for c in dict.fromkeys(cells) if c not in set(known))]))
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
    states = pa.array([*known, *(c for c in dict.fromkeys(cells) if c not in set(known))], type=own)
    codes = pc.index_in(full, value_set=states).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(codes, states, ordered=kind.ordered)
