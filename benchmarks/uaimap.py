"""UAI 2014: the best assignment of each instance, beside the published one and that of toulbar2 in the same run."""

from __future__ import annotations

import csv
import math
from typing import Any, NamedTuple

from benchmarks import instances
from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

SECONDS, QUICK = 60.0, 5.0
TOLERANCE, PROVED = 1e-4, 1e-6
SHARE, LEAST = 0.9, 0.2  # of the CPU: where the first is not reached, more time makes up for it, for the second at most
TIME = 900.0  # seconds for one instance, reading and compiling included


class Reference(NamedTuple):
    """The log value of the published assignment, that of toulbar2, whether it proved it, and its seconds."""

    published: float
    toulbar2: float
    is_proved: bool
    seconds: float


class Solved(NamedTuple):
    """The log value, the gap, the seconds, and the methods used."""

    value: float
    gap: float
    seconds: float
    search: str


def references() -> dict[str, Reference]:
    """What is known of each instance; empty without the shared files."""
    path = instances.folder() / "map" / "reference.csv"
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["instance"].removesuffix(".uai"): _reference(row) for row in csv.DictReader(lines)}


def _reference(row: dict[str, str]) -> Reference:
    return Reference(
        float(row["ln_value_of_shipped_MAP_file"]),
        float(row["ln_value_of_toulbar2_solution"]),
        row["toulbar2_proved_optimal"] == "1",
        float(row["toulbar2_seconds"]),
    )


def load(name: str) -> tuple[Any, dict[str, Any]]:
    """The model and its evidence."""
    import sepset as ss

    folder = instances.folder() / "map"
    plain = folder / f"{name}.uai"
    model = ss.read(plain if plain.is_file() else folder / f"{name}.uai.gz")
    return model, ss.io.read_evidence(folder / f"{name}.uai.evid", model)


def solve(name: str, limit: float) -> Solved:
    """The default without clique trees, after a short run that compiles; the least seconds of a few runs.

    A search has its time on the wall clock, toulbar2 on that of the CPU: where the CPU is measured and others use it
    too, a search that ended without a proof is repeated with as much time as makes them equal.
    """
    from benchmarks.toulbar2 import ROUNDS, SLOW

    model, evidence = load(name)
    search(model, evidence, 1.0, 2)
    found = search(model, evidence, limit)
    if found.gap > PROVED * max(1.0, abs(found.value)):
        share = found.seconds / limit
        return found if share > SHARE else search(model, evidence, limit / max(share, LEAST))
    times = [found.seconds]
    while len(times) < ROUNDS and sum(times) < SLOW:
        times.append(search(model, evidence, limit).seconds)
    return found._replace(seconds=min(times))


def search(model: Any, evidence: Any, limit: float, steps: int = 1000) -> Solved:
    """One search, with its seconds."""
    import sepset as ss
    from benchmarks.measure import now

    start, until = now(), ss.Until(steps=steps, tolerance=1e-7, seconds=limit)
    found = ss.map_assignment(model, given=evidence, method=ss.inference.AutomaticSearch(), until=until)
    return Solved(found.log_value, found.gap, now() - start, str(found.info["search"]))


def solve_toulbar2(name: str, limit: float) -> Solved:
    """Its default search, without the time to build the problem; the value is that of our tables at its codes."""
    import numpy as np

    from benchmarks import toulbar2

    model, evidence = load(name)
    place = {v.name: i for i, v in enumerate(model.variables)}
    tables = [([place[v.name] for v in factor.scope], np.asarray(factor.values)) for factor in model.factors]
    found = {place[v]: model.variables[v].states.index(state) for v, state in evidence.items()}
    cards = [v.num_states for v in model.variables]
    one, _, alone = toulbar2.timed(toulbar2.Costs.of(cards, tables, found), limit)
    if not one.codes:
        return Solved(-math.inf, math.inf, alone.best, "toulbar2")
    entries = np.array([values[tuple(one.codes[v] for v in scope)] for scope, values in tables])
    with np.errstate(divide="ignore"):
        return Solved(float(np.log(entries).sum()), 0.0 if one.is_proved else math.inf, alone.best, "toulbar2")


def compared(lab: Lab, name: str, reference: Reference, limit: float) -> tuple[Comparison, Comparison, bool]:
    """The values and the seconds of one instance, and whether ours was proved; recorded ones without toulbar2."""
    one = lab.ask("sepset", solve, name, limit, limit=TIME)
    other = lab.ask("pytoulbar2", solve_toulbar2, name, limit, limit=TIME)
    recorded = reference.is_proved, reference.seconds
    shown = (other.gap == 0.0, other.seconds) if isinstance(other, Solved) else recorded
    label, peer = ("toulbar2", other.value) if isinstance(other, Solved) else ("toulbar2, recorded", reference.toulbar2)
    peers = {"published": -reference.published, label: -peer if peer > -math.inf else "none found"}
    seconds = {label: shown[1] if shown[0] else "no proof"}
    if not isinstance(one, Solved):
        return Comparison(name, one, peers, kind="score"), Comparison(name, one, seconds), False
    is_proved = one.gap <= PROVED * max(1.0, abs(one.value))
    said = f"{name}: {one.search}, {'proved' if is_proved else f'gap {one.gap:.4g}'}"
    times = Comparison(f"{name}{'' if is_proved else ', no proof'}", one.seconds, seconds)
    return Comparison(said, -one.value, peers, kind="score"), times, is_proved


def run(lab: Lab) -> list[Report]:
    """Values, and seconds where both have a proof."""
    known, limit = references(), QUICK if lab.quick else SECONDS
    rows = [compared(lab, name, known[name], limit) for name in lab.wanted(sorted(known))]
    values, times, proofs = [row[0] for row in rows], [row[1] for row in rows], sum(row[2] for row in rows)
    note = (
        f"Minus the log value, smaller is better; {limit:g} seconds each; {proofs} of {len(values)} proved. "
        f"{_below(values)} are below the better of the other columns by more than {TOLERANCE:g} of it."
    )
    seconds = (
        f"Seconds of the search, of toulbar2 without building the problem, with {limit:g} seconds each; where toulbar2 "
        "is not installed, those recorded on another day, when it was stopped after 8 seconds."
    )
    return [
        Report("UAI 2014, best assignments", values, note, has_mean=False, versus="other / sepset"),
        Report("UAI 2014, seconds of best assignments", times, seconds),
    ]


def _below(values: list[Comparison]) -> int:
    """The number of instances whose value is worse than the best known one."""
    known = [(one.ours, one.best[1]) for one in values if one.best and not isinstance(one.ours, str)]
    return sum(ours > best + TOLERANCE * abs(best) for ours, best in known)
