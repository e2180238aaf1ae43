"""One engine asked by several threads: questions per second with 1, 2 and 8 callers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from benchmarks import networks
from benchmarks.posteriors import settings
from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

CALLERS = (1, 2, 8)
SECONDS = 0.5
ROUNDS = 8
SMALL, LARGE = ("asia", "alarm", "win95pts"), ("mildew", "barley", "munin1", "link")


def seconds_per_question(path: str) -> tuple[float, ...]:
    """Seconds on the wall clock for every posterior, all callers together, for each number of callers."""
    import sepset as ss

    networks.compile_kernels()
    net = networks.load(path)
    engine = ss.prepare(net, method=networks.on_one_thread())
    given = [{name: net[name].states[code] for name, code in one.items()} for one in settings(path, 0.1)]
    last = net.variables[-1].name
    for findings in given:
        engine.marginals(given=findings)[last]

    return _shared(lambda number: engine.marginals(given=given[number % len(given)])[last])


def plain_seconds() -> tuple[float, ...]:
    """The same for a call of a few microseconds that only the interpreter runs: a record to JSON and back."""
    record = {f"name{i}": [i, str(i), {"value": i / 2}] for i in range(8)}
    return _shared(lambda _: json.loads(json.dumps(record)))


def _shared(question: Callable[[int], object]) -> tuple[float, ...]:
    """Seconds per call of all callers together, the best of several rounds; numbers of callers take turns, since the
    speed of a machine that others use too changes from second to second."""

    def ask(number: int) -> int:
        count, end = 0, time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            question(number + count)
            count += 1
        return count

    best = dict.fromkeys(CALLERS, 0.0)
    for _ in range(ROUNDS):
        for callers in CALLERS:
            with ThreadPoolExecutor(callers) as pool:
                start = time.perf_counter()
                asked = sum(pool.map(ask, range(callers)))
                best[callers] = max(best[callers], asked / (time.perf_counter() - start))
    return tuple(1.0 / best[callers] for callers in CALLERS)


def run(lab: Lab) -> list[Report]:
    """One table; the figure of one caller takes the place of a peer's, so that a ratio is a gain in throughput."""
    known = networks.paths()
    rows = []
    for name in lab.wanted([n for n in (*SMALL, *LARGE) if n in known]):
        alone, *others = lab.ask("sepset", seconds_per_question, known[name])
        for callers, figure in zip(CALLERS[1:], others, strict=True):
            goal = "0.9x of one caller" if name in SMALL else "the cores"
            rows.append(Comparison(f"{name}, {callers} callers", figure, {"one caller": alone}, target=goal))
    alone, *others = lab.ask("sepset", plain_seconds)
    for callers, figure in zip(CALLERS[1:], others, strict=True):
        rows.append(Comparison(f"plain Python, {callers} callers", figure, {"one caller": alone}))
    note = (
        "Seconds per question of all callers together, every posterior with a tenth observed; each question on one "
        "thread; on the wall clock. Plain Python is a small record to JSON and back, without sepset: what several "
        "threads lose to the interpreter, which runs one of them at a time."
    )
    return [Report("Many callers of one engine", rows, note, versus="one caller / several", has_mean=False)]
