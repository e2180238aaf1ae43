"""Threads of our own for compiled work that releases the lock: results in order, clean interruption."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepset.errors import ScopeError

T = TypeVar("T")

Cancel = NDArray[np.uint8]
"""One byte that a running kernel looks at: nonzero means stop."""


def num_threads(threads: int | None) -> int:
    """The number of threads asked for, or one for each processor.

    >>> num_threads(3)
    3
    """
    if threads is None:
        return os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        raise ScopeError(f"threads is a whole number of at least 1, or None for all processors; found {threads!r}.")
    return int(threads)


def in_order(tasks: Iterable[Callable[[Cancel], T]], threads: int) -> Iterator[T]:
    """The tasks' results in the order of the tasks, a few of them running ahead.

    An interruption, or an error in one of them, cancels all that run.

    >>> list(in_order([lambda cancel: 1, lambda cancel: 2], 2))
    [1, 2]
    """
    cancel = np.zeros(1, dtype=np.uint8)
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="sepset") as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(task, cancel))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            cancel[0] = 1
            for future in waiting:
                future.cancel()
            raise


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


def interruptible(task: Callable[[Cancel], T]) -> T:
    """The task's result, from a thread of its own where the main one would not hear of Ctrl-C until it ends.

    An interruption cancels the task at its next look at `cancel`, waits for that, and is then passed on.

    >>> interruptible(lambda cancel: 3)
    3
    """
    if threading.current_thread() is not threading.main_thread():
        return task(np.zeros(1, dtype=np.uint8))
    return next(in_order([task], 1))
