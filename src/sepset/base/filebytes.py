"""The bytes of a file, read and counted by threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from sepset.base.arraytypes import Bytes
from sepset.base.threads import num_processors, shares, together

BLOCK = 1 << 20
"""Bytes that are read or counted at a time."""


def read_bytes(file: Path, size: int) -> Bytes:
    """The first bytes of a file, fewer if it is shorter, in memory that the system gives in large pages."""
    found = np.empty(size, np.uint8)

    def read(part: slice, cancel: Bytes) -> int:
        """Read some bytes to where they belong; how many of them are not there."""
        at = part.start
        with file.open("rb", buffering=0) as rows:
            rows.seek(at)
            while not cancel[0] and (more := rows.readinto(found[at : min(at + BLOCK, part.stop)].data)):
                at += more
        return int(part.stop - at)

    return found[: size - sum(_by_parts(size, read))]


def count_byte(text: Bytes, byte: int) -> int:
    """How often a byte occurs.

    >>> count_byte(np.frombuffer(b"to be or not to be", np.uint8), ord("o"))
    4
    """

    def count(part: slice, cancel: Bytes) -> int:
        blocks = (text[at : min(at + BLOCK, part.stop)] for at in range(part.start, part.stop, BLOCK))
        return sum(int(np.count_nonzero(block == byte)) for block in blocks if not cancel[0])

    return sum(_by_parts(len(text), count))


def _by_parts(size: int, task: Callable[[slice, Bytes], int]) -> list[int]:
    """The results of a task for consecutive parts of so many bytes, one for each thread."""
    parts = shares(size, num_processors(), step=BLOCK)
    return together([partial(task, part) for part in parts], len(parts))
