"""The check of rows against the machine's memory."""

from __future__ import annotations

import os

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
