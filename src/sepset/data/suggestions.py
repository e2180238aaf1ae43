"""The variables of stored columns, by their types and distinct values, without loading the rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sepset.data.binding import infer_variable, inference_note
from sepset.data.columns import Column, Levels, numbers_of
from sepset.data.filecolumns import typed
from sepset.data.frames import open_frame, opened_frame
from sepset.data.scan import Scan, scanned
from sepset.errors import DataError
from sepset.variables.variable import Discrete, Real


class Suggested(NamedTuple):
    """The variables of stored columns by name, and notes on what could be meant otherwise."""

    variables: dict[str, Discrete | Real]
    notes: tuple[str, ...]


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

    They are those that the rows would suggest in memory (`infer_variable`). Of a text file no column is held whole.

    Args:
        source: a lazy frame, a relation, or the path of a file.
        names: the columns that matter.
    """
    if not isinstance(source, str | os.PathLike):
        lazy = opened_frame(source)
        return _suggested(lazy, {n: n for n in lazy.collect_schema().names()}, names)
    with scanned(Path(source)) as scan:
        if scan.is_text:
            found = {name: _of_text(scan, name) for name in names if name in scan.columns}
            return Suggested({n: v for n, (v, _) in found.items()}, tuple(n for _, n in found.values() if n))
        return _suggested(opened_frame(scan.relation), scan.columns, names)


def _suggested(lazy: Any, columns: Mapping[str, str], names: Iterable[str]) -> Suggested:
    schema, known = lazy.collect_schema(), [name for name in names if name in columns]
    fractions = _with_fractions(lazy, [columns[n] for n in known if schema[columns[n]].is_float()])
    variables: dict[str, Discrete | Real] = {}
    notes = []
    for name in known:
        column = columns[name]
        if column in fractions:
            variables[name] = Real(name)
            continue
        distinct = lazy.select(column).unique()
        if schema[column].is_float():
            distinct = distinct.head(MOST_STATES)
        cells = open_frame(distinct.to_native()).read(column)
        variables[name], note = _inferred(name, cells)
        notes += [note] if note else []
    return Suggested(variables, tuple(notes))


def _with_fractions(lazy: Any, columns: list[str]) -> set[str]:
    """Those of these columns of floats that hold a number that is not whole: one scan for all of them."""
    import narwhals.stable.v2 as nw

    if not columns:
        return set()
    number = map(nw.col, columns)
    broken = [
        ((x != x.round(0)) & (x == x)).cast(nw.Int64).sum().alias(f"n{i}")  # NaN is a missing cell, and not itself
        for i, x in enumerate(number)
    ]
    row = open_frame(lazy.select(*broken).to_native())
    return {c for i, c in enumerate(columns) if numbers_of(row.read(f"n{i}"))[0] > 0}


def _inferred(name: str, cells: Column) -> tuple[Discrete | Real, str | None]:
    variable = infer_variable(name, cells)
    return variable, inference_note(variable, cells)


def _of_text(scan: Scan, name: str) -> tuple[Discrete | Real, str | None]:
    column = scan.columns[name]
    cells = scan.relation.project(column)
    texts = open_frame(cells.distinct().limit(MOST_STATES + 1)).read(column)
    assert isinstance(texts, Levels), "text columns come as levels"
    if len(texts.values) <= MOST_STATES:
        return _inferred(name, typed(texts))
    is_number = f"regexp_full_match({column}, '{_NUMBER}') AND NOT regexp_full_match({column}, '{_PADDED}')"
    is_whole = f"regexp_full_match({column}, '{_INTEGER}')"
    (row,) = cells.aggregate(f"bool_and({is_number}), bool_and({is_whole})").fetchall()
    if row == (True, False):
        return Real(name), None
    raise DataError(
        f"Column {name!r} has more than {MOST_STATES:,} distinct values, too many for states. Say what it is: "
        f"variables=[Real({name!r})]."
    )
