"""Threads of our own for compiled work that releases the lock: results in order, clean interruption."""

from __future__ import annotations

import _thread
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from sepset.base.arraytypes import Bytes
from sepset.base.checks import whole

T = TypeVar("T")


LISTEN = 0.1
"""Seconds between looks for Ctrl-C while waiting: a signal that another thread is given does not wake the caller."""

NEVER: Bytes = np.zeros(1, dtype=np.uint8)
"""The flag of work that is not to be cancelled: kernels read it, and nothing writes it."""


def num_threads(threads: int | None) -> int:
    """The number of threads asked for, or one for each processor.

    >>> num_threads(3)
    3
    """
    if threads is None:
        return os.cpu_count() or 1
    return whole("threads", threads, least=1, otherwise="None for all processors")


def in_order(
    tasks: Iterable[Callable[[Bytes], T]], threads: int, *, is_short: Callable[[Any], bool] = lambda task: False
) -> Iterator[T]:
    """The tasks' results in the order of the tasks, a few of them running ahead.

    An interruption, or an error in one of them, cancels all that run.

    Args:
        threads: how many tasks run at once.
        is_short: whether a task takes only moments: the calling thread, deaf to Ctrl-C meanwhile, then does it itself
            instead of waiting, which saves waking it for every result.

    >>> list(in_order([lambda cancel: 1, lambda cancel: 2], 2))
    [1, 2]
    """
    crew = _Crew(iter(tasks), threads, is_short)
    try:
        while (found := crew.next_result()) is not None:
            yield found[0]
    finally:
        crew.end()


class Parked:
    """Threads that wait for something to do: making one takes longer than many a task.

    Nobody waits for a new one to run, as `threading.Thread` would. They end with the process; a forked one has none.

    >>> done = threading.Event()
    >>> PARKED.start(done.set)
    >>> done.wait(10)
    True
    """

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self.forget()

    def start(self, work: Callable[[], None]) -> None:
        """Have a thread do this, and soon; it must not raise."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            _thread.start_new_thread(self._live, (inbox,))
        inbox.put(work)

    def forget(self) -> None:
        """Start over without threads."""
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def _live(self, inbox: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            inbox.get()()
            with self._lock:
                if len(self._idle) >= self._most:
                    return
                self._idle.append(inbox)


PARKED = Parked()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PARKED.forget)


class _Crew(Generic[T]):
    """Threads that take task after task, and a caller who collects the results in order and may lend a hand."""

    def __init__(self, tasks: Iterator[Callable[[Bytes], T]], threads: int, is_short: Callable[[Any], bool]) -> None:
        self._tasks, self._threads, self._is_short = tasks, threads, is_short
        self._changed = threading.Condition()
        self._cancel = np.zeros(1, dtype=np.uint8)
        self._waiting: deque[Callable[[Bytes], T]] = deque()  # made, and not begun
        self._begun = self._collected = 0
        self._left = True  # whether there may be more tasks
        self._done: dict[int, tuple[T] | BaseException] = {}
        self._hired = self._present = 0
        self._look_ahead(mine=True)
        self._hire(min(len(self._waiting), threads) - 1)

    def next_result(self) -> tuple[T] | None:
        """The result of the next task, or None after the last."""
        while True:
            with self._changed:
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
                    self._hire(min(len(self._waiting), self._threads - self._hired))
                    self._changed.wait(LISTEN)
            if task is not None:
                self._do(*task, mine=True)

    def end(self) -> None:
        """Cancel what still runs, and wait for it."""
        with self._changed:
            self._cancel[0], self._left = 1, False
            self._waiting.clear()
            self._changed.notify_all()
            while self._present:
                self._changed.wait(LISTEN)

    def _hire(self, count: int) -> None:
        for _ in range(max(count, 0)):
            self._hired += 1
            self._present += 1
            try:
                PARKED.start(self._work)
            except RuntimeError:  # the system has no more threads
                self._present -= 1
                raise

    def _work(self) -> None:
        while True:
            with self._changed:
                while (task := self._taken()) is None:
                    if not self._left and not self._waiting:
                        self._present -= 1
                        self._changed.notify_all()
                        return
                    self._changed.wait()
            self._do(*task)

    def _taken(self) -> tuple[int, Callable[[Bytes], T]] | None:
        """The next task with its number, unless it is too far ahead of what was collected."""
        if self._begun - self._collected > 2 * self._threads or not self._look_ahead():
            return None
        self._begun += 1
        return self._begun - 1, self._waiting.popleft()

    def _look_ahead(self, *, mine: bool = False) -> bool:
        """Whether a task waits; some are made in advance, by whoever looks, where `mine` by the calling thread."""
        while self._left and len(self._waiting) < 2:
            try:
                self._waiting.append(next(self._tasks))
            except StopIteration:
                self._left = False
            except BaseException as error:
                self._left = False
                if mine and not isinstance(error, Exception):
                    raise  # an interruption that came meanwhile
                self._waiting.append(partial(_fail, error))  # told when its turn comes
        return bool(self._waiting)

    def _do(self, number: int, task: Callable[[Bytes], T], *, mine: bool = False) -> None:
        found: tuple[T] | BaseException
        try:
            found = (task(self._cancel),)
        except BaseException as error:
            if mine and not isinstance(error, Exception):
                raise  # an interruption that came meanwhile
            found = error
        with self._changed:
            self._done[number] = found
            self._changed.notify_all()


def _fail(error: BaseException, cancel: Bytes) -> NoReturn:
    raise error


class SingleBlas:
    """While anyone is inside, matrix products run on the caller's thread alone.

    Programs make many products of moderate size, and several callers may run at once: threads of the library below
    would spend their time waiting for each other. The first to enter sets the limit, the last to leave restores it.

    >>> with SINGLE_BLAS:
    ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._controller: Any = None
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = self._found().limit(limits=1)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()

    def _found(self) -> Any:
        """The libraries there are, looked for once: compiled programs bring theirs along when they are first run."""
        if self._controller is None:
            import scipy.linalg.cython_blas
            from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

            assert scipy.linalg.cython_blas
            self._controller = ThreadpoolController().select(user_api="blas")
        return self._controller


SINGLE_BLAS = SingleBlas()


def interruptible(task: Callable[[Bytes], T]) -> T:
    """The task's result, from a thread of its own where the main one would not hear of Ctrl-C until it ends.

    An interruption cancels the task at its next look at `cancel`, waits for that, and is then passed on.

    >>> interruptible(lambda cancel: 3)
    3
    """
    if threading.current_thread() is not threading.main_thread():
        return task(NEVER)
    return next(in_order([task], 1))
