"""UAI 2014: the best assignment of each instance, beside the published one and that of toulbar2 after 8 seconds."""

from __future__ import annotations

import csv
from typing import Any, NamedTuple

from benchmarks import instances
from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

SECONDS, QUICK = 60.0, 5.0
TOLERANCE, PROVED = 1e-4, 1e-6
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
    """The default without clique trees, after a short run that compiles."""
    import sepset as ss
    from benchmarks.measure import now

    model, evidence = load(name)
    method = ss.inference.AutomaticSearch()
    ss.map_assignment(model, given=evidence, method=method, until=ss.Until(steps=2, seconds=1.0))
    start = now()
    until = ss.Until(steps=1000, tolerance=1e-7, seconds=limit)
    found = ss.map_assignment(model, given=evidence, method=method, until=until)
    return Solved(found.log_value, found.gap, now() - start, str(found.info["search"]))


def run(lab: Lab) -> list[Report]:
    """Values, and seconds where both have a proof."""
    known, limit = references(), QUICK if lab.quick else SECONDS
    values, times, proofs = [], [], 0
    for name in lab.wanted(sorted(known)):
        one, reference = lab.ask("sepset", solve, name, limit, limit=TIME), known[name]
        peers = {"published": -reference.published, "toulbar2": -reference.toulbar2}
        if not isinstance(one, Solved):
            values.append(Comparison(name, one, peers, kind="score"))
            continue
        is_proved = one.gap <= PROVED * max(1.0, abs(one.value))
        proofs += is_proved
        label = f"{name}: {one.search}, {'proved' if is_proved else f'gap {one.gap:.4g}'}"
        values.append(Comparison(label, -one.value, peers, kind="score"))
        times.append(
            Comparison(f"{name}{'' if is_proved else ', no proof'}", one.seconds, {"toulbar2": reference.seconds})
        )
    note = (
        f"Minus the log value, smaller is better; {limit:g} seconds each; {proofs} of {len(values)} proved. "
        f"{_below(values)} are below the better of the other columns by more than {TOLERANCE:g} of it."
    )
    seconds = "Seconds of the search; toulbar2's were recorded on another day, and it was stopped after 8 seconds."
    return [
        Report("UAI 2014, best assignments", values, note, has_mean=False, versus="other / sepset"),
        Report("UAI 2014, seconds of best assignments", times, seconds),
    ]


def _below(values: list[Comparison]) -> int:
    """The number of instances whose value is worse than the best known one."""
    known = [(one.ours, one.best[1]) for one in values if one.best and not isinstance(one.ours, str)]
    return sum(ours > best + TOLERANCE * abs(best) for ours, best in known)
