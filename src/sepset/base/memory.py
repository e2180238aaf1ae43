"""The memory of the machine, a check of tables of rows before they are allocated, arrays at the lines of a cache, and
pauses of the collector."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
from collections.abc import Iterator

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.errors import TooLarge

LINE = 64
"""The bytes of a line of a cache."""

CELLS_AT_ONCE = 1 << 24
"""The cells of rows that are drawn together. Changing it changes samples of more cells."""

UNKNOWN = 1 << 40
"""The bytes assumed where the system does not say how much memory there is."""


def machine_memory() -> int:
    """The bytes of physical memory.

    >>> machine_memory() > 2**20
    True
    """
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def check_fits(num_bytes: int, what: str) -> None:
    """Raise if something of this size is more than the machine's memory holds.

    >>> check_fits(1000, "A table")
    """
    if num_bytes > machine_memory():
        raise TooLarge(
            f"{what} needs about {num_bytes / 2**30:,.3g} GiB, more memory than is available "
            f"({machine_memory() / 2**30:,.3g} GiB)."
        )


def check_rows_fit(num_rows: int, row_bytes: int) -> None:
    """Raise if rows of this size, with all that is in memory besides them, are more than the machine's memory holds.

    >>> check_rows_fit(1000, 8)
    """
    need, room = num_rows * row_bytes, machine_memory()
    if need > room:
        raise TooLarge(
            f"{num_rows:,} rows of {row_bytes} bytes need about {need / 2**30:,.3g} GiB, more memory than is available "
            f"({room / 2**30:,.3g} GiB). Draw fewer rows at a time, each time with a seed of its own."
        )


def row_blocks(num_rows: int, width: int) -> Iterator[slice]:
    """Rows in portions of a bounded number of cells, so that what is computed on the way takes little memory.

    Between two portions Ctrl-C is heard. There is always a first one, if without rows.

    >>> [part.stop for part in row_blocks(40_000_000, 2)]
    [8388608, 16777216, 25165824, 33554432, 40000000]
    """
    size = max(1, CELLS_AT_ONCE // max(1, width))
    for start in range(0, max(1, num_rows), size):
        yield slice(start, min(start + size, num_rows))


def aligned_floats(size: int) -> Floats:
    """An array of floats that begins at a line of the processor's cache; what it holds is arbitrary.

    >>> aligned_floats(3).ctypes.data % LINE
    0
    """
    room = np.empty(size + LINE // 8)
    first = -room.ctypes.data % LINE // 8
    return room[first : first + size]


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """While it lasts, Python does not look for cycles of garbage.

    It would walk through everything that a large task has made, and all that the program holds, again and again.

    >>> with uncollected():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def pause_collection(seconds: float) -> None:
    """For so many seconds Python does not look for cycles of garbage, unless it was told not to at all.

    A look at all that a program with a very large model holds takes seconds, in the middle of a question. A pause that
    has begun is made longer, to three times the seconds in all at most: there may be garbage by then.

    >>> pause_collection(0.01), gc.isenabled()
    (None, False)
    """
    now, present = time.monotonic(), _PAUSES[:]
    if not present and gc.isenabled():
        _begin_pause(seconds, now)
    for timer, begun in present:
        if now + seconds - begun <= LONGEST_PAUSE * seconds:
            timer.cancel()
            _begin_pause(seconds, begun)


def _begin_pause(seconds: float, begun: float) -> None:
    timer = threading.Timer(seconds, resume_collection)
    timer.daemon = True
    _PAUSES[:] = [(timer, begun)]
    gc.disable()
    timer.start()


def resume_collection() -> None:
    """End the pause, if there is one.

    >>> resume_collection()
    """
    if _PAUSES:
        _PAUSES.clear()
        gc.enable()


LONGEST_PAUSE = 3
"""How many times as long as one pause several may be that follow each other."""

_PAUSES: list[tuple[threading.Timer, float]] = []
"""The timer of the present pause, and when this began."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=resume_collection)  # where no timer runs
