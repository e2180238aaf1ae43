"""Frames of any library, opened through Narwhals, as plain columns."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.frames import has_labels, library_name
from sepset.base.text import brief, listing, nearest
from sepset.base.threads import abandonable
from sepset.data.columns import Cells, Column, Levels, as_categories, drop_missing, from_array, from_objects, numbers_of
from sepset.data.duplicates import group_numbers
from sepset.errors import DataError

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Named columns of equal length; a column is brought to its plain form when it is read.

    >>> frame = open_frame({"a": [1, 2], "b": ["x", None]})
    >>> frame.names, frame.num_rows, frame.read("b").values
    (('a', 'b'), 2, ('x',))
    """

    names: tuple[str, ...]
    num_rows: int
    cells: Callable[[str], Column]
    is_pandas: bool = False

    def read(self, name: str, label: str | None = None) -> Column:
        """The plain form of one column; errors name it, by a label where its name is another."""
        try:
            return self.cells(name)
        except DataError as error:
            raise DataError(f"Column {label or name!r}: {error}") from error

    def without(self, name: str) -> Frame:
        """The same frame less one column."""
        return replace(self, names=tuple(n for n in self.names if n != name))

    def numbers(self, name: str) -> Floats:
        """One column as numbers."""
        if name not in self.names:
            raise DataError(f"No column {name!r}; columns are {listing(self.names)}.{nearest(name, self.names)}")
        try:
            return numbers_of(self.read(name))
        except DataError as error:
            raise DataError(f"Column {name!r}: {error}") from error


def open_frame(frame: Any, wanted: Iterable[str] | None = None) -> Frame:
    """The columns of a pandas, polars, Arrow or DuckDB frame, or of a mapping of columns.

    Args:
        frame: eager or lazy; a lazy one is collected.
        wanted: the only columns that will be read, so that nothing else is computed or coded; the others keep their
            names, by which a misspelled one is found.
    """
    if isinstance(frame, Mapping):
        return _mapping_frame(frame, wanted)
    import narwhals.stable.v2 as nw

    opened = opened_frame(frame)
    if isinstance(opened, nw.LazyFrame):
        names = _names(opened.collect_schema().names())
        opened = _collected(_narrowed(opened, names, wanted))
        if isinstance(opened, Mapping):
            return replace(_mapping_frame(opened), names=names)
    else:
        names = _names(opened.columns)
    return Frame(names, len(opened), _reader(opened), opened.implementation.is_pandas())


def opened_frame(frame: Any) -> Any:
    """The frame as Narwhals sees it, eager or lazy; anything else raises."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(whole_table(frame))
    except TypeError:
        raise DataError(
            f"A frame was expected; found {type(frame).__name__}. Give a pandas, polars, Arrow or DuckDB frame, "
            "a mapping from names to columns, or the path of a file."
        ) from None
    except nw.exceptions.NarwhalsError as error:
        names = [str(name) for name in getattr(frame, "column_names", getattr(frame, "columns", ()))]
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            which = "is the name" if len(twice) == 1 else "are the names"
            raise DataError(f"{listing(twice)} {which} of several columns. Rename or drop all but one.") from None
        raise DataError(f"The frame cannot be opened: {error}") from error


def whole_table(frame: Any) -> Any:
    """The frame itself; of an Arrow record batch, the table.

    >>> whole_table(3)
    3
    """
    arrow = sys.modules.get("pyarrow")
    return arrow.Table.from_batches([frame]) if arrow and isinstance(frame, arrow.RecordBatch) else frame


def is_lazy(data: object) -> bool:
    """Whether rows stay in an engine until they are asked for.

    >>> import polars as pl
    >>> is_lazy(pl.LazyFrame({"x": [1]})), is_lazy(pl.DataFrame({"x": [1]})), is_lazy({"x": [1]})
    (True, False, False)
    """
    if isinstance(data, Mapping):
        return False
    import narwhals.stable.v2 as nw

    return isinstance(opened_frame(data), nw.LazyFrame)


def _reader(frame: Any) -> Callable[[str], Column]:
    """How one column is read: from the library itself where we know it, since a hundred small columns add up."""
    native, kind = frame.to_native(), frame.implementation
    if kind.is_pandas():
        return lambda name: _pandas_column(native[name])
    if kind.is_polars():
        return lambda name: _polars_column(native.get_column(name))
    if kind.is_pyarrow():
        return lambda name: _arrow_column(native.column(name))
    return lambda name: _series_column(frame[name])


def _narrowed(lazy: Any, names: Sequence[str], wanted: Iterable[str] | None) -> Any:
    if wanted is None:
        return lazy
    chosen = set(wanted)
    kept = [name for name in names if name in chosen]
    return lazy.select(kept) if kept else lazy


def _collected(lazy: Any) -> Any:
    """The lazy frame in memory; DuckDB goes through Arrow where it is installed, else through NumPy."""
    if not lazy.implementation.is_duckdb():
        return abandonable(lazy.collect)
    try:
        import pyarrow  # noqa: F401  # only asked whether it is there
    except ImportError:
        return abandonable(lazy.to_native().fetchnumpy)
    return abandonable(lazy.collect)


def _names(names: Iterable[object]) -> tuple[str, ...]:
    given = tuple(names)
    strange = [name for name in given if not isinstance(name, str) or not name]
    if strange:
        raise DataError(f"Columns are named by non-empty strings; found {listing(strange)}. Rename those columns.")
    return given  # type: ignore[return-value]  # strings, as checked


def _mapping_frame(columns: Mapping[Any, object], wanted: Iterable[str] | None = None) -> Frame:
    names = _names(columns)
    known = None if wanted is None else set(wanted)
    asked = names if known is None else [name for name in names if name in known] or names[:1]  # one: how many rows
    given = {name: columns[name] for name in asked}
    check_columns(given)
    plain = {name: _checked_column(name, cells) for name, cells in given.items()}
    sizes = list(map(len, plain.values()))
    if len(set(sizes)) > 1:
        found = ", ".join(f"{name!r}: {size}" for name, size in list(zip(plain, sizes, strict=True))[:8])
        raise DataError(f"Columns must have one length; found {found}.")
    return Frame(names, sizes[0] if sizes else 0, plain.__getitem__)


def _checked_column(name: str, cells: object) -> Column:
    try:
        return _loose_column(cells)
    except DataError as error:
        raise DataError(f"Column {name!r}: {error}") from error


def _loose_column(cells: object) -> Column:
    """The plain form of a column given on its own: an array, a list, or any library's series."""
    if isinstance(cells, Levels | Cells):
        return cells
    if isinstance(cells, np.ndarray):
        return from_array(cells)
    if isinstance(cells, str | bytes) or not isinstance(cells, Iterable):
        raise DataError(f"a column is a sequence of cells; found {brief(cells)}.")
    if isinstance(cells, list | tuple | range):
        return from_objects(cells)
    if isinstance(cells, Mapping | set | frozenset):
        way = "Give a list of its values." if isinstance(cells, Mapping) else "It has no order; give a list."
        raise DataError(f"a column is a sequence of cells, one for each row; found a {type(cells).__name__}. {way}")
    import narwhals.stable.v2 as nw

    opened = nw.from_native(_as_series(cells), allow_series=True, pass_through=True)
    if isinstance(opened, nw.DataFrame | nw.LazyFrame):
        raise DataError("a column is a sequence of cells; found a frame. Give one of its columns.")
    return _series_column(opened) if isinstance(opened, nw.Series) else from_objects(list(cells))


def _as_series(cells: object) -> Any:
    """An array or index of pandas as a series, and an Arrow array as one of one chunk: they know their categories."""
    pandas, arrow = sys.modules.get("pandas"), sys.modules.get("pyarrow")
    if pandas and isinstance(cells, pandas.Index | pandas.api.extensions.ExtensionArray):
        return cells if isinstance(cells, pandas.MultiIndex) else pandas.Series(cells)
    return arrow.chunked_array([cells]) if arrow and isinstance(cells, arrow.Array) else cells


def _series_column(series: Any) -> Column:
    kind = series.implementation
    if kind.is_polars():
        return _polars_column(series.to_native())
    if kind.is_pyarrow():
        return _arrow_column(series.to_native())
    if kind.is_pandas_like():
        return _pandas_column(series.to_pandas())
    return from_objects(series.to_list())


def _pandas_column(series: Any) -> Column:
    import pandas as pd

    dtype: Any = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return Levels(series.array.codes, as_categories(dtype.categories.tolist()), fixed=True)
    if isinstance(dtype, pd.IntervalDtype):
        return _pandas_column(series.astype("category"))
    if isinstance(dtype, pd.ArrowDtype) and str(dtype.pyarrow_dtype).startswith("dictionary"):
        return _arrow_column(series.array.__arrow_array__())
    if isinstance(dtype, np.dtype):
        return from_array(series.to_numpy())
    if pd.api.types.is_string_dtype(dtype):
        codes, values = pd.factorize(series)
        return drop_missing(codes, values.tolist())
    truth = pd.api.types.is_bool_dtype(dtype)
    if truth or pd.api.types.is_numeric_dtype(dtype):
        missing = series.isna().to_numpy(np.bool_)
        return Cells(series.fillna(False if truth else 0).to_numpy(dtype=_numeric_dtype(dtype)), missing)
    return from_objects(series.to_numpy(dtype=object, na_value=None).tolist())


def _numeric_dtype(dtype: Any) -> np.dtype[Any]:
    """The NumPy type under a nullable or Arrow type; decimals become floats."""
    under = np.dtype(getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", np.float64)))
    return under if under.kind in "biuf" else np.dtype(np.float64)


def _polars_column(series: pl.Series) -> Column:
    import polars as pl

    dtype = series.dtype
    if isinstance(dtype, pl.Enum):
        return Levels(_polars_codes(series), tuple(dtype.categories.to_list()), fixed=True)
    if dtype == pl.String:
        series, dtype = series.cast(pl.Categorical(pl.Categories.random())), pl.Categorical()  # a pool of its own
    if dtype == pl.Categorical:
        return _polars_categories(series)
    if dtype.is_decimal():
        series, dtype = series.cast(pl.Float64), pl.Float64()
    if dtype == pl.Boolean or (dtype.is_numeric() and dtype not in (pl.Int128,)):
        missing = series.is_null().to_numpy() if series.null_count() else None
        return Cells(series.fill_null(False if dtype == pl.Boolean else 0).to_numpy(), missing)
    return from_objects(series.to_list())


def _polars_categories(series: pl.Series) -> Levels:
    """The categories that occur: those of other columns and frames may stand between their codes."""
    firsts, groups = group_numbers(_polars_codes(series))
    return drop_missing(groups, series.gather(firsts).to_list())


def _polars_codes(series: pl.Series) -> Any:
    import polars as pl

    physical = series.to_physical()
    return (physical.cast(pl.Int64).fill_null(-1) if series.null_count() else physical).to_numpy()


def _arrow_column(series: pa.ChunkedArray) -> Column:
    import pyarrow as pa
    from pyarrow import compute, types

    kind = series.type
    if types.is_dictionary(kind):
        return _arrow_levels(series.unify_dictionaries().combine_chunks(), fixed=True)
    if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view":
        return _arrow_levels(series.cast(pa.large_string()).dictionary_encode().combine_chunks(), fixed=False)
    if types.is_decimal(kind):
        series, kind = compute.cast(series, pa.float64()), pa.float64()
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        if not series.null_count:
            return Cells(series.to_numpy())
        missing = compute.is_null(series).to_numpy()
        return Cells(series.fill_null(False if types.is_boolean(kind) else 0).to_numpy(), missing)
    return from_objects(series.to_pylist())


def _arrow_levels(encoded: Any, *, fixed: bool) -> Levels:
    import pyarrow as pa

    indices = encoded.indices
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(-1)
    values = encoded.dictionary.to_pylist()
    return drop_missing(indices.to_numpy(zero_copy_only=False), as_categories(values) if fixed else values, fixed)


def replayable(data: object) -> object:
    """The data as something that can be read twice: columns that are iterators become lists.

    >>> replayable({"a": iter([1, 2]), "b": [3, 4]})
    {'a': [1, 2], 'b': [3, 4]}
    """
    if not isinstance(data, Mapping) or True not in [isinstance(column, Iterator) for column in data.values()]:
        return data
    return {name: list(column) if isinstance(column, Iterator) else column for name, column in data.items()}


def row_labels(data: object) -> Any:
    """The index of a pandas frame, or of the first series in a mapping of columns; None where rows have no labels.

    >>> import pandas as pd
    >>> row_labels(pd.DataFrame({"x": [1, 2]}, index=["u", "v"])).tolist(), row_labels({"x": [1, 2]})
    (['u', 'v'], None)
    """
    if isinstance(data, dict):
        return next((found for found in map(_index, data.values()) if found is not None), None)
    return _index(data)


def _index(value: object) -> Any:
    is_labeled = library_name(value) == "pandas" and type(value).__name__ in ("Series", "DataFrame")
    return value.index if is_labeled else None  # type: ignore[attr-defined]  # as asked


def check_columns(columns: Mapping[Any, object]) -> None:
    """Raise if series of pandas that are to be columns side by side label their rows differently."""
    found = {name: index for name, cells in columns.items() if (index := _index(cells)) is not None}
    first = next(iter(found), None)
    apart = [name for name, index in found.items() if not index.equals(found[first])]
    if apart:
        raise DataError(
            f"Columns {listing([first, apart[0]])} are series whose rows have different labels. A pandas DataFrame of "
            "them brings the labels together; to_numpy() leaves them out."
        )


def in_row_order(numbers: Any, data: object) -> Any:
    """The numbers, one per row; those of a pandas series in the order in which the rows of the data have its labels.

    >>> import pandas as pd
    >>> rows = pd.DataFrame({"coin": ["head", "tail"]})
    >>> in_row_order(pd.Series({1: 0.5, 0: 2.0}), rows).tolist(), in_row_order([1, 2], rows)
    ([2.0, 0.5], [1, 2])
    """
    labels = row_labels(data) if has_labels(numbers) else None
    if labels is None or numbers.index.equals(labels):
        return numbers
    if len(numbers) == len(labels) and numbers.index.is_unique and not set(numbers.index).symmetric_difference(labels):
        return numbers.reindex(labels)
    raise DataError(
        "The labels of the numbers, one per row, are not those of the rows. Give a series with the index of the frame, "
        "or the numbers alone, as to_numpy() has them."
    )
