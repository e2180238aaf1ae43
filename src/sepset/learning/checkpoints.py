"""Which methods of learning keep their state in a file; the others refuse one before any work."""

from __future__ import annotations

import os
from typing import Protocol, runtime_checkable

from sepset.errors import NotApplicable


@runtime_checkable
class KeepsCheckpoint(Protocol):
    """A method that says whether it keeps its state in a file, from which it is resumed.

    Attributes:
        keeps_checkpoint: whether it does; methods that do not say so do.
    """

    @property
    def keeps_checkpoint(self) -> bool:
        """Whether it does."""


def keeps_checkpoint(method: object) -> bool:
    """Whether a method keeps its state in a file.

    >>> from sepset.learning.structure.exact.trees import ChowLiu
    >>> keeps_checkpoint(ChowLiu())
    False
    """
    return not isinstance(method, KeepsCheckpoint) or method.keeps_checkpoint


def check_checkpoint(checkpoint: str | os.PathLike[str] | None, method: object, keepers: str) -> None:
    """Raise where a file for a checkpoint would not be used.

    Args:
        checkpoint: the file, or None.
        method: of learning.
        keepers: the methods that would use it, in words.
    """
    if checkpoint is not None and not keeps_checkpoint(method):
        raise NotApplicable(
            f"{type(method).__name__}() keeps no checkpoint; {keepers}. Leave checkpoint= out, or use one of them."
        )
