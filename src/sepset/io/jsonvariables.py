"""Variables and states in our JSON: types are kept, names are structured, arrays remain lazy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

from sepset.io.cursor import Cursor
from sepset.variables.array import VariableArray
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real, State, Vector

Document: TypeAlias = dict[str, Any]
Part: TypeAlias = Discrete | Vector | VariableArray

MAX_VARIABLES = 1 << 24
"""The largest number of variables that the arrays of a file may have."""

SPARE_STATES = 1 << 18
"""The number of states that counts in a file may imply beyond its number of characters."""

_INFINITE = {"inf": math.inf, "-inf": -math.inf}


class VariableReader:
    """Reads the variables of one file, and limits the number of variables and states that short forms imply."""

    def __init__(self, num_characters: int = 0) -> None:
        self.variables, self.states = MAX_VARIABLES, SPARE_STATES + num_characters

    def part(self, item: Cursor) -> Part:
        """The variable, or array of variables, in an entry."""
        item.keys("name", "kind", "states", "size", "shape", "index", "lag", "part")
        kind = item["kind"].text() if "kind" in item else "discrete"
        name = item["name"].text()
        if kind == "array":
            return self._array(item, name)
        index = tuple(item["index"].wholes().tolist()) if "index" in item else ()
        lag = item["lag"].whole(-(1 << 31), 1 << 31) if "lag" in item else 0
        if kind == "discrete":
            part = item["part"].text() if "part" in item else ""
            states = self._states(item["states"])
            return item.made(lambda: Discrete(name, states, index=index, lag=lag, part=part))
        if kind == "real":
            return item.made(lambda: Real(name, index=index, lag=lag))
        if kind != "vector":
            raise item["kind"].error("expected discrete, array, real or vector")
        size = item["size"].whole(1, 1 << 31)
        return item.made(lambda: Vector(name, size, index=index, lag=lag))

    def _array(self, item: Cursor, name: str) -> VariableArray:
        shape = tuple(item["shape"].wholes().tolist())
        self.variables -= math.prod(shape)
        if self.variables < 0:
            raise item["shape"].error(f"the arrays of a file stand for at most {MAX_VARIABLES:,} variables")
        states = self._states(item["states"])
        return item.made(lambda: VariableArray(name, shape, states=states))

    def _states(self, item: Cursor) -> int | tuple[State, ...]:
        """The states: a list of them, or their number."""
        if type(item.value) is not int:
            return tuple(read_state(state) for state in item)
        self.states -= item.whole(1)
        if self.states < 0:
            raise item.error("the counts of this file stand for more states than a file of its size may have")
        return item.value


def read_state(item: Cursor) -> State:
    """A state: a string, a boolean, an integer or a float; infinite floats are written as words."""
    value = item.value
    if isinstance(value, dict):
        item.keys("float")
        if item["float"].text() not in _INFINITE:
            raise item["float"].error("expected 'inf' or '-inf'")
        return _INFINITE[value["float"]]
    if not isinstance(value, str | int | float) or (isinstance(value, float) and math.isinf(value)):
        raise item.error("expected a state: a string, a number, or true or false")
    return value


def state_document(state: State) -> object:
    """A state as JSON.

    >>> state_document(float("inf")), state_document(True)
    ({'float': 'inf'}, True)
    """
    return {"float": str(state)} if isinstance(state, float) and math.isinf(state) else state


def variable_document(part: Part) -> Document:
    """A variable, or array of variables, as JSON.

    >>> variable_document(Discrete("grade", "ABC"))
    {'name': 'grade', 'states': ['A', 'B', 'C']}
    """
    if isinstance(part, VariableArray):
        return {"name": part.base, "kind": "array", "shape": list(part.shape), "states": _states_document(part.states)}
    document: Document = {"name": part.base}
    if isinstance(part, Discrete):
        document["states"] = _states_document(part.states)
    elif isinstance(part, Real):
        document["kind"] = "real"
    else:
        document |= {"kind": "vector", "size": part.size}
    if part.index:
        document["index"] = list(part.index)
    if part.lag:
        document["lag"] = part.lag
    if part.part:
        document["part"] = part.part
    return document


def _states_document(states: tuple[State, ...]) -> object:
    if all(type(state) is int for state in states) and states == tuple(range(len(states))):
        return len(states)
    return [state_document(state) for state in states]


def names(variables: Iterable[Discrete | Vector]) -> list[str]:
    """The names by which a document refers to variables."""
    return [variable.name for variable in variables]


def found(item: Cursor, variables: Universe) -> Discrete | Vector:
    """The variable a name refers to."""
    name = item.text()
    return item.made(lambda: variables[name])


def found_all(item: Cursor, variables: Universe) -> tuple[Discrete | Vector, ...]:
    """The variables a list of names refers to."""
    return tuple(found(name, variables) for name in item)


def discrete(item: Cursor, variables: Universe) -> Discrete:
    """The discrete variable a name refers to."""
    variable = found(item, variables)
    if not isinstance(variable, Discrete):
        raise item.error("expected a discrete variable")
    return variable


def discrete_all(item: Cursor, variables: Universe) -> tuple[Discrete, ...]:
    """The discrete variables a list of names refers to."""
    return tuple(discrete(name, variables) for name in item)


def continuous_all(item: Cursor, variables: Universe) -> tuple[Vector, ...]:
    """The continuous variables a list of names refers to."""
    given = []
    for name in item:
        variable = found(name, variables)
        if not isinstance(variable, Vector):
            raise name.error("expected a continuous variable")
        given.append(variable)
    return tuple(given)
