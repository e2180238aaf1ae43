"""The number of threads, and a pool of idle threads."""

from __future__ import annotations

import os
import threading
import time

import pytest

import sepset as ss
from sepset.base.threads import ThreadPool, num_threads


def test_number_of_threads():
    assert num_threads(None) == os.cpu_count()
    assert num_threads(3) == 3
    for wrong in (0, -1, True, 1.5, "2"):
        with pytest.raises(ss.errors.ArgumentError, match="threads= is a whole number"):
            num_threads(wrong)


def test_threads_are_used_again_and_forgotten_by_a_forked_process():
    pool, seen, done = ThreadPool(), [], threading.Semaphore(0)

    def work():
        seen.append(threading.get_ident())
        done.release()

    for _ in range(5):
        pool.start(work)
        assert done.acquire(timeout=30)
        time.sleep(0.02)
    assert len(set(seen)) == 1
    pool.reset()
    pool.start(work)
    assert done.acquire(timeout=30)
    assert len(set(seen)) == 2
