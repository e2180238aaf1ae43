"""Answers by key: mappings whose errors help, and others like them whose `values` are something else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from sepset.base.arraytypes import AnyArray
from sepset.base.equality import PLAIN, same_value
from sepset.base.foreign import TakesNames
from sepset.errors import ScopeError, StateError


class Entries(TakesNames, ABC):
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


K = TypeVar("K")
V = TypeVar("V", covariant=True)


class Answers(TakesNames, Mapping[K, V]):  # noqa: PLW1641  # mappings have no hash
    """A mapping whose error for a missing key names the nearest ones; `in` and `get` treat it as absence.

    >>> class Weather(Answers[str, int]):
    ...     def __getitem__(self, key):
    ...         raise ScopeError(f"There is no {key!r}.")
    ...     def __iter__(self):
    ...         return iter(())
    ...     def __len__(self):
    ...         return 0
    >>> "rain" in Weather(), Weather().get("rain", 3)
    (False, 3)
    """

    __slots__ = ()

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[index]  # of any kind, as for every mapping
        except ScopeError:
            return False
        return True

    def get(self, key: Any, default: Any = None) -> Any:
        """The answer, or the default if there is none."""
        try:
            return self[key]
        except ScopeError:
            return default

    def __eq__(self, other: object) -> bool:
        """Whether two mappings have equal answers; arrays and tables are equal by their contents."""
        if not isinstance(other, Mapping):
            return NotImplemented
        return self.keys() == other.keys() and all(_is_same(self[key], other[key]) for key in self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The answers in order: an array of one axis, or of one row per answer, with NaN behind the shorter ones."""
        return stacked([self[key] for key in self], dtype)


def _is_same(first: object, second: object) -> bool:
    """Whether two answers are equal: numbers and words as usual, other things by their contents."""
    return bool(first == second) if isinstance(first, PLAIN) else same_value(first, second)


def stacked(values: Sequence[Any], dtype: Any = None) -> AnyArray:
    """Values as an array; lists of numbers of several lengths as rows that end with NaN.

    >>> stacked([[0.5, 0.5], [0.2, 0.3, 0.5]])
    array([[0.5, 0.5, nan],
           [0.2, 0.3, 0.5]])
    """
    rows = [np.asarray(value) for value in values]
    if len({row.shape for row in rows}) < 2:
        return np.array(rows, dtype=dtype)
    if any(row.ndim != 1 for row in rows):
        raise ScopeError("The answers are not all lists of numbers, and make no array. Use to_frame(), or read each.")
    found = np.full((len(rows), max(row.size for row in rows)), np.nan)
    for row, place in zip(rows, found, strict=True):
        place[: row.size] = row
    return found if dtype is None else found.astype(dtype)
