"""Columns bound to variables: the one place where cells are checked against domains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats
from sepset.base.text import listing, nearest
from sepset.data.columns import MISSING, Cells, Column, Levels, code_dtype, first_row, is_number, levels_of, numbers_of
from sepset.data.frames import Frame
from sepset.errors import DataError, ModelError
from sepset.variables.universe import Variables
from sepset.variables.variable import Discrete, Real, State, Vector

_UNKNOWN = -2


def infer_variable(name: str, column: Column) -> Discrete | Real:
    """The variable a column suggests.

    Floats give a `Real`, whole or not: pandas turns whole numbers with gaps into floats, and nothing tells those
    apart from measurements, so give the variables (or use a nullable integer column) where they are states.
    Booleans give the states False and True, categorical and enum columns their categories in order, and other
    columns their distinct values, sorted.

    >>> from sepset.data.columns import from_objects
    >>> infer_variable("grade", from_objects(["B", "A", None]))
    Discrete('grade', ('A', 'B'))
    """
    if isinstance(column, Cells) and column.values.dtype.kind == "f":
        return Real(name)
    levels = levels_of(column)
    if not levels.fixed and any(isinstance(v, float) for v in levels.values) and all(map(is_number, levels.values)):
        return Real(name)
    _refuse_strange(name, levels)
    if not levels.fixed and levels.values and all(isinstance(value, bool) for value in levels.values):
        return Discrete(name, (False, True))
    if not levels.values:
        raise DataError(
            f"Column {name!r} has no values in {len(column):,} rows, so its states are unknown. Give the variables."
        )
    distinct = {(isinstance(value, bool), value): value for value in levels.values}
    states: list[State] = list(distinct.values())  # type: ignore[arg-type]  # states, as checked
    if not levels.fixed:
        states.sort(key=lambda state: (isinstance(state, str), state))
    try:
        return Discrete(name, states)
    except ModelError as error:
        raise DataError(f"Column {name!r}: {error}") from error


def _refuse_strange(name: str, levels: Levels) -> None:
    strange = [code for code, value in enumerate(levels.values) if not isinstance(value, str | int | float | bool)]
    if strange:
        value = levels.values[strange[0]]
        row = first_row(levels, strange)
        place = f" in row {row}" if row is not None else ""
        raise DataError(
            f"Column {name!r} holds {value!r} ({type(value).__name__}){place}. States are strings, ints, bools or "
            "floats. Convert the column or leave it out."
        )


def bind_column(variable: Discrete | Vector, column: Column) -> AnyInts | Floats:
    """The cells as codes of a discrete variable's states, or as the numbers of a real one.

    >>> from sepset.data.columns import from_objects
    >>> bind_column(Discrete("grade", ("A", "B")), from_objects(["B", None, "A"]))
    array([ 1, -1,  0], dtype=int8)
    """
    if isinstance(variable, Discrete):
        return _state_codes(variable, levels_of(column))
    refuse_vector(variable)
    try:
        return numbers_of(column)
    except DataError as error:
        raise DataError(f"Column {variable.name!r}: {error} {variable!r} takes numbers.") from error


def refuse_vector(variable: Vector) -> None:
    """Raise if a vector has more than one dimension: a column has one number per row."""
    if variable.size != 1:
        raise DataError(f"{variable!r} has {variable.size} dimensions; a column holds one. Use one Real for each.")


def _state_codes(variable: Discrete, levels: Levels) -> AnyInts:
    found = [variable.domain.find(value) for value in levels.values]
    if found == list(range(len(found))):  # the column's codes are ours
        return levels.codes.astype(code_dtype(variable.num_states))
    table = np.full(len(found) + 1, MISSING, code_dtype(variable.num_states))
    table[:-1] = [_UNKNOWN if code is None else code for code in found]
    unknown = [place for place, code in enumerate(found) if code is None]
    row = first_row(levels, unknown) if unknown else None
    if row is not None:
        value, count = levels.values[int(levels.codes[row])], int(np.isin(levels.codes, unknown).sum())
        raise DataError(unknown_state(variable, value, count, f", row {row}"))
    return table[levels.codes]


def unknown_state(variable: Discrete, value: object, count: int, place: str = "") -> str:
    """The message about a value that is not a state: its place, the nearest state, and the number of such rows."""
    others = f" {count:,} rows hold such values." if count > 1 else ""
    return (
        f"Column {variable.name!r}{place}: unknown state {value!r} ({type(value).__name__}); states are "
        f"{listing(variable.states)}.{nearest(value, variable.states)}{_type_advice(variable, value)}{others}"
    )


def _type_advice(variable: Discrete, value: object) -> str:
    """The advice if only the type is wrong."""
    match = next((s for s in variable.states if str(s) == str(value) or (type(value) is not str and s == value)), None)
    if match is None:
        return ""
    return (
        f" The column holds {type(value).__name__}, the states are {type(match).__name__}: "
        f"convert the column to {type(match).__name__}, or give the variable states of type {type(value).__name__}."
    )


def bind_frame(
    frame: Frame, variables: Variables | None, missing_columns: Literal["refuse", "allow"]
) -> tuple[Variables, tuple[AnyInts | Floats, ...]]:
    """The variables of a frame, inferred where none are given, and their columns."""
    if variables is None:
        plain = {name: frame.read(name) for name in frame.names}
        inferred = Variables(infer_variable(name, column) for name, column in plain.items())
        return inferred, tuple(bind_column(v, plain[v.name]) for v in inferred)
    names = set(frame.names)
    absent = [v.name for v in variables if v.name not in names]
    if absent and missing_columns != "allow":
        raise DataError(
            f"{absent_message(absent, frame.names)} "
            "Rename the column, or pass missing_columns='allow' to treat the variable as unobserved."
        )
    columns = (bind_column(v, frame.read(v.name)) if v.name in names else absent_column(v, frame) for v in variables)
    return variables, tuple(columns)


def absent_column(variable: Discrete | Vector, frame: Frame) -> AnyInts | Floats:
    """A column with every cell missing."""
    if isinstance(variable, Discrete):
        return np.full(frame.num_rows, MISSING, code_dtype(variable.num_states))
    refuse_vector(variable)
    return np.full(frame.num_rows, np.nan)


def absent_message(absent: Sequence[str], names: Iterable[str]) -> str:
    """The message about variables without a column."""
    known = list(names)
    more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
    found = f"columns are {listing(known)}" if known else "the frame has no columns"
    return f"No column for variable {absent[0]!r}{more}; {found}.{nearest(absent[0], known)}"


def missing_message(purpose: str, name: str, count: int, row: int | None = None) -> str:
    """The message about missing cells where complete data is needed."""
    cells = f"{count:,} cells" if count > 1 else "one cell"
    place = "" if row is None else f" (first in row {row})"
    return (
        f"{purpose} needs complete data; column {name!r} misses {cells}{place}. "
        "Use EM, which sums over what is missing, or leave those rows out."
    )
