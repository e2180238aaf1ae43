"""Where variables live in flat arrays: coordinates of continuous ones, entries of discrete ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.frames import in_order, without_labels
from sepset.base.text import brief
from sepset.errors import ArgumentError, DataError, ModelError, ScopeError
from sepset.factors.algebra import AnyVariable, Assignment, Columns, check_scope, find, num_entries
from sepset.variables.evidence import real_value
from sepset.variables.variable import Discrete, Real, Vector, listed

ON_SUPPORT = 1e-9
"""How far from a deterministic relation a point may lie, relative to the terms of the relation."""


def continuous_scope(scope: Iterable[AnyVariable] | Vector) -> tuple[Vector, ...]:
    """The scope as a tuple of `Real` and `Vector` variables; anything else is refused.

    >>> continuous_scope(Real("x"))
    (Real('x'),)
    """
    variables = check_scope(listed(scope))
    for variable in variables:
        if not isinstance(variable, Vector):
            raise ScopeError(f"A Gaussian is over continuous variables; {variable!r} is not. Use CanonicalTable.")
    return variables  # type: ignore[return-value]


def width(scope: Iterable[Vector]) -> int:
    """The number of coordinates of a continuous scope.

    >>> width((Real("x"), Vector("p", 2)))
    3
    """
    return sum(v.size for v in scope)


def places(scope: Sequence[Vector], part: Iterable[Vector]) -> Ints:
    """The coordinates in `scope` of the variables of `part`, in the order of `part`.

    >>> places((Real("x"), Vector("p", 2)), [Vector("p", 2), Real("x")]).tolist()
    [1, 2, 0]
    """
    starts: dict[Vector, int] = {}
    total = 0
    for variable in scope:
        starts[variable] = total
        total += variable.size
    return np.array([i for v in part for i in range(starts[v], starts[v] + v.size)], dtype=np.int64)


def entries(scope: Sequence[Discrete], part: Sequence[Discrete]) -> Ints:
    """For each joint state of `scope` in C order, the flat entry of the joint state of `part` it contains.

    >>> entries((Discrete("a", 2), Discrete("b", 2)), (Discrete("b", 2),)).tolist()
    [0, 1, 0, 1]
    """
    joint = np.arange(num_entries(scope))
    strides: dict[Discrete, int] = {}
    stride = 1
    for variable in reversed(part):
        strides[variable] = stride
        stride *= variable.num_states
    result = np.zeros(len(joint), np.int64)
    for variable in reversed(scope):
        joint, codes = np.divmod(joint, variable.num_states)
        if variable in strides:
            result += codes * strides[variable]
    return result


def selected_entries(scope: tuple[Discrete, ...], assignment: Assignment) -> tuple[tuple[Discrete, ...], Ints]:
    """The discrete variables that an assignment leaves free, and the flat entries that agree with its states.

    >>> selected_entries((Discrete("a", 2), Discrete("b", 3)), {"b": 1})
    ((Discrete('a', (0, 1)),), array([1, 4]))
    """
    codes = {axis: scope[axis].code(state) for key, state in assignment.items() if (axis := find(scope, key)) >= 0}
    found, stride = np.zeros(1, np.int64), num_entries(scope)
    for axis, variable in enumerate(scope):
        stride //= variable.num_states
        if axis in codes:
            found = found + codes[axis] * stride
        else:
            found = (found[:, None] + np.arange(variable.num_states) * stride).reshape(-1)
    return tuple(v for axis, v in enumerate(scope) if axis not in codes), found


def states_of(scope: Sequence[Discrete], entry: int) -> str:
    """How the joint state with this flat code reads, as in `a='x', b=1`; empty for an empty scope.

    >>> states_of((Discrete("a", "xy"), Discrete("b", 2)), 1)
    "a='x', b=1"
    """
    parts = []
    for variable in reversed(scope):
        entry, code = divmod(entry, variable.num_states)
        parts.append(f"{variable.name}={variable.states[code]!r}")
    return ", ".join(reversed(parts))


def row_entries(scope: Sequence[Discrete], rows: Columns, num_rows: int) -> Ints:
    """The flat joint code of `scope` in each row of codes."""
    result = np.zeros(num_rows, np.int64)
    for variable in scope:
        result = result * variable.num_states + rows[variable]
    return result


def matrix(scope: Sequence[Vector], rows: Columns, num_rows: int) -> Floats:
    """The columns of a continuous scope side by side: one row per assignment, one column per coordinate."""
    parts = [numbers(rows[v], v, num_rows) for v in scope]
    return np.concatenate([np.empty((num_rows, 0)), *parts], axis=1)


def numbers(column: object, variable: Vector, num_rows: int) -> Floats:
    """The column of a continuous variable, `[rows, coordinates]`; anything else raises.

    >>> numbers([1, 2.5], Real("x"), 2).tolist()
    [[1.0], [2.5]]
    """
    try:
        return np.asarray(column, dtype=np.float64).reshape(num_rows, variable.size)
    except (TypeError, ValueError):
        shape = (num_rows,) if variable.size == 1 else (num_rows, variable.size)
        raise DataError(f"{variable!r} needs numbers of shape {shape}; found {brief(column)}.") from None


def columns(scope: Sequence[Vector], values: Floats) -> Columns:
    """The inverse of `matrix`: `[n]` for a `Real`, `[n, size]` for a `Vector`."""
    result: Columns = {}
    start = 0
    for variable in scope:
        part = values[:, start : start + variable.size]
        result[variable] = part[:, 0] if isinstance(variable, Real) else part
        start += variable.size
    return result


def coordinate_names(scope: Sequence[Vector]) -> list[str]:
    """The names of the coordinates: that of a `Real`, and with a place those of a `Vector`.

    >>> coordinate_names((Real("x"), Vector("p", 2)))
    ['x', 'p[0]', 'p[1]']
    """
    return [v.name if isinstance(v, Real) else f"{v.name}[{place}]" for v in scope for place in range(v.size)]


def point(scope: Sequence[Vector], values: Floats) -> Any:
    """One value per variable: bare for a scope of one variable, else by name; a float for a `Real`.

    >>> point((Real("x"), Vector("p", 2)), np.array([1.0, 2.0, 3.0]))
    {'x': 1.0, 'p': array([2., 3.])}
    """
    named = {v.name: float(c[0]) if isinstance(v, Real) else c[0] for v, c in columns(scope, values[None, :]).items()}
    return next(iter(named.values())) if len(named) == 1 else named


def findings(scope: Sequence[Vector], assignment: Assignment) -> tuple[tuple[Vector, ...], Floats]:
    """The variables of a continuous scope in `assignment`, and their values end to end."""
    found: dict[int, Floats] = {}
    if not isinstance(assignment, Mapping):
        raise ArgumentError(f"An assignment is a mapping from variables or names to values; found {brief(assignment)}.")
    for key, value in assignment.items():
        axis = find(scope, key)
        if axis >= 0:
            found[axis] = real_value(scope[axis], value)
    order = sorted(found)
    return tuple(scope[i] for i in order), np.concatenate([np.empty(0), *(found[i] for i in order)])


def moments_by_name(scope: Sequence[Vector], mean: ArrayLike, covariance: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
    """A mean and a covariance in the order of the scope, where a pandas series and frame name the coordinates.

    >>> moments_by_name([Real("x")], 1.0, 2.0)
    (1.0, 2.0)
    """
    names = coordinate_names(scope)
    return in_order(mean, names, "a mean"), in_order(covariance, names, "a covariance")


def shaped(value: ArrayLike, prefix: tuple[int, ...], core: tuple[int, ...], what: str) -> Floats:
    """`value` as a flat-prefixed array `[entries, *core]`; axes of length one in `core` may be left out.

    A value without the prefix serves every entry.

    >>> shaped([1.0, 2.0], (2,), (1, 1), "covariances").shape, shaped([[1.0], [2.0]], (2,), (1, 1), "slopes").shape
    ((2, 1, 1), (2, 1, 1))
    """
    numbers = without_labels(value, what)
    try:
        array = np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"The {what} are real numbers; found {value!r}.") from None
    count = math.prod(prefix)
    short = tuple(n for n in core if n != 1)
    tails = [core, short, *([core[1:]] if core[:1] == (1,) else []), *([core[:-1]] if core[-1:] == (1,) else [])]
    for tail in tails:
        if array.shape in (prefix + tail, (count, *tail)):
            return array.reshape((count, *core))
    if array.shape in tails:
        return np.broadcast_to(array.reshape(core), (count, *core)).copy()
    raise ModelError(f"{_upper(what)} have shape {array.shape}; expected {prefix + core}.")


def check_finite(array: Floats, what: str) -> None:
    """Raise if there are NaN or infinities."""
    if not np.isfinite(array).all():
        raise ModelError(f"{_upper(what)} must be finite; found {array[~np.isfinite(array)][0]}.")


def check_symmetric(matrices: Floats, what: str) -> None:
    """Raise if matrices differ from their transposes by more than rounding."""
    turned = np.swapaxes(matrices, -1, -2)
    gap = np.abs(matrices - turned).max(initial=0.0)
    if gap > 1e-9 * max(np.abs(matrices).max(initial=0.0), 1e-300):
        raise ModelError(f"{_upper(what)} must be symmetric; entries differ from their mirror by up to {gap:.3g}.")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
