"""How work in one go ends: what it found until then is kept, and whose time is over is known."""

from __future__ import annotations

from typing import Any

import pytest

import sepset as ss
from sepset.base.threads import OutOfTime, ending_at, require_time
from sepset.errors import TooLarge
from sepset.inference.result import Status
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.ending import all_or_nothing, ended
from sepset.learning.structure.learned import StructureTask

COLUMNS = Columns.of({"a": [0, 1]})


def task(until: Any = None) -> StructureTask:
    return StructureTask(COLUMNS, until=until)


def raising(error: BaseException, found: list[int]) -> Any:
    def work() -> None:
        found.append(1)
        raise error

    return work


def test_what_was_found_is_kept():
    found: list[int] = []
    assert ended(task(), lambda: found.append(0)) is Status.COMPLETED
    assert ended(task(), raising(KeyboardInterrupt(), found)) is Status.INTERRUPTED
    assert ended(task(ss.Until(seconds=0)), raising(OutOfTime(), found)) is Status.TIME_LIMIT
    assert ended(task(ss.Until(seconds=0)), require_time) is Status.TIME_LIMIT
    assert found == [0, 1, 1]
    with pytest.raises(SystemError, match="of another kind"):
        ended(task(), raising(SystemError("of another kind"), found))


def test_the_time_of_a_search_around_it_ends_that():
    for until in (None, ss.Until(seconds=60)):
        with pytest.raises(OutOfTime), ending_at(0.0):
            ended(task(until), require_time)
    with pytest.raises(OutOfTime), ending_at(0.0):
        all_or_nothing(lambda _method, _task: require_time())("method", task())


def test_a_part_of_a_sum_is_refused():
    class Sum:
        @all_or_nothing
        def average(self, _task: StructureTask) -> int:
            require_time()
            return 7

    assert Sum().average(task()) == Sum().average(task(ss.Until(seconds=60))) == 7
    with pytest.raises(TooLarge, match=r"Sum\(\) was not done after 0 s, .* Give it more time"):
        Sum().average(task(ss.Until(seconds=0)))
