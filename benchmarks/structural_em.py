"""Structural EM on ALARM with missing cells: between what available cells give and what complete rows would have given.

All parameters are posterior means under BDeu(10), so that only the structures differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.measure import now
from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

ROWS = 2_000
MISSING = 0.1
TESTED = 20_000
SEEDS = 5
PATIENCE = 600.0
CASES = ("available cells (floor)", "StructuralEM", "StructuralEM, tabu 20", "rows before masking (ceiling)")


class Found(NamedTuple):
    """Means over data sets: seconds, the structural Hamming distance, and minus the held-out log-likelihood per row."""

    seconds: float
    distance: float
    loss: float


def rows_of(seed: int) -> tuple[Any, Any]:
    """Rows of ALARM, complete and with cells missing completely at random."""
    import numpy as np

    import sepset as ss

    rows = ss.datasets.load("alarm").sample(ROWS, seed=seed)
    codes = rows.matrix()
    hidden = np.random.default_rng(seed).random(codes.shape) < MISSING
    return rows, ss.Dataset.from_codes(rows.variables, np.where(hidden, -1, codes))


def learned(case: str, seed: int) -> tuple[Any, float]:
    """The structure of a case, and the seconds it took."""
    import sepset as ss

    complete, patchy = rows_of(seed)
    methods: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        CASES[0]: (patchy, ss.HillClimb(), {"missing": "available"}),
        CASES[1]: (patchy, ss.StructuralEM(), {}),
        CASES[2]: (patchy, ss.StructuralEM(ss.HillClimb(tabu=20)), {}),
        CASES[3]: (complete, ss.HillClimb(), {}),
    }
    data, method, options = methods[case]
    start = now()
    found = ss.learn_structure(data, method=method, **options, threads=1)
    return found, now() - start


def judged(case: str, seeds: int) -> Found:
    """The means of a case over data sets; kernels are compiled before."""
    import numpy as np

    import sepset as ss

    truth = ss.datasets.load("alarm")
    test = truth.sample(TESTED, seed=1_000)
    learned(case, 0)
    figures = []
    for seed in range(seeds):
        found, seconds = learned(case, seed)
        prior = ss.BDeu(10.0)
        model = found.fit(ss.EM(prior) if found.columns.has_missing else ss.Bayes(prior)).model
        distance = ss.structure.compare(truth.dag, found.dag).distance
        figures.append((seconds, distance, -float(np.mean(model.log_probability(test)))))
    return Found(*np.mean(figures, axis=0).tolist())


def run(lab: Lab) -> list[Report]:
    """Seconds, distances and held-out losses of each case."""
    seconds, distances, losses = [], [], []
    for case in lab.wanted(CASES):
        found = lab.ask("sepset", judged, case, 1 if lab.quick else SEEDS, limit=PATIENCE)
        known = isinstance(found, Found)
        seconds.append(Comparison(case, found.seconds if known else found))
        distances.append(Comparison(case, found.distance if known else found, kind="number"))
        losses.append(Comparison(case, found.loss if known else found, kind="number"))
    setting = f"ALARM, {ROWS:,} rows, {MISSING:.0%} of cells missing completely at random; mean of {SEEDS} data sets."
    parameters = "All with posterior means under BDeu(10)."
    return [
        Report("Structural EM: seconds", seconds, f"{setting} BIC.", has_mean=False),
        Report("Structural EM: structural Hamming distance", distances, setting, has_mean=False),
        Report("Structural EM: held-out loss", losses, f"Nats per row, {TESTED:,} rows. {parameters}", has_mean=False),
    ]
