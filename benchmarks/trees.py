"""Contraction trees: estimated times before and after the search, and all marginals compared with an earlier version.

The earlier version is a source tree whose folder is in `SEPSET_BASELINE`; each instance is asked of both in processes
of their own, one after the other, on one thread each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import instances, networks
from benchmarks.measure import measure, now
from benchmarks.report import Comparison, Figure, Report
from benchmarks.worker import Lab

MEMORY = 8 * 10**9  # bytes above which an instance is refused
TIME = 600.0  # seconds for one instance
QUICK = 5e7  # estimated nanoseconds of an instance in a quick run
RUNS = 5
PATIENCE = 2.0  # seconds up to which runs are repeated


class Searched(NamedTuple):
    """The estimated seconds of all steps along cliques, after the first search and after the longer one; the seconds of
    the first plan and of the longer search; and the entries of all results before and after."""

    cliques: float
    first: float
    later: float
    planning: float
    searching: float
    entries_before: float
    entries_after: float


def _load(name: str) -> tuple[Any, dict[str, Any]]:
    known = networks.paths()
    return (networks.load(known[name]), {}) if name in known else instances.load(name)


def search(name: str) -> Searched:
    """Plan all marginals along cliques, with the first search and with the longer one."""
    import sepset as ss
    from sepset.inference import costs
    from sepset.variables.evidence import resolve

    networks.compile_kernels()
    model, given = _load(name)
    evidence = resolve(given, model.variables)

    def compiler() -> Any:
        model.problem().kept.clear()
        return ss.prepare(model, method=_method(ss)).prepared.compiler

    def ask(found: Any) -> Any:
        pattern = found.planner.pattern(evidence)
        return found.question("marginals", found.planner.hidden(pattern), pattern)

    searched, costs.ENTRIES_BEFORE_TREE_SEARCH = costs.ENTRIES_BEFORE_TREE_SEARCH, sys.maxsize
    cliques = ask(compiler())
    costs.ENTRIES_BEFORE_TREE_SEARCH = searched
    planning = measure(lambda: ask(compiler()), patience=PATIENCE).best
    engine = compiler()
    first = ask(engine)
    start = now()
    pattern = engine.planner.pattern(evidence)
    later = engine._improved("marginals", engine.planner.hidden(pattern), pattern) if first.is_expensive else first
    times = [1e-9 * question.nanoseconds for question in (cliques, first, later)]
    return Searched(*times, planning, now() - start, cliques.contraction.entries, later.contraction.entries)


def answers(path: str, evidence_path: str) -> tuple[float, float]:
    """Processor seconds of all marginals, with planning and with an existing plan; for this or an earlier version."""
    import sepset as ss

    try:
        from sepset.variables.evidence import resolve
    except ImportError:
        from sepset.evidence import resolve  # type: ignore[import-not-found, no-redef]  # version 0.1.0
    model = ss.read(path)
    given = _findings(evidence_path, model) if evidence_path else {}
    evidence = resolve(given, model.variables)

    engines: list[Any] = []

    def ask() -> Any:
        model.problem().kept.clear()
        prepared = ss.prepare(model, method=_method(ss)).prepared
        engines[:] = [prepared]
        return _read(prepared, evidence, len(model.variables))

    first = _least(ask, 1)  # it also loads kernels
    cold = first if first > PATIENCE else _least(ask, RUNS)
    for _ in range(2):  # before the longer search
        _read(engines[0].with_values({}), evidence, len(model.variables))
    return cold, _least(lambda: _read(engines[0].with_values({}), evidence, len(model.variables)), RUNS)


def _method(ss: Any) -> Any:
    """Clique trees on one thread, which is all that version 0.1.0 has."""
    is_old = "threads" not in ss.CliqueTree.__dataclass_fields__
    return ss.CliqueTree(memory=MEMORY) if is_old else ss.CliqueTree(memory=MEMORY, threads=1)


def _findings(path: str, model: Any) -> dict[str, Any]:
    """The evidence of a UAI file: its last block of a count and pairs of variable and code."""
    numbers = [int(x) for x in Path(path).read_text().split()]
    first = 0 if len(numbers) == 1 + 2 * (numbers[0] if numbers else 0) else 1
    pairs = zip(numbers[first + 1 :: 2], numbers[first + 2 :: 2], strict=True)
    return {model.variables[v].name: model.variables[v].states[code] for v, code in pairs}


def _read(prepared: Any, evidence: Any, num: int) -> list[Any]:
    read, _ = prepared.marginals(evidence)
    return [read(v).values for v in range(num)]


def _least(function: Any, runs: int) -> float:
    """The processor seconds of the shortest run: other processes of the machine do not count."""
    best, spent = float("inf"), 0.0
    for _ in range(runs):
        start = time.process_time()
        function()
        taken = time.process_time() - start
        best, spent = min(best, taken), spent + taken
        if spent > 3 * PATIENCE:
            break
    return best


def _in(tree: str, name: str) -> tuple[float, float] | str:
    """`answers` in a new process with the sources of a tree."""
    known = networks.paths()
    paths = (known[name], "") if name in known else (str(instances.file(name)), str(instances.file(name, ".evid")))
    code = f"import json; from benchmarks.trees import answers; print(json.dumps(answers(*{paths!r})))"
    here = str(Path(__file__).resolve().parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([f"{tree}/src", here]), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIME, check=False)
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1][:100]}"
    cold, hot = json.loads(done.stdout.strip().splitlines()[-1])
    return cold, hot


def run(lab: Lab) -> list[Report]:
    """The searches, and both versions side by side."""
    before = os.environ.get("SEPSET_BASELINE", "")
    here = str(Path(__file__).resolve().parents[1])
    trees, entries, cold, hot = [], [], [], []
    for name in lab.wanted([*networks.paths(), *instances.names()]):
        found = lab.ask("sepset", search, name, limit=TIME)
        if isinstance(found, str):
            continue
        if found.cliques > found.later:
            kept = {"first search": found.first, "along cliques": found.cliques}
            spent = {"first plan took": found.planning, "longer search took": found.searching}
            trees.append(Comparison(name, found.later, {**kept, **spent}))
            entries.append(Comparison(name, found.entries_after, {"along cliques": found.entries_before}, "entries"))
        if before and not (lab.quick and 1e9 * found.cliques > QUICK):
            old, new = _in(before, name), _in(here, name)
            cold.append(_compared(name, old, new, 0))
            hot.append(_compared(name, old, new, 1))
    note = (
        "The estimated seconds of every marginal's steps: along the cliques of the order, after the first search (a "
        "quarter of a run) and after the one for repeated questions; and the seconds of both. Trees that no search "
        "changes are left out."
    )
    reports = [
        Report("Contraction trees: estimated times", trees, note, has_mean=False, versus="least / sepset"),
        Report("Contraction trees: entries of all results", entries, versus="along cliques / sepset"),
    ]
    if before:
        versus, note = "0.1.0 / sepset", "Processor seconds on one thread, the shortest of several runs."
        reports.append(Report("All marginals, cold, compared with 0.1.0", cold, note, versus=versus))
        reports.append(Report("All marginals, hot, compared with 0.1.0", hot, note, versus=versus))
    return reports


def _compared(name: str, old: tuple[float, float] | str, new: tuple[float, float] | str, which: int) -> Comparison:
    figures: list[Figure] = [one if isinstance(one, str) else one[which] for one in (new, old)]
    return Comparison(name, figures[0], {"0.1.0": figures[1]})
