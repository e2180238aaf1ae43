"""Our own figures of every suite that version 0.1.0 has too, both versions in turn.

The earlier version is a source tree whose folder is in `SEPSET_BASELINE`, with its own `benchmarks`. Each round runs
each suite with the sources of either tree, without the peers, in processor seconds; of several rounds the least figure
counts. After the first round, only networks and instances of which a figure is more than a twentieth behind are asked
again, by both versions: with one round, memory that the process touches for the first time decides. Cases are matched
by suite, title and name. `SEPSET_VERSIONS` names the suites to measure, with commas; by default all that both versions
have. Figures are stored in the earlier version's folder, so that a long comparison can be made in parts.
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
CLOSE = 0.95  # ratio below which a case is measured again
BY_NETWORK = ("files", "ordering", "inference", "exact", "uai", "memory", "sparse")  # suites whose cases can be chosen

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


Figures = dict[str, float]
"""Figures by title, case and kind, joined by bars."""


def measured(before: str, here: str, suite: str, lab: Lab) -> dict[str, Figures]:
    """The least figures of both trees: one round of all cases, then rounds of those that are behind."""
    least: dict[str, Figures] = {"before": {}, "now": {}}
    behind: list[str] = []
    for number in range(1 if lab.quick else ROUNDS):
        for tree, known in zip((before, here), least.values(), strict=True):
            only = Lab(lab.limit, quick=lab.quick, only=behind or lab.only)
            for case, figure in own_figures(tree, suite, only).items():
                known["|".join(case)] = min(figure, known.get("|".join(case), figure))
        behind = sorted({_network(key) for key, one in compared(least).items() if one.ratio and one.ratio < CLOSE})
        if not behind:
            break
        lab.progress(f"{suite}, round {number + 1}: behind with {', '.join(behind)}")
        behind = behind if suite in BY_NETWORK else []
    return least


def _network(key: str) -> str:
    """The network or instance of a key such as `Every posterior, hot|munin, 10%|s`."""
    return key.split("|")[1].partition(",")[0].partition(":")[0]


def compared(least: dict[str, Figures]) -> dict[str, Comparison]:
    """The cases that both versions have."""
    rows = {}
    for key, figure in least["before"].items():
        title, case, kind = key.split("|")
        if key in least["now"] and kind in KINDS and figure > 0.0 < least["now"][key]:
            rows[key] = Comparison(f"{title}: {case}", least["now"][key], {"0.1.0": figure}, kind)
    return rows


def run(lab: Lab) -> list[Report]:
    """One table for each suite; none without the sources of 0.1.0."""
    before = os.environ.get("SEPSET_BASELINE", "")
    if not before:
        return []
    here, stored = str(Path(__file__).resolve().parents[1]), Path(before) / "figures.json"
    known = json.loads(stored.read_text("utf-8")) if stored.exists() else {}
    for suite in os.environ.get("SEPSET_VERSIONS", ",".join(SUITES)).split(","):
        lab.progress(suite)
        known[suite] = measured(before, here, suite, lab)
        if not lab.quick and not lab.only:
            stored.write_text(json.dumps(known), "utf-8")
    note = "Processor seconds, the least of one to three rounds."
    tables = {suite: list(compared(known[suite]).values()) for suite in SUITES if suite in known}
    return [Report(suite, cases, note, versus="0.1.0 / sepset") for suite, cases in tables.items()]
