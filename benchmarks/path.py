"""The way through a call: sepset's own Python functions that `fit` and `query` enter, and the modules they cross."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

ROWS = {"x": ["a", "a", "b", None], "y": ["c", "d", "d", "d"]}
BEFORE = {
    "fit, one step of EM on two variables": (2483, 507, 62, 751, 32),
    "query, first": (575, 192, 36, 167, 18),
    "query, again": (75, 60, 16, 26, 14),
}
"""Version 0.1.0."""

COLUMNS = ("calls", "distinct functions", "modules", "crossings between modules", "depth")


class Way(NamedTuple):
    """Calls, distinct functions, modules, calls from one module into another, and the largest depth."""

    calls: int
    functions: int
    modules: int
    crossings: int
    depth: int


class Tracer:
    """Counts the calls of functions below a folder; what generators resume counts, too."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.functions: set[tuple[str, str]] = set()
        self.stack: list[str] = []
        self.calls = self.crossings = self.depth = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        file = frame.f_code.co_filename
        if not file.startswith(self.folder):
            return
        if event == "return" and self.stack:
            self.stack.pop()
        if event == "call":
            self.calls += 1
            self.functions.add((file, frame.f_code.co_qualname))
            self.crossings += bool(self.stack) and self.stack[-1] != file
            self.stack.append(file)
            self.depth = max(self.depth, len(self.stack))

    @property
    def path(self) -> Way:
        modules = {file for file, _ in self.functions}
        return Way(self.calls, len(self.functions), len(modules), self.crossings, self.depth)


def traced(call: Callable[[], object]) -> Way:
    """The path of a call."""
    import sepset

    tracer = Tracer(str(Path(str(sepset.__file__)).parent))
    sys.setprofile(tracer)
    try:
        call()
    finally:
        sys.setprofile(None)
    return tracer.path


def trace_sepset() -> list[Way]:
    """The paths of a fit, of a first query and of a later one with other values; modules are loaded before."""
    import sepset as ss
    from sepset.kernels.warm import compile_ahead

    list(compile_ahead())  # interpreted loops would be counted as calls; 0.1.0 had none

    def fit() -> None:
        ss.fit(ss.DAG.parse("x -> y"), ROWS, ss.EM(), until=1)

    def query(grade: str) -> None:
        ss.query(student, "intelligence", given={"grade": grade, "sat": "high"})

    student = ss.datasets.load("student")
    fit()
    query("A")
    student = ss.datasets.load("student")
    found = [traced(fit), traced(lambda: query("C"))]
    query("A")  # a model that is asked again gets an engine
    return [*found, traced(lambda: query("B"))]


def run(lab: Lab) -> list[Report]:
    """One table: how long each path is, compared with 0.1.0."""
    found = lab.ask("sepset", trace_sepset)
    rows = []
    for number, (case, before) in enumerate(BEFORE.items()):
        for column, name in enumerate(COLUMNS):
            ours = found if isinstance(found, str) else float(found[number][column])
            rows.append(Comparison(f"{case}: {name}", ours, {"0.1.0": float(before[column])}, kind="entries"))
    note = (
        "Functions of sepset's own Python that one call enters, as a profiler sees them, with compiled kernels. The "
        "column of 0.1.0 is as published; a similar trace repeated later counted fewer calls there: 2,056, 369 and 55."
    )
    return [Report("The way through a call", rows, note, has_mean=False, versus="0.1.0 / sepset")]
