"""The check of rows against the machine's memory."""

from __future__ import annotations

import gc
import os
import threading
import time
from types import SimpleNamespace

import pytest

from sepset.base import memory
from sepset.errors import TooLarge


def test_rows_that_fill_the_memory_fit_and_one_more_does_not(monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 8000)
    memory.check_rows_fit(1000, 8)
    with pytest.raises(TooLarge, match="1,001 rows of 8 bytes"):
        memory.check_rows_fit(1001, 8)


def test_a_system_that_does_not_say_has_room(monkeypatch):
    def unknown(_: str) -> int:
        raise ValueError

    monkeypatch.setattr(os, "sysconf", unknown)
    assert memory.machine_memory() == memory.UNKNOWN


@pytest.fixture
def collecting():
    assert gc.isenabled()
    yield
    memory.resume_collection()
    gc.enable()


def test_a_pause_of_the_collector_ends(collecting):
    memory.pause_collection(0.05)
    memory.pause_collection(0.05)
    assert not gc.isenabled()
    for _ in range(6000):
        if gc.isenabled():
            break
        time.sleep(0.01)
    assert gc.isenabled()


def test_pauses_one_after_another_end_too(collecting, monkeypatch):
    clock, begun = [100.0], []
    monkeypatch.setattr(memory, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(threading.Timer, "start", lambda timer: begun.append(timer))
    memory.pause_collection(60.0)
    for after, count in ((50.0, 2), (70.0, 3), (3.0, 3), (1000.0, 3)):  # 180 seconds in all at most
        clock[0] += after
        memory.pause_collection(60.0)
        assert len(begun) == count
    assert [timer.finished.is_set() for timer in begun] == [True, True, False]  # canceled
    begun[-1].function()
    assert gc.isenabled()
    memory.pause_collection(60.0)
    assert len(begun) == 4


def test_a_collector_that_is_off_stays_so(collecting):
    gc.disable()
    memory.pause_collection(0.0)
    time.sleep(0.05)
    assert not gc.isenabled()


@pytest.mark.filterwarnings("ignore:.*fork")  # a warning that there are threads
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
def test_a_forked_process_collects(collecting):
    memory.pause_collection(60.0)
    child = os.fork()
    if not child:
        os._exit(0 if gc.isenabled() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert not gc.isenabled()
