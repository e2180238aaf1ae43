"""The k most probable assignments of ALARM: of all variables, under findings, and of some variables only."""

from __future__ import annotations

from typing import Any

from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

K = 1_000
FINDINGS = {"HRBP": "HIGH", "PRESS": "LOW"}
OVER = ["LVFAILURE", "HYPOVOLEMIA", "ANAPHYLAXIS", "PULMEMBOLUS", "INTUBATION", "KINKEDTUBE", "DISCONNECT"]
CASES: dict[str, dict[str, Any]] = {
    "all variables": {},
    "under two findings": {"given": FINDINGS},
    "of seven causes, the rest summed out": {"given": FINDINGS, "over": OVER},
}


def ranked(case: str) -> Timing:
    import sepset as ss

    engine = ss.prepare(ss.datasets.load("alarm"))
    return measure(lambda: engine.map_assignment(k=K, **CASES[case]))


def run(lab: Lab) -> list[Report]:
    """One table: seconds for 1,000 assignments, the engine prepared."""
    rows = []
    for case in CASES:
        found = lab.ask("sepset", ranked, case)
        rows.append(Comparison(case, found if isinstance(found, str) else seconds(found), target="0.5 s"))
    return [Report(f"{K:,} best assignments of ALARM", rows, "Peers give one assignment, or none.", has_mean=False)]
