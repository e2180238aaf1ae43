"""Datasets from and to CSV, TSV and Parquet files, through DuckDB."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from sepset.base.foreign import translated
from sepset.base.text import listing
from sepset.data.dataset import Dataset
from sepset.data.export import is_text, numeric_states
from sepset.data.filecolumns import file_columns, naming, state_text
from sepset.data.scan import DELIMITERS, compression, connected, file_format
from sepset.errors import DataError, FileFormatError
from sepset.variables.array import VariableArray
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Vector


@translated
def read_dataset(
    path: str | os.PathLike[str],
    variables: Iterable[Discrete | Vector | VariableArray] | None = None,
    *,
    delimiter: str | None = None,
    missing: Sequence[str] = ("",),
    missing_columns: Literal["refuse", "allow"] = "refuse",
) -> Dataset:
    """The rows of a CSV, TSV or Parquet file (text also gzipped), as a dataset.

    Without variables, a text column of whole numbers becomes `Discrete` with ints as states, one of other numbers
    `Real`, one of true and false `Discrete` with bools, and any other `Discrete` with strings. Numbers that do not
    print as they were written, such as `007`, stay strings.

    Args:
        path: the file; the suffix tells its format.
        variables: what the columns mean, as in `Dataset`.
        delimiter: between cells of a text file; by default a comma, or a tab in TSV.
        missing: texts that mean a missing cell when they stand unquoted.
        missing_columns: as in `Dataset`.

    Guarantee: rows, or one error.
    Tested by: data/test_files.py::test_any_bytes_give_rows_or_one_clear_error

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "coins.csv"
    >>> _ = file.write_text("coin,tries\\nhead,3\\n,5\\n")
    >>> read_dataset(file).row(1)
    {'coin': None, 'tries': 5}
    """
    scope = None if variables is None else Universe(variables)
    with naming(path):
        columns = file_columns(path, scope, delimiter=delimiter, missing=missing)
        return Dataset(columns, scope, missing_columns=missing_columns)


@translated
def write_dataset(data: Dataset, path: str | os.PathLike[str], *, delimiter: str | None = None) -> None:
    """Write the rows as CSV, TSV (either also gzipped) or Parquet; the file appears whole or not at all.

    Missing cells are written as nothing (in text) or null, and an empty string is quoted, so that the two differ.
    Row weights are not written.

    Guarantee: all or nothing.
    Tested by: data/test_files.py::test_writing_is_all_or_nothing

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "coins.tsv"
    >>> write_dataset(Dataset({"coin": ["head", None], "fair": [True, False]}), file)
    >>> file.read_text()
    'coin\\tfair\\nhead\\tTrue\\n\\tFalse\\n'
    """
    file = Path(path)
    kind = file_format(file)
    if not len(data.variables):
        raise DataError(f"{file}: a dataset without variables has nothing to write.")
    with _replacing(file) as partial, connected(file) as connection:
        codes = {f"c{place}": column for place, column in enumerate(map(data.column, data.variables))}
        connection.register("codes", codes)
        if kind == ".parquet":
            query, states = _parquet_query(data, file)
            connection.sql(query, params=states).write_parquet(str(partial))
        else:
            query, states = _text_query(data, file)
            separator = delimiter or DELIMITERS[kind]
            rows = connection.sql(query, params=states)
            rows.write_csv(str(partial), sep=separator, header=False, compression=compression(file))


@contextmanager
def _replacing(file: Path) -> Iterator[Path]:
    """A temporary file next to `file` that replaces it on success."""
    try:
        folder = tempfile.TemporaryDirectory(prefix=".sepset-", dir=file.parent)
    except OSError as error:
        raise FileFormatError(f"cannot be written: {error.strerror}.", file=str(file)) from error
    with folder as name:
        partial = Path(name) / f"rows{''.join(file.suffixes[-2:])}"
        yield partial
        os.replace(partial, file)


def _text_query(dataset: Dataset, file: Path) -> tuple[str, list[object]]:
    """The header and the rows as text; the header is a row, since DuckDB renames columns that differ by case alone."""
    cells: list[str] = []
    states: list[object] = []
    for place, variable in enumerate(dataset.variables):
        if isinstance(variable, Discrete):
            texts = [state_text(state) for state in variable.states]
            if len(set(texts)) < len(texts):
                raise DataError(f"{file}: states of {variable.name} print alike: {listing(variable.states)}.")
            cells.append(f"list_extract(?::VARCHAR[], c{place}::BIGINT + 1)")
            states.append(texts)
        else:
            cells.append(f"CASE WHEN isnan(c{place}) THEN NULL ELSE c{place}::VARCHAR END")
    names = ", ".join("?::VARCHAR" for _ in cells)
    return f"SELECT {names} UNION ALL SELECT {', '.join(cells)} FROM codes", [*dataset.variables.names, *states]


def _parquet_query(dataset: Dataset, file: Path) -> tuple[str, list[object]]:
    names = dataset.variables.names
    folded = [name.casefold() for name in names]
    alike = [name for name in names if folded.count(name.casefold()) > 1]
    if alike:
        raise DataError(f"{file}: names that differ by case alone cannot go to Parquet: {listing(alike)}. Use CSV.")
    cells: list[str] = []
    states: list[object] = []
    for place, variable in enumerate(dataset.variables):
        if isinstance(variable, Discrete):
            cells.append(f"list_extract(?::{_list_type(variable)}, c{place}::BIGINT + 1)")
            states.append(list(variable.states))
        else:
            cells.append(f"CASE WHEN isnan(c{place}) THEN NULL ELSE c{place} END")
    quoted = (f'{cell} AS "{name.replace(chr(34), chr(34) * 2)}"' for cell, name in zip(cells, names, strict=True))
    return f"SELECT {', '.join(quoted)} FROM codes", states


def _list_type(variable: Discrete) -> str:
    """DuckDB's type for a list of the states."""
    if is_text(variable.states):
        return "VARCHAR[]"
    return {"b": "BOOLEAN[]", "i": "BIGINT[]", "f": "DOUBLE[]"}[numeric_states(variable).dtype.kind]
