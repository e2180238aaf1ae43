"""Attributes computed on first access and then kept; the library has no other mechanism for that.

The standard library's `cached_property` holds, up to Python 3.11, one lock for all objects of a class while it
computes: two threads that prepare two models would wait for each other, and every first access would pay for the lock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sepset.base.frozen import fill

if TYPE_CHECKING:
    lazy = cached_property
else:

    class lazy:  # noqa: N801  # it is used as a decorator, like property
        """A property computed on first access; threads that read it at the same time may all compute it, and share one.

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
            return instance.__dict__.setdefault(self.name, self.function(instance))


def carry_over(source: object, target: object, *names: str) -> None:
    """Give `target` the lazy attributes of `source` with these names, in which both agree: computed once for both."""
    fill(target, **{name: getattr(source, name) for name in names})
