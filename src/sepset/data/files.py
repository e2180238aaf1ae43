"""CSV, TSV and Parquet files of rows, through DuckDB.

Text files are read as text and matched with states by how the states print, so that `3.0`, `<0.5` and `True` are what
the variables say they are. Paths are parameters, never parts of a query, and no pattern in a path is expanded.
"""

from __future__ import annotations

import csv
import glob
import gzip
import os
import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import numpy as np

from sepset.arrays import VariableArray
from sepset.data.columns import MISSING, Cells, Codes, Column, Levels, drop_missing, numbers_of
from sepset.data.dataset import Dataset
from sepset.data.export import is_text, numeric_states
from sepset.data.frames import open_frame
from sepset.errors import DataError, FileFormatError, listing
from sepset.universe import Variables
from sepset.variables import Discrete, State, Vector

if TYPE_CHECKING:
    import duckdb

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_BOOLEANS = {"true": True, "false": False}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PADDED = re.compile(r"[+-]?0[0-9]")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,99})")


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

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "coins.csv"
    >>> _ = file.write_text("coin,tries\\nhead,3\\n,5\\n")
    >>> read_dataset(file).row(1)
    {'coin': None, 'tries': 5}
    """
    file = Path(path)
    kind = _format(file)
    if not file.is_file():
        raise FileFormatError("no such file." if not file.exists() else "not a regular file.", file=str(file))
    scope = None if variables is None else Variables(variables)
    with _connection(file) as connection:
        if kind == ".parquet":
            source: object = _parquet_columns(connection, file)
        else:
            source = _text_columns(connection, file, delimiter or _DELIMITERS[kind], list(missing), scope)
    try:
        return Dataset(source, scope, missing_columns=missing_columns)
    except DataError as error:
        raise DataError(f"{file}: {error}") from error


def _format(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    kind = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else suffixes[-1] if suffixes else ""
    zipped = bool(suffixes) and suffixes[-1] == ".gz"
    if kind not in (*_DELIMITERS, ".parquet") or (zipped and kind == ".parquet"):
        raise FileFormatError(
            f"the suffix {file.suffix!r} names no format of rows. Use .csv, .tsv (either also .gz) or .parquet.",
            file=str(file),
        )
    return kind


@contextmanager
def _connection(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A private in-memory DuckDB that loads no extensions; its errors become ours."""
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    try:
        with duckdb.connect(":memory:", config=settings) as connection:
            yield connection
    except duckdb.Error as error:
        raise _file_error(error, file) from error


def _file_error(error: Exception, file: Path) -> FileFormatError:
    """The first telling lines of DuckDB's message, with the line of the file."""
    text = str(error).split("\nPossible", 1)[0]
    place = re.search(r"on Line: (\d+)", text)
    lines = [line for line in text.splitlines() if line and not line.startswith("LINE ")]
    return FileFormatError(" ".join(lines)[:500], file=str(file), line=int(place[1]) if place else 0, column=1)


def _parquet_columns(connection: duckdb.DuckDBPyConnection, file: Path) -> dict[str, Column]:
    """The columns under the names in the file: DuckDB would rename those that differ by case alone."""
    pattern = [glob.escape(str(file))]
    frame = open_frame(connection.sql("FROM read_parquet(?)", params=pattern))
    leaves = connection.execute("SELECT name FROM parquet_schema(?) WHERE num_children IS NULL", pattern).fetchall()
    names = [name for (name,) in leaves] if len(leaves) == len(frame.names) else list(frame.names)
    return {name: frame.read(found) for name, found in zip(names, frame.names, strict=True)}


def _text_columns(
    connection: duckdb.DuckDBPyConnection, file: Path, delimiter: str, missing: list[str], scope: Variables | None
) -> dict[str, Column]:
    header = _header(file, delimiter)
    query = """
        FROM read_csv(?, columns=?, delim=?, nullstr=?, compression=?, auto_detect=false, header=true,
                      quote='"', escape='"', comment='', allow_quoted_nulls=false, strict_mode=true,
                      max_line_size=16000000)
    """
    places = {f"c{place}": "VARCHAR" for place in range(len(header))}
    frame = open_frame(
        connection.sql(query, params=[glob.escape(str(file)), places, delimiter, missing, _compression(file)])
    )
    wanted = None if scope is None else {v.name: v for v in scope}
    columns: dict[str, Column] = {}
    for place, name in enumerate(header):
        if wanted is None:
            columns[name] = _typed(_levels(frame.read(f"c{place}")))
        elif name in wanted:
            columns[name] = _matched(_levels(frame.read(f"c{place}")), wanted[name])
    return columns if columns else {name: frame.read(f"c{place}") for place, name in enumerate(header)}


def _compression(file: Path) -> str:
    """Said outright, since DuckDB takes what follows a question mark in a path for no part of the name."""
    return "gzip" if file.suffix.lower() == ".gz" else "none"


def _levels(column: Column) -> Levels:
    assert isinstance(column, Levels), "text columns come as levels"
    return column


def _header(file: Path, delimiter: str) -> list[str]:
    """The names in the first line of a text file."""
    if len(delimiter) != 1:
        raise DataError(f"A delimiter is one character; found {delimiter!r}.")
    try:
        with _text(file) as lines:
            names = next(csv.reader(lines, delimiter=delimiter, strict=True), [])
        "".join(names).encode()
    except (OSError, EOFError, zlib.error, UnicodeEncodeError, csv.Error) as error:
        raise FileFormatError(f"the first line cannot be read: {error}.", file=str(file), line=1, column=1) from error
    bad = [name for place, name in enumerate(names) if not name or name in names[:place]]
    if bad or not names:
        found = f"empty or repeated names {listing(bad)}" if bad else "no names"
        raise FileFormatError(f"the first line names the columns; found {found}.", file=str(file), line=1, column=1)
    return names


def _text(file: Path) -> IO[str]:
    if file.suffix.lower() == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return file.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _typed(levels: Levels) -> Column:
    """Text as whole numbers, numbers or truth values where every cell is one."""
    texts = [str(value) for value in levels.values]
    if texts and all(_INTEGER.fullmatch(text) and text != "-0" for text in texts):
        return Levels(levels.codes, tuple(int(text) for text in texts))
    if texts and all(text.lower() in _BOOLEANS for text in texts):
        return Levels(_merged(levels, [int(_BOOLEANS[text.lower()]) for text in texts]), (False, True), fixed=True)
    if any(map(_NUMBER.fullmatch, texts)) and all(_number(t) is not None and not _PADDED.match(t) for t in texts):
        return Cells(numbers_of(Levels(levels.codes, tuple(_number(text) for text in texts))))
    return levels


def _merged(levels: Levels, codes: list[int]) -> Codes:
    return np.array([*codes, MISSING], np.int8)[levels.codes]


def _number(text: str) -> float | None:
    if _NUMBER.fullmatch(text) or text.lower() in ("inf", "-inf", "nan"):
        return float(text)
    return None


def _matched(levels: Levels, variable: Discrete | Vector) -> Levels:
    """Text as the states of a variable, or as numbers; what fits neither stays text, to be refused with its row."""
    texts = [str(value) for value in levels.values]
    if isinstance(variable, Discrete):
        by_text = {state_text(state): state for state in reversed(variable.states)}
        by_text |= {state: state for state in variable.states if isinstance(state, str)}
        return Levels(levels.codes, tuple(_state(text, variable, by_text) for text in texts))
    numbers = [_number(text.strip()) for text in texts]
    return drop_missing(levels.codes, [t if n is None else n for t, n in zip(texts, numbers, strict=True)])


def state_text(state: State) -> str:
    """How a state is written in a text file.

    >>> state_text(True), state_text(3.0), state_text("<0.5")
    ('True', '3.0', '<0.5')
    """
    return str(state)


def _state(text: str, variable: Discrete, by_text: Mapping[str, State]) -> State:
    if text in by_text:
        return by_text[text]
    number: object = _BOOLEANS.get(text.lower(), _number(text))
    code = None if number is None else variable.domain.find(number)
    return text if code is None else variable.states[code]


def write_dataset(dataset: Dataset, path: str | os.PathLike[str], *, delimiter: str | None = None) -> None:
    """Write the rows as CSV, TSV (either also gzipped) or Parquet; the file appears whole or not at all.

    Missing cells are written as nothing (in text) or null, and an empty string is quoted, so that the two differ.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "coins.tsv"
    >>> write_dataset(Dataset({"coin": ["head", None], "fair": [True, False]}), file)
    >>> file.read_text()
    'coin\\tfair\\nhead\\tTrue\\n\\tFalse\\n'
    """
    file = Path(path)
    kind = _format(file)
    if not len(dataset.variables):
        raise DataError(f"{file}: a dataset without variables has nothing to write.")
    with _replacing(file) as partial, _connection(file) as connection:
        codes = {f"c{place}": column for place, column in enumerate(map(dataset.column, dataset.variables))}
        connection.register("codes", codes)
        if kind == ".parquet":
            query, states = _parquet_query(dataset, file)
            connection.sql(query, params=states).write_parquet(str(partial))
        else:
            query, states = _text_query(dataset, file)
            separator = delimiter or _DELIMITERS[kind]
            rows = connection.sql(query, params=states)
            rows.write_csv(str(partial), sep=separator, header=False, compression=_compression(file))


@contextmanager
def _replacing(file: Path) -> Iterator[Path]:
    """A temporary file beside `file` that takes its place when all went well."""
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
