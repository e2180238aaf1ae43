"""EM over missing cells: seconds per iteration on ALARM, and how soon each of our methods comes near the best."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.measure import Timing, measure, now
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

MISSING = 0.1
SIZES = (2_000, 20_000)
WARM = 5  # iterations before ours are timed: parameters near zero make later ones more expensive
TIMED = 10
NEAR = (0.5, 0.01)  # nats from the best log-likelihood found, of some 20,000
STEPS = 300
PASSES = 30
METHODS = (
    "EM",
    "EM, squarem",
    "EM, aitken",
    "EM, conjugate",
    "IncrementalEM",
    "StepwiseEM",
    "GradientAscent, lbfgs",
    "GradientAscent, conjugate",
    "GradientAscent, steepest",
    "GradientAscent, stochastic",
)
SETTLED = 1e-9  # the relative change of the objective at which a path ends


def _rows(num_rows: int) -> tuple[Any, Any]:
    """ALARM, and a matrix of codes drawn from it with cells missing at random."""
    import numpy as np

    import sepset as ss

    net: Any = ss.datasets.load("alarm")
    codes = net.sample(num_rows, seed=1).matrix().astype(np.int64)
    codes[np.random.default_rng(0).random(codes.shape) < MISSING] = -1
    return net, codes


def iteration_sepset(num_rows: int) -> Timing:
    """One E-step and one M-step, on one thread, after the first few."""
    import numpy as np

    import sepset as ss
    from sepset.learning.incomplete.em import EM
    from sepset.learning.incomplete.run import EMTask
    from sepset.learning.task import Task

    net, codes = _rows(num_rows)
    method = EM(start="model", threads=1)
    ascent = EMTask.of(Task(net, ss.Dataset.from_codes(net.variables, codes)), threads=1)
    rng = np.random.default_rng(0)
    point = method.init(ascent, rng)
    for _ in range(WARM):
        point, _ = method.step(ascent, point, rng)
    return measure(lambda: method.step(ascent, point, rng), at_least=TIMED)


def iteration_pyagrum(num_rows: int) -> Timing:
    """The difference between three iterations and one, so that reading the rows does not count.

    A smoothing prior is needed: without one pyAgrum rejects contexts that no complete row has.
    """
    import pandas as pd
    import pyagrum as gum

    from benchmarks.peers import to_pyagrum

    net, codes = _rows(num_rows)
    frame = pd.DataFrame(codes.astype(str), columns=net.variables.names).replace("-1", "?")
    start = to_pyagrum(net)

    def run(iterations: int) -> float:
        learner = gum.BNLearner(frame, start, ["?"])
        learner.setNumberOfThreads(1)
        learner.useSmoothingPrior(1.0)
        learner.useEM(1e-14, 0.0)
        learner.EMdisableEpsilon()
        learner.EMdisableMinEpsilonRate()
        learner.EMsetMaxIter(iterations)
        begun = now()
        learner.learnParameters(start)
        return now() - begun

    each = (run(3) - run(1)) / 2
    return Timing(each, each, 1)


def _method(name: str) -> Any:
    """One of our methods, from the same initial estimates as the others, on one thread."""
    from sepset.learning.incomplete.em import EM, IncrementalEM
    from sepset.learning.incomplete.gradient import GradientAscent
    from sepset.learning.incomplete.stepwise import StepwiseEM

    same: dict[str, Any] = {"start": "data", "threads": 1}
    kind, _, way = name.partition(", ")
    if kind == "GradientAscent":
        return GradientAscent(optimizer=way, **same)  # type: ignore[arg-type]  # one of its names
    if kind == "EM":
        return EM(acceleration=way or None, **same)  # type: ignore[arg-type]  # one of its names
    return {"IncrementalEM": IncrementalEM, "StepwiseEM": StepwiseEM}[kind](**same)


def path_sepset(num_rows: int, name: str) -> list[tuple[float, float]]:
    """CPU seconds after each step, including preparation, and the exact log-likelihood there.

    For methods whose trace is not the log-likelihood of one network, it is computed after each pass, not timed.
    """
    import numpy as np

    import sepset as ss
    from sepset.learning.incomplete.run import EMTask
    from sepset.learning.task import Task

    net, codes = _rows(num_rows)
    method, rng = _method(name), np.random.default_rng(0)
    task = Task(net, ss.Dataset.from_codes(net.variables, codes))
    ascent = EMTask.of(task, threads=1)
    method.step(ascent, method.init(ascent, rng), rng)  # compiles
    begun, aside, path = time.process_time(), 0.0, []
    ascent = EMTask.of(task, threads=1)
    point = method.init(ascent, rng)
    for _ in range(STEPS if method.is_monotone else PASSES):
        new, info = method.step(ascent, point, rng)
        stopped = time.process_time()
        worth = new.log_likelihood if new.is_exact else ascent.evaluate(new.model).log_likelihood
        path.append((stopped - begun - aside, worth))
        aside += time.process_time() - stopped
        change, point = abs(info.change), new
        if info.is_done or (method.is_monotone and change <= SETTLED):
            break
    return path


def run(lab: Lab) -> list[Report]:
    """Seconds per iteration compared with the peers; then how soon each of our own methods is near the best."""
    rows = []
    for size in SIZES:
        rows.append(
            Comparison(
                f"ALARM, {size:,} rows, {MISSING:.0%} of cells missing",
                seconds(lab.ask("sepset", iteration_sepset, size)),
                {
                    "pyagrum": seconds(lab.ask("pyagrum", iteration_pyagrum, size, limit=400.0)),
                    "pgmpy": "drops incomplete rows",
                },
                target="100x",
                headline=f"one EM iteration, ALARM, {size:,} rows, {MISSING:.0%} of cells missing",
            )
        )
    note = (
        "One thread each; E-step and M-step. pyAgrum: 3 iterations less 1, "
        "with a smoothing prior, without which it rejects unseen contexts. pgmpy's ExpectationMaximization is for "
        "hidden variables only: it silently drops every row with a missing cell (98 in 100 here)."
    )
    return [Report("EM over missing cells: seconds per iteration", rows, note), *nearness(lab)]


def nearness(lab: Lab) -> list[Report]:
    """CPU seconds until each method is within some distances of the best log-likelihood that any of them found."""
    paths = {name: lab.ask("sepset", path_sepset, SIZES[0], name, limit=120.0) for name in METHODS}
    known = [path for path in paths.values() if not isinstance(path, str)]
    best = max((worth for path in known for _, worth in path), default=float("nan"))
    note = (
        f"CPU seconds on ALARM, {SIZES[0]:,} rows, {MISSING:.0%} of cells missing, one thread, from estimates of the "
        f"rows each family has, including preparation; the best log-likelihood is {best:.4f}. Mini-batches have 100 "
        f"rows, and {PASSES} passes."
    )
    return [
        Report(
            f"To within {near:g} nats of the best log-likelihood",
            [_reached(name, path, best, near) for name, path in paths.items()],
            note,
        )
        for near in NEAR
    ]


def _reached(name: str, path: list[tuple[float, float]] | str, best: float, near: float) -> Comparison:
    """The time one method took, or its final distance from the best."""
    if isinstance(path, str):
        return Comparison(name, path)
    for steps, (spent, worth) in enumerate(path, start=1):
        if worth >= best - near:
            return Comparison(f"{name}: {steps} steps", spent)
    return Comparison(f"{name}: {len(path)} steps", f"ended {best - path[-1][1]:.2g} below")
