"""Frames of probabilities as rows by label: a row per joint state of the parents, or one per joint state of all.

Three forms are read, in pandas, polars and Arrow:

- wide: a column for each parent and one for each state of the child;
- tidy: a column for each parent, one for the child, and one with the probability;
- labeled (pandas): the parents' states in the index and the child's states in the columns, or reversed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sepset.base.extras import MAKERS, library_name
from sepset.base.text import listing
from sepset.errors import ModelError
from sepset.variables.variable import Discrete, plain

Named = Discrete | str
"""A variable, or its name where the frame says its states."""


def is_frame(table: object) -> bool:
    """Whether a table is a frame, or a series of pandas.

    >>> is_frame([0.5, 0.5])
    False
    """
    return library_name(table) in MAKERS and type(table).__name__ in ("DataFrame", "Table", "Series")


def named_rows(table: Any, child: Named, *, parents: Sequence[Named], label: str) -> Mapping[Any, Any]:
    """The rows of a frame: from the parents' states to a mapping from the child's states to probabilities.

    Args:
        table: the frame.
        child: the variable, or its name.
        parents: the variables it is conditioned on, or their names.
        label: the name of the table in errors.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"rain": ["no", "yes"], "wet": [0.1, 0.8], "dry": [0.9, 0.2]})
    >>> named_rows(frame, Discrete("grass", ("dry", "wet")), parents=[Discrete("rain", ("no", "yes"))], label="grass")
    {'no': {'wet': 0.1, 'dry': 0.9}, 'yes': {'wet': 0.8, 'dry': 0.2}}
    """
    if type(table).__name__ == "Series":
        table = _framed(table, label)
    names = [_name(parent) for parent in parents]
    columns = _columns(table, {*names, _name(child)})
    if set(names) <= set(columns) and (names or _name(child) in columns or library_name(table) != "pandas"):
        rest = [key for key in columns if key not in names]
        return _tidy(columns, child, parents, label) if _is_tidy(rest, child) else _wide(columns, child, parents, label)
    if library_name(table) != "pandas":
        raise ModelError(
            f"{label}: a frame without row labels needs a column for each parent, {listing(names)}; found the columns "
            f"{listing(list(columns))}."
        )
    return _labeled(table, child, parents, label)


def _is_tidy(rest: Sequence[Any], child: Named) -> bool:
    """Whether the columns other than those of the parents are the child and its probability, and not its two states."""
    if _name(child) not in rest or len(rest) != 2:
        return False
    return isinstance(child, str) or set(rest) != set(child.states)


def _name(variable: Named) -> str:
    return variable if isinstance(variable, str) else variable.name


def _framed(series: Any, label: str) -> Any:
    """A series of pandas as a frame of one row, or of one column of probabilities by joint states."""
    if library_name(series) != "pandas":
        raise ModelError(
            f"{label} takes a series of pandas, whose values have labels; found {type(series).__module__}."
        )
    if series.index.nlevels > 1:
        name = "probability"
        while name in series.index.names:
            name += "_"
        return series.rename(name).reset_index()
    return series.to_frame().T


def _columns(table: Any, names: set[str]) -> dict[Any, list[Any]]:
    """The columns by name; with the levels of a pandas index that have these names."""
    if library_name(table) == "pandas":
        if names.intersection(table.index.names):
            table = table.reset_index()
        return {key: table[key].tolist() for key in table.columns} if table.columns.is_unique else {}
    return dict(table.to_pydict() if library_name(table) == "pyarrow" else table.to_dict(as_series=False))


def _wide(columns: Mapping[Any, list[Any]], child: Named, parents: Sequence[Named], label: str) -> dict[Any, Any]:
    names = [_name(parent) for parent in parents]
    found = [key for key in columns if key not in names]
    states = dict(zip(found, found, strict=True)) if isinstance(child, str) else _states_of_columns(found, child, label)
    return _rows(
        label,
        _contexts(columns, parents),
        [{states[key]: columns[key][i] for key in found} for i in range(len(columns[found[0]]))] if found else [],
    )


def _states_of_columns(found: Sequence[Any], child: Discrete, label: str) -> dict[Any, Any]:
    """From the titles of columns to the states they name; columns of some libraries are always named by text."""
    states: dict[Any, Any] = {_kept(state): state for state in child.states}
    texts = {f"{child.name}={state}": state for state in child.states}
    if len(set(map(str, child.states))) == len(states):
        texts.update((str(state), state) for state in child.states)
    matched = {key: states.get(_kept(key), texts.get(key, key) if isinstance(key, str) else key) for key in found}
    if len(matched) != len(states) or {_kept(state) for state in matched.values()} != set(states):
        raise ModelError(
            f"{label}: a frame has a column for each parent and one for each state of {child.name}, "
            f"{listing(child.states)}, by their names; found the further columns {listing(list(found))}."
        )
    return matched


def _kept(state: Any) -> tuple[bool, Any]:
    """The state with whether it is a bool, which equals a number."""
    value = plain(state)
    return isinstance(value, bool), value


def _tidy(columns: Mapping[Any, list[Any]], child: Named, parents: Sequence[Named], label: str) -> dict[Any, Any]:
    names = [_name(parent) for parent in parents]
    (value,) = (key for key in columns if key not in names and key != _name(child))
    rows: dict[Any, dict[Any, Any]] = {}
    for context, state, p in zip(_contexts(columns, parents), columns[_name(child)], columns[value], strict=True):
        row = rows.setdefault(context, {})
        if state in row:
            raise ModelError(f"{label} was given {_name(child)}={state!r} in the row {context!r} twice.")
        row[state] = p
    for row in rows.values():  # a state without a line has no probability
        if not isinstance(child, str) and row.keys() <= set(child.states):
            row.update({state: 0.0 for state in child.states if state not in row})
    return rows if parents else rows.get((), {})


def _contexts(columns: Mapping[Any, list[Any]], parents: Sequence[Named]) -> list[Any]:
    """The parents' states in every line: tuples, or bare states of one parent."""
    if not parents:
        return [()] * len(next(iter(columns.values()), []))
    listed = [columns[_name(parent)] for parent in parents]
    return listed[0] if len(listed) == 1 else list(zip(*listed, strict=True))


def _rows(label: str, contexts: Sequence[Any], rows: Sequence[Any]) -> dict[Any, Any]:
    """The rows by context; one that is there twice is refused."""
    _refuse_repeated(contexts, "row", label)
    found = dict(zip(contexts, rows, strict=True))
    return found[()] if list(found) == [()] else found


def _refuse_repeated(labels: Sequence[Any], what: str, owner: str) -> None:
    seen: set[Any] = set()
    for label in labels:
        if label in seen:
            raise ModelError(f"{owner} was given the {what} {label!r} twice.")
        seen.add(label)


def _labeled(frame: Any, child: Named, parents: Sequence[Named], label: str) -> dict[Any, Any]:
    """The rows of a pandas frame by the labels of its index.

    A transposed frame is turned; where both ways fit, it is turned if its index has the name of the child, or its
    columns have those of the parents.
    """
    names = [_name(parent) for parent in parents]
    fits = (
        [True, True] if isinstance(child, str) else [_is_domain(axis, child) for axis in (frame.columns, frame.index)]
    )
    if not any(fits):
        raise ModelError(
            f"{label}: a frame has a row for each state of the parents and a column for each state of the child, "
            f"by their names; found the columns {listing(frame.columns.tolist())} and the rows "
            f"{listing(frame.index.tolist())}."
        )
    is_named = frame.index.name == _name(child) or (bool(names) and set(frame.columns.names) == set(names))
    rows = frame.T if fits == [False, True] or (all(fits) and is_named) else frame
    if len(names) > 1 and set(rows.index.names) == set(names):
        rows = rows.reorder_levels(names)
    states = rows.columns.tolist()
    _refuse_repeated(states, "column", label)
    found = [dict(zip(states, row, strict=True)) for row in np.asarray(rows).tolist()]
    if not parents:
        if len(found) != 1:
            named = [str(name) for name in rows.index.names if name is not None]
            do = f" Name its parents: given=[{listing(named)}]." if named else " Name its parents: given=[...]."
            raise ModelError(f"{label} has no parents, so its frame has one row; found {len(found)}.{do}")
        return found[0]
    return _rows(label, rows.index.tolist(), found)


def _is_domain(axis: Any, child: Discrete) -> bool:
    return {_kept(value) for value in axis.tolist()} == {_kept(state) for state in child.states}
