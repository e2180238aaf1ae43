"""Every posterior by each library: cold, hot and on new observed sets. This runs inside the libraries' processes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Protocol

from benchmarks import networks
from benchmarks.measure import Timing, measure, now

SETTINGS = 4  # number of evidence values of the same observed variables in a hot run
NUM_SETS = 4  # number of observed sets that are timed, each asked once
ROUNDS = 3
SLOW = 1.5  # seconds after which a round is not repeated
TWO_THREADS = 0.5  # seconds for which two callers ask

Findings = Mapping[str, int | list[float]]
"""For each name the position of a state, the same for every library, or a likelihood."""

Ask = Callable[[Any], object]
"""Enters findings and reads every posterior."""


def settings(path: str, share: float) -> list[Findings]:
    """Values of the same share of the variables, drawn from the model and so possible, each different from the last.

    Without findings nothing would change, and an engine that caches its last answer would compute nothing: so one root
    has a flat likelihood, which changes no posterior, on a scale that changes with every call.
    """
    import numpy as np

    net = networks.load(path)
    names = net.variables.names
    if not share:
        root = next(cpd.child for cpd in net.cpds if not cpd.parents)
        return [{root.name: [scale] * root.num_states} for scale in (1.0, 0.5, 0.75, 0.25)]
    chosen = _chosen(names, share, np.random.default_rng(len(names)))
    kept: list[Findings] = []
    for row in net.sample(1000, seed=1).matrix():
        found = {names[v]: int(row[v]) for v in chosen}
        if len(kept) < SETTINGS and (not kept or found not in (kept[0], kept[-1])):
            kept.append(found)
    return kept


def observed_sets(path: str, share: float) -> list[Findings]:
    """Different sets of observed variables of one size, each with values from one forward sample."""
    import numpy as np

    net = networks.load(path)
    names = net.variables.names
    rng = np.random.default_rng(len(names) + 1)
    rows = net.sample(NUM_SETS + 1, seed=2).matrix()
    return [{names[v]: int(row[v]) for v in _chosen(names, share, rng)} for row in rows]


def _chosen(names: Sequence[str], share: float, rng: Any) -> list[int]:
    count = max(1, round(share * len(names)))
    return sorted(int(v) for v in rng.choice(len(names), count, replace=False))


class Library(Protocol):
    """A library's model of a network."""

    def given(self, findings: Findings) -> Any:
        """Findings in the library's own form, made before the clock starts."""

    def prepared(self) -> Ask:
        """A new engine: the first question plans, later ones use the cache."""

    def two_threads(self, given: Sequence[Any]) -> float:
        """Seconds per question with two threads, on the wall clock."""


class Sepset:
    """Our engine as made by `prepare`."""

    def __init__(self, path: str) -> None:
        _compiled()
        self.net = networks.load(path)

    def given(self, findings: Findings) -> Any:
        import sepset as ss

        return {
            name: self.net[name].states[found] if isinstance(found, int) else ss.Likelihood(found)
            for name, found in findings.items()
        }

    def prepared(self) -> Ask:
        import sepset as ss

        self.net.problem().kept.clear()  # cached results of an earlier engine would make a cold one look warm
        engine = ss.prepare(self.net, method=networks.on_one_thread())

        def ask(given: Any) -> object:
            answers = engine.marginals(given=given)
            return [answers[name].values for name in answers]

        return ask

    def two_threads(self, given: Sequence[Any]) -> float:
        """Two callers share one engine, each with a workspace by the time the clock starts."""
        ask = self.prepared()
        for one in given:
            ask(one)

        def caller(which: int, end: float) -> int:
            done = 0
            while not done or time.perf_counter() < end:
                ask(given[(done + which) % len(given)])
                done += 1
            return done

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(caller, range(2), (0.0, 0.0)))
            start = time.perf_counter()
            done = sum(pool.map(caller, range(2), (start + TWO_THREADS,) * 2))
            return (time.perf_counter() - start) / done


class Agrum:
    """One of pyAgrum's engines; it keeps its tree if only values change."""

    def __init__(self, path: str, kind: str) -> None:
        import pyagrum as gum

        from benchmarks.peers import pyagrum_of

        self.kind = getattr(gum, kind)
        self.bn = pyagrum_of(path)
        self.names = [self.bn.variable(v).name() for v in self.bn.nodes()]

    def given(self, findings: Findings) -> Any:
        return dict(findings)

    def prepared(self, threads: int = 1) -> Ask:
        engine = self.kind(self.bn)
        engine.setNumberOfThreads(threads)
        last: list[str] = []

        def ask(given: Mapping[str, Any]) -> object:
            if last and last == list(given):
                for name, found in given.items():
                    engine.chgEvidence(name, found)
            else:
                engine.eraseAllEvidence()
                engine.setEvidence(given)
                last[:] = given
            engine.makeInference()
            return [engine.posterior(name).toarray() for name in self.names]

        return ask

    def two_threads(self, given: Sequence[Any]) -> float:
        """One caller, whose engine may use two threads."""
        ask = self.prepared(threads=2)
        ask(given[-1])
        start = time.perf_counter()
        done = 0
        while not done or time.perf_counter() < start + TWO_THREADS:
            ask(given[done % len(given)])
            done += 1
        return (time.perf_counter() - start) / done


class Pgmpy:
    """One query per variable, each with its own pruning; only the object is kept between findings."""

    def __init__(self, path: str) -> None:
        from pgmpy.inference import VariableElimination

        from benchmarks.peers import pgmpy_of

        self.model, self.kind = pgmpy_of(path), VariableElimination

    def given(self, findings: Findings) -> Any:
        """Flat likelihoods change nothing and are left out."""
        return {name: found for name, found in findings.items() if isinstance(found, int)}

    def prepared(self) -> Ask:
        engine, names = self.kind(self.model), list(self.model.nodes())

        def ask(given: Any) -> object:
            asked = [name for name in names if name not in given]
            return [engine.query([name], evidence=given, show_progress=False).values for name in asked]

        return ask

    def two_threads(self, given: Sequence[Any]) -> float:
        raise NotImplementedError("pgmpy has no threads to set")


@cache
def _compiled() -> None:
    networks.compile_kernels()


AGRUM = {
    "pyagrum lazy": "LazyPropagation",
    "pyagrum Shafer-Shenoy": "ShaferShenoyInference",
    "pyagrum elimination": "VariableElimination",
}
MODULES = {"sepset": "sepset", **dict.fromkeys(AGRUM, "pyagrum"), "pgmpy": "pgmpy"}
PEERS = tuple(name for name in MODULES if name != "sepset")


def library(name: str, path: str) -> Library:
    """The library's model of a network's file."""
    if name in AGRUM:
        return Agrum(path, AGRUM[name])
    return Sepset(path) if name == "sepset" else Pgmpy(path)


def load(name: str, path: str) -> None:
    """Import a library and read a network's file, which count in no measurement: models are cached."""
    library(name, path)


def cold(name: str, path: str, found: Sequence[Findings]) -> Timing:
    """A model in memory: plan, run, read every posterior."""
    made = library(name, path)
    given = made.given(found[0])
    return measure(lambda: made.prepared()(given))


def hot(name: str, path: str, found: Sequence[Findings]) -> Timing:
    """An engine that has answered for these variables: new values, run, read every posterior; a complete round is
    timed, since some changes of values affect more of a model than others."""
    made = library(name, path)
    given = [made.given(one) for one in found]
    ask = made.prepared()
    for one in given if name == "sepset" else given[-1:]:  # ours searches for better plans in its first calls
        ask(one)
    return measure(lambda: [ask(one) for one in given], calls=len(given))


def unseen(name: str, path: str, found: Sequence[Findings]) -> Timing:
    """An engine that has answered for other variables: each set is asked once, and a new round has a new engine."""
    made = library(name, path)
    first, *rest = (made.given(one) for one in found)
    times: list[float] = []
    while not times or (len(times) < ROUNDS and times[0] * len(rest) < SLOW):
        ask = made.prepared()
        ask(first)
        start = now()
        for one in rest:
            ask(one)
        times.append((now() - start) / len(rest))
    return Timing(min(times), statistics.median(times), len(times))


def hot_two_threads(name: str, path: str, found: Sequence[Findings]) -> Timing:
    """As `hot`, with two threads."""
    made = library(name, path)
    each = made.two_threads([made.given(one) for one in found])
    return Timing(each, each, 1)
