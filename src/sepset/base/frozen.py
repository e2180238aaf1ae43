"""Values that never change: how their fields are filled, once, and what happens to who tries later.

Most values are frozen dataclasses; those that keep slots or caches of their own are `Frozen`. Either way a constructor
fills the fields with `fill`, and arrays become read-only. Values that are made by the thousand, variables and tables,
are filled slot by slot with `setters`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

T = TypeVar("T")


class Frozen:
    """A value whose attributes cannot be set or deleted.

    >>> class Point(Frozen):
    ...     def __init__(self, x):
    ...         fill(self, x=x)
    >>> Point(3).x
    3
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A {type(self).__name__} is immutable; build a new one instead of setting {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"A {type(self).__name__} is immutable; cannot delete {name!r}.")

    def __setstate__(self, state: Any) -> None:
        for fields in state if isinstance(state, tuple) else (state,):
            fill(self, **(fields or {}))


def fill(value: T, /, **fields: object) -> T:
    """The value itself with these fields, past its refusal to be changed; arrays become read-only."""
    for name, content in fields.items():
        if isinstance(content, np.ndarray):
            content.setflags(write=False)
        _put(value, name, content)
    return value


_put = object.__setattr__


def setters(kind: type, *names: str) -> tuple[Callable[[Any, Any], None], ...]:
    """Functions that set these slots, past the refusal to be changed: half a microsecond per value less than `fill`."""
    return tuple(getattr(kind, name).__set__ for name in names)


def made(kind: type[T], /, **fields: object) -> T:
    """A value of this kind with these fields, which fit together already: nothing is checked again."""
    return fill(object.__new__(kind), **fields)


Array = TypeVar("Array", bound=np.ndarray[Any, Any])


def read_only(array: Array) -> Array:
    """The array itself, which can no longer be written to.

    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    array.setflags(write=False)
    return array
