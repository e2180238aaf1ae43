"""Things with entries by key, which are not mappings: their `values` may be something else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from sepset.errors import ScopeError, StateError


class Entries(ABC):
    """A thing with entries by key: `in`, `get` and `items` as of a mapping, whose `values` may be something else.

    >>> class Coin(Entries):
    ...     def keys(self):
    ...         return ("head",)
    ...     def __getitem__(self, key):
    ...         if key == "head":
    ...             return 0.5
    ...         raise StateError(f"There is no {key!r}.")
    >>> "edge" in Coin(), Coin().get("edge", 0.0), Coin().items()
    (False, 0.0, (('head', 0.5),))
    """

    __slots__ = ()

    @abstractmethod
    def keys(self) -> tuple[Any, ...]:
        """The keys."""

    @abstractmethod
    def __getitem__(self, key: Any) -> Any: ...

    def __contains__(self, key: object) -> bool:
        try:
            self[key]
        except (StateError, ScopeError):
            return False
        return True

    def get(self, key: Any, default: Any = None) -> Any:
        """The entry, or the default if there is none."""
        try:
            return self[key]
        except (StateError, ScopeError):
            return default

    def items(self) -> tuple[tuple[Any, Any], ...]:
        """Each key with its entry."""
        return tuple((key, self[key]) for key in self.keys())
