"""Exact inference: every posterior, cold and hot, and single queries, without evidence and with a tenth observed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks import networks
from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
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
AGRUM = ("LazyPropagation", "ShaferShenoyInference", "VariableElimination")
SETTINGS = 4  # how many values of the same observed variables a hot run goes through

Findings = Mapping[str, int]
"""Positions of states by name, the same for every library."""


def findings(path: str, share: float) -> list[dict[str, int]]:
    """Several settings of the same tenth of the variables, each drawn from the model and so possible."""
    import numpy as np

    net = networks.load(path)
    names = net.variables.names
    rng = np.random.default_rng(len(names))
    chosen = sorted(rng.choice(len(names), max(1, round(share * len(names))), replace=False)) if share else []
    rows = net.sample(SETTINGS, seed=1).matrix()
    return [{names[v]: int(row[v]) for v in chosen} for row in rows]


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


def cold_pgmpy(path: str, settings: Sequence[Findings], hot: bool) -> Timing:
    """One query a variable, which prunes for each; hot keeps the inference object."""
    from pgmpy.inference import VariableElimination

    from benchmarks.peers import pgmpy_of

    model = pgmpy_of(path)
    kept = VariableElimination(model)
    asked = [name for name in model.nodes() if name not in settings[0]]

    def answer() -> object:
        engine = kept if hot else VariableElimination(model)
        evidence = dict(settings[0])
        return [engine.query([name], evidence=evidence, show_progress=False).values for name in asked]

    return measure(answer)


def query_pgmpy(path: str, target: str, settings: Sequence[Findings]) -> Timing:
    from pgmpy.inference import VariableElimination

    from benchmarks.peers import pgmpy_of

    model = pgmpy_of(path)
    evidence = dict(settings[0])
    return measure(lambda: VariableElimination(model).query([target], evidence=evidence, show_progress=False).values)


def _peers(lab: Lab, pyagrum: Callable[..., Timing], pgmpy: Callable[..., Timing], *args: Any, **kw: Any) -> Any:
    found = {f"pyagrum {kind}": seconds(lab.ask("pyagrum", pyagrum, *args, kind)) for kind in AGRUM}
    return {**found, "pgmpy": seconds(lab.ask("pgmpy", pgmpy, *args, *kw.values()))}


def compared(lab: Lab, name: str, path: str, share: float) -> tuple[Comparison, Comparison, Comparison]:
    """One network's three rows: cold, hot, one query."""
    settings = findings(path, share)
    net = networks.load(path)
    target = next(v for v in net.variables.names if v not in settings[0])
    case = f"{name}, 10%" if share else name
    headline = "ALARM, a tenth observed" if name == "alarm" and share else ""
    cold = Comparison(
        case,
        seconds(lab.ask("sepset", cold_sepset, path, settings)),
        _peers(lab, cold_pyagrum, cold_pgmpy, path, settings, hot=False),
        headline=f"{headline}: every posterior, cold" if headline else "",
    )
    hot = Comparison(
        case,
        seconds(lab.ask("sepset", hot_sepset, path, settings)),
        _peers(lab, hot_pyagrum, cold_pgmpy, path, settings, hot=True),
        headline=f"{headline}: every posterior, hot" if headline else "",
    )
    query = Comparison(
        case,
        seconds(lab.ask("sepset", query_sepset, path, target, settings)),
        _peers(lab, query_pyagrum, query_pgmpy, path, target, settings),
        headline=f"{headline}: one query" if headline else "",
    )
    return cold, hot, query


def run(lab: Lab) -> list[Report]:
    """Three tables; the best peer of each case counts, which varies."""
    everything = bool(os.environ.get("SEPSET_BENCH_ALL"))
    chosen = {name: path for name, path in networks.paths().items() if everything or name in SMALL}
    rows = [compared(lab, name, path, share) for name, path in chosen.items() for share in (0.0, 0.1)]
    cold, hot, query = zip(*rows, strict=True)
    return [
        Report("Every posterior, cold", cold, "A model in memory; plan, run, read every posterior."),
        Report("Every posterior, hot", hot, "An engine in memory; new values of the same observed variables."),
        Report("One query", query, "A model in memory; one posterior."),
    ]
