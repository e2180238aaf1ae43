"""Our own figures of every suite that version 0.1.0 has too, both versions in turn.

The earlier version is a source tree whose folder is in `SEPSET_BASELINE`, with its own `benchmarks`. Each round runs
each suite with the sources of either tree, without the peers, in processor seconds; of several rounds the least figure
counts. Cases are matched by suite, title and name. `SEPSET_VERSIONS` names some suites, with commas; by default all
that both versions have.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

SUITES = (
    *("files", "ordering", "separation", "sampling", "counting", "tables", "inference", "exact", "uai", "memory"),
    *("sparse", "treequeries", "batch", "em", "startup"),
)
ROUNDS = 3
TIME = 900.0  # seconds for one suite of one tree
KINDS = ("s", "ns", "B")

OWN_FIGURES = """
import importlib, json, sys
from benchmarks.measure import single_thread
single_thread("cpu")
from benchmarks.networks import compile_kernels
from benchmarks.worker import Lab

class Alone(Lab):
    def ask(self, library, function, *args, **options):
        return super().ask(library, function, *args, **options) if library == "sepset" else "not asked"

suite, quick, only = sys.argv[1], sys.argv[2] == "quick", [name for name in sys.argv[3].split(",") if name]
lab = Alone(limit=30.0, quick=quick, only=only)
try:
    lab.ask("sepset", compile_kernels, limit=300.0)
    reports = importlib.import_module("benchmarks." + suite).run(lab)
finally:
    lab.close()
cases = [(r.title, c.case, c.kind, c.ours) for r in reports for c in r.comparisons if not isinstance(c.ours, str)]
print(json.dumps(cases))
"""


def own_figures(tree: str, suite: str, lab: Lab) -> dict[tuple[str, str, str], float]:
    """The figures of a suite in a source tree: by title, case and kind."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([f"{tree}/src", tree]), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", OWN_FIGURES, suite, "quick" if lab.quick else "all", ",".join(lab.only)]
    options: dict[str, Any] = {"cwd": tree, "env": env, "capture_output": True, "text": True, "timeout": TIME}
    done = subprocess.run(command, check=False, **options)
    if done.returncode:
        raise RuntimeError(f"{suite} in {tree}: {done.stderr.strip().splitlines()[-1][:200]}")
    return {(title, case, kind): figure for title, case, kind, figure in json.loads(done.stdout.splitlines()[-1])}


def compared(before: str, here: str, suite: str, lab: Lab) -> list[Comparison]:
    """The least figures of both trees over several rounds, for the cases that both have."""
    least: dict[str, dict[tuple[str, str, str], float]] = {before: {}, here: {}}
    for _ in range(1 if lab.quick else ROUNDS):
        for tree, known in least.items():
            for key, figure in own_figures(tree, suite, lab).items():
                known[key] = min(figure, known.get(key, figure))
    old, new = least[before], least[here]
    return [
        Comparison(f"{title}: {case}", new[title, case, kind], {"0.1.0": figure}, kind)
        for (title, case, kind), figure in old.items()
        if (title, case, kind) in new and kind in KINDS
    ]


def run(lab: Lab) -> list[Report]:
    """One table for each suite; none without the sources of 0.1.0."""
    before = os.environ.get("SEPSET_BASELINE", "")
    if not before:
        return []
    here, reports = str(Path(__file__).resolve().parents[1]), []
    chosen = os.environ.get("SEPSET_VERSIONS", ",".join(SUITES)).split(",")
    for suite in chosen:
        lab.progress(suite)
        cases = compared(before, here, suite, lab)
        reports.append(Report(suite, cases, "Processor seconds, least of several rounds.", versus="0.1.0 / sepset"))
    return reports
