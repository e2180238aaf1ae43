"""Immutable values: the constructor sets their fields once, and later assignments raise an error.

Most values are frozen dataclasses; those with slots or caches of their own are `Frozen`. In both cases the constructor
sets the fields with `fill`, and arrays become read-only. Values that are created by the thousand, such as variables and
tables, are filled slot by slot: with `setters`, or before they are frozen, as `unfrozen` ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from sepset.base.foreign import TakesNames

T = TypeVar("T")


class Frozen(TakesNames):
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
    """The value itself with these fields set, although it is immutable; arrays become read-only."""
    for name, content in fields.items():
        if isinstance(content, np.ndarray):
            content.setflags(write=False)
        _put(value, name, content)
    return value


_put = object.__setattr__


def setters(kind: type, *names: str) -> tuple[Callable[[Any, Any], None], ...]:
    """Functions that set these slots of an immutable value: half a microsecond per value faster than `fill`."""
    return tuple(getattr(kind, name).__set__ for name in names)


def unfrozen(kind: type[T]) -> Any:
    """A class like an immutable one, whose values are made without arguments and have attributes that can be set; then
    they are given the class itself. Nothing makes values faster.

    >>> class Point(Frozen):
    ...     __slots__ = ("x",)
    >>> point = unfrozen(Point)()
    >>> point.x = 3
    >>> point.__class__ = Point
    >>> point.x = 4
    Traceback (most recent call last):
    ...
    AttributeError: A Point is immutable; build a new one instead of setting 'x'.
    """
    plain = {name: getattr(object, name) for name in ("__init__", "__setattr__", "__delattr__")}
    settings = {"inner": True} if issubclass(kind, TakesNames) else {}
    make: Any = type(kind)
    return make(f"Unfrozen{kind.__name__}", (kind,), {"__slots__": (), **plain}, **settings)


def made(kind: type[T], /, **fields: object) -> T:
    """A value of this type with these fields, which are not checked."""
    value = object.__new__(kind)
    for name, content in fields.items():
        if isinstance(content, np.ndarray):
            content.setflags(write=False)
        _put(value, name, content)
    return value


def changed(value: T, /, **fields: object) -> T:
    """A copy of an immutable value with other contents of these fields, which are not checked.

    >>> class Point(Frozen):
    ...     __slots__ = ("x", "y")
    >>> point = changed(made(Point, x=1, y=2), y=3)
    >>> point.x, point.y
    (1, 3)
    """
    kind = type(value)
    names = _SLOTS.get(kind) or _SLOTS.setdefault(kind, _slots(kind))
    copy = object.__new__(kind)
    for name in names:
        if name not in fields:
            _put(copy, name, getattr(value, name))
    for name, content in getattr(value, "__dict__", {}).items():
        _put(copy, name, content)
    return fill(copy, **fields)


_SLOTS: dict[type, tuple[str, ...]] = {}


def _slots(kind: type) -> tuple[str, ...]:
    """The names of the slots of a type and its bases."""
    named = (name for base in kind.__mro__ for name in base.__dict__.get("__slots__", ()))
    return tuple(name for name in named if name not in ("__dict__", "__weakref__"))


Array = TypeVar("Array", bound=np.ndarray[Any, Any])


def read_only(array: Array) -> Array:
    """The array itself, made read-only.

    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    array.setflags(write=False)
    return array


def fixed(array: Array) -> Array:
    """A read-only view of an array, which stays as it is for others; the array itself if it is read-only.

    Kernels are compiled for read-only arrays and for others: arguments that are always fixed are compiled for once.

    >>> numbers = np.zeros(2)
    >>> fixed(numbers).flags.writeable, numbers.flags.writeable
    (False, True)
    """
    return read_only(array.view()) if array.flags.writeable else array
