"""The variables of stored columns, by their types and distinct values, without loading the rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from sepset.data.binding import infer_variable
from sepset.data.columns import Levels
from sepset.data.filecolumns import typed
from sepset.data.frames import open_frame, opened_frame
from sepset.data.scan import Scan, scanned
from sepset.errors import DataError
from sepset.variables.variable import Discrete, Real

Suggested: TypeAlias = dict[str, Discrete | Real]

MOST_STATES = 1 << 16
"""The most distinct texts of a column that are looked at one by one."""

_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|-inf|nan)"
_PADDED = r"[+-]?0[0-9].*"
_INTEGER = r"-?(0|[1-9][0-9]*)"


def column_names(source: object) -> list[str]:
    """The names of the columns of a frame, a mapping of columns or a file.

    >>> column_names({"a": [1], "b": [2]})
    ['a', 'b']
    """
    if isinstance(source, Mapping):
        return [str(name) for name in source]
    if isinstance(source, str | os.PathLike):
        with scanned(Path(source)) as scan:
            return list(scan.columns)
    return list(opened_frame(source).collect_schema().names())


def suggested_variables(source: Any, names: Iterable[str]) -> Suggested:
    """The variables that columns of a lazy frame or of a file suggest; names that are not columns are left out.

    They are those that the rows would suggest in memory: floats are `Real`, other columns have their distinct values as
    states. Of a text file no column is held whole.

    Args:
        source: a lazy frame, a relation, or the path of a file.
        names: the columns that matter.
    """
    if not isinstance(source, str | os.PathLike):
        lazy = opened_frame(source)
        return _suggested(lazy, {n: n for n in lazy.collect_schema().names()}, names)
    with scanned(Path(source)) as scan:
        if scan.is_text:
            return {name: _of_text(scan, name) for name in names if name in scan.columns}
        return _suggested(opened_frame(scan.relation), scan.columns, names)


def _suggested(lazy: Any, columns: Mapping[str, str], names: Iterable[str]) -> Suggested:
    schema = lazy.collect_schema()
    found: Suggested = {}
    for name in names:
        if name in columns and schema[columns[name]].is_float():
            found[name] = Real(name)
        elif name in columns:
            values = open_frame(lazy.select(columns[name]).unique().to_native()).read(columns[name])
            found[name] = infer_variable(name, values)
    return found


def _of_text(scan: Scan, name: str) -> Discrete | Real:
    column = scan.columns[name]
    cells = scan.relation.project(column)
    texts = open_frame(cells.distinct().limit(MOST_STATES + 1)).read(column)
    assert isinstance(texts, Levels), "text columns come as levels"
    if len(texts.values) <= MOST_STATES:
        return infer_variable(name, typed(texts))
    is_number = f"regexp_full_match({column}, '{_NUMBER}') AND NOT regexp_full_match({column}, '{_PADDED}')"
    is_whole = f"regexp_full_match({column}, '{_INTEGER}')"
    (row,) = cells.aggregate(f"bool_and({is_number}), bool_and({is_whole})").fetchall()
    if row == (True, False):
        return Real(name)
    raise DataError(
        f"Column {name!r} has more than {MOST_STATES:,} distinct values, too many for states. Say what it is: "
        f"variables=[Real({name!r})]."
    )
