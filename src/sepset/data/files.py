"""Datasets from and to CSV, TSV and Parquet files.

Text is written here, some rows at a time, since DuckDB plans every column for longer than its cells take; Parquet is
written by DuckDB.
"""

from __future__ import annotations

import gzip
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from sepset.base.extras import require
from sepset.base.foreign import translated
from sepset.base.replacing import replacing
from sepset.base.text import listing
from sepset.base.threads import abandonable
from sepset.data.dataset import Dataset
from sepset.data.export import is_text, numeric_states
from sepset.data.filecolumns import file_columns, naming, state_text
from sepset.data.scan import DELIMITERS, connected, file_format, separator
from sepset.errors import DataError, FileFormatError, TooLarge
from sepset.variables.array import VariableArray
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Vector

CELLS = 1 << 17
"""About how many cells of a text file are written at a time."""

LEAST_ROWS = 64
"""The fewest rows that are written at a time."""

MANY = 50_000
"""Numbers of real variables that are worth loading DuckDB for."""

MANY_TOGETHER = 2_000
"""Numbers of one column, written at a time, that are worth a query."""

PARQUET_COLUMNS = 10_000
"""The most columns of a Parquet file: how long DuckDB plans one grows with the square of their number."""


@translated
def read_dataset(
    path: str | os.PathLike[str],
    variables: Iterable[Discrete | Vector | VariableArray] | None = None,
    *,
    delimiter: str | None = None,
    missing: str | Sequence[str] = ("",),
    missing_columns: Literal["refuse", "allow"] = "refuse",
) -> Dataset:
    """The rows of a CSV, TSV, Parquet or Feather file (text also gzipped), as a dataset.

    Without variables, a text column of whole numbers becomes `Discrete` with ints as states, one of other numbers
    `Real`, one of true and false `Discrete` with bools, and any other `Discrete` with strings. Numbers that do not
    print as they were written, such as `007`, stay strings.

    Args:
        path: the file; the suffix tells its format.
        variables: what the columns mean, as in `Dataset`.
        delimiter: between cells of a text file; by default a comma, or a tab in TSV.
        missing: the text, or several, that mean a missing cell when they stand unquoted. A quoted empty cell, `""`,
            is missing too in a column of numbers or truth values, and unless it is a state of the variable.
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
    absent = (missing,) if isinstance(missing, str) else missing
    with naming(path):
        columns = file_columns(path, scope, delimiter=delimiter, missing=absent)
        return Dataset(columns, scope, missing_columns=missing_columns)


@translated
def write_dataset(data: Dataset, path: str | os.PathLike[str], *, delimiter: str | None = None) -> None:
    """Write the rows as CSV, TSV (either also gzipped), Parquet or Feather; the file appears whole or not at all.

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
    if kind in DELIMITERS:
        _write_text(data, file, separator(file, delimiter))
    elif kind == ".parquet":
        _write_parquet(data, file)
    else:
        _write_feather(data, file)


def _write_text(data: Dataset, file: Path, between: str) -> None:
    """Write a line of names and one for each row, some rows at a time."""
    quoted = partial(_quoted, between=between)
    texts = [_texts(variable, file, quoted) for variable in data.variables]
    columns = list(map(data.column, data.variables))
    step = max(LEAST_ROWS, CELLS // len(columns))
    with replacing(file) as draft, _opened(Path(draft), file) as lines, _numbers(data, file) as numbers:
        lines.write(between.join(map(quoted, data.variables.names)) + "\n")
        for first in range(0, data.num_rows, step):
            parts = [column[first : first + step] for column in columns]
            cells = [
                numbers(part) if known is None else known[part].tolist()
                for known, part in zip(texts, parts, strict=True)
            ]
            lines.write("\n".join(map(between.join, zip(*cells, strict=True))) + "\n")


def _texts(variable: Discrete | Vector, file: Path, quoted: Callable[[str], str]) -> Any:
    """How the states of a variable are written, and nothing last, for missing cells; None for a real variable."""
    if not isinstance(variable, Discrete):
        return None
    texts = [state_text(state) for state in variable.states]
    if len(set(texts)) < len(texts):
        raise DataError(f"{file}: states of {variable.name} print alike: {listing(variable.states)}.")
    found = np.empty(len(texts) + 1, object)
    found[:-1], found[-1] = [quoted(text) for text in texts], ""
    return found


def _quoted(text: str, between: str) -> str:
    """A text as a cell: in quotes where it would otherwise end early, or mean a missing cell or a comment."""
    if text and not any(mark in text for mark in (between, '"', "\n", "\r", "#")):
        return text
    return '"{}"'.format(text.replace('"', '""'))


@contextmanager
def _opened(written: Path, file: Path) -> Iterator[IO[str]]:
    """A text file to write to, compressed if the name of the one that it will be says so."""
    is_packed = file.suffix.lower() == ".gz"
    try:
        with (
            gzip.open(written, "wb", 6) if is_packed else written.open("wb") as binary,
            TextIOWrapper(binary, "utf-8", newline="") as lines,
        ):
            yield lines
    except UnicodeEncodeError as error:
        raise FileFormatError(f"cannot be written as UTF-8: {error}.", file=str(file)) from error


@contextmanager
def _numbers(data: Dataset, file: Path) -> Iterator[Callable[[Any], list[str]]]:
    """How columns of numbers become the shortest texts that are read as the same numbers; many are left to DuckDB."""
    num_real = sum(not isinstance(variable, Discrete) for variable in data.variables)
    step = max(LEAST_ROWS, CELLS // len(data.variables))
    if num_real * data.num_rows < MANY or min(step, data.num_rows) < MANY_TOGETHER:
        yield lambda part: ["" if x != x else repr(x) for x in part.tolist()]
        return
    with connected(file) as connection:

        def printed(part: Any) -> list[str]:
            connection.register("numbers", {"x": part})
            query = "SELECT CASE WHEN x IS NULL OR isnan(x) THEN '' ELSE x::VARCHAR END AS x FROM numbers"
            return np.ma.getdata(connection.sql(query).fetchnumpy()["x"]).tolist()  # type: ignore[no-any-return]

        yield printed


def _write_parquet(data: Dataset, file: Path) -> None:
    """Write all columns in one query of DuckDB."""
    if len(data.variables) > PARQUET_COLUMNS:
        raise TooLarge(
            f"{file}: Parquet is written with at most {PARQUET_COLUMNS:,} columns; found {len(data.variables):,}. "
            "Use CSV, or write some variables: data.select([...])."
        )
    query, states = _parquet_query(data, file)
    codes = {f"c{place}": column for place, column in enumerate(map(data.column, data.variables))}
    with replacing(file) as written, connected(file) as connection:
        connection.register("codes", codes)
        os.unlink(written)  # DuckDB would write next to a file that is there
        with _numbered_errors():
            rows = connection.sql(query, params=states)
            abandonable(lambda: rows.write_parquet(written), stop=connection.interrupt)


@contextmanager
def _numbered_errors() -> Iterator[None]:
    """Errors of the system in which DuckDB wraps their number, such as those of a full disk."""
    import duckdb

    try:
        yield
    except duckdb.IOException as error:
        found = re.search(r'"errno":"(\d+)"', str(error))
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1]))) from error


def _write_feather(data: Dataset, file: Path) -> None:
    """Write the columns as those of an Arrow table, states as their values."""
    feather = require("pyarrow.feather", "pandas", "Writing Feather files")
    table = abandonable(lambda: data.to_frame("pyarrow"))
    with replacing(file) as written:
        abandonable(lambda: feather.write_feather(table, written))


def _parquet_query(dataset: Dataset, file: Path) -> tuple[str, list[object]]:
    names = dataset.variables.names
    folded = Counter(name.casefold() for name in names)
    alike = [name for name in names if folded[name.casefold()] > 1]
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
