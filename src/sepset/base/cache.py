"""Caches of values by key: bounded (least recently used) and thread-safe."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

V = TypeVar("V")

MISSING: Any = object()


class Cache(Generic[V]):
    """Values by key; beyond `size`, the least recently used are removed.

    Two threads that miss a key at once may both make its value; both get the one stored first. A value that is there
    is returned without waiting for other threads. Uses are noted once half of the places are taken, and not while
    another thread is at work here.

    >>> squares = Cache[int](2)
    >>> [squares.get(n, lambda: n * n) for n in (2, 3, 2, 4)], list(squares)
    ([4, 9, 4, 16], [2, 4])
    """

    def __init__(self, size: int = 256) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of `key`, made if it is missing."""
        found = self._values.get(key, MISSING)
        if found is not MISSING:
            if 2 * len(self._values) > self._size:
                self._note(key)
            return found  # type: ignore[no-any-return]  # the sentinel is of any type
        value = make()
        with self._lock:
            kept = self._values.setdefault(key, value)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return kept

    def find(self, key: Hashable) -> V | None:
        """The value of `key`, or None if it is missing."""
        found = self._values.get(key)
        if found is not None and 2 * len(self._values) > self._size:
            self._note(key)
        return found

    def _note(self, key: Hashable) -> None:
        """Let the key be the last one used, unless another thread is at work here."""
        if self._lock.acquire(blocking=False):
            try:
                if key in self._values:
                    self._values.move_to_end(key)
            finally:
                self._lock.release()

    def put(self, key: Hashable, value: V) -> None:
        """Replace the value of `key`, if it still has one."""
        with self._lock:
            if key in self._values:
                self._values[key] = value

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled with its values."""
        with self._lock:
            return _filled, (self._size, list(self._values.items()))

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Hashable]:
        """The keys, the least recently used first."""
        with self._lock:
            return iter(list(self._values))


def _filled(size: int, values: list[tuple[Hashable, V]]) -> Cache[V]:
    cache = Cache[V](size)
    cache._values.update(values)
    return cache


@dataclass(frozen=True, eq=False)
class Slot(Generic[V]):
    """A named place in `Kept` for values of one type.

    Attributes:
        name: a description of the values.
        size: the largest number of values, each with its own key.
    """

    name: str
    size: int = 1


class Kept:
    """A cache of values made for one object, by slots with a size of their own.

    >>> LENGTHS = Slot[int]("lengths", size=2)
    >>> kept = Kept()
    >>> [kept.get(LENGTHS, lambda: len(word), key=word) for word in ("a", "bcd", "a")]
    [1, 3, 1]
    """

    def __init__(self) -> None:
        self._slots: dict[Slot[Any], Cache[Any]] = {}

    def get(self, slot: Slot[V], make: Callable[[], V], key: Hashable = None) -> V:
        """The value of `key` in a slot, made if it is missing."""
        cache: Cache[V] | None = self._slots.get(slot)
        if cache is None:
            cache = self._slots.setdefault(slot, Cache(slot.size))  # threads that come at once share the first
        return cache.get(key, make)

    def clear(self) -> None:
        """Remove all values."""
        self._slots.clear()

    def __len__(self) -> int:
        return sum(map(len, self._slots.values()))
