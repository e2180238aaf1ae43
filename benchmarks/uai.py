"""UAI 2014: the partition function and every marginal of each instance, with the published answers and times."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from benchmarks import instances
from benchmarks.measure import measure
from benchmarks.report import Comparison, Figure, Report
from benchmarks.worker import Lab

QUICK = 1e7  # largest entries of a plan's tables in a quick run
HOPELESS = 1e12  # entries from which an instance is always tried, because it has to raise
MEMORY = 8 * 10**9  # bytes above which an instance is refused
MARGINAL = 1e-5  # the largest error of a marginal
TIME = 900.0  # seconds for one instance
PATIENCE = 10.0  # seconds up to which a run is repeated: the first touch of memory is slow on virtual machines


class Solved(NamedTuple):
    """One instance: seconds with and without planning, and the largest errors."""

    cold: float
    hot: float
    log10_error: float
    log10_slack: float
    marginal_error: float


def plan(name: str) -> tuple[float, float]:
    """Entries of all tables, and the bytes a workspace needs at least."""
    import sepset as ss

    model, evidence = instances.load(name)
    found = ss.plan(model, given=list(evidence))
    return float(found.total_size), float(found.memory)


def solve(name: str) -> Solved:
    """Plan, run, read; then again with the existing plan and numbers that count as new, so that everything runs."""
    import numpy as np

    import sepset as ss
    from benchmarks.networks import compile_kernels
    from sepset.variables.evidence import resolve

    compile_kernels()
    model, evidence = instances.load(name)
    expected = instances.answers(name, model, evidence)

    def ask() -> tuple[Any, float, list[Any]]:
        model.problem().kept.clear()  # cached results of an earlier engine would make a cold one look warm
        engine = ss.prepare(model, method=ss.CliqueTree(memory=MEMORY, threads=1))
        marginals = engine.marginals(given=evidence)
        return engine.prepared, marginals.log_partition, [marginals[v.name].values for v in model.variables]

    def ask_again() -> list[Any]:
        read, _ = prepared.with_values({}).marginals(resolved)
        return [read(v).values for v in range(len(model.variables))]

    cold = measure(ask, patience=PATIENCE).best
    prepared, log_partition, rows = ask()
    resolved = resolve(evidence, model.variables)
    errors = [float(np.abs(row - right).max()) for row, right in zip(rows, expected.rows, strict=True)]
    hot = measure(ask_again, patience=PATIENCE).best
    log10_error = abs(log_partition / math.log(10.0) - expected.log10)
    return Solved(cold, hot, log10_error, expected.slack, max(errors))


def run(lab: Lab) -> list[Report]:
    """Seconds cold and hot compared with the published ones, errors, and instances that were too large."""
    times = instances.published_times()
    sizes: dict[str, float] = {}
    solved: dict[str, Solved | str] = {}
    for name in lab.wanted(instances.names()):
        planned = lab.ask("sepset", plan, name, limit=TIME)
        sizes[name] = planned[0] if isinstance(planned, tuple) else math.inf
        if not lab.quick or sizes[name] <= QUICK or sizes[name] > HOPELESS:
            solved[name] = lab.ask("sepset", solve, name, limit=TIME, fresh=sizes[name] > QUICK)
    return [
        _times("UAI 2014, cold", solved, times, cold=True),
        _times("UAI 2014, hot", solved, times, cold=False),
        _errors(solved),
        _refused(solved, sizes),
    ]


def _times(title: str, solved: dict[str, Solved | str], times: dict[str, dict[str, float]], *, cold: bool) -> Report:
    rows = []
    for name, one in solved.items():
        if not _is_refusal(one):
            ours: Figure = one if isinstance(one, str) else one.cold if cold else one.hot
            rows.append(Comparison(name, ours, dict(times.get(name, {}))))
    done = [one for one in solved.values() if isinstance(one, Solved)]
    what = (
        "A model in memory: plan, partition function, every marginal"
        if cold
        else "The same with an existing plan and numbers that count as new"
    )
    note = f"{what}; {len(done)} instances. The others' seconds were published, for an i9-9900K and all marginals."
    return Report(title, rows, note, goals=("", "1x"), headline=f"{title}, relative to published times")


def _errors(solved: dict[str, Solved | str]) -> Report:
    """Errors as figures; the other columns are the allowed errors."""
    rows = []
    for name, one in solved.items():
        if isinstance(one, Solved):
            rows.append(Comparison(f"{name}, PR", one.log10_error, {"allowed": one.log10_slack}, kind="error"))
            rows.append(Comparison(f"{name}, MAR", one.marginal_error, {"allowed": MARGINAL}, kind="error"))
    missed = [one.case for one in rows if one.ratio is None or one.ratio < 1.0]
    found = f"beyond it: {', '.join(missed)}" if missed else "none is beyond it"
    note = (
        "The largest difference from the published answers; allowed is half a unit in the last printed digit of log10 "
        f"Z, and {MARGINAL:g} for marginals; {found}. relational_2 is compared with sums by hand: its published "
        "answer is not that of its file."
    )
    return Report("UAI 2014, errors", rows, note, goals=("1x", ""), floor=0.0, has_mean=False, versus="allowed / error")


def _refused(solved: dict[str, Solved | str], sizes: dict[str, float]) -> Report:
    """The instances that the engine did not start or did not finish."""
    rows = [
        Comparison(f"{name}: {one.partition(':')[2].strip() or one}", sizes[name], kind="entries")
        for name, one in solved.items()
        if isinstance(one, str)
    ]
    left = [name for name in sizes if name not in solved]
    note = f"Not tried in a quick run: {', '.join(left)}." if left else ""
    return Report(f"UAI 2014, refused above {MEMORY / 1e9:g} GB: entries of all tables", rows, note)


def _is_refusal(one: Solved | str) -> bool:
    return isinstance(one, str) and "TooLarge" in one
