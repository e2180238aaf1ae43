"""Threads for compiled code that releases the interpreter lock: their number, and a pool of idle threads."""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

import numpy as np

from sepset.base.arraytypes import Bytes
from sepset.base.checks import whole

NEVER: Bytes = np.zeros(1, dtype=np.uint8)
"""The flag of work that is not to be cancelled: kernels read it, and nothing writes it."""


def num_threads(threads: int | None) -> int:
    """The requested number of threads, or one per processor.

    >>> num_threads(3)
    3
    """
    if threads is None:
        return os.cpu_count() or 1
    return whole("threads", threads, least=1, otherwise="None for all processors")


class ThreadPool:
    """Idle threads that wait for work: starting a new thread takes longer than many tasks.

    Unlike that of `threading.Thread`, the start of a new one does not wait until it runs. The threads end with the
    process; a forked process has none.

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
        """Run `work` on an idle or a new thread; it must not raise."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            _thread.start_new_thread(self._serve, (inbox,))
        inbox.put(work)

    def reset(self) -> None:
        """Drop all threads."""
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def _serve(self, inbox: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            inbox.get()()
            with self._lock:
                if len(self._idle) >= self._size:
                    return
                self._idle.append(inbox)


POOL = ThreadPool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.reset)
