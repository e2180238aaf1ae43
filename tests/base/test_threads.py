"""The number of threads, and a pool of idle threads."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pytest

import sepset as ss
from sepset.base import threads as pools
from sepset.base.threads import (
    NEVER,
    OutOfTime,
    OutOfWork,
    ThreadPool,
    Turns,
    abandonable,
    ending_at,
    in_order,
    interruptible,
    not_listening,
    num_threads,
    require_time,
    require_work,
    shares,
    spend,
    together,
    work_left,
    working,
)
from sepset.inference.iterate import deadline


def test_number_of_threads():
    assert num_threads(None) == len(
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count())
    )
    assert num_threads(3) == 3
    for wrong in (0, -1, True, 1.5, "2"):
        with pytest.raises(ss.errors.ArgumentError, match="threads= is a whole number"):
            num_threads(wrong)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process")
def test_a_process_pinned_to_one_processor_has_one():
    pinned = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"
    script = f"{pinned}; from sepset.base.threads import num_threads; print(num_threads(None))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "1\n"


def test_threads_are_used_again_and_forgotten_by_a_forked_process():
    pool, seen, done = ThreadPool(), [], threading.Semaphore(0)

    def work():
        seen.append(threading.get_ident())
        done.release()

    for _ in range(5):
        pool.start(work)
        assert done.acquire(timeout=30)
        while not pool.num_idle:  # its thread is done, but not yet idle
            time.sleep(0.001)
    assert len(set(seen)) == 1
    pool.reset()
    pool.start(work)
    assert done.acquire(timeout=30)
    assert len(set(seen)) == 2


SHORT = [lambda task: False, lambda task: True, lambda task: task(None) % 3 == 0, lambda task: task(None) % 3 != 0]


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("is_short", SHORT)
@pytest.mark.parametrize("num", [0, 1, 2, 50])
def test_results_come_in_the_order_of_tasks(threads, is_short, num):
    tasks = [lambda cancel, i=i: i * i for i in range(num)]
    assert list(in_order(tasks, threads, is_short=is_short)) == [i * i for i in range(num)]


def test_the_caller_runs_short_tasks_only():
    mine = threading.current_thread()
    alone = in_order([lambda cancel: threading.current_thread()] * 20, 1, is_short=lambda task: True)
    assert set(alone) == {mine}
    others = in_order([lambda cancel: threading.current_thread()] * 20, 2)
    assert mine not in set(others)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_no_more_tasks_run_at_once_than_asked_for(threads):
    running, most, lock = [], [], threading.Lock()

    def task(cancel):
        with lock:
            running.append(1)
            most.append(len(running))
        time.sleep(0.002)
        with lock:
            running.pop()

    for is_short in (lambda task: False, lambda task: True):
        list(in_order([task] * 30, threads, is_short=is_short))
    assert max(most) <= threads


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("is_short", SHORT[:2])
def test_an_error_in_making_tasks_comes_after_the_results_before_it(threads, is_short):
    def tasks():
        yield lambda cancel: 1
        yield lambda cancel: 2
        raise ValueError("no third")

    found = in_order(tasks(), threads, is_short=is_short)
    assert [next(found), next(found)] == [1, 2]
    with pytest.raises(ValueError, match="no third"):
        next(found)


@pytest.mark.parametrize("is_short", SHORT[:2])
def test_interrupting_the_caller_ends_all(is_short):
    """Whichever thread the signal is delivered to."""
    begun, ended = [], []

    def long(cancel):
        begun.append(1)
        while not cancel[0]:
            time.sleep(0.001)
        ended.append(1)

    def interrupts(cancel):
        while not begun:
            time.sleep(0.001)
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        list(in_order([interrupts, long, long], 2, is_short=lambda task: is_short(task) and task is interrupts))
    assert len(ended) == len(begun) > 0


def test_a_call_that_does_not_listen_is_left_behind():
    begun, asked, over = threading.Event(), [], threading.Event()

    def deaf():
        begun.set()
        over.wait()

    def interrupt():
        begun.wait()
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        abandonable(deaf, stop=lambda: asked.append(not over.is_set()))
    over.set()
    assert asked == [True]


def test_a_task_that_does_not_listen_is_left_behind_and_then_ends():
    begun, over, left, later = threading.Event(), threading.Event(), threading.Event(), []

    def deaf(cancel):
        try:
            with not_listening(), not_listening():
                begun.set()
                over.wait()
            later.append("it goes on")
        finally:
            left.set()

    def interrupt():
        begun.wait()
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(deaf)
    assert not left.is_set()
    over.set()
    left.wait()
    assert later == []
    over.set()
    assert interruptible(lambda cancel: deaf(cancel) or later) == ["it goes on"]


def test_a_process_waits_for_what_it_left_behind_before_it_ends():
    program = """if True:
        import os, signal, threading, time
        from sepset.base.threads import interruptible, not_listening
        def task(cancel):
            with not_listening():
                signal.raise_signal(signal.SIGINT)
                time.sleep(0.3)
                os.write(1, b"compiled ")
        try:
            interruptible(task)
        except KeyboardInterrupt:
            os.write(1, b"heard ")
    """
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "heard compiled "


def test_a_call_in_another_thread_has_its_result_or_error():
    where = [abandonable(threading.current_thread) for _ in range(2)]
    assert threading.main_thread() not in where
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: abandonable(threading.current_thread) is threading.current_thread()).result()
    with pytest.raises(ZeroDivisionError):
        abandonable(lambda: 1 / 0)


def test_a_call_is_left_behind_when_the_time_is_over():
    over = threading.Event()
    with pytest.raises(OutOfTime), ending_at(deadline(ss.Until(seconds=0.05))):
        abandonable(over.wait)
    over.set()


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_makes_threads_of_its_own():
    tasks = [lambda cancel, i=i: i for i in range(6)]
    assert list(in_order(tasks, 3)) == list(range(6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
        child = os.fork()
    if child == 0:
        os._exit(0 if list(in_order(tasks, 3)) == list(range(6)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_interruption_while_tasks_are_made_is_raised_at_once():
    ended = []

    def long(cancel):
        while not cancel[0]:
            time.sleep(0.001)
        ended.append(1)

    def tasks():
        yield long
        yield long
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(in_order(tasks(), 1))
    assert len(ended) <= 1


def waits(cancel):
    while not cancel[0]:
        time.sleep(0.001)
    return "canceled"


@pytest.mark.parametrize("is_main", [True, False])
def test_work_ends_with_its_time(is_main, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(pools, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def takes_too_long(cancel):
        clock[0] = 2.0
        return waits(cancel)

    def work():
        with ending_at(1.0):
            require_time()
            assert interruptible(lambda cancel: 3) == 3
            assert interruptible(takes_too_long, is_partial=True) == "canceled"  # a result that is valid at any time
            for task in (waits, lambda cancel: 3):
                with pytest.raises(OutOfTime):
                    interruptible(task)
            with pytest.raises(OutOfTime), ending_at(math.inf):  # the earlier time counts
                require_time()
            with pytest.raises(OutOfTime):
                list(in_order([waits] * 3, 2))
        require_time()
        assert interruptible(lambda cancel: 3) == 3
        assert NEVER[0] == 0
        return True

    if is_main:
        assert work()
    else:
        with ThreadPoolExecutor(1) as other:
            assert other.submit(work).result()


def test_parts_of_a_task_end_with_it():
    """Python code in a task: its loops and kernels are canceled together."""

    def inner(cancel):
        while True:
            require_time()
            interruptible(lambda flag: time.sleep(0.001))

    for work in (inner, lambda cancel: interruptible(waits), lambda cancel: list(in_order([waits], 1))):
        with pytest.raises(OutOfTime), ending_at(deadline(ss.Until(seconds=0.05))):
            interruptible(work)
    require_time()


def test_turns_are_taken_by_so_many_at_once_and_given_back_after_errors():
    turns, inside, most = Turns(2), [], []

    def work(number):
        with turns:
            inside.append(number)
            most.append(len(inside))
            time.sleep(0.002)
            inside.remove(number)
            if number % 3 == 0:
                raise ValueError(number)

    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(work, number) for number in range(24)]
    assert sum(one.exception() is not None for one in done) == 8
    assert (max(most), len(most)) == (2, 24)
    with turns, turns:
        assert not inside


def test_waiting_for_a_turn_ends_with_the_time():
    turns = Turns(1)
    with turns:
        with pytest.raises(OutOfTime), ending_at(deadline(ss.Until(seconds=0.05))), turns:
            pass
        turns.reset()  # as in a forked process
        with turns:
            pass


def test_tasks_that_run_together_keep_their_order():
    def slow(k, cancel):
        time.sleep(0.01 * (3 - k))
        return k

    for threads in (1, 2, 4):
        assert together([partial(slow, k) for k in range(4)], threads) == [0, 1, 2, 3]
    assert together([], 2) == []


def test_an_error_in_one_of_them_is_raised():
    def fails(cancel):
        raise ValueError("wrong")

    for threads in (1, 2):
        with pytest.raises(ValueError, match="wrong"):
            together([lambda cancel: 1, fails], threads)


def test_tasks_inside_a_task_run_in_its_thread():
    def inner(cancel):
        return threading.get_ident()

    def outer(cancel):
        return {threading.get_ident(), *together([inner, inner], 2)}

    assert all(len(found) == 1 for found in together([outer, outer], 2))


def test_tasks_that_run_together_end_with_the_time():
    def waits(cancel):
        while not cancel[0]:
            time.sleep(0.001)

    for threads in (1, 2):
        with pytest.raises(OutOfTime), ending_at(deadline(ss.Until(seconds=0.05))):
            together([waits, waits], threads)


@pytest.mark.parametrize("step", [1, 4])
def test_shares_are_consecutive_and_whole_steps(step):
    for count in range(1, 40):
        for threads in (1, 2, 3, 8):
            found = shares(count, threads, step=step)
            assert [i for part in found for i in range(count)[part]] == list(range(count))
            assert len(found) <= threads
            assert all(part.start < part.stop for part in found)
            assert all((part.stop - part.start) % step == 0 for part in found[:-1])


def test_work_is_shared_with_what_is_around_it():
    outer, inner = working(100.0), working(30.0)
    with outer:
        with inner:
            spend(10.0)
            assert work_left() == 20.0
        assert work_left() == 90.0
        with inner, pytest.raises(OutOfWork):
            spend(21.0)
        with working(1000.0):
            assert work_left() < 90.0
    assert work_left() == math.inf
    spend(1e300)
    with outer:  # what was too much took what was left of the inner limit
        assert work_left() == 70.0


def test_work_is_not_limited_where_the_time_is():
    with ending_at(1e300), working(1.0):
        spend(2.0)
        assert work_left() == math.inf
    with working(5.0), ending_at(-math.inf), pytest.raises(OutOfTime):
        spend(1.0)


def test_a_short_task_runs_in_the_calling_thread():
    here = threading.get_ident()
    assert interruptible(lambda cancel: threading.get_ident(), is_short=True) == here
    assert interruptible(lambda cancel: threading.get_ident()) != here
    with ending_at(0.0), pytest.raises(OutOfTime):
        interruptible(lambda cancel: 1, is_short=True)


def test_work_is_looked_at_before_it_is_done():
    require_work(1e300)
    with working(10.0):
        require_work(10.0)
        with pytest.raises(OutOfWork):
            require_work(11.0)
        assert work_left() == 10.0
