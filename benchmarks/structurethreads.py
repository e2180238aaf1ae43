"""Structures on two threads: climbing over many rows, exact search, and chains; on the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.report import Comparison, Report
from benchmarks.structure import dataset_of
from benchmarks.structure_exact import rows_of
from benchmarks.worker import Lab

RUNS = 3
PATIENCE = 900.0
MANY_ROWS = "alarm_1000000"


class Ran(NamedTuple):
    """Seconds on one thread and on two, and whether the answers are the same to the last bit."""

    one: float
    two: float
    is_same: bool


def climbing() -> Callable[[int], Any]:
    """Plain hill climbing on a million rows of ALARM."""
    import sepset as ss

    data = dataset_of(MANY_ROWS)

    def learned(threads: int) -> Any:
        found = ss.learn_structure(data, method=ss.HillClimb(), threads=threads)
        return found.graph, found.score

    return learned


def exact() -> Callable[[int], Any]:
    """Dynamic programming over 20 columns of ALARM."""
    import sepset as ss

    data = ss.Dataset(rows_of("alarm", 20))

    def learned(threads: int) -> Any:
        found = ss.learn_structure(data, method=ss.ExactSearch("dynamic"), threads=threads)
        return found.graph, found.score

    return learned


def chains() -> Callable[[int], Any]:
    """Two chains over partitions of 15 columns of ALARM."""
    import sepset as ss

    data = ss.Dataset(rows_of("alarm", 15))

    def averaged(threads: int) -> Any:
        return ss.structure_posterior(data, method=ss.PartitionMCMC(num_samples=2_000), threads=threads).edges.tolist()

    return averaged


CASES = {
    "hill climbing, ALARM, 1,000,000 rows": climbing,
    "dynamic programming, ALARM, 20 columns": exact,
    "PartitionMCMC, ALARM, 15 columns, two chains": chains,
}


def both(case: str) -> Ran:
    """The best of several runs on each number of threads, by turns."""
    work = CASES[case]()
    work(2)  # compiles
    seconds: dict[int, float] = {1: float("inf"), 2: float("inf")}
    answers = {}
    for _ in range(RUNS):
        for threads in seconds:
            start = time.perf_counter()
            answers[threads] = work(threads)
            seconds[threads] = min(seconds[threads], time.perf_counter() - start)
    return Ran(seconds[1], seconds[2], answers[1] == answers[2])


def run(lab: Lab) -> list[Report]:
    """One table: seconds on two threads beside those on one."""
    rows, same = [], True
    for case in lab.wanted(list(CASES)[1:] if lab.quick else CASES):
        found = lab.ask("sepset", both, case, limit=PATIENCE)
        if isinstance(found, Ran):
            rows.append(Comparison(case, found.two, {"one thread": found.one}))
            same = same and found.is_same
    answers = "the same to the last bit" if same else "NOT the same"
    note = f"Seconds on the wall clock; the answers are {answers}."
    return [Report("Structures on two threads", rows, note, versus="one thread / two")]
