"""Columns bound to variables: the one place where cells are checked against domains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats
from sepset.base.checks import one_of
from sepset.base.text import listing, nearest
from sepset.data.columns import (
    MISSING,
    TEXT,
    Cells,
    Column,
    Levels,
    code_dtype,
    first_row,
    is_number,
    levels_of,
    numbers_of,
    occurring,
    whole_numbers,
)
from sepset.data.frames import Frame
from sepset.errors import DataError, ModelError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real, State, Vector

_UNKNOWN = -2

FEW = 12
"""Floats with at most so many distinct values, all of them whole numbers, are states."""

READ_AS_MISSING = {"#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"}
READ_AS_MISSING |= {"N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", ""}
"""The texts that pandas.read_csv takes as missing cells."""

MANY = 30
"""A column of whole numbers with more states than these is worth a note."""


def infer_variable(name: str, column: Column) -> Discrete | Real:
    """The variable a column suggests.

    Floats give a `Real`, unless they are whole numbers and have 2 to 12 distinct values: those are states, for pandas
    turns whole numbers with missing cells into floats, and scikit-learn codes of states. Booleans give the states False
    and True, categorical and enum columns their categories in order, and other columns their distinct values, sorted.
    Dates, times and durations are refused. `inference_note` says what could be meant otherwise.

    >>> from sepset.data.columns import from_objects
    >>> infer_variable("grade", from_objects(["B", "A", None]))
    Discrete('grade', ('A', 'B'))
    """
    if has_floats(column):
        whole = whole_numbers(column)
        return Real(name) if whole is None or not 1 < len(whole) <= FEW else Discrete(name, whole)
    levels = levels_of(column)
    if levels.values and TEXT.issuperset(map(type, levels.values)):
        texts = dict.fromkeys(levels.values)
        return Discrete(name, texts if levels.fixed else sorted(texts))  # type: ignore[arg-type]  # strings
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


def inference_note(variable: Discrete | Real, column: Column) -> str | None:
    """The other meaning that an inferred column may have, and how to declare it; None in clear cases.

    >>> inference_note(Discrete("x", (0, 1)), Cells(np.array([0.0, 1.0, np.nan])))
    "Column 'x' holds whole numbers as floats, with 2 distinct values: taken as states. If they are measurements, \
give variables=[Real('x')]."
    """
    name = variable.name
    if isinstance(variable, Discrete) and not READ_AS_MISSING.isdisjoint(variable.domain.states):
        doubtful = [state for state in variable.states if state in READ_AS_MISSING]
        found = f"Column {name!r} holds the text {listing(doubtful)}: taken as a state."
        return f"{found} If it means a missing cell, put None there, or use read_dataset(path, missing=...)."
    if isinstance(variable, Discrete) and TEXT.issuperset(variable.domain.types):
        return None
    is_float = has_floats(column)
    whole = whole_numbers(column) if is_float else None
    if isinstance(variable, Discrete) and is_float:
        found = f"holds whole numbers as floats, with {variable.num_states} distinct values: taken as states"
    elif isinstance(variable, Discrete) and variable.num_states > MANY and _are_integers(variable):
        found = f"holds integers, with {variable.num_states:,} distinct values: taken as states"
    elif whole and len(whole) > FEW:
        found = f"Column {name!r} holds whole numbers as floats, with {len(whole):,} distinct values: taken as real."
        return f"{found} If they are states, give variables=[Discrete({name!r}, ...)]."
    else:
        return None
    return f"Column {name!r} {found}. If they are measurements, give variables=[Real({name!r})]."


def has_floats(column: Column) -> bool:
    """Whether the cells are floats: by the column's type, or by the numbers in it."""
    if isinstance(column, Cells):
        return column.values.dtype.kind == "f"
    if column.fixed or TEXT.issuperset(map(type, column.values)):
        return False
    return any(isinstance(v, float) for v in column.values) and all(map(is_number, column.values))


def _are_integers(variable: Discrete) -> bool:
    return all(isinstance(state, int) and not isinstance(state, bool) for state in variable.states)


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
        return _state_codes(variable, as_texts(variable, column))
    refuse_vector(variable)
    try:
        return numbers_of(column)
    except DataError as error:
        raise DataError(f"Column {variable.name!r}: {error} {variable!r} takes numbers.") from error


def as_texts(variable: Discrete, column: Column) -> Levels:
    """The column as text, where the states are texts and a reader of files took all of it for numbers or truth values.

    A file holds text alone: what was written as the states '1' and '2' is read as 1 and 2, 'True' as True. Nothing is
    guessed: the column has a type, as readers give it one, and each of its values is what one state is read as.
    """
    levels = levels_of(column)
    is_typed = isinstance(column, Cells) or {bool}.issuperset(map(type, levels.values))
    if not levels.values or not is_typed:
        return levels
    texts = {str(state): state for state in variable.states if isinstance(state, str)}
    read = {_read_back(text): text for text in texts}
    if len(texts) < variable.num_states or len(read) < len(texts):
        return levels
    held = occurring(levels)
    found = [read.get((isinstance(value, bool), value)) for value in held.values]
    return levels if None in found else Levels(held.codes, tuple(found))


def _read_back(text: str) -> tuple[bool, object]:
    """The value that a reader of files makes of a text: a truth value, a number, or the text itself."""
    if text in ("True", "False", "true", "false", "TRUE", "FALSE"):
        return True, text.lower() == "true"
    try:
        return False, float(text)
    except ValueError:
        return False, text


def refuse_vector(variable: Vector) -> None:
    """Raise if a vector has more than one dimension: a column has one number per row."""
    if variable.size != 1:
        raise DataError(f"{variable!r} has {variable.size} dimensions; a column holds one. Use one Real for each.")


def _state_codes(variable: Discrete, levels: Levels) -> AnyInts:
    known, values = variable.domain, levels.values
    is_ours = values == known.states and tuple(map(type, values)) == known.types
    found = [*range(len(values))] if is_ours else [known.find(value) for value in values]
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
    frame: Frame, variables: Universe | None, missing_columns: Literal["refuse", "allow"]
) -> tuple[Universe, tuple[AnyInts | Floats, ...], tuple[str, ...]]:
    """The variables of a frame, inferred where none are given, their columns, and notes on what was inferred."""
    one_of("missing_columns", missing_columns, ("refuse", "allow"))
    if variables is None:
        plain = {name: frame.read(name) for name in frame.names}
        found = [infer_variable(name, column) for name, column in plain.items()]
        notes = [inference_note(variable, plain[variable.name]) for variable in found]
        notes.append(delimiter_hint(frame.names).strip())
        inferred = Universe(found)
        return inferred, tuple(bind_column(v, plain[v.name]) for v in inferred), tuple(filter(None, notes))
    names = set(frame.names)
    absent = [v.name for v in variables if v.name not in names]
    if absent and missing_columns != "allow":
        raise DataError(
            f"{absent_message(absent, frame.names)} "
            "Rename the column, or pass missing_columns='allow' to treat the variable as unobserved."
        )
    if absent:
        refuse_respelled(absent, names.difference(variables.names))
    columns, notes = [], []
    for variable in variables:
        if variable.name not in names:
            columns.append(absent_column(variable, frame))
            continue
        column = frame.read(variable.name)
        columns.append(bind_column(variable, column))
        if frame.is_pandas and not (isinstance(column, Levels) and column.fixed):
            notes.append(_restore(variable, columns[-1]))
    return variables, tuple(columns), tuple(filter(None, notes))


def _restore(variable: Discrete | Vector, codes: AnyInts | Floats) -> str | None:
    """Give missing cells of a pandas column back the state that pandas reads as missing, and say so; None if none is.

    A state such as 'NA' or 'None' is a missing cell after `read_csv`. Where all states are texts, one of them is such
    a text, no cell holds it and cells are missing, they are that state; with two such states, they could be either, and
    are refused. Categories are no work of `read_csv`.
    """
    if not isinstance(variable, Discrete) or READ_AS_MISSING.isdisjoint(variable.states):
        return None
    taken = [code for code, state in enumerate(variable.states) if state in READ_AS_MISSING]
    missing = codes == MISSING
    is_text = all(isinstance(state, str) for state in variable.states)
    if not is_text or not missing.any() or np.isin(codes, taken).any():
        return None
    if len(taken) > 1:
        raise DataError(
            f"Column {variable.name!r}: pandas reads the states {listing(variable.states[code] for code in taken)} as "
            f"missing, and no cell holds them: {int(missing.sum()):,} missing cells could be any of these. Give the "
            "path of the file, or use read_csv(..., keep_default_na=False). If the cells are missing, make the column "
            "categorical."
        )
    codes[missing] = taken[0]
    return (
        f"Column {variable.name!r}: pandas reads the state {variable.states[taken[0]]!r} as missing, and no cell holds "
        f"it: {int(missing.sum()):,} missing cells are taken as that state. Use read_csv(..., keep_default_na=False)."
    )


def absent_column(variable: Discrete | Vector, frame: Frame) -> AnyInts | Floats:
    """A column with every cell missing."""
    if isinstance(variable, Discrete):
        return np.full(frame.num_rows, MISSING, code_dtype(variable.num_states))
    refuse_vector(variable)
    return np.full(frame.num_rows, np.nan)


def refuse_respelled(absent: Iterable[str], unused: Iterable[object]) -> None:
    """Raise if an unused column has the name of a variable without one, up to case, spaces, hyphens and underscores.

    It would be ignored, and the variable taken as unobserved.

    >>> refuse_respelled(["grade"], ["letter"])
    """
    spelled = {_letters(name): name for name in unused if isinstance(name, str)}
    for name in absent if spelled else ():
        if (found := spelled.get(_letters(name))) is not None:
            raise DataError(
                f"There is no column {name!r}. Did you mean {found!r}? Rename the column; or, where {name!r} is "
                "hidden, leave the other column out."
            )


def _letters(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name.casefold()).strip()


def absent_message(absent: Sequence[str], names: Iterable[str]) -> str:
    """The message about variables without a column."""
    known = list(names)
    more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
    found = f"columns are {listing(known)}" if known else "the frame has no columns"
    near = delimiter_hint(known) or nearest(absent[0], known)
    return f"No column for variable {absent[0]!r}{more}; {found}.{near}"


def delimiter_hint(names: Sequence[object]) -> str:
    """The advice for an only column whose name looks like several names, with another character between them.

    >>> delimiter_hint(["a;b"])
    " The only column is 'a;b': if ';' is between cells, use read_dataset(path, delimiter=';')."
    """
    only = names[0] if len(names) == 1 and isinstance(names[0], str) else ""
    between = next((mark for mark in ";\t|" if mark in only), None)
    if between is None:
        return ""
    told = f"if {between!r} is between cells, use read_dataset(path, delimiter={between!r})."
    return f" The only column is {only!r}: {told}"


REMEDY = "Use EM, which sums over what is missing, or leave those rows out."
"""The way out where complete data is needed."""


def missing_message(purpose: str, name: str, count: int, row: int | None = None, remedy: str = REMEDY) -> str:
    """The message about missing cells where complete data is needed."""
    cells = f"{count:,} cells" if count > 1 else "one cell"
    place = "" if row is None else f" (first in row {row})"
    return f"{purpose} needs complete data; column {name!r} misses {cells}{place}. {remedy}"
