"""Columns of CSV, TSV and Parquet files.

Text files are read as text and matched with states by how the states print, so that `3.0`, `<0.5` and `True` are what
the variables say they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from sepset.base.arraytypes import AnyInts
from sepset.data.columns import MISSING, Cells, Column, Levels, drop_missing, numbers_of
from sepset.data.frames import open_frame
from sepset.data.scan import Scan, scanned
from sepset.errors import DataError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, State, Vector

_BOOLEANS = {"true": True, "false": False}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PADDED = re.compile(r"[+-]?0[0-9]")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,99})")


def file_columns(
    path: str | os.PathLike[str],
    scope: Universe | None = None,
    *,
    delimiter: str | None = None,
    missing: Sequence[str] = ("",),
) -> dict[str, Column]:
    """The columns of a file by name.

    Args:
        path: the file; the suffix tells its format.
        scope: the variables that text is matched with; other columns are left out. Without them, text becomes what it
            looks like.
        delimiter: between cells of a text file; by default a comma, or a tab in TSV.
        missing: texts that mean a missing cell when they stand unquoted.
    """
    with scanned(Path(path), delimiter=delimiter, missing=missing) as scan:
        return _text_columns(scan, scope) if scan.is_text else _parquet_columns(scan)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors about columns and cells begin with the file they are in."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{os.fspath(path)}: {error}") from error


def _parquet_columns(scan: Scan) -> dict[str, Column]:
    frame = open_frame(scan.relation)
    return {name: frame.read(found) for name, found in scan.columns.items()}


def _text_columns(scan: Scan, scope: Universe | None) -> dict[str, Column]:
    frame = open_frame(scan.relation)
    wanted = None if scope is None else {v.name: v for v in scope}
    columns: dict[str, Column] = {}
    for name, found in scan.columns.items():
        if wanted is None:
            columns[name] = typed(_levels(frame.read(found)))
        elif name in wanted:
            columns[name] = matched(_levels(frame.read(found)), wanted[name])
    return columns if columns else {name: frame.read(found) for name, found in scan.columns.items()}


def _levels(column: Column) -> Levels:
    assert isinstance(column, Levels), "text columns come as levels"
    return column


def typed(levels: Levels) -> Column:
    """Text as whole numbers, numbers or truth values where every cell is one.

    >>> typed(Levels(np.array([0, 1]), ("3", "0.5"))).values.tolist()
    [3.0, 0.5]
    """
    texts = [str(value) for value in levels.values]
    if texts and all(_INTEGER.fullmatch(text) and text != "-0" for text in texts):
        return Levels(levels.codes, tuple(int(text) for text in texts))
    if texts and all(text.lower() in _BOOLEANS for text in texts):
        return Levels(_merged(levels, [int(_BOOLEANS[text.lower()]) for text in texts]), (False, True), fixed=True)
    if any(map(_NUMBER.fullmatch, texts)) and all(_number(t) is not None and not _PADDED.match(t) for t in texts):
        return Cells(numbers_of(Levels(levels.codes, tuple(_number(text) for text in texts))))
    return levels


def _merged(levels: Levels, codes: list[int]) -> AnyInts:
    return np.array([*codes, MISSING], np.int8)[levels.codes]


def _number(text: str) -> float | None:
    if _NUMBER.fullmatch(text) or text.lower() in ("inf", "-inf", "nan"):
        return float(text)
    return None


def matched(levels: Levels, variable: Discrete | Vector) -> Levels:
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
