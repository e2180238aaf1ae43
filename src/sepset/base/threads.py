"""Threads for compiled work that releases the GIL: a pool of idle ones, and tasks that heed Ctrl-C and the time."""

from __future__ import annotations

import _thread
import atexit
import itertools
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from sepset.base.arraytypes import Bytes
from sepset.base.checks import whole

NEVER: Bytes = np.zeros(1, dtype=np.uint8)
"""The flag of work that is never canceled: kernels read it, and it is never written."""


class OutOfTime(Exception):
    """The time that `ending_at` set is over; who set it catches this, and it never reaches a user."""


class OutOfWork(Exception):
    """The work that `working` allows is done; who allowed it catches this, and it never reaches a user."""


class _Here(threading.local):
    """Limits of the work of this thread.

    Attributes:
        end: when it ends at the latest, on the clock of `time.monotonic`.
        work: how much of it is left, in estimated nanoseconds.
        cancel: the flag of the task that it is a part of.
        team: the threads that this one belongs to, while it runs a task of theirs.
    """

    end: float = math.inf
    work: float = math.inf
    cancel: Bytes = NEVER
    team: _Team[Any] | None = None


_HERE = _Here()


def num_processors() -> int:
    """The number of processors that this process may use: of a container or `taskset`, only those it was given."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def num_threads(threads: int | None) -> int:
    """The given number of threads, or one per processor.

    >>> num_threads(3)
    3
    """
    if threads is None:
        return num_processors()
    return whole("threads", threads, least=1, otherwise="None for all processors")


class ThreadPool:
    """A pool of idle threads, since starting a thread takes longer than many tasks.

    Unlike `threading.Thread`, starting a new one does not wait for it. Threads end with the process; a forked process
    has none.

    Args:
        size: the largest number of idle threads.

    >>> done = threading.Event()
    >>> POOL.start(done.set)
    >>> done.wait(10)
    True
    """

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self.reset()

    def start(self, work: Callable[[], None]) -> None:
        """Run this in an idle or a new thread; it must not raise."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            _thread.start_new_thread(self._serve, (inbox,))
        inbox.put(work)

    @property
    def num_idle(self) -> int:
        """The number of threads that wait for work."""
        return len(self._idle)

    def reset(self) -> None:
        """Forget all threads."""
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def _serve(self, inbox: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            inbox.get()()
            with self._lock:
                if len(self._idle) >= self._size:
                    return
                self._idle.append(inbox)


LISTEN = 0.1
"""Seconds between checks for Ctrl-C while waiting: a signal delivered to another thread does not wake the caller."""


class Turns:
    """Turns of threads that compute, one per processor: more at once would push each other's tables out of the caches.

    Args:
        num: the number of turns; None for one per processor.

    >>> with Turns(1):
    ...     2 + 2
    4
    """

    def __init__(self, num: int | None = None) -> None:
        self._num = num
        self.reset()

    def reset(self) -> None:
        """Make all of them free, as they are in a forked process."""
        self._free: SimpleQueue[None] = SimpleQueue()
        for _ in range(num_threads(self._num)):
            self._free.put(None)

    def __enter__(self) -> None:
        """Wait for a turn."""
        while True:
            try:
                return self._free.get(timeout=LISTEN)
            except Empty:
                require_time()

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._free.put(None)


POOL, TURNS = ThreadPool(), Turns()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.reset)
    os.register_at_fork(after_in_child=TURNS.reset)


T = TypeVar("T")


def _is_never_short(task: object) -> bool:
    return False


def in_order(
    tasks: Iterable[Callable[[Bytes], T]], threads: int, *, is_short: Callable[[Any], bool] = _is_never_short
) -> Iterator[T]:
    """The results of the tasks in their order; a few tasks run ahead.

    An interrupt, an error in one of them, or the end of the time of `ending_at` cancels all running tasks.

    Args:
        threads: the number of tasks that run at once.
        is_short: whether a task takes only moments: the calling thread, which does not see Ctrl-C meanwhile, then runs
            it itself instead of waiting for another thread.

    >>> list(in_order([lambda cancel: 1, lambda cancel: 2], 2))
    [1, 2]
    """
    source = iter(tasks)
    first = _next(source)
    if first is None:
        return
    if is_short(first):
        second = _next(source)
        if second is None:
            yield first(NEVER)
            return
        source = itertools.chain((second,), source)
    yield from _collected(_Team(itertools.chain((first,), source), threads, is_short))


def _collected(team: _Team[T]) -> Iterator[T]:
    """The results of a team, which ends when no more are asked for."""
    try:
        while (found := team.next_result()) is not None:
            yield found[0]
    finally:
        team.end()


def interruptible(task: Callable[[Bytes], T], *, is_partial: bool = False, is_short: bool = False) -> T:
    """The task's result, computed in another thread if the main one would not see Ctrl-C until its end.

    An interrupt cancels the task at its next check of `cancel`, waits for that, and is then raised; so is `OutOfTime`
    when the time of `ending_at` is over.

    Args:
        is_partial: whether the result of a task that was canceled is valid: it is then returned when the time is over.
        is_short: whether the task takes only moments: it then runs in this thread.

    >>> interruptible(lambda cancel: 3)
    3
    """
    if not is_partial:
        require_time()
    if is_short or _HERE.cancel is not NEVER:  # a part of another task
        found = task(_HERE.cancel)
        if not is_partial:
            require_time()
        return found
    if _HERE.end == math.inf and threading.current_thread() is not threading.main_thread():
        return task(NEVER)
    return next(_collected(_Team(iter([task]), 1, _is_never_short, is_partial=is_partial)))


def abandonable(work: Callable[[], T], *, stop: Callable[[], None] | None = None) -> T:
    """The result of a call into another library that may not see Ctrl-C for long: in another thread, left behind then.

    It is left behind as well when the time of `ending_at` is over. Outside the main thread, it is simply made.

    Args:
        stop: asks the library to end the call, at an interrupt; it need not do so soon.

    >>> abandonable(lambda: 3)
    3
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    done: SimpleQueue[tuple[T] | BaseException] = SimpleQueue()
    POOL.start(partial(_report, work, done))
    try:
        while True:
            try:
                found = done.get(timeout=LISTEN)
                break
            except Empty:
                require_time()
    except BaseException:
        if stop is not None:
            stop()
        raise
    if isinstance(found, BaseException):
        raise found
    return found[0]


def _report(work: Callable[[], T], done: SimpleQueue[tuple[T] | BaseException]) -> None:
    try:
        done.put((work(),))
    except BaseException as error:
        done.put(error)


@contextmanager
def not_listening() -> Iterator[None]:
    """Inside, a task does not hear that it is canceled, and is left behind then; it ends as soon as this is over.

    For calls into another library, such as its compiler, that write nothing of the caller's.

    >>> with not_listening():
    ...     2 + 2
    4
    """
    team = _HERE.team
    if team is None:
        yield
        return
    _HERE.team = None  # the parts of this are left behind with it
    team.lose()
    try:
        yield
    finally:
        _HERE.team = team
        team.find()


def together(tasks: Sequence[Callable[[Bytes], T]], threads: int) -> list[T]:
    """The results of tasks that do not wait for each other, some at a time; a part of another task runs them in turn.

    It ends early as `in_order` does.

    >>> together([lambda cancel: 1, lambda cancel: 2], 2)
    [1, 2]
    """
    if threads == 1 or len(tasks) <= 1 or _HERE.cancel is not NEVER:
        return interruptible(lambda cancel: [task(cancel) for task in tasks])
    return list(in_order(tasks, threads))


def shares(count: int, threads: int, *, step: int = 1) -> list[slice]:
    """Consecutive parts of a number of items, about equal, one for each thread; all but the last are whole steps.

    >>> shares(10, 2, step=4)
    [slice(0, 8, None), slice(8, 10, None)]
    """
    num_steps = -(-count // step)
    num_parts = max(1, min(threads, num_steps))
    ends = [min(count, step * -(-num_steps * k // num_parts)) for k in range(num_parts + 1)]
    return [slice(first, last) for first, last in itertools.pairwise(ends)]


@contextmanager
def ending_at(end: float) -> Iterator[None]:
    """Inside, `interruptible` and `require_time` raise `OutOfTime` at a time, or earlier if one is set around it.

    Args:
        end: on the clock of `time.monotonic`; infinite for never.

    >>> with ending_at(time.monotonic()):
    ...     try:
    ...         require_time()
    ...     except OutOfTime:
    ...         print("too late")
    too late
    """
    before = _HERE.end
    _HERE.end = min(before, end)
    try:
        yield
    finally:
        _HERE.end = before


def has_end() -> bool:
    """Whether `ending_at` limits the time of this work.

    >>> with ending_at(time.monotonic() + 10):
    ...     has_end()
    True
    """
    return _HERE.end < math.inf


def require_time() -> None:
    """Raise `OutOfTime` if the time is over, or this work was canceled: for long loops without kernels.

    >>> require_time()
    """
    if _HERE.cancel[0] or time.monotonic() >= _HERE.end:
        raise OutOfTime


class working:  # noqa: N801  # it is used as a function, like `ending_at`
    """Inside, `spend` raises `OutOfWork` after so much work, or earlier if less is left around it.

    Work is what it is estimated to take before it is done, so that what is refused does not depend on the machine. It
    is unlimited where `ending_at` limits the time. What is left can be used later, by entering it again.

    Args:
        most: in nanoseconds.

    >>> allowed = working(1e9)
    >>> with allowed:
    ...     spend(4e8)
    >>> with allowed:
    ...     work_left()
    600000000.0
    """

    def __init__(self, most: float) -> None:
        self._left = most

    def __enter__(self) -> None:
        """Begin."""
        self._before = _HERE.work
        self._mine = _HERE.work = math.inf if has_end() else min(self._before, self._left)

    def __exit__(self, *_: object) -> None:
        """End, with what was done subtracted here and around."""
        done = self._mine - _HERE.work if self._mine < math.inf else 0.0
        self._left -= done
        _HERE.work = self._before - done


def work_left() -> float:
    """The work that `working` still allows, in nanoseconds; infinite if nothing limits it.

    >>> work_left()
    inf
    """
    return _HERE.work


def spend(work: float) -> None:
    """Account for work that is about to be done, in nanoseconds; raise if there is not as much left, or no time.

    Then nothing is left: what is tried instead shares the limit, and none of it counts for more.

    >>> with working(10.0):
    ...     try:
    ...         spend(11.0)
    ...     except OutOfWork:
    ...         print("too much")
    too much
    """
    require_time()
    left = _HERE.work - work
    _HERE.work = max(left, 0.0)
    if left < 0.0:
        raise OutOfWork


def require_work(work: float) -> None:
    """Raise if there is less work left: for parts that are accounted for as they are done, before the first is begun.

    >>> with working(10.0):
    ...     require_work(4.0)
    ...     work_left()
    10.0
    """
    if work > _HERE.work:
        raise OutOfWork


def _next(tasks: Iterator[Callable[[Bytes], T]]) -> Callable[[Bytes], T] | None:
    """The next task, or None after the last; one that raises the error where making it failed."""
    try:
        return next(tasks, None)
    except Exception as error:
        return partial(_fail, error)


class _Team(Generic[T]):
    """Threads that run tasks, and a caller that collects the results in order and may run some itself."""

    def __init__(
        self,
        tasks: Iterator[Callable[[Bytes], T]],
        threads: int,
        is_short: Callable[[Any], bool],
        *,
        is_partial: bool = False,
    ) -> None:
        self._tasks, self._threads, self._is_short = tasks, threads, is_short
        self._end, self._is_partial = _HERE.end, is_partial
        self._changed = threading.Condition()
        self._cancel = np.zeros(1, dtype=np.uint8)
        self._waiting: deque[Callable[[Bytes], T]] = deque()  # made, but not started
        self._begun = self._collected = 0
        self._left = True  # whether there may be more tasks
        self._done: dict[int, tuple[T] | BaseException] = {}
        self._started = self._running = self._lost = 0
        self._is_over = False
        self._look_ahead(mine=True)
        self._start(min(len(self._waiting), threads) - 1)

    def next_result(self) -> tuple[T] | None:
        """The result of the next task, or None after the last."""
        while True:
            with self._changed:
                self._heed_time()
                if self._collected in self._done:
                    found = self._done.pop(self._collected)
                    self._collected += 1
                    self._changed.notify_all()
                    if isinstance(found, BaseException):
                        raise found
                    return found
                if not self._look_ahead(mine=True) and self._collected == self._begun:
                    return None
                task = self._taken() if self._waiting and self._is_short(self._waiting[0]) else None
                if task is None:
                    self._start(min(len(self._waiting), self._threads - self._started))
                    self._changed.wait(min(LISTEN, max(0.0, self._end - time.monotonic())) or LISTEN)
            if task is not None:
                self._do(*task, mine=True)

    def _heed_time(self) -> None:
        """Cancel the running tasks if the time is over, and raise unless their results are valid."""
        if _HERE.cancel[0] or time.monotonic() >= self._end:
            self._cancel[0] = 1
            if not self._is_partial:
                raise OutOfTime

    def end(self) -> None:
        """Cancel the running tasks, and wait for those that listen; for the others when the process ends."""
        with self._changed:
            self._cancel[0], self._left, self._is_over = 1, False, True
            self._waiting.clear()
            self._changed.notify_all()
            while self._running > self._lost:
                self._changed.wait(LISTEN)
            if self._running:
                atexit.register(self._wait, os.getpid())

    def _wait(self, process: int) -> None:
        """Wait for all threads, unless this is a forked process, which has none of them."""
        with self._changed:
            while self._running and process == os.getpid():
                self._changed.wait(LISTEN)

    def lose(self) -> None:
        """Do not wait for the task of this thread."""
        with self._changed:
            self._lost += 1
            self._changed.notify_all()

    def find(self) -> None:
        """Wait for it again; raise if all was over meanwhile."""
        with self._changed:
            self._lost -= 1
            if self._is_over:
                raise OutOfTime

    def _start(self, count: int) -> None:
        for _ in range(max(count, 0)):
            self._started += 1
            self._running += 1
            try:
                POOL.start(self._work)
            except RuntimeError:  # the system has no more threads
                self._running -= 1
                raise

    def _work(self) -> None:
        while True:
            with self._changed:
                while (task := self._taken()) is None:
                    if not self._left and not self._waiting:
                        self._running -= 1
                        self._changed.notify_all()
                        return
                    self._changed.wait()
            self._do(*task)

    def _taken(self) -> tuple[int, Callable[[Bytes], T]] | None:
        """The next task with its number, unless it is too far ahead of the collected ones."""
        if self._begun - self._collected > 2 * self._threads or not self._look_ahead():
            return None
        self._begun += 1
        return self._begun - 1, self._waiting.popleft()

    def _look_ahead(self, *, mine: bool = False) -> bool:
        """Whether a task is waiting; makes some in advance, in the calling thread if `mine`."""
        while self._left and len(self._waiting) < 2:
            try:
                self._waiting.append(next(self._tasks))
            except StopIteration:
                self._left = False
            except BaseException as error:
                self._left = False
                if mine and not isinstance(error, Exception):
                    raise  # an interrupt in the meantime
                self._waiting.append(partial(_fail, error))  # raised when its result is collected
        return bool(self._waiting)

    def _do(self, number: int, task: Callable[[Bytes], T], *, mine: bool = False) -> None:
        found: tuple[T] | BaseException
        before, team = _HERE.cancel, _HERE.team
        try:
            _HERE.cancel, _HERE.team = (before, team) if mine else (self._cancel, self)
            found = (task(self._cancel),)
        except BaseException as error:
            if mine and not isinstance(error, Exception):
                raise  # an interrupt in the meantime
            found = error
        finally:
            _HERE.cancel, _HERE.team = before, team
        with self._changed:
            self._done[number] = found
            self._changed.notify_all()


def _fail(error: BaseException, cancel: Bytes) -> NoReturn:
    raise error
