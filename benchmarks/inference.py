"""Exact inference: every posterior, cold and hot, and single queries, without evidence and with a tenth observed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks import networks
from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Figure, Report, seconds
from benchmarks.worker import Lab

SMALL = (
    "cancer",
    "earthquake",
    "survey",
    "asia",
    "sachs",
    "child",
    "alarm",
    "insurance",
    "win95pts",
    "hailfinder",
    "hepar2",
    "andes",
    "pathfinder",
    "pigs",
)
AGRUM = {"lazy": "LazyPropagation", "Shafer-Shenoy": "ShaferShenoyInference", "elimination": "VariableElimination"}
SETTINGS = 4  # how many values of the same observed variables a hot run goes through

Findings = Mapping[str, int]
"""Positions of states by name, the same for every library."""


def findings(path: str, share: float) -> list[dict[str, int]]:
    """Settings of the same share of the variables, drawn from the model and so possible, each unlike the one before.

    An engine that keeps its last answer would otherwise be asked nothing.
    """
    import numpy as np

    net = networks.load(path)
    names = net.variables.names
    rng = np.random.default_rng(len(names))
    count = max(1, round(share * len(names))) if share else 0
    chosen = np.sort(rng.choice(len(names), count, replace=False))
    kept: list[dict[str, int]] = []
    for row in net.sample(1000, seed=1).matrix():
        found = {names[v]: int(row[v]) for v in chosen}
        if len(kept) < SETTINGS and (not kept or found not in (kept[0], kept[-1])):
            kept.append(found)
    return kept


def _states(net: Any, found: Findings) -> dict[str, Any]:
    return {name: net[name].states[code] for name, code in found.items()}


def cold_sepset(path: str, settings: Sequence[Findings]) -> Timing:
    import sepset as ss

    net = networks.load(path)
    given = _states(net, settings[0])
    return measure(lambda: _read(ss.marginals(net, given=given)))


def hot_sepset(path: str, settings: Sequence[Findings]) -> Timing:
    import sepset as ss

    net = networks.load(path)
    engine = ss.prepare(net)
    given = [_states(net, found) for found in settings]
    return measure(lambda: [_read(engine.marginals(one)) for one in given], calls=len(given))


def query_sepset(path: str, target: str, settings: Sequence[Findings]) -> Timing:
    import sepset as ss

    net = networks.load(path)
    given = _states(net, settings[0])
    return measure(lambda: ss.query(net, target, given=given).values)


def _read(marginals: Any) -> list[Any]:
    return [marginals[name].values for name in marginals]


def cold_pyagrum(path: str, settings: Sequence[Findings], kind: str) -> Timing:
    import pyagrum as gum

    from benchmarks.peers import pyagrum_of

    bn = pyagrum_of(path)
    names = [bn.variable(v).name() for v in bn.nodes()]

    def answer() -> object:
        engine = getattr(gum, kind)(bn)
        engine.setEvidence(dict(settings[0]))
        engine.makeInference()
        return [engine.posterior(name).toarray() for name in names]

    return measure(answer)


def hot_pyagrum(path: str, settings: Sequence[Findings], kind: str) -> Timing:
    """The engine keeps its tree: evidence is changed, not set anew."""
    import pyagrum as gum

    from benchmarks.peers import pyagrum_of

    bn = pyagrum_of(path)
    names = [bn.variable(v).name() for v in bn.nodes()]
    engine = getattr(gum, kind)(bn)
    engine.setEvidence(dict(settings[0]))

    def answer() -> object:
        read = []
        for found in settings:
            for name, code in found.items():
                engine.chgEvidence(name, code)
            engine.makeInference()
            read.append([engine.posterior(name).toarray() for name in names])
        return read

    return measure(answer, calls=len(settings))


def query_pyagrum(path: str, target: str, settings: Sequence[Findings], kind: str) -> Timing:
    import pyagrum as gum

    from benchmarks.peers import pyagrum_of

    bn = pyagrum_of(path)

    def answer() -> object:
        engine = getattr(gum, kind)(bn)
        engine.setTargets({target})
        engine.setEvidence(dict(settings[0]))
        engine.makeInference()
        return engine.posterior(target).toarray()

    return measure(answer)


def all_pgmpy(path: str, settings: Sequence[Findings]) -> Timing:
    """One query a variable, which prunes for each; there is nothing to keep between findings."""
    from pgmpy.inference import VariableElimination

    from benchmarks.peers import pgmpy_of

    model = pgmpy_of(path)
    engine = VariableElimination(model)
    evidence = dict(settings[0])
    asked = [name for name in model.nodes() if name not in evidence]
    return measure(lambda: [engine.query([name], evidence=evidence, show_progress=False).values for name in asked])


def query_pgmpy(path: str, target: str, settings: Sequence[Findings]) -> Timing:
    from pgmpy.inference import VariableElimination

    from benchmarks.peers import pgmpy_of

    model = pgmpy_of(path)
    evidence = dict(settings[0])
    return measure(lambda: VariableElimination(model).query([target], evidence=evidence, show_progress=False).values)


def _peers(lab: Lab, pyagrum: Callable[..., Timing], pgmpy: Callable[..., Timing], *args: Any) -> dict[str, Figure]:
    """Each of pyAgrum's engines and pgmpy."""
    found = {f"pyagrum {kind}": seconds(lab.ask("pyagrum", pyagrum, *args, engine)) for kind, engine in AGRUM.items()}
    return {**found, "pgmpy": seconds(lab.ask("pgmpy", pgmpy, *args))}


def compared(lab: Lab, name: str, path: str, share: float) -> dict[str, Comparison]:
    """One network's rows by table: cold, hot (which needs findings to change) and one query."""
    settings = findings(path, share)
    target = next(v for v in networks.load(path).variables.names if v not in settings[0])
    case = f"{name}, 10%" if share else name
    headline = "ALARM, a tenth observed: " if name == "alarm" and share else ""
    rows = {
        "cold": Comparison(
            case,
            seconds(lab.ask("sepset", cold_sepset, path, settings)),
            _peers(lab, cold_pyagrum, all_pgmpy, path, settings),
            headline=headline and f"{headline}every posterior, cold",
        ),
        "query": Comparison(
            case,
            seconds(lab.ask("sepset", query_sepset, path, target, settings)),
            _peers(lab, query_pyagrum, query_pgmpy, path, target, settings),
            headline=headline and f"{headline}one query",
        ),
    }
    if len(settings) > 1:
        rows["hot"] = Comparison(
            case,
            seconds(lab.ask("sepset", hot_sepset, path, settings)),
            _peers(lab, hot_pyagrum, all_pgmpy, path, settings),
            headline=headline and f"{headline}every posterior, hot",
        )
    return rows


def run(lab: Lab) -> list[Report]:
    """Three tables; the best peer of each case counts, which varies."""
    everything = bool(os.environ.get("SEPSET_BENCH_ALL"))
    chosen = {name: path for name, path in networks.paths().items() if everything or name in SMALL}
    rows = [compared(lab, name, path, share) for name, path in chosen.items() for share in (0.0, 0.1)]
    tables = {table: [row[table] for row in rows if table in row] for table in ("cold", "hot", "query")}
    return [
        Report("Every posterior, cold", tables["cold"], "A model in memory; plan, run, read every posterior."),
        Report("Every posterior, hot", tables["hot"], "An engine in memory; new values of the same variables."),
        Report("One query", tables["query"], "A model in memory; one posterior."),
    ]
