"""Threads for compiled work that releases the GIL: their number, and a pool of idle ones."""

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
"""The flag of work that is never cancelled: kernels read it, and it is never written."""


def num_threads(threads: int | None) -> int:
    """The given number of threads, or one per processor.

    >>> num_threads(3)
    3
    """
    if threads is None:
        return os.cpu_count() or 1
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


POOL = ThreadPool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.reset)
