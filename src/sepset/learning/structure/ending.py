"""How work that is done in one go ends: by itself, by Ctrl-C, or at the end of its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from sepset.base.threads import OutOfTime, ending_at
from sepset.errors import TooLarge
from sepset.inference.iterate import as_until, deadline, was_interrupted
from sepset.inference.result import Status
from sepset.learning.structure.learned import NO_LIMIT, StructureTask

R = TypeVar("R")
M = TypeVar("M")


def ended(task: StructureTask, work: Callable[[], object]) -> Status:
    """How a part of a task ended: completed, interrupted by Ctrl-C, or at the time limit; what it found is its own.

    Args:
        task: its `until` has the time.
        work: keeps what it has found so far where an exception does not lose it.

    >>> from sepset.learning.structure.columns import Columns
    >>> ended(StructureTask(Columns.of({"a": [0, 1]})), lambda: None)
    COMPLETED
    """
    end = deadline(as_until(task.until, NO_LIMIT))
    try:
        with ending_at(end):
            work()
    except (KeyboardInterrupt, SystemError) as error:
        if not was_interrupted(error):
            raise
        return Status.INTERRUPTED
    except OutOfTime:
        if time.monotonic() < end:
            raise  # it is the time of a search around this one
        return Status.TIME_LIMIT
    return Status.COMPLETED


def all_or_nothing(average: Callable[[M, StructureTask], R]) -> Callable[[M, StructureTask], R]:
    """A method of which a part says nothing: the end of its time is an error."""

    @wraps(average)
    def timed(method: M, task: StructureTask) -> R:
        until = as_until(task.until, NO_LIMIT)
        end = deadline(until)
        try:
            with ending_at(end):
                return average(method, task)
        except OutOfTime:
            if time.monotonic() < end:
                raise
            raise TooLarge(
                f"{type(method).__name__}() was not done after {until.seconds:.3g} s, and a part of its sum says "
                "nothing. Give it more time or fewer columns, or use PartitionMCMC() or OrderMCMC(), which end at any "
                "time."
            ) from None

    return timed
