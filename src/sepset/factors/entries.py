"""Entries of conditional tables as people give them: arrays, tables, mappings and frames, matched by their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.frames import by_label, has_labels
from sepset.errors import ModelError, ScopeError, StateError
from sepset.factors.algebra import check_size, num_entries
from sepset.factors.coordinates import states_of
from sepset.factors.framerows import is_frame, named_rows
from sepset.factors.labels import name_of
from sepset.factors.table import Table
from sepset.variables.variable import Discrete, State


class Conditional(Protocol):
    """A distribution of a child given its parents, whose entries are read."""

    @property
    def child(self) -> Discrete:
        """The variable."""

    @property
    def parents(self) -> tuple[Discrete, ...]:
        """The variables it is conditioned on."""

    @property
    def label(self) -> str:
        """Its name in errors."""


def entries(cpd: Conditional, table: ArrayLike | Table | Mapping[Any, Any]) -> Floats:
    """The entries in C order over `(*parents, child)`; the shape is checked, the values are not."""
    scope = (*cpd.parents, cpd.child)
    check_size(scope)
    if isinstance(table, Table):
        return np.asarray(table.align(scope).values.reshape(-1))
    if isinstance(table, Mapping):
        return _from_mapping(cpd, table)
    if is_frame(table):
        return _from_mapping(cpd, named_rows(table, cpd.child, parents=cpd.parents, label=cpd.label))
    try:
        array = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{cpd.label} needs numbers of shape {_shape(cpd)}; found {table!r}.") from error
    _check_shape(cpd, array.shape)
    return np.ascontiguousarray(array).reshape(-1)


def _shape(cpd: Conditional) -> tuple[int, ...]:
    return tuple(v.num_states for v in (*cpd.parents, cpd.child))


def _check_shape(cpd: Conditional, found: tuple[int, ...]) -> None:
    """Raise unless an array is nested by parent, has a row per joint state of the parents, or is flat."""
    num_rows, num_states = num_entries(cpd.parents), cpd.child.num_states
    in_rows = ((num_rows, num_states),) if len(cpd.parents) > 1 else ()
    if found in (_shape(cpd), *in_rows, (num_rows * num_states,)):
        return
    also = f" or {(num_rows, num_states)}" if in_rows else ""
    turned = " Its rows seem to be the child's states: give the transpose." if found == (num_states, num_rows) else ""
    raise ModelError(
        f"{cpd.label} needs numbers of shape {_shape(cpd)}{also}, axes (*given, child); found the shape {found}."
        f"{turned}"
    )


def _from_mapping(cpd: Conditional, table: Mapping[Any, Any]) -> Floats:
    if not cpd.parents:
        return row_of(cpd.child, table.get((), table), cpd)
    rows = in_contexts(table, cpd.parents, cpd.label, "row")
    return np.concatenate([row_of(cpd.child, row, cpd) for row in rows])


def in_contexts(values: Mapping[Any, Any], parents: Sequence[Discrete], label: str, what: str) -> list[Any]:
    """The values for all joint states of the parents, in C order, each given by its states.

    Args:
        label: whose values they are, in errors.
        what: one of them, in errors.

    >>> in_contexts({"yes": 0.1, "no": 0.2}, [Discrete("rain", ("no", "yes"))], "LinearGaussian(y | rain[2])", "value")
    [0.2, 0.1]
    """
    found: dict[int, Any] = {}
    for states, value in values.items():
        place = row_place(parents, states, label)
        if place in found:
            raise ModelError(f"{label} was given the {what} ({states_of(parents, place)}) twice.")
        found[place] = value
    if len(found) < (num := num_entries(parents)):
        missing = states_of(parents, next(place for place in range(num) if place not in found))
        raise ModelError(f"{label} was given {len(found)} of {num} {what}s; the {what} ({missing}) is missing.")
    return [found[place] for place in range(num)]


def row_place(parents: Sequence[Discrete], states: object, label: str) -> int:
    """The position of the row at these states of the parents: a tuple, or one bare state for one parent."""
    listed = states if isinstance(states, tuple) else (states,)
    if len(listed) != len(parents):
        raise ScopeError(f"{label} has {len(parents)} parents; found {len(listed)} states: {states!r}.")
    place = 0
    for parent, state in zip(parents, listed, strict=True):
        place = place * parent.num_states + parent.code(state)
    return place


def row_of(child: Discrete, row: object, owner: object) -> Floats:
    """One row of probabilities from a sequence, or from a mapping or pandas series that names every state."""
    row = by_label(row)
    if isinstance(row, Mapping):
        values = np.full(child.num_states, np.nan)
        for state, value in row.items():
            values[child.code(state)] = _number(value, owner)
        if np.isnan(values).any():
            absent = child.states[int(np.flatnonzero(np.isnan(values))[0])]
            raise StateError(f"{name_of(owner)}: a row has no probability for {child.name}={absent!r}.")
        return values
    try:
        values = np.array(row, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name_of(owner)} needs rows of {child.num_states} numbers; found {row!r}.") from error
    if values.shape != (child.num_states,):
        raise ModelError(f"{name_of(owner)} needs rows of {child.num_states} numbers; found {values.shape}: {row!r}.")
    return values


def labeled_rows(rows: Any, child: Discrete, parent: Discrete | None, owner: object) -> Any:
    """A row per state of a parent, or one row without a parent, by the labels that a pandas series or frame has.

    Whatever has no labels comes back as it is.

    >>> import pandas as pd
    >>> grass, rain = Discrete("grass", ("dry", "wet")), Discrete("rain", ("no", "yes"))
    >>> frame = pd.DataFrame({"wet": [0.8, 0.1], "dry": [0.2, 0.9]}, index=["yes", "no"])
    >>> labeled_rows(frame, grass, rain, "grass").tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """
    if not has_labels(rows):
        return rows
    if parent is None:
        return row_of(child, named_rows(rows, child, parents=(), label=name_of(owner)), owner)
    named = named_rows(rows, child, parents=[parent], label=name_of(owner))
    found = {parent.code(state): row for state, row in named.items()}
    absent = [state for code, state in enumerate(parent.states) if code not in found]
    if absent:
        raise ModelError(f"{name_of(owner)} was given no row for {parent.name}={absent[0]!r}.")
    return np.stack([row_of(child, found[code], owner) for code in range(parent.num_states)])


def _number(value: Any, owner: object) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name_of(owner)} has numbers in its rows; found {value!r}.") from error


def named_scope(child: Discrete | str, table: object, *, given: object) -> tuple[Discrete, Any]:
    """The child and the parents; those given by name have the states that label the rows of a mapping or frame.

    >>> named_scope("wet", {False: {"no": 0.9, "yes": 0.1}, True: {"no": 0.2, "yes": 0.8}}, given="rain")
    (Discrete('wet', ('no', 'yes')), (Discrete('rain', (False, True)),))
    """
    own: list[Any] = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if not any(isinstance(v, str) for v in (child, *own)):
        return child, given  # type: ignore[return-value]  # a variable
    names = [v if isinstance(v, str) else v.name for v in (child, *own)]
    if is_frame(table):
        table = named_rows(table, child, parents=own, label=f"The table of {names[0]}")
    if not isinstance(table, Mapping):
        name = next(v for v in (child, *own) if isinstance(v, str))
        raise ScopeError(
            f"{name!r} is a name, and numbers alone do not say its states. Give Discrete({name!r}, states), or rows "
            "as a mapping or a frame whose labels are the states."
        )
    keys = [key if isinstance(key, tuple) else (key,) for key in table] if own else []
    if any(len(key) != len(own) for key in keys):
        raise ScopeError(f"The table of {names[0]} has {len(own)} parents; found a row for {keys[0]!r}.")
    parents = tuple(_variable(v, (key[i] for key in keys)) for i, v in enumerate(own))
    return _variable(child, _child_states(names[0], list(table.values()) if own else [table.get((), table)])), parents


def _child_states(name: str, rows: list[Any]) -> Iterable[State]:
    """The labels of the rows, in the order in which they appear."""
    if not all(isinstance(row, Mapping) for row in rows):
        raise ScopeError(f"{name!r} is a name, and its rows have no labels. Give Discrete({name!r}, states).")
    return (state for row in rows for state in row)


def _variable(variable: Discrete | str, states: Iterable[State]) -> Discrete:
    return Discrete(variable, tuple(dict.fromkeys(states))) if isinstance(variable, str) else variable
