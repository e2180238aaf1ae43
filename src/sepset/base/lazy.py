"""Attributes computed when first read, and kept: without the lock that the standard library's takes for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    lazy = cached_property
else:

    class lazy:  # noqa: N801  # it is used as a decorator, beside property
        """A property computed once; two threads that read it first at once may both compute it, to the same value.

        >>> class Circle:
        ...     @lazy
        ...     def area(self):
        ...         return 3
        >>> Circle().area
        3
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.function = function
            self.__doc__ = function.__doc__
            self.__name__ = function.__name__
            self.__module__ = function.__module__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.function(instance)
            return value
