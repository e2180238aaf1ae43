"""Names of nodes that are looked up when they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

from sepset.base.arraytypes import Ints

__all__ = ["Names"]


@dataclass(frozen=True, slots=True, eq=False)
class Names(Sequence[str]):
    """Names at chosen positions, looked up only on access, so that a million variables cost nothing before that.

    >>> import numpy as np
    >>> Names("abc".__getitem__, np.array([2, 0]))[:]
    ('c', 'a')
    """

    at: Callable[[int], str]
    positions: Ints

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[str, ...]: ...
    def __getitem__(self, i: int | slice) -> str | tuple[str, ...]:
        if isinstance(i, slice):
            return tuple(map(self.at, self.positions[i].tolist()))
        return self.at(int(self.positions[i]))
