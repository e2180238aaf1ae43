"""Two threads in one question: every marginal of wide models, hot, on the wall clock."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from benchmarks import instances, networks
from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

MEMORY = 8 * 10**9  # bytes above which an instance is refused
TIME = 600.0  # seconds for one instance
SHORT = 0.005  # seconds below which no step is shared
RUNS = 5
PATIENCE = 10.0  # seconds up to which runs are repeated


class Ran(NamedTuple):
    """Seconds on one thread and on two, and whether the answers are the same to the last bit."""

    one: float
    two: float
    is_same: bool


def _hot(model: Any, evidence: Any, threads: int) -> tuple[float, list[Any]]:
    """Seconds of every marginal with an existing plan and numbers that count as new; and the answers."""
    import sepset as ss

    model.problem().kept.clear()
    prepared = ss.prepare(model, method=ss.CliqueTree(memory=MEMORY, threads=threads)).prepared

    def ask() -> list[Any]:
        read, log_partition = prepared.with_values({}).marginals(evidence)
        return [log_partition, *(read(v).values for v in range(len(model.variables)))]

    best, spent, found = float("inf"), 0.0, ask()
    for _ in range(RUNS + 2):  # after two the plan is the final one
        start = time.perf_counter()
        found = ask()
        taken = time.perf_counter() - start
        best, spent = min(best, taken), spent + taken
        if spent > PATIENCE:
            break
    return best, found


def both(name: str) -> Ran:
    """Every marginal on one thread and on two."""
    import numpy as np

    from sepset.kernels.warm import compile_ahead
    from sepset.variables.evidence import resolve

    for _ in compile_ahead():
        pass
    known = networks.paths()
    model, given = (networks.load(known[name]), {}) if name in known else instances.load(name)
    evidence = resolve(given, model.variables)
    (one, first), (two, second) = (_hot(model, evidence, threads) for threads in (1, 2))
    return Ran(one, two, all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)))


def run(lab: Lab) -> list[Report]:
    """One table: seconds on two threads beside those on one."""
    rows, same = [], True
    for name in lab.wanted([*networks.paths(), *instances.names()]):
        found = lab.ask("sepset", both, name, limit=TIME)
        if isinstance(found, Ran) and found.one > SHORT:
            rows.append(Comparison(name, found.two, {"one thread": found.one}))
            same = same and found.is_same
    answers = "the same to the last bit" if same else "NOT the same"
    note = f"Seconds on the wall clock, models of more than {SHORT:g} s; the answers are {answers}."
    return [Report("Two threads in one question, hot", rows, note, versus="one thread / two")]
