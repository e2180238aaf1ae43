"""EM over missing cells: seconds an iteration on ALARM, and what acceleration saves."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.measure import Timing, measure, now
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

MISSING = 0.1
SIZES = (2_000, 20_000)
WARM = 5  # iterations before ours are timed: parameters near zero make later ones dearer
TIMED = 10


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
    from sepset.learning.ascent import Ascent
    from sepset.learning.em import EM
    from sepset.learning.task import Task

    net, codes = _rows(num_rows)
    method = EM(start="model", threads=1)
    ascent = Ascent.of(Task(net, ss.Dataset.from_codes(net.variables, codes)), None, "softmax", 1)
    rng = np.random.default_rng(0)
    point = method.init(ascent, rng)
    for _ in range(WARM):
        point, _ = method.step(ascent, point, rng)
    return measure(lambda: method.step(ascent, point, rng), at_least=TIMED)


def iteration_pyagrum(num_rows: int) -> Timing:
    """The difference between three iterations and one, so that reading the rows does not count.

    A smoothing prior is needed: without one pyAgrum refuses contexts that no complete row has.
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


def converged_sepset(num_rows: int, name: str) -> tuple[float, int, float]:
    """Seconds and steps until a step raises the log-likelihood by less than 1e-9 of itself, and where it ends."""
    import sepset as ss
    from sepset.inference.iterate import Until
    from sepset.learning.em import EM, IncrementalEM
    from sepset.learning.fit import fit
    from sepset.learning.gradient import GradientAscent

    methods = {
        "EM": EM(start="data", threads=1),
        "EM, squarem": EM(start="data", acceleration="squarem", threads=1),
        "IncrementalEM": IncrementalEM(start="data", threads=1),
        "GradientAscent": GradientAscent(start="data", threads=1),
    }
    net, codes = _rows(num_rows)
    rows = ss.Dataset.from_codes(net.variables, codes)
    begun = time.process_time()
    found = fit(net, rows, methods[name], until=Until(steps=3000, tolerance=1e-9), progress=False)
    return time.process_time() - begun, found.num_iterations, found.log_likelihood


def run(lab: Lab) -> list[Report]:
    """Seconds an iteration beside the peers; then our own methods to convergence."""
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
        "with a smoothing prior, without which it refuses unseen contexts. pgmpy's ExpectationMaximization is for "
        "hidden variables only: it drops every row with a missing cell (98 in 100 here) and says nothing."
    )
    return [Report("EM over missing cells: seconds an iteration", rows, note), _methods(lab)]


def _methods(lab: Lab) -> Report:
    rows, said = [], []
    for name in ("EM", "EM, squarem", "IncrementalEM", "GradientAscent"):
        found = lab.ask("sepset", converged_sepset, SIZES[0], name, limit=300.0)
        if isinstance(found, str):
            rows.append(Comparison(name, found))
            continue
        spent, steps, ending = found
        rows.append(Comparison(f"{name}: {steps} steps", spent))
        said.append(f"{name} {ending:.4f}")
    note = f"CPU seconds on {SIZES[0]:,} rows, from estimates of the rows each family has. "
    note += f"Log-likelihoods: {'; '.join(said)}."
    return Report("To a relative change of 1e-9", rows, note)
