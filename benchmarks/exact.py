"""The exact engine: every posterior of every network, hot, on new observed sets and cold, against the best peer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks import networks, posteriors
from benchmarks.measure import Timing, on_wall_clock
from benchmarks.posteriors import AGRUM, MODULES, PEERS, Findings
from benchmarks.report import Comparison, Figure, Report, seconds
from benchmarks.worker import Lab

QUICK = ("asia", "child", "alarm", "insurance", "win95pts", "hailfinder", "hepar2", "andes", "pathfinder", "pigs")
SHARE = 0.1
LIMIT = 6.0  # seconds for one measurement of a peer: some twelve questions
FLOOR = 1e-3  # seconds: a network that a peer answers faster counts only in the mean

Question = Callable[[str, str, Sequence[Findings]], Timing]
Rows = dict[str, list[Comparison]]


def _asked(
    lab: Lab, case: str, path: str, found: Sequence[Findings], question: Question, stopped: dict[str, str]
) -> Comparison:
    """One case by every library; `stopped` has the peers that are not asked, and gets those that took too long here."""
    figures: dict[str, Figure] = {}
    for name, module in MODULES.items():
        limit = min(lab.limit, LIMIT) if name in PEERS else lab.limit
        if name not in stopped:
            lab.ask(module, posteriors.load, name, path)
        figure = stopped.get(name) or seconds(lab.ask(module, question, name, path, found, limit=limit))
        if isinstance(figure, str) and name in PEERS:
            stopped[name] = figure
        figures[name] = figure
    headline = f"{case}: every posterior, {WORDS[question.__name__]}" if case in HEADLINES else ""
    return Comparison(case, figures["sepset"], {name: figures[name] for name in PEERS}, headline=headline)


HEADLINES = ("alarm, 10%", "munin, 10%")
WORDS = {"cold": "cold", "hot": "hot", "unseen": "new observed set"}


def _two_threads(lab: Lab, case: str, path: str, found: Sequence[Findings], one: Comparison) -> Comparison:
    """pyAgrum's engines with one thread or two, whichever is faster."""
    peers: dict[str, Figure] = {}
    for name in AGRUM:
        single = one.peers[name]
        two = single if isinstance(single, str) else seconds(lab.ask("pyagrum", _hot2, name, path, found))
        peers[name] = two if isinstance(single, str) or isinstance(two, str) else min(single, two)
    return Comparison(case, seconds(lab.ask("sepset", _hot2, "sepset", path, found)), peers)


_hot2 = posteriors.hot_two_threads


def compared(lab: Lab, name: str, path: str, tables: Rows) -> None:
    """Add one network's rows to each table."""
    for share in (0.0, SHARE):
        case = f"{name}, 10%" if share else name
        found = posteriors.settings(path, share)
        stopped: dict[str, str] = {}
        tables["cold"].append(_asked(lab, case, path, found, posteriors.cold, stopped))
        if len(found) > 1:
            hot = _asked(lab, case, path, found, posteriors.hot, stopped)
            tables["hot"].append(hot)
            if hot.best is not None and hot.best[1] > FLOOR and not lab.quick and on_wall_clock():
                tables["two"].append(_two_threads(lab, case, path, found, hot))
    sets = posteriors.observed_sets(path, SHARE)
    tables["new"].append(_asked(lab, f"{name}, 10%", path, sets, posteriors.unseen, stopped))


def run(lab: Lab) -> list[Report]:
    """Four tables; the best peer of each case counts, which varies."""
    tables: Rows = {"hot": [], "new": [], "cold": [], "two": []}
    known = networks.paths()
    for name in lab.wanted(name for name in known if name in QUICK or not lab.quick):
        compared(lab, name, known[name], tables)
    limit = (
        f"A peer that took more than {min(lab.limit, LIMIT):g} s is not asked again about the same network with as "
        "many findings; its limit is repeated in the other tables (cold first, then hot, then new observed sets)."
    )
    reports = [
        Report(
            "Every posterior, hot",
            tables["hot"],
            "An engine in memory; the same variables observed, new values in each call, drawn from the model; the mean "
            "of a round of four. Without evidence one root has a flat likelihood whose scale changes, so that no "
            "engine answers from memory. Ours and pyAgrum's trees compute only what depends on a changed finding: "
            f"the fewer findings change, and the less depends on them, the more both save. {limit}",
            goals=("3x", "20x"),
            floor=FLOOR,
            headline="every posterior, hot",
        ),
        Report(
            "Every posterior, a new observed set",
            tables["new"],
            f"An engine in memory; in each call other variables are observed, none of the sets seen before. {limit}",
            goals=("2x", "10x"),
            floor=FLOOR,
            headline="every posterior, new observed set",
        ),
        Report(
            "Every posterior, cold",
            tables["cold"],
            f"A model in memory; plan, run, read every posterior. {limit}",
            goals=("2x", "10x"),
            floor=FLOOR,
            headline="every posterior, cold",
        ),
    ]
    two = Report(
        "Every posterior, hot, two threads",
        tables["two"],
        "Wall clock. sepset: two callers share one engine. pyAgrum: one caller, one thread or two within the engine, "
        "whichever is faster. Networks that the best peer answers in over 1 ms.",
    )
    return [*reports, two] if tables["two"] else reports
