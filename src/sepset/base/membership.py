"""Items that are, or are not, among others, in linear time and in their own order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def without(items: Iterable[T], gone: Iterable[Hashable]) -> list[T]:
    """The items that are not among others.

    >>> without("abcd", "bd")
    ['a', 'c']
    """
    left_out = frozenset(gone)
    return [item for item in items if item not in left_out]


def among(items: Iterable[T], kept: Iterable[Hashable]) -> list[T]:
    """The items that are among others.

    >>> among("abcd", "db")
    ['b', 'd']
    """
    known = frozenset(kept)
    return [item for item in items if item in known]
