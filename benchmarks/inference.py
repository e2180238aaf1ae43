"""Single queries: one posterior, cold and from an engine in memory, without evidence and with a tenth observed."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import networks
from benchmarks.measure import Timing, measure, now
from benchmarks.posteriors import AGRUM, Findings, settings
from benchmarks.report import Comparison, Figure, Report, seconds
from benchmarks.worker import Lab

FRESH = 9  # rounds of questions to models that were never asked, at least
SECONDS = 0.3  # of such rounds
NUM_TARGETS = 5
PATIENCE = 20.0  # seconds for five first questions of a peer, several times
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


def query_sepset(path: str, target: str, found: Sequence[Findings]) -> Timing:
    """With a new engine each time, as after reading a model."""
    import sepset as ss

    networks.compile_kernels()
    net = networks.load(path)
    given = _states(net, found[0])
    return measure(lambda: ss.prepare(net).query(target, given=given).values)


def first_sepset(path: str, targets: Sequence[str], found: Sequence[Findings]) -> Timing:
    """`ss.query` of models that were never asked anything, once each; seconds per question."""
    import sepset as ss

    networks.compile_kernels()
    net = networks.load(path)
    given = _states(net, found[0])
    rounds: list[float] = []
    while len(rounds) < FRESH or sum(rounds) * len(targets) < SECONDS:  # for as long as the peers
        models = [ss.BayesNet(*net.cpds) for _ in targets]
        start = now()
        for model, target in zip(models, targets, strict=True):
            ss.query(model, target, given=given)
        rounds.append((now() - start) / len(targets))
    return Timing(min(rounds), statistics.median(rounds), len(rounds))


def first_pyagrum(path: str, targets: Sequence[str], found: Sequence[Findings], kind: str) -> Timing:
    """A new engine for each question; seconds per question."""
    import pyagrum as gum

    from benchmarks.peers import pyagrum_of

    bn = pyagrum_of(path)
    evidence = _codes(found[0])

    def answers() -> None:
        for target in targets:
            engine = getattr(gum, kind)(bn)
            engine.setTargets({target})
            engine.setEvidence(evidence)
            engine.makeInference()
            engine.posterior(target)

    return measure(answers, at_least=FRESH, calls=len(targets))


def again_sepset(path: str, target: str, found: Sequence[Findings]) -> Timing:
    """With the engine that the model's earlier questions made."""
    import sepset as ss

    networks.compile_kernels()
    net = networks.load(path)
    following = itertools.cycle([_states(net, one) for one in found])
    return measure(lambda: ss.query(net, target, given=next(following)).values)


def _states(net: Any, found: Findings) -> dict[str, Any]:
    """Findings as states; flat likelihoods are left out."""
    return {name: net[name].states[code] for name, code in found.items() if isinstance(code, int)}


def query_pyagrum(path: str, target: str, found: Sequence[Findings], kind: str) -> Timing:
    import pyagrum as gum

    from benchmarks.peers import pyagrum_of

    bn = pyagrum_of(path)
    evidence = _codes(found[0])

    def answer() -> object:
        engine = getattr(gum, kind)(bn)
        engine.setTargets({target})
        engine.setEvidence(evidence)
        engine.makeInference()
        return engine.posterior(target).toarray()

    return measure(answer)


def again_pyagrum(path: str, target: str, found: Sequence[Findings], kind: str) -> Timing:
    """The engine keeps its tree: evidence is changed, not set from scratch."""
    import pyagrum as gum

    from benchmarks.peers import pyagrum_of

    engine = getattr(gum, kind)(pyagrum_of(path))
    engine.setTargets({target})
    engine.setEvidence(dict(found[0]))
    following = itertools.cycle(found)

    def answer() -> object:
        for name, code in next(following).items():
            engine.chgEvidence(name, code)
        engine.makeInference()
        return engine.posterior(target).toarray()

    return measure(answer)


def query_pgmpy(path: str, target: str, found: Sequence[Findings]) -> Timing:
    from pgmpy.inference import VariableElimination

    from benchmarks.peers import pgmpy_of

    model, evidence = pgmpy_of(path), _codes(found[0])
    return measure(lambda: VariableElimination(model).query([target], evidence=evidence, show_progress=False).values)


def again_pgmpy(path: str, target: str, found: Sequence[Findings]) -> Timing:
    from pgmpy.inference import VariableElimination

    from benchmarks.peers import pgmpy_of

    engine = VariableElimination(pgmpy_of(path))
    following = itertools.cycle([_codes(one) for one in found])
    return measure(lambda: engine.query([target], evidence=next(following), show_progress=False).values)


def _codes(found: Findings) -> dict[str, int]:
    return {name: code for name, code in found.items() if isinstance(code, int)}


def _peers(lab: Lab, pyagrum: Callable[..., Timing], pgmpy: Callable[..., Timing], *args: Any) -> dict[str, Figure]:
    """Each of pyAgrum's engines and pgmpy."""
    found = {name: seconds(lab.ask("pyagrum", pyagrum, *args, engine)) for name, engine in AGRUM.items()}
    return {**found, "pgmpy": seconds(lab.ask("pgmpy", pgmpy, *args))}


def compared(lab: Lab, name: str, path: str, share: float) -> dict[str, Comparison]:
    """One network's rows by table: cold, and with an engine in memory if there are findings to change."""
    found = settings(path, share)
    target = next(v for v in networks.load(path).variables.names if v not in found[0])
    case = f"{name}, 10%" if share else name
    headline = "ALARM, a tenth observed: one query" if case == "alarm, 10%" else ""
    rows = {}
    rows["cold"] = Comparison(
        case,
        seconds(lab.ask("sepset", query_sepset, path, target, found)),
        _peers(lab, query_pyagrum, query_pgmpy, path, target, found),
        headline=headline and f"{headline}, cold",
    )
    if share and len(found) > 1:
        rows["again"] = Comparison(
            case,
            seconds(lab.ask("sepset", again_sepset, path, target, found)),
            _peers(lab, again_pyagrum, again_pgmpy, path, target, found),
            headline=headline and f"{headline}, engine in memory",
        )
    return rows


def first(lab: Lab, name: str, path: str) -> Comparison:
    """The first question to a model, a tenth observed, over several targets: all prepared is for this one."""
    import numpy as np

    found = settings(path, 0.1)
    free = [v for v in networks.load(path).variables.names if v not in found[0]]
    targets = [str(t) for t in np.random.default_rng(0).choice(free, min(NUM_TARGETS, len(free)), replace=False)]
    peers = {
        kind: seconds(lab.ask("pyagrum", first_pyagrum, path, targets, found, engine, limit=PATIENCE))
        for kind, engine in AGRUM.items()
    }
    return Comparison(name, seconds(lab.ask("sepset", first_sepset, path, targets, found)), peers)


def run(lab: Lab) -> list[Report]:
    """Three tables; the best peer of each case counts, which varies."""
    known = networks.paths()
    chosen = list(lab.wanted(name for name in known if lab.long or name in SMALL))
    rows = [compared(lab, name, known[name], share) for name in chosen for share in (0.0, 0.1)]
    tables = {table: [row[table] for row in rows if table in row] for table in ("cold", "again")}
    again = "An engine in memory; new values of the same variables in each call."
    once = "`ss.query` of a model that was never asked, a tenth observed, five targets; a new engine for each peer."
    firsts = [first(lab, name, known[name]) for name in lab.wanted(n for n in known if n in SMALL or not lab.quick)]
    return [
        Report(
            "One question, once",
            firsts,
            once,
            goals=("0.4x", "1x"),
            floor=0.0,
            headline="one question to a model just read",
        ),
        Report("One query, cold", tables["cold"], "A model in memory; plan, run, read one posterior."),
        Report("One query, engine in memory", tables["again"], again),
    ]
