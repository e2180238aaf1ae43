"""Plans for every marginal: table entries compared with other planners, and after half a minute of refinement."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks import networks
from benchmarks.measure import Timing, measure
from benchmarks.ordering import QUICK as FIGURES, order_pyagrum
from benchmarks.report import Comparison, Figure, Report, seconds
from benchmarks.worker import Lab

REFINEMENT = 30.0  # seconds
HARD = 1e6  # entries from which a plan is refined


class Planned(NamedTuple):
    """A plan's seconds, the entries of all its tables and of its largest, and its width."""

    timing: Timing
    total: float
    largest: float
    width: int


def plan_sepset(path: str, share: float) -> Planned:
    """The plan that a new engine makes, with a share of the variables observed."""
    import sepset as ss
    from benchmarks.posteriors import settings

    net = networks.load(path)
    given = list(settings(path, share)[0]) if share else []
    found = ss.prepare(net).plan(given=given)
    timing = measure(lambda: ss.prepare(net).plan(given=given))
    return Planned(timing, float(found.total_size), float(found.largest), found.width)


def refine_sepset(path: str, budget: float) -> float:
    """Total entries after a longer search."""
    import sepset as ss

    method = ss.CliqueTree(order=ss.graphs.Portfolio(seconds=budget))
    return float(ss.prepare(networks.load(path), method=method).plan().total_size)


def _total(planned: Planned | str) -> Figure:
    return planned if isinstance(planned, str) else planned.total


def _is_above(total: Figure, figure: float) -> bool:
    """Whether a total exceeds a number of three digits; True if there is no total."""
    return isinstance(total, str) or float(f"{total:.3g}") > figure


def run(lab: Lab) -> list[Report]:
    """Entries without evidence, with a tenth observed, the refinement if requested, and the seconds of planning."""
    entries, observed, refined, times = [], [], [], []
    known = networks.paths()
    for name in lab.wanted(known):
        path = known[name]
        ours = lab.ask("sepset", plan_sepset, path, 0.0)
        theirs = lab.ask("pyagrum", order_pyagrum, path)
        peer: Figure = theirs if isinstance(theirs, str) else theirs[1]
        figure = {"quick portfolio": FIGURES[name]} if name in FIGURES else {}
        entries.append(
            Comparison(
                name,
                _total(ours),
                {**figure, "pyagrum": peer},
                kind="entries",
                target=f"{FIGURES[name]:.3g}" if figure else "",
            )
        )
        tenth = lab.ask("sepset", plan_sepset, path, 0.1)
        observed.append(Comparison(f"{name}, 10%", _total(tenth), {"no evidence": _total(ours)}, kind="entries"))
        times.append(Comparison(name, ours if isinstance(ours, str) else seconds(ours.timing)))
        if lab.long and isinstance(ours, Planned) and ours.total > HARD:
            longer = lab.ask("sepset", refine_sepset, path, REFINEMENT, limit=2 * REFINEMENT + lab.limit)
            refined.append(Comparison(name, longer, {"default": _total(ours)}, kind="entries"))
    above = [c.case for c in entries if c.target and _is_above(c.ours, FIGURES[c.case])]
    note = f"Above the goal: {', '.join(above)}." if above else "None is above the goal."
    reports = [
        Report("Plans: entries of all tables, no evidence", entries, f"The goal is from a quick portfolio. {note}"),
        Report("Plans: entries of all tables, a tenth observed", observed, versus="no evidence / a tenth observed"),
        Report("Plans: seconds, no evidence", times),
    ]
    title = f"Plans: entries after {REFINEMENT:g} s of refinement, no evidence"
    return [*reports, Report(title, refined, versus="default / refined")] if refined else reports
