"""Undirected structures: the graphical lasso against scikit-learn's at the same duality gap."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, NamedTuple

from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

GAP = 1e-4
PATIENCE = 300.0  # seconds for a peer that needs minutes


class Case(NamedTuple):
    """A random network: columns, rows and the penalty."""

    size: int
    rows: int
    penalty: float


CASES = {
    f"n = {case.size}, {case.rows:,} rows, penalty {case.penalty}": case
    for case in (
        Case(50, 100, 0.1),
        Case(50, 25, 0.2),
        Case(100, 500, 0.05),
        Case(200, 400, 0.1),
        Case(200, 100, 0.2),
        Case(500, 1_000, 0.1),
        Case(500, 250, 0.2),
    )
}

Solved = tuple[Timing, float]


@lru_cache(maxsize=2)
def correlations(name: str) -> Any:
    """The correlations of rows from a random Gaussian network of mean degree 3."""
    import numpy as np

    case = CASES[name]
    rng = np.random.default_rng(1)
    joined = np.zeros((case.size, case.size))
    for i, j in rng.integers(case.size, size=(3 * case.size // 2, 2)):
        if i != j:
            joined[i, j] = joined[j, i] = rng.uniform(0.2, 0.5) * rng.choice([-1, 1])
    concentration = joined + np.diag(np.abs(joined).sum(1) + 0.3)
    rows = rng.multivariate_normal(np.zeros(case.size), np.linalg.inv(concentration), size=case.rows)
    return np.corrcoef(rows.T)


def objective(name: str, concentration: Any) -> float:
    """Minus the penalized likelihood: smaller is better."""
    import numpy as np

    off = np.abs(concentration).sum() - np.abs(np.diagonal(concentration)).sum()
    fit = np.linalg.slogdet(concentration)[1] - (correlations(name) * concentration).sum()
    return float(CASES[name].penalty * off - fit)


def solve_sepset(name: str) -> Solved:
    import numpy as np

    from sepset.learning.structure.undirected.concentration import maximized

    matrix, penalty = correlations(name), CASES[name].penalty
    penalties = penalty * (1.0 - np.eye(len(matrix)))
    found = maximized(matrix, penalties, tolerance=GAP)
    return measure(lambda: maximized(matrix, penalties, tolerance=GAP)), objective(name, found.matrix)


def solve_sklearn(name: str) -> Solved:
    from sklearn.covariance import graphical_lasso

    found: list[Any] = []
    matrix, penalty = correlations(name), CASES[name].penalty
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        timing = measure(lambda: found.append(graphical_lasso(matrix, penalty, tol=GAP, max_iter=500)))
    return timing, objective(name, found[-1][1])


def compared(lab: Lab, name: str) -> list[Comparison]:
    """The times and the objectives."""
    ours = lab.ask("sepset", solve_sepset, name)
    theirs = lab.ask("sklearn", solve_sklearn, name, limit=PATIENCE)
    head = "Graphical lasso, 500 columns" if name.startswith("n = 500, 1,000") else ""
    parts = [outcome if isinstance(outcome, str) else (seconds(outcome[0]), outcome[1]) for outcome in (ours, theirs)]
    times, scores = ([p if isinstance(p, str) else p[k] for p in parts] for k in (0, 1))
    return [
        Comparison(name, times[0], {"scikit-learn": times[1]}, target="1x", headline=head),
        Comparison(f"{name}: objective", scores[0], {"scikit-learn": scores[1]}, kind="score"),
    ]


def run(lab: Lab) -> list[Report]:
    """One table: the graphical lasso."""
    names = list(CASES)[:2] if lab.quick else list(CASES)
    rows = [one for name in lab.wanted(names) for one in compared(lab, name)]
    note = (
        f"The graphical lasso from correlations, until the duality gap is at most {GAP}: Newton's method with "
        "coordinate descent, one component at a time, against coordinate descent over blocks."
    )
    return [Report("Undirected structures", rows, note, has_mean=False)]
