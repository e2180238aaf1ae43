"""Timing: the best and the median of several runs, on the wall clock or in CPU seconds, and a process's peak memory."""

from __future__ import annotations

import os
import re
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CLOCK = "SEPSET_BENCH_CLOCK"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")
SHORTEST = 0.005  # a timed run takes at least this long, so that the clock's own cost is negligible


@dataclass(frozen=True)
class Timing:
    """Seconds per call: the best run and the median one; with the peak memory of its process if requested."""

    best: float
    median: float
    runs: int
    peak: int = 0


def single_thread(clock: str) -> None:
    """One thread for this process and those it starts; to be called before NumPy is imported."""
    os.environ.update(dict.fromkeys(THREADS, "1"), **{CLOCK: clock})


def cpu_seconds() -> float:
    """CPU time of this process and its finished children: the time of a single thread on an idle machine."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def on_wall_clock() -> bool:
    """Whether this run measures wall-clock time, which is needed to compare two threads with one."""
    return os.environ.get(CLOCK) != "cpu"


def now() -> float:
    """Seconds on the clock chosen for this run."""
    return time.perf_counter() if on_wall_clock() else cpu_seconds()


def measure(
    function: Callable[[], object], *, seconds: float = 0.3, at_least: int = 3, calls: int = 1, patience: float = 0.0
) -> Timing:
    """The time of one call, over several runs.

    Args:
        function: the function to measure; it may make several calls.
        seconds: runs are repeated for this long; one that takes five times as long is not repeated.
        at_least: the smallest number of runs otherwise.
        calls: the number of calls that `function` makes.
        patience: seconds up to which even a long run is repeated.
    """
    first = _run(function, 1)
    times = [first]
    repeat = 1
    if 0 < first < SHORTEST:
        repeat = max(1, int(SHORTEST / max(_run(function, 1), 1e-7)))
    while sum(times) * repeat < seconds or len(times) < at_least:
        if first > max(5 * seconds, patience):
            break
        times.append(_run(function, repeat))
    return Timing(min(times) / calls, statistics.median(times) / calls, len(times))


def _run(function: Callable[[], object], repeat: int) -> float:
    start = now()
    for _ in range(repeat):
        function()
    return (now() - start) / repeat


def peak_memory() -> int:
    """The peak memory of this process so far, in bytes; zero if the system does not report it."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.is_file() else None
    return 1024 * int(found[1]) if found else 0
