"""Equality by value of any two objects: the same type, and equal contents all the way down.

Arrays make `==` of the objects that hold them ambiguous, so these compare by identity. What pickling would save of an
object is its value: caches and prepared methods are not part of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from sepset.base.lazy import lazy

PLAIN = (str, bytes, int, float, complex, bool, type(None), type, np.generic)
"""Types whose own `==` is equality by value."""


def same_value(first: Any, second: Any) -> bool:
    """Whether two objects are of one type and have equal contents; NaN equals NaN.

    >>> same_value({"a": (np.arange(3), 1)}, {"a": (np.arange(3), 1)}), same_value([1], (1,))
    (True, False)
    """
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        return _same_array(first, second)
    if isinstance(first, PLAIN) or inspect.isroutine(first):
        return bool(first == second or (first != first and second != second))  # NaN
    if isinstance(first, Mapping):
        return _same_mapping(first, second)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same_value, first, second))
    if isinstance(first, set | frozenset):
        return bool(first == second)
    return same_value(_saved(first), _saved(second))


def _same_array(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    if first.shape != second.shape:
        return False
    if first.dtype == object:
        return all(map(same_value, first.reshape(-1).tolist(), second.reshape(-1).tolist()))
    is_number = first.dtype.kind in "fc" and second.dtype.kind in "fc"
    return bool(np.array_equal(first, second, equal_nan=is_number))


def _same_mapping(first: Mapping[Any, Any], second: Mapping[Any, Any]) -> bool:
    return first.keys() == second.keys() and all(same_value(value, second[key]) for key, value in first.items())


def _saved(value: object) -> tuple[Any, ...]:
    """The parts of an object that pickling saves: its maker, the arguments, and the state without caches."""
    saved: Any = value.__reduce_ex__(2)
    make, *rest = saved
    return make, *(_without_caches(part, type(value)) for part in rest)


def _without_caches(state: Any, kind: type) -> Any:
    """The attributes that were not computed from the others on first access."""
    if not isinstance(state, dict):
        return state
    return {name: part for name, part in state.items() if not isinstance(getattr(kind, name, None), lazy)}
