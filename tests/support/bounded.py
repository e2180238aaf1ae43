"""Bounds on work, in seconds of the processor: a busy machine changes nothing, and what hangs is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")
PREAMBLE = """
import math, resource, signal, sys

def allow(seconds):
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
"""


class _Exceeded(BaseException):
    """Not an Exception, so that nobody takes it for a failure of his own."""


def within(limit: float, work: Callable[[], T]) -> T:
    """What the work returns or raises; the test fails where its Python code takes longer than `limit` seconds."""
    if sys.platform == "win32":
        pytest.skip("no timers of processes here")

    def stop(*_: object) -> None:
        raise _Exceeded

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        return work()
    except _Exceeded:
        pass  # and forgotten: its traceback may have places without a line, which pytest cannot print
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    pytest.fail(f"still at work after {limit:.3g} s of processor time")


def child(script: str, *, timeout: float = 240, **environment: str) -> subprocess.CompletedProcess[str]:
    """A new interpreter that runs a script, in which `allow(seconds)` bounds what the rest of it may take."""
    if sys.platform == "win32":
        pytest.skip("no limits of processes here")
    return subprocess.run(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(script)],
        env=os.environ | {"SEPSET_WARM": "0"} | environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def ended_by_limit(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the processor time of a child was used up."""
    return done.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
