"""The most probable assignment of every network, hot and cold, without evidence and with a tenth observed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from benchmarks import networks
from benchmarks.measure import Timing, measure, now
from benchmarks.posteriors import Findings, Sepset, settings
from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

QUICK = ("asia", "child", "alarm", "insurance", "win95pts", "hailfinder", "hepar2", "andes", "pathfinder", "pigs")
SHARES = {"": 0.0, ", 10%": 0.1}
LIMIT = 10.0  # seconds for toulbar2 to solve one problem
ROUNDS, SLOW = 3, 1.5  # engines asked for new values, and the seconds after which there is no other
NEW = 12  # settings that were never asked
NEAR = 1e-5  # nats: toulbar2 rounds costs


class Assigned(NamedTuple):
    """Times, the log values of the assignments of all settings, and whether each was proved.

    Attributes:
        hot: settings in turn; without evidence, the same question again.
        new: values that were never asked; without evidence, a likelihood that changes what is in memory.
        cold: a new engine each time.
    """

    hot: Timing
    new: Timing
    cold: Timing
    values: list[float]
    proved: bool


def unseen(path: str, found: Sequence[Findings]) -> list[Findings]:
    """Values of the same variables, drawn from the model, other than these; or the flat likelihoods themselves."""
    if not _codes(found[0]):
        return list(found)
    net = networks.load(path)
    columns = [net.variables.id(name) for name in found[0]]
    drawn = [dict(zip(found[0], row, strict=True)) for row in net.sample(200, seed=3).matrix()[:, columns].tolist()]
    distinct = list({tuple(one.values()): one for one in drawn if one not in found}.values())
    return distinct[:NEW] or list(found)


@lru_cache(maxsize=1)
def tables(path: str) -> list[tuple[list[int], Any]]:
    """The scopes, as positions, and the probabilities of all CPDs."""
    net = networks.load(path)
    place = {name: i for i, name in enumerate(net.variables.names)}
    return [([place[v.name] for v in (*cpd.parents, cpd.child)], cpd.to_table().values) for cpd in net.cpds]


def log_value(path: str, codes: Sequence[int]) -> float:
    """The log probability of complete codes, from the tables alone; minus infinity without codes."""
    if not len(codes):
        return -math.inf
    parts = [float(values[tuple(codes[v] for v in scope)]) for scope, values in tables(path)]
    return math.fsum(math.log(part) for part in parts) if min(parts) > 0.0 else -math.inf


def ours(path: str, found: Sequence[Findings]) -> Assigned:
    """An engine that has answered for these variables with new values in each call; and a new one each time."""
    import sepset as ss

    made = Sepset(path)
    net, given = made.net, [made.given(one) for one in found]

    def prepared() -> Any:
        net.problem().kept.clear()
        return ss.prepare(net)

    has_evidence = bool(_codes(found[0]))
    first = given[0] if has_evidence else None
    cold = measure(lambda: prepared().map_assignment(given=first).codes)
    engine, asked = prepared(), given if has_evidence else [None]
    best = [engine.map_assignment(given=one) for one in asked]
    hot = measure(lambda: [engine.map_assignment(given=one) for one in asked], calls=len(asked))
    others = [made.given(one) for one in unseen(path, found)]
    new = _new(prepared, given, others)
    observed = [{net.variables.id(name): code for name, code in _codes(one).items()} for one in found]
    observed = observed[: len(best)]
    rows = [
        [seen.get(v, int(code)) for v, code in enumerate(one.codes)] for seen, one in zip(observed, best, strict=True)
    ]
    return Assigned(hot, new, cold, [log_value(path, row) for row in rows], True)


def _new(prepared: Callable[[], Any], given: Sequence[Any], others: Sequence[Any]) -> Timing:
    """Seconds per question of values that an engine was never asked, over a few engines."""
    times: list[float] = []
    while not times or (len(times) < ROUNDS and times[0] * len(others) < SLOW):
        engine = prepared()
        for one in given[-2:]:
            engine.map_assignment(given=one)
        start = now()
        for one in others:
            engine.map_assignment(given=one)
        times.append((now() - start) / len(others))
    return Timing(min(times), statistics.median(times), len(times))


def by_toulbar2(path: str, found: Sequence[Findings]) -> Assigned:
    """Solving alone, the mean of all settings; and building and solving the first."""
    from benchmarks.toulbar2 import Costs, timed

    net = networks.load(path)
    cards = [variable.num_states for variable in net.variables]
    distinct = found if _codes(found[0]) else found[:1]
    done = []
    for one in distinct:
        known = {net.variables.id(name): code for name, code in _codes(one).items()}
        done.append(timed(Costs.of(cards, tables(path), known), LIMIT))
    alone = [times[2] for times in done]
    hot = Timing(_mean([t.best for t in alone]), _mean([t.median for t in alone]), alone[0].runs)
    values = [log_value(path, solved.codes) for solved, _, _ in done]
    return Assigned(hot, hot, done[0][1], values, all(solved.is_proved for solved, _, _ in done))


def _codes(found: Findings) -> Mapping[str, int]:
    """Findings without the flat likelihood that only keeps an engine from answering from memory."""
    return {name: code for name, code in found.items() if isinstance(code, int)}


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def compared(lab: Lab, case: str, path: str, share: float) -> dict[str, Comparison]:
    """One network's rows: a peer that did not prove its answer has no time."""
    found = settings(path, share)
    mine = lab.ask("sepset", ours, path, found)
    limit = 4 * (LIMIT + 5.0) + lab.limit
    peer = lab.ask("pytoulbar2", by_toulbar2, path, found, limit=limit)
    headline = f"{case}: most probable assignment" if case in ("alarm, 10%", "munin, 10%") else ""
    rows = {}
    for kind in ("hot", "new", "cold"):
        own = getattr(mine, kind).best if isinstance(mine, Assigned) else mine
        unproved = f"no proof in {LIMIT:g} s"
        other = peer if isinstance(peer, str) else getattr(peer, kind).best if peer.proved else unproved
        rows[kind] = Comparison(
            case, own, {"toulbar2": other}, headline=headline and f"{headline}, {kind}" if kind != "new" else ""
        )
    if isinstance(mine, Assigned) and isinstance(peer, Assigned):
        rows["value"] = Comparison(case, -mine.values[0], {"toulbar2": -peer.values[0]}, kind="number")
        worse = [b - a for a, b in zip(mine.values, peer.values, strict=False)]
        rows["worse"] = Comparison(case, max(worse), kind="error")
    return rows


def run(lab: Lab) -> list[Report]:
    """Four tables: hot, new values, cold, and log values."""
    known = networks.paths()
    rows = []
    for name in lab.wanted(name for name in known if name in QUICK or not lab.quick):
        rows += [compared(lab, f"{name}{label}", known[name], share) for label, share in SHARES.items()]
    kinds = {kind: [row[kind] for row in rows if kind in row] for kind in ("hot", "new", "cold", "value", "worse")}
    below = sum(one.ours > NEAR for one in kinds["worse"] if not isinstance(one.ours, str))
    return [
        Report(
            "Most probable assignment, hot",
            kinds["hot"],
            "An engine in memory; the same variables observed, four settings of their values in turn. Without evidence "
            "every call asks the same, and ours only reads the assignment back from the tables of the last call. "
            f"Of toulbar2, solving alone, {LIMIT:g} s at most for each problem.",
            goals=("1.5x", ""),
            floor=0.0,
            headline="most probable assignment, hot",
        ),
        Report(
            "Most probable assignment, new values",
            kinds["new"],
            "The same with values that were never asked. Without evidence one root has a flat likelihood whose scale "
            "changes, so that nothing is answered from memory.",
            floor=0.0,
        ),
        Report(
            "Most probable assignment, cold",
            kinds["cold"],
            "A model in memory; plan, run, read the assignment. Of toulbar2, building the problem from lists of costs, "
            "which are made before the clock starts, and solving.",
            goals=("0.7x (munin1 0.3x)", "1.5x"),
            floor=0.0,
            headline="most probable assignment, cold",
        ),
        Report(
            "Log values of the assignments",
            kinds["value"],
            f"Minus the log probability of the first setting, from the tables alone; smaller is better. In {below} of "
            f"{len(kinds['worse'])} cases some setting of toulbar2 is better by more than {NEAR:g}.",
            has_mean=False,
            versus="other / sepset",
        ),
    ]
