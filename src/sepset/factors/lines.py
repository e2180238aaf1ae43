"""Lines of variables: the order in which chains of auxiliary variables run through them."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sepset.variables.variable import Discrete

__all__ = ["BY_NAME", "Line", "by_name"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of variables; those that have no place in it come last, by name.

    Chains of different functions along one line run side by side through the variables that they share, so that
    eliminating these in this order keeps one auxiliary of each chain open, whatever the number of variables.

    Attributes:
        places: of the variables, each a different one.

    >>> causes = [Discrete("cause 10"), Discrete("cause 9"), Discrete("age")]
    >>> Line().order(causes), Line({"cause 9": 0, "age": 1}).order(causes)
    ([2, 1, 0], [1, 2, 0])
    """

    places: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.places)

    def order(self, variables: Sequence[Discrete]) -> list[int]:
        """The positions of some variables along the line."""
        names = [v.name for v in variables]
        keys: list[Any] = [self.places.get(name, -1) for name in names]
        if -1 in keys:
            last = len(self.places)
            keys = [(last if place < 0 else place, by_name(name)) for place, name in zip(keys, names, strict=True)]
        return sorted(range(len(keys)), key=keys.__getitem__)


BY_NAME = Line()
"""The line of functions that belong to no model: by name, numbers in it by size."""


@functools.lru_cache(maxsize=2**16)  # a name is in many chains
def by_name(name: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """The key that sorts names: texts and numbers in turn, numbers by their length first, however long.

    >>> sorted(["cause 10", "cause 9", "age"], key=by_name)
    ['age', 'cause 9', 'cause 10']
    """
    head = name.rstrip("0123456789")
    if head.isalpha() and len(head) < len(name):  # as most are
        tail = name[len(head) :].lstrip("0")
        return ((0, head), (len(tail), tail), (0, "")), name
    parts = [part.lstrip("0") if i % 2 else part for i, part in enumerate(_DIGITS.split(name))]
    return tuple((len(part) if i % 2 else 0, part) for i, part in enumerate(parts)), name


_DIGITS = re.compile(r"([0-9]+)")
