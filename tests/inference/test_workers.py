"""Our own threads: order, errors, interruption."""

from __future__ import annotations

import os
import threading

import pytest

import sepset as ss
from sepset.inference.workers import in_order, num_threads


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_come_in_the_order_of_tasks(threads):
    tasks = [lambda cancel, i=i: i * i for i in range(50)]
    assert list(in_order(tasks, threads)) == [i * i for i in range(50)]


def test_tasks_are_made_only_a_little_ahead():
    made = []

    def tasks():
        for i in range(100):
            made.append(i)
            yield lambda cancel, i=i: i

    results = in_order(tasks(), 2)
    next(results)
    assert len(made) < 10
    results.close()


def test_an_error_cancels_what_runs():
    stopped = threading.Event()

    def long(cancel):
        while not cancel[0]:
            pass
        stopped.set()

    def wrong(cancel):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(in_order([wrong, long, long], 2))
    assert stopped.is_set()


def test_number_of_threads():
    assert num_threads(None) == os.cpu_count()
    assert num_threads(3) == 3
    for wrong in (0, -1, True, 1.5, "2"):
        with pytest.raises(ss.ScopeError, match="threads is a whole number"):
            num_threads(wrong)


def blas_threads():
    import scipy.linalg.cython_blas
    from threadpoolctl import ThreadpoolController

    assert scipy.linalg.cython_blas
    return [library.num_threads for library in ThreadpoolController().select(user_api="blas").lib_controllers]


def test_matrix_products_run_on_one_thread_until_the_last_leaves():
    from sepset.inference.workers import SingleBlas

    before, guard = blas_threads(), SingleBlas()
    with guard:
        assert set(blas_threads()) <= {1}
        with guard:
            assert set(blas_threads()) <= {1}
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_an_error_inside_restores_the_threads():
    from sepset.inference.workers import SINGLE_BLAS

    before = blas_threads()
    with pytest.raises(KeyboardInterrupt), SINGLE_BLAS:
        raise KeyboardInterrupt
    assert blas_threads() == before
