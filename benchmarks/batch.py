"""Posteriors for whole tables of rows with missing cells: P(target | rest, 30% missing), and expected counts."""

from __future__ import annotations

import os
import time
from typing import Any

from benchmarks.measure import CLOCK, Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

ROWS = 10_000
SOME = 200  # rows on which a peer is measured; its time is scaled to all rows
TARGET = "HYPOVOLEMIA"
MISSING = 0.3
KINDS = ("LazyPropagation", "VariableElimination", "ShaferShenoyInference")


def _codes(num_rows: int) -> tuple[Any, Any]:
    """ALARM, and a matrix of codes drawn from it with cells missing at random."""
    import numpy as np

    import sepset as ss

    net: Any = ss.datasets.load("alarm")
    codes = net.sample(num_rows, seed=1).matrix().astype(np.int64)
    codes[np.random.default_rng(0).random(codes.shape) < MISSING] = -1
    return net, codes


def _findings(num_rows: int) -> list[dict[str, int]]:
    net, codes = _codes(num_rows)
    names = net.variables.names
    rows = [dict(zip(names, row, strict=True)) for row in codes.tolist()]
    return [{name: code for name, code in row.items() if code >= 0 and name != TARGET} for row in rows]


def predict_sepset(num_rows: int, threads: int) -> Timing:
    import sepset as ss

    net, codes = _codes(num_rows)
    engine = ss.prepare(net)
    frame = ss.Dataset.from_codes(net.variables, codes)
    engine.predict(frame, targets=[TARGET], threads=threads)
    return measure(lambda: engine.predict(frame, targets=[TARGET], threads=threads).probabilities(TARGET), at_least=7)


def predict_pandas(num_rows: int, threads: int) -> Timing:
    """The same from a pandas frame of text to another."""
    import sepset as ss

    net, codes = _codes(num_rows)
    engine = ss.prepare(net)
    frame = ss.Dataset.from_codes(net.variables, codes).to_frame("pandas").astype(object)
    return measure(lambda: engine.predict(frame, targets=[TARGET], threads=threads).to_frame(), at_least=7)


def speedup(num_rows: int) -> float | str:
    """The speedup of two threads over one, each at the best of many runs.

    On the CPU clock, needed on a busy machine: all the work, divided by the calling thread's and half of the rest.
    """
    import sepset as ss

    if (os.cpu_count() or 1) < 2:
        return "not measured on one core,"
    net, codes = _codes(num_rows)
    engine = ss.prepare(net)
    frame = ss.Dataset.from_codes(net.variables, codes)
    times = {count: _best(engine, frame, count) for count in (1, 2)}
    if os.environ.get(CLOCK) != "cpu":
        return times[1][0] / times[2][0]
    _, total, own = times[2]
    return total / (own + (total - own) / 2)


def _best(engine: Any, frame: Any, threads: int, runs: int = 100) -> tuple[float, float, float]:
    """Wall-clock seconds, CPU seconds, and CPU seconds of the calling thread; each the smallest of many runs."""
    clocks = (time.perf_counter, time.process_time, time.thread_time)
    times = []
    for _ in range(runs):
        start = [clock() for clock in clocks]
        engine.predict(frame, targets=[TARGET], threads=threads)
        times.append([clock() - then for clock, then in zip(clocks, start, strict=True)])
    wall, cpu, own = (min(column) for column in zip(*times, strict=True))
    return wall, cpu, own


def counts_sepset(num_rows: int) -> Timing:
    import sepset as ss
    from sepset.inference.capabilities import expected_counts

    net, codes = _codes(num_rows)
    prepared = ss.prepare(net).prepared
    frame = ss.Dataset.from_codes(net.variables, codes)
    return measure(lambda: expected_counts(prepared, frame, threads=1))


def _scaled(timing: Timing, num_rows: int) -> Timing:
    return Timing(timing.best * num_rows, timing.median * num_rows, timing.runs)


def predict_pyagrum(num_rows: int, kind: str) -> Timing:
    """One engine with one target; each row sets all its findings, since no two rows observe the same variables."""
    import pyagrum as gum

    import sepset as ss
    from benchmarks.peers import to_pyagrum

    engine = getattr(gum, kind)(to_pyagrum(ss.datasets.load("alarm")))
    engine.setTargets({TARGET})
    rows = _findings(SOME)

    def answer() -> list[Any]:
        read = []
        for found in rows:
            engine.setEvidence(found)
            engine.makeInference()
            read.append(engine.posterior(TARGET).toarray())
        return read

    return _scaled(measure(answer, calls=SOME), num_rows)


def predict_pgmpy(num_rows: int) -> Timing:
    from pgmpy.inference import VariableElimination

    import sepset as ss
    from benchmarks.peers import to_pgmpy

    engine = VariableElimination(to_pgmpy(ss.datasets.load("alarm")))
    rows = _findings(20)

    def read() -> list[Any]:
        return [engine.query([TARGET], evidence=found, show_progress=False).values for found in rows]

    return _scaled(measure(read, calls=20), num_rows)


def run(lab: Lab) -> list[Report]:
    """One table of seconds for all rows; peers are timed on some and scaled."""
    peers = {f"pyagrum {kind}": seconds(lab.ask("pyagrum", predict_pyagrum, ROWS, kind)) for kind in KINDS}
    peers["pgmpy"] = seconds(lab.ask("pgmpy", predict_pgmpy, ROWS))
    case = f"ALARM, {ROWS:,} rows, {MISSING:.0%} missing"
    gains = {num: lab.ask("sepset", speedup, num) for num in (ROWS, 10 * ROWS)}
    note = f"Peers are timed on {SOME} rows (pgmpy on 20) and scaled. "
    how = "estimated from the CPU time of each thread" if os.environ.get(CLOCK) == "cpu" else "measured"
    told = [f"{g if isinstance(g, str) else f'{g:.2f}x'} one on {num:,} rows" for num, g in gains.items()]
    note += f"Two threads of sepset: {' and '.join(told)}, {how}."
    rows = [
        Comparison(
            f"{case}: one posterior each",
            seconds(lab.ask("sepset", predict_sepset, ROWS, 1)),
            peers,
            target="50x",
            headline=f"one posterior in each of {ROWS:,} ALARM rows, {MISSING:.0%} missing",
        ),
        Comparison(f"{case}: the same, pandas in and out", seconds(lab.ask("sepset", predict_pandas, ROWS, 1)), peers),
        Comparison(f"{case}: expected counts of every CPD", seconds(lab.ask("sepset", counts_sepset, ROWS))),
    ]
    return [Report("Batches", rows, note)]
