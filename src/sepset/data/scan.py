"""CSV, TSV, Parquet and Feather files as DuckDB relations: opened, named, not yet read.

Paths are parameters, never parts of a query, and no pattern in a path is expanded.
"""

from __future__ import annotations

import base64
import csv
import glob
import gzip
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from sepset.base.extras import require
from sepset.base.text import listing
from sepset.base.threads import abandonable
from sepset.errors import ArgumentError, FileFormatError

if TYPE_CHECKING:
    import duckdb

DELIMITERS = {".csv": ",", ".tsv": "\t"}
"""The separator of cells in each text format."""

FEATHER = (".feather", ".arrow")
"""The suffixes of files of Arrow's own format."""


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A file's rows as a relation, its columns under their names in the file.

    Attributes:
        columns: from names in the file to names in the relation; DuckDB renames those that differ by case alone.
        is_text: whether every cell is text as it stands in the file.
        table: the same rows as an Arrow table, which keeps the order of categories; None for other formats.
    """

    relation: duckdb.DuckDBPyRelation
    columns: Mapping[str, str]
    is_text: bool
    table: Any = None


@contextmanager
def scanned(file: Path, *, delimiter: str | None = None, missing: Sequence[str] = ("",)) -> Iterator[Scan]:
    """The file as a relation, for as long as the context lasts; DuckDB's errors become ours.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "coins.csv"
    >>> _ = file.write_text("coin\\nhead\\n")
    >>> with scanned(file) as scan:
    ...     scan.columns, scan.relation.fetchall()
    ({'coin': 'c0'}, [('head',)])
    """
    kind = require_file(file)
    with connected(file) as connection:
        if kind == ".parquet":
            yield _parquet(connection, file)
        elif kind in FEATHER:
            yield _feather(connection, file)
        else:
            yield _text(connection, file, separator(file, delimiter), list(missing))


def require_file(file: Path) -> str:
    """The suffix that tells the format of a file that is there; anything else raises."""
    kind = file_format(file)
    if not file.is_file():
        found = "not a regular file" if file.exists() else "no such file"
        several = " Give several files as duckdb.read_parquet([...])." if file.is_dir() or "*" in file.name else ""
        raise FileFormatError(f"{found}.{several}", file=str(file))
    return kind


def separator(file: Path, delimiter: str | None = None) -> str:
    """The character between cells of a text file: the given one, or that of its format.

    >>> separator(Path("rows.tsv"))
    '\\t'
    """
    if delimiter is None:
        return DELIMITERS[file_format(file)]
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ArgumentError(f"delimiter= is one character, no quote and no end of a line; found {delimiter!r}.")
    return delimiter


def file_format(file: Path) -> str:
    """The suffix that tells the format, without `.gz`; others are refused."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    kind = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else suffixes[-1] if suffixes else ""
    zipped = bool(suffixes) and suffixes[-1] == ".gz"
    if kind not in (*DELIMITERS, ".parquet", *FEATHER) or (zipped and kind not in DELIMITERS):
        raise FileFormatError(
            f"the suffix {file.suffix!r} names no format of rows. Use .csv, .tsv (either also .gz), .parquet or "
            ".feather.",
            file=str(file),
        )
    return kind


_DATABASES: dict[int, duckdb.DuckDBPyConnection] = {}


def _database() -> duckdb.DuckDBPyConnection:
    """The DuckDB of this process, which loads no extensions and keeps nothing of the files it has read.

    Making one takes longer than reading a short file. A forked process has none of the threads of the one before.
    """
    process = os.getpid()
    if process not in _DATABASES:
        import duckdb

        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        made = duckdb.connect(":memory:", config=settings)
        with suppress(duckdb.Error):  # of versions that have no such cache
            made.execute("SET enable_external_file_cache = false")
        _DATABASES.setdefault(process, made)
    return _DATABASES[process]


@contextmanager
def connected(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to DuckDB in memory with tables of its own; its errors become ours."""
    import duckdb

    connection = _database().cursor()
    try:
        yield connection
    except duckdb.Error as error:
        connection.close()
        raise _file_error(error, file) from error
    except Exception:
        connection.close()
        raise
    else:
        connection.close()
    # after Ctrl-C it is not closed here: the call that it ended may still go on, in another thread


def _file_error(error: Exception, file: Path) -> FileFormatError:
    """The first telling lines of DuckDB's message, with the line of the file."""
    text = str(error).split("\nPossible", 1)[0]
    place = re.search(r"on Line: (\d+)", text)
    lines = [line for line in text.splitlines() if line and not line.startswith("LINE ")]
    return FileFormatError(" ".join(lines)[:500], file=str(file), line=int(place[1]) if place else 0, column=1)


def _parquet(connection: duckdb.DuckDBPyConnection, file: Path) -> Scan:
    pattern = [glob.escape(str(file))]
    leaf_names = "SELECT name FROM parquet_schema(?) WHERE num_children IS NULL"
    relation = abandonable(partial(connection.sql, "FROM read_parquet(?)", params=pattern), stop=connection.interrupt)
    leaves = abandonable(lambda: connection.execute(leaf_names, pattern).fetchall(), stop=connection.interrupt)
    found = list(relation.columns)
    names = [name for (name,) in leaves] if len(leaves) == len(found) else found
    return Scan(_with_durations(connection, relation, pattern), dict(zip(names, found, strict=True)), is_text=False)


def _with_durations(
    connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation, pattern: list[str]
) -> duckdb.DuckDBPyRelation:
    """The relation with durations as such: Parquet stores them as integers, which Arrow's schema explains."""
    if "BIGINT" not in map(str, relation.types):
        return relation
    written = "SELECT value FROM parquet_kv_metadata(?) WHERE decode(key) = 'ARROW:schema'"
    schemas = abandonable(lambda: connection.execute(written, pattern).fetchall(), stop=connection.interrupt)
    durations = _durations(schemas[0][0]) if schemas else set()
    if durations.isdisjoint(relation.columns):
        return relation
    quoted = [(name, f'"{name.replace(chr(34), chr(34) * 2)}"') for name in relation.columns]
    return relation.project(
        ", ".join(f"to_microseconds({column}) AS {column}" if name in durations else column for name, column in quoted)
    )


def _durations(schema: bytes) -> set[str]:
    """The names of durations in a schema of Arrow; none where Arrow is not installed."""
    try:
        import pyarrow as pa
    except ImportError:
        return set()
    read = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(schema)))
    return {field.name for field in read if pa.types.is_duration(field.type)}


def _feather(connection: duckdb.DuckDBPyConnection, file: Path) -> Scan:
    """The rows through pyarrow, which maps the file into memory."""
    arrow = require("pyarrow", "pandas", "Reading Feather files")
    tables = require("pyarrow.feather", "pandas", "Reading Feather files")
    try:
        table = abandonable(partial(tables.read_table, str(file), memory_map=True))
    except (arrow.ArrowException, OSError, TypeError) as error:  # pandas cannot make up every type it has written
        raise FileFormatError(f"it cannot be read: {error}.", file=str(file)) from error
    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise FileFormatError(f"{listing(twice)} are names of several columns.", file=str(file))
    places = [f"c{place}" for place in range(table.num_columns)]
    own = table.rename_columns(places)
    return Scan(connection.from_arrow(own), dict(zip(table.column_names, places, strict=True)), False, own)


def _text(connection: duckdb.DuckDBPyConnection, file: Path, delimiter: str, missing: list[str]) -> Scan:
    header = first_line(file, delimiter)
    query = """
        FROM read_csv(?, columns=?, delim=?, nullstr=?, compression=?, auto_detect=false, header=true,
                      quote='"', escape='"', comment='', allow_quoted_nulls=false, strict_mode=true,
                      max_line_size=16000000)
    """
    places = {f"c{place}": "VARCHAR" for place in range(len(header))}
    settings = [glob.escape(str(file)), places, delimiter, missing, compression(file)]
    relation = abandonable(partial(connection.sql, query, params=settings), stop=connection.interrupt)
    return Scan(relation, dict(zip(header, places, strict=True)), is_text=True)


def compression(file: Path) -> str:
    """Said outright, since DuckDB takes what follows a question mark in a path for no part of the name."""
    return "gzip" if file.suffix.lower() == ".gz" else "none"


def first_line(file: Path, delimiter: str | None = None) -> list[str]:
    """The names in the first line of a text file."""
    delimiter = separator(file, delimiter)
    try:
        with _lines(file) as lines:
            names = next(csv.reader(lines, delimiter=delimiter, strict=True), [])
        "".join(names).encode()
    except (OSError, EOFError, zlib.error, UnicodeEncodeError, csv.Error) as error:
        why = "it is not UTF-8 text" if isinstance(error, UnicodeEncodeError) else str(error)
        raise FileFormatError(f"the first line cannot be read: {why}.", file=str(file), line=1, column=1) from error
    bad = [name for name, count in Counter(names).items() if not name or count > 1]
    if bad or not names:
        found = f"empty or repeated names {listing(bad)}" if bad else "no names"
        raise FileFormatError(f"the first line names the columns; found {found}.", file=str(file), line=1, column=1)
    return names


def _lines(file: Path) -> IO[str]:
    if file.suffix.lower() == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return file.open(encoding="utf-8-sig", errors="surrogateescape", newline="")
