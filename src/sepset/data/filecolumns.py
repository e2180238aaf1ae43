"""Columns of CSV, TSV and Parquet files.

Cells of text files are matched with states by how the states print, so that `3.0`, `<0.5` and `True` are what the
variables say they are.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sepset.base.arraytypes import AnyInts
from sepset.data.columns import MISSING, TEXT, Cells, Column, Levels, drop_missing
from sepset.data.frames import open_frame
from sepset.data.scan import DELIMITERS, first_line, require_file, scanned, separator
from sepset.data.textfiles import LARGEST, large_columns
from sepset.errors import DataError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, State, Vector

LARGEST_PACKED = 1 << 27
"""As `LARGEST`, for a compressed file."""

MOST = 1 << 16
"""The most distinct texts that are states."""

_BOOLEANS = {"true": True, "false": False}
_FORM = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(_FORM)
_PRINTED = re.compile(rf"(?![+-]?0[0-9]){_FORM}|(?i:nan|-?inf)")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,99}")


@dataclass(frozen=True, slots=True, eq=False)
class ReadColumns(Mapping[str, Column]):
    """Those columns of a file that are read; it has the names of all, for errors to list.

    Attributes:
        names: of the file's columns.
        columns: those that are read.
    """

    names: tuple[str, ...]
    columns: Mapping[str, Column]

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, eq=False)
class FileRows(Mapping[str, Column]):
    """The columns of a file by name, as what they look like; `matched` gives them as what variables say they are.

    Attributes:
        path: the file.
        names: of all its columns.
        columns: those that are read: text, or numbers where there are very many.
        is_text: whether it is a text file.
    """

    path: Path
    names: tuple[str, ...] = field(repr=False)
    columns: Mapping[str, Column] = field(repr=False)
    is_text: bool

    def __getitem__(self, name: str) -> Column:
        found = typed(self.columns[name]) if self.is_text else self.columns[name]
        if isinstance(found, Levels) and len(found.values) > MOST:
            raise DataError(
                f"Column {name!r} has more than {MOST:,} distinct values, too many for states. Say what it is: "
                f"variables=[Real({name!r})]."
            )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def matched(self, scope: Universe | None) -> Mapping[str, Column]:
        """The columns of these variables, text as their states or numbers; without variables, as they look."""
        if scope is None or not self.is_text:
            return self
        wanted = {v.name: v for v in scope}
        found: dict[str, Column] = {n: matched(c, wanted[n]) for n, c in self.columns.items() if n in wanted}
        return found or self.columns


def is_large(path: str | os.PathLike[str]) -> bool:
    """Whether a file is too large to be read as a whole: its rows stay where they are."""
    file = Path(path)
    return file.is_file() and file.stat().st_size > (LARGEST_PACKED if file.suffix.lower() == ".gz" else LARGEST)


def file_rows(
    path: str | os.PathLike[str], names: Iterable[str], variables: Iterable[Discrete | Vector] = ()
) -> FileRows | None:
    """The columns of these names, in one scan; None where one is not there, or the file is too large to be read whole.

    Args:
        path: the file; the suffix tells its format.
        names: of columns.
        variables: what some of them are, as far as it is known.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "coins.csv"
    >>> _ = file.write_text("coin,tries\\nhead,3\\n")
    >>> file_rows(file, ["tries"])["tries"].values
    (3,)
    """
    file, wanted = Path(path), list(dict.fromkeys(names))
    if is_large(file) or not wanted:
        return None
    rows = _opened(file, wanted, variables, complete=True)
    return rows if len(rows) else None


def file_columns(
    path: str | os.PathLike[str],
    scope: Universe | None = None,
    *,
    delimiter: str | None = None,
    missing: Sequence[str] = ("",),
) -> Mapping[str, Column]:
    """The columns of a file by name.

    Args:
        path: the file; the suffix tells its format.
        scope: the variables that text is matched with; other columns have names, but are not read. Without them, text
            becomes what it looks like.
        delimiter: between cells of a text file; by default a comma, or a tab in TSV.
        missing: texts that mean a missing cell when they stand unquoted.
    """
    rows = _opened(Path(path), None if scope is None else scope.names, scope or (), delimiter, missing)
    if scope is None:
        return {name: typed(column) if rows.is_text else column for name, column in rows.columns.items()}
    wanted = {v.name: v for v in scope}
    is_matched = rows.is_text and not wanted.keys().isdisjoint(rows.columns)
    found = {n: matched(c, wanted[n]) if is_matched else c for n, c in rows.columns.items()}
    return ReadColumns(rows.names, found)


def _opened(
    file: Path,
    names: Sequence[str] | None,
    variables: Iterable[Discrete | Vector],
    delimiter: str | None = None,
    missing: Sequence[str] = ("",),
    *,
    complete: bool = False,
) -> FileRows:
    """The named columns that a file has, read once; all of them without names, or if it has none of these.

    Args:
        complete: nothing is read unless all of them are there.
    """
    is_text = require_file(file) in DELIMITERS
    if is_text:
        header, kinds = first_line(file, delimiter), {v.name: isinstance(v, Discrete) for v in variables}
        asked = {name: kinds.get(name) for name in _wanted(header, names, complete)}
        found = large_columns(file, header, asked, delimiter=separator(file, delimiter), missing=missing)
        if found is not None or not asked:
            return FileRows(file, tuple(header), found or {}, is_text)
    with scanned(file, delimiter=delimiter, missing=missing) as scan:
        wanted = _wanted(scan.columns, names, complete)
        if not wanted:
            return FileRows(file, tuple(scan.columns), {}, is_text)
        quoted = (f'"{scan.columns[name].replace(chr(34), chr(34) * 2)}"' for name in wanted)
        frame = open_frame(scan.relation.select(", ".join(quoted)) if scan.table is None else scan.table)
        found = {name: _owned(frame.read(scan.columns[name], name)) for name in wanted}
        return FileRows(file, tuple(scan.columns), found, is_text)


def _owned(column: Column) -> Column:
    """A column that was read from a file, and has no other owner."""
    return replace(column, is_own=True) if isinstance(column, Cells) else column


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors about columns and cells begin with the file they are in."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{os.fspath(path)}: {error}") from error


def _wanted(known: Iterable[str], names: Sequence[str] | None, complete: bool) -> list[str]:
    """Those of the names that are known, in their own order; all known ones without names, or if no name is known.

    If all have to be there, none where one is not.
    """
    columns = dict.fromkeys(known)
    found = [name for name in names or () if name in columns]
    return [] if complete and len(found) < len(names or ()) else found or list(columns)


def typed(column: Column) -> Column:
    """Text as whole numbers, numbers or truth values where every cell is one; an empty text among them is missing.

    Programs that quote every cell write missing ones as `""`, which among words could be a state.

    >>> typed(Levels(np.array([0, 1, 2]), ("3", "0.5", ""))).values.tolist(), typed(Levels([0, 1], ("x", ""))).values
    ([3.0, 0.5, nan], ('x', ''))
    """
    if not isinstance(column, Levels) or not column.values or not TEXT.issuperset(map(type, column.values)):
        return column
    if "" in column.values and len(column.values) > 1:
        rest = typed(_without_empty(column))
        return column if isinstance(rest, Levels) and TEXT.issuperset(map(type, rest.values)) else rest
    texts: tuple[str, ...] = column.values  # type: ignore[assignment]  # as asked
    if all(map(_INTEGER.fullmatch, texts)):
        return Levels(column.codes, tuple(map(int, texts)))
    if all(text.lower() in _BOOLEANS for text in texts):
        return Levels(_merged(column, [int(_BOOLEANS[text.lower()]) for text in texts]), (False, True), fixed=True)
    if all(map(_PRINTED.fullmatch, texts)) and any(map(_NUMBER.fullmatch, texts)):
        return Cells(np.array([*map(float, texts), math.nan])[column.codes])
    return column


def _without_empty(levels: Levels) -> Levels:
    """The column in which empty texts are missing cells."""
    return drop_missing(levels.codes, [value or None for value in levels.values])


def _merged(levels: Levels, codes: list[int]) -> AnyInts:
    return np.array([*codes, MISSING], np.int8)[levels.codes]


def _number(text: str) -> float | None:
    if _NUMBER.fullmatch(text) or text.lower() in ("inf", "-inf", "nan"):
        return float(text)
    return None


def matched(column: Column, variable: Discrete | Vector) -> Column:
    """Text as the states of a variable, or as numbers; what fits neither stays text, to be refused with its row.

    An empty text is a missing cell, unless it is a state.
    """
    if not isinstance(column, Levels) or not TEXT.issuperset(map(type, column.values)):
        return column
    if "" in column.values and not (isinstance(variable, Discrete) and "" in variable.states):
        column = _without_empty(column)
    texts = [str(value) for value in column.values]
    if isinstance(variable, Discrete):
        by_text = {state_text(state): state for state in reversed(variable.states)}
        by_text |= {state: state for state in variable.states if isinstance(state, str)}
        return Levels(column.codes, tuple(_state(text, variable, by_text) for text in texts))
    numbers = [_number(text.strip()) for text in texts]
    return drop_missing(column.codes, [t if n is None else n for t, n in zip(texts, numbers, strict=True)])


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
