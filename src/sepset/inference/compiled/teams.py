"""Large steps of a program on several threads.

A step is divided into phases, and a phase into parts that write to different places (`kernels.compiled.pieces`). Which
steps are divided, and how, depends on the program alone, so that answers do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import Any, NamedTuple, Self

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.threads import POOL, num_processors
from sepset.inference import costs
from sepset.inference.compiled.program import Program
from sepset.inference.compiled.slices import Slices
from sepset.kernels.compiled import contraction as kernels, instructions
from sepset.kernels.kernel import answered, is_at_hand

NONE = np.zeros((0, 3), np.int64)
NOTHING = np.empty(0)


class Helpers:
    """The threads of this process that help others, at most as many as there are processors, but for the callers."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._busy = 0

    def take(self, wanted: int) -> int:
        """Reserve up to this many; the number reserved."""
        if not wanted:
            return 0
        with self._lock:
            found = max(0, min(wanted, max(num_processors() - 1, wanted) - self._busy))
            self._busy += found
        return found

    def give(self, num: int) -> None:
        """Return them."""
        with self._lock:
            self._busy -= num


HELPERS = Helpers()


class Team:
    """The calling thread and others, which take parts of a task as they become free.

    Args:
        threads: the largest number of threads; fewer if others use them.

    >>> found: list[int] = []
    >>> with Team(2) as team:
    ...     team.share(10, lambda first, end: found.extend(range(first, end)))
    >>> sorted(found) == list(range(10))
    True
    """

    def __init__(self, threads: int) -> None:
        self._wanted, self._num = threads - 1, 0

    def __enter__(self) -> Self:
        self._num = HELPERS.take(self._wanted)
        return self

    def __exit__(self, *_: object) -> None:
        HELPERS.give(self._num)

    def share(self, num: int, work: Callable[[int, int], None]) -> None:
        """Call `work` for ranges that together are all parts; return when all are done."""
        helpers = min(self._num, num - 1)
        if helpers <= 0:
            work(0, num)
            return
        size = max(1, num // (costs.TURNS_PER_THREAD * (helpers + 1)))
        turns = iter(range(0, num, size))
        done: SimpleQueue[BaseException | None] = SimpleQueue()

        def take() -> None:
            for first in turns:
                work(first, min(first + size, num))

        for _ in range(helpers):
            POOL.start(lambda: done.put(_error(take)))
        take()
        errors = [done.get() for _ in range(helpers)]
        for error in filter(None, errors):
            raise error


def _error(task: Callable[[], None]) -> BaseException | None:
    """Run the task; what it raised."""
    try:
        task()
    except BaseException as error:  # raised again by the thread that waits
        return error
    return None


def is_ready() -> bool:
    """Whether large steps can be divided without waiting for the compiler; answers are the same."""
    from sepset.kernels.compiled import pieces

    names = pieces.phases, pieces.begin_step, pieces.run_parts, pieces.end_step
    return answered()["tier"] == "compiled" and all(map(is_at_hand, names))


def large_steps(program: Program, *, maximize: bool) -> Ints:
    """Rows of a large step's number and the number of parts of each of its phases."""
    from sepset.kernels.compiled.pieces import phases

    ops, sizes = program.ops, program.contraction.sizes
    rates = np.where(
        ops[:, instructions.KIND] == instructions.PANELS,
        costs.NANOSECONDS_PER_PRODUCT,
        costs.NANOSECONDS_PER_STREAMED_ENTRY,
    )
    moved = sizes[program.contraction.rows].sum(axis=1)
    times = rates * kernels.step_products(ops, program.groups) + costs.NANOSECONDS_PER_STREAMED_ENTRY * moved
    numbers = np.flatnonzero(times > costs.NANOSECONDS_FOR_THREADS)
    rows = [[number, *phases(ops[number], program.groups, maximize).tolist()] for number in numbers.tolist()]
    return np.array([row for row in rows if max(row[1:]) > 1], dtype=np.int64).reshape(-1, 1 + 4)


class Call(NamedTuple):
    """The arguments of a run.

    Attributes:
        values, stored: the workspace, and the values of the factors.
        copied: how factors are copied, as `run` takes it: rows, copies, fixed, codes, old and dirty.
        exponents, flags, spans: those of the workspace.
        maximize: whether products are maximized.
        roots, reads, out: what is read.
    """

    values: Floats
    stored: Floats
    copied: tuple[Ints, Ints, Ints, Ints, Ints, Bytes]
    exponents: Ints
    flags: Ints
    spans: Ints
    maximize: bool
    roots: Ints
    reads: Ints
    out: Floats


def run_divided(program: Program, large: Ints, call: Call, threads: int, cancel: Bytes) -> float:
    """The same as `kernels.run` of the whole program, with its large steps on several threads, and by slices."""
    first, flags = 0, call.flags
    tasks = _tasks(program, large)
    with Team(threads) as team:
        for number in sorted(tasks):
            _run(program, call, first, number, cancel, is_last=False)
            if not flags[0] and not flags[1]:
                tasks[number](call, team, cancel)
            if flags[0] or flags[1] or cancel[0]:
                flags[1] |= cancel[0]
                return 0.0
            first = number + 1
    return _run(program, call, first, len(program.ops), cancel, is_last=True)


def _tasks(program: Program, large: Ints) -> dict[int, Callable[[Call, Team, Bytes], None]]:
    """The steps that do not run in one call with others, by number."""
    tasks: dict[int, Callable[[Call, Team, Bytes], None]] = {}
    for number, *parts in large.tolist():
        tasks[number] = partial(_run_step, program, number, parts)
    for slices in program.slices:
        tasks[slices.first] = partial(_begin_slices, program, slices)
        tasks[slices.second] = partial(_run_slices, program, slices)
    return tasks


def _begin_slices(program: Program, slices: Slices, call: Call, team: Team, cancel: Bytes) -> None:
    """Bound the range of a result that is made by slices when it is read, or look at it."""
    from sepset.kernels.compiled import slices as sliced

    w, op, state = call.values, program.ops[slices.first], (call.exponents, call.flags, call.spans)
    if sliced.begin_first(w, op, program.groups, call.copied[-1], *state) == sliced.UNBOUNDED:
        _look(program, slices, call, cancel)


def _look(program: Program, slices: Slices, call: Call, cancel: Bytes) -> None:
    """Look at the range of a result that is made by slices, and choose its scale."""
    from sepset.kernels.compiled import slices as sliced

    result, a, b = program.ops[
        slices.first, [instructions.TENSOR_D, instructions.TENSOR_A, instructions.TENSOR_B]
    ].tolist()
    bottom, top = sliced.first_span(call.values, slices.pair, slices.groups, slices.axes, slices.num, cancel)
    call.exponents[result] = call.exponents[a] + call.exponents[b]
    sliced.scale_first(result, bottom, top, call.exponents, call.flags, call.spans)


def _run_slices(program: Program, slices: Slices, call: Call, team: Team, cancel: Bytes) -> None:
    """A step that reads a result by slices, and makes them."""
    from sepset.kernels.compiled import pieces, slices as sliced

    w, op = call.values, program.ops[slices.second]
    result, a, b = program.ops[
        slices.first, [instructions.TENSOR_D, instructions.TENSOR_A, instructions.TENSOR_B]
    ].tolist()

    def begin() -> int:
        return sliced.begin_second(w, op, program.groups, call.copied[-1], call.exponents, call.spans, result)

    def work(first: int, end: int) -> None:
        sliced.run_slices(w, *slices[2:], scale, slices.num, first, end, cancel)

    due = begin()
    if due == sliced.UNBOUNDED:
        _look(program, slices, call, cancel)
        due = begin()
    if due != kernels.DUE:
        call.flags[0] |= due == sliced.UNBOUNDED
        return
    scale = 2.0 ** float(call.exponents[a] + call.exponents[b] - call.exponents[result])
    team.share(sliced.SLICED_PARTS, work)
    pieces.end_step(w, op, program.groups, call.exponents, call.flags, call.spans)


def _run(program: Program, call: Call, first: int, end: int, cancel: Bytes, *, is_last: bool) -> float:
    """A run of consecutive steps; the first copies the factors, the last reads the answers."""
    rows, *others = call.copied
    copied: tuple[Any, ...] = (rows if first == 0 else rows[:0], *others)
    ends: tuple[Any, ...] = (call.roots, call.reads, call.out) if is_last else (NONE, NONE, NOTHING)
    state = call.exponents, call.flags, call.spans, call.maximize, cancel
    arguments = call.values, call.stored, *copied, program.ops[first:end], program.groups, *state, *ends
    return kernels.run(*arguments)


def _run_step(program: Program, number: int, parts: list[int], call: Call, team: Team, cancel: Bytes) -> None:
    """A large step, phase by phase."""
    from sepset.kernels.compiled import pieces

    w, op, groups, dirty = call.values, program.ops[number], program.groups, call.copied[-1]
    state = call.exponents, call.flags, call.spans
    if pieces.begin_step(w, op, groups, dirty, *state, call.maximize) != kernels.DUE:
        return
    for phase, num in _phases(parts):

        def work(first: int, end: int, phase: int = phase) -> None:
            pieces.run_parts(w, op, groups, phase, first, end, call.maximize, cancel)

        team.share(num, work)
    pieces.end_step(w, op, groups, *state)


def _phases(parts: list[int]) -> Iterator[tuple[int, Any]]:
    return ((phase, num) for phase, num in enumerate(parts) if num > 0)
