"""Hybrid best-first search: the best assignments with proof, by soft local consistency on a reduced model."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.checks import whole
from sepset.base.threads import interruptible
from sepset.errors import NotApplicable
from sepset.inference.assignment import PROVED, AssignmentTask, Certificate, Found, best_of
from sepset.inference.iterate import Info, Until
from sepset.inference.map.consistency.functions import CostFunctions
from sepset.inference.map.consistency.part import Part, Progress, rows
from sepset.inference.map.consistency.persistency import without_needless
from sepset.inference.map.consistency.wholecosts import WholeCosts
from sepset.inference.result import Guarantee
from sepset.kernels.map.depthfirst import BACKTRACKS, NODES

LEAST, MOST = 2**5, 2**9
"""The backtracks of the first step and of the longest one; each step has twice as many as the one before."""

ROUNDS = 100
"""The most rounds of messages before states are proved needless."""


@dataclass(frozen=True, eq=False)
class Searched:
    """The state of a search: one progress per part."""

    parts: tuple[Progress, ...]
    steps: int = 0


@dataclass(frozen=True)
class HybridBestFirst:
    """The best assignments by hybrid best-first search over a network of costs that is kept soft arc consistent.

    Variables with few neighbors are eliminated and dominated states removed; each connected part of what is left is
    searched apart. Sweeps of messages raise its lower bound, and go on whenever the search has taken as long as all of
    them. Every node is made existentially and directionally arc consistent. The open node with the best bound is
    searched next, depth first for a while.

    Args:
        entries: the most entries of a table that an elimination leaves.
        sweeps: the most sweeps of messages.
        virtual: the most rises of the bound by virtual arc consistency before the search.
        persistency: whether states that `Persistency` proves needless are removed first; for one best assignment.

    Cost: exponential in the number of variables at worst; little where the bounds are good.
    Reference: Allouche, de Givry, Katsirelos, Schiex & Zytnicki (2015), Anytime hybrid best-first search with tree
        decomposition for weighted CSP; Cooper et al. (2010), Soft arc consistency revisited.
    Guarantee: exact if it ends, also the k best; a valid bound whenever it is stopped.
    Tested by: inference/map/consistency/test_bestfirst.py::test_the_best_assignments_by_enumeration

    >>> import sepset as ss
    >>> found = ss.map_assignment(ss.datasets.load("asia"), k=3, method=ss.inference.HybridBestFirst())
    >>> np.exp(found.log_values).round(4).tolist()
    [0.2904, 0.2011, 0.1508]
    >>> found.guarantees["assignment"], found.certificate.check()
    (EXACT, True)
    """

    entries: int = 256
    sweeps: int = 1000
    _: KW_ONLY
    virtual: int = 0
    persistency: bool = False

    def __post_init__(self) -> None:
        whole("HybridBestFirst(entries=)", self.entries, least=1)
        whole("HybridBestFirst(sweeps=)", self.sweeps, least=0)
        whole("HybridBestFirst(virtual=)", self.virtual, least=0)

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignments, proved if the search ended."""
        if task.over is not None:
            task.require_all(self)
        task.wiring.require_tables(self)
        if self.persistency and task.k > 1:
            raise NotApplicable(
                f"HybridBestFirst(persistency=True) keeps one best assignment; found k={task.k}. Leave persistency out."
            )
        with task.limited():  # one thread for all of the preparation
            search = interruptible(lambda _: _Search(self, task), is_partial=True)
        done = task.iterated(search, until=Until(steps=None, tolerance=0.0), codec=_SearchedCodec())
        codes, state = search.assignments(done.state), done.state
        backtracks, nodes = (sum(int(p.counters[which]) for p in state.parts) for which in (BACKTRACKS, NODES))
        return Found(
            codes,
            tuple(task.wiring.log_value(row) for row in codes),
            bound=search.bound(state),
            guarantee=Guarantee.HEURISTIC,
            certificate=_certificate(task, self, (search.bound(state), search.others(state)), state.steps),
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "nodes": nodes, "backtracks": backtracks, **search.sizes()},
            others=search.others(state),
        )


class _Search:
    """The iteration of a hybrid best-first search; keeps the networks of its parts between steps.

    Args:
        method: the settings.
        task: the question.
    """

    def __init__(self, method: HybridBestFirst, task: AssignmentTask) -> None:
        self.method, self.task = method, task
        self.first, wiring = task.first_codes(), task.wiring.consistent
        if method.persistency:
            wiring = without_needless(wiring, self.first, ROUNDS)
        self.functions = CostFunctions.of(wiring)
        grouped = [np.arange(len(self.functions.cards))]
        if task.k == 1:
            self.functions.reduce(method.entries)
            grouped = self.functions.components()
        self.functions.absorb()
        self.is_possible = self.functions.is_possible
        self.parts = [self._part(variables) for variables in grouped] if self.is_possible else []

    def __repr__(self) -> str:
        return repr(self.method)

    def _part(self, variables: Ints) -> Part:
        """The search of a connected part, which knows the assignment that the task starts with."""
        costs = WholeCosts.of(self.functions, variables, known=self.first if self.task.k == 1 else None)
        return Part(costs, self.task.k, self.first[costs.variables], self.method.sweeps, self.method.virtual)

    def sizes(self) -> dict[str, object]:
        """The numbers of variables that were eliminated, and that the parts have."""
        return {"eliminated": self.functions.num_eliminated, "searched": [len(p.costs.variables) for p in self.parts]}

    def bound(self, state: Searched) -> float:
        """The most that an assignment can have."""
        if not self.is_possible:
            return -math.inf
        lower = [_lower(part, progress) for part, progress in zip(self.parts, state.parts, strict=True)]
        return -math.fsum([self.functions.constant, *lower])

    def others(self, state: Searched) -> float:
        """The most that an assignment can have that is not among several best ones, all of one part."""
        if self.task.k == 1 or not self.parts:
            return -math.inf
        costs, progress = self.parts[0].costs, state.parts[0]
        least = min([int(progress.best[-1]), *(bound for bound, *_ in progress.nodes[:1])])
        return -math.inf if least >= costs.most else -(self.functions.constant + costs.real(least))

    def assignments(self, state: Searched) -> Ints:
        """The best assignments so far, in the order of the wiring."""
        known = [rows(progress, part.costs) for part, progress in zip(self.parts, state.parts, strict=True)]
        found = np.tile(self.first, (min((len(k) for k in known), default=1), 1))
        for part, some in zip(self.parts, known, strict=True):
            found[:, part.costs.variables] = some[: len(found)]
        if self.task.k > 1:
            return found
        return best_of([self.functions.completed(found[0]), self.first], self.task.wiring)[0][None]

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Searched:
        """The search before its first node."""
        return Searched(tuple(part.begun() for part in self.parts))

    def step(self, task: AssignmentTask, state: Searched, rng: np.random.Generator) -> tuple[Searched, Info]:
        """Some more backtracks in the part with the largest gap."""
        parts, open_ = list(state.parts), [n for n, p in enumerate(state.parts) if not p.is_done]
        if open_:
            chosen = max(open_, key=lambda n: self._gap(n, parts[n]))
            backtracks = min(LEAST * 2 ** min(state.steps, 20), MOST)
            search, progress = self.parts[chosen], parts[chosen]  # one descent may take seconds
            parts[chosen] = interruptible(partial(search.advanced, progress, backtracks), is_partial=True)
        found = Searched(tuple(parts), state.steps + 1)
        gap = math.fsum(self._gap(n, p) for n, p in enumerate(parts) if not p.is_done)
        return found, Info(-self.bound(found), np.inf, is_done=all(p.is_done for p in parts), gap=gap)

    def _gap(self, n: int, progress: Progress) -> float:
        part = self.parts[n]
        if progress.best[0] >= part.costs.most:
            return math.inf
        return part.costs.unit * (int(progress.best[0]) - progress.lower)


def _lower(part: Part, progress: Progress) -> float:
    """A lower bound of the cost of a part; infinite if it has no assignment of a positive value."""
    costs = part.costs
    is_empty = progress.is_done and progress.best[0] >= costs.most and not costs.is_limited
    return math.inf if is_empty else costs.real(min(progress.lower, costs.most - 1))


def _certificate(task: AssignmentTask, method: HybridBestFirst, bounds: tuple[float, float], steps: int) -> Certificate:
    rest = f", and none that is not listed above {bounds[1]:.10g}" if task.k > 1 else ""
    return Certificate(
        f"No assignment has a log value above {bounds[0]:.10g}{rest}.",
        "A search in which every branch that was left out has a lower bound of its cost that is not below it.",
        verify=partial(_proves, task, method, bounds, steps),
    )


def _proves(task: AssignmentTask, method: HybridBestFirst, bounds: tuple[float, float], steps: int) -> bool:
    """Whether the search, done again, arrives at the bounds of all assignments and of those that are not listed."""
    search = _Search(method, task)
    state = search.init(task, task.rng)
    for _ in range(steps):
        state, _info = search.step(task, state, task.rng)
    found = zip((search.bound(state), search.others(state)), bounds, strict=True)
    return all(again == bound or again <= bound + PROVED * max(1.0, abs(bound)) for again, bound in found)


class _SearchedCodec:
    """Stores the state of a search in a checkpoint."""

    def pack(self, state: Searched) -> object:
        return {"steps": state.steps, "parts": [_packed(progress) for progress in state.parts]}

    def unpack(self, content: dict[str, Any]) -> Searched:
        return Searched(tuple(_unpacked(part) for part in content["parts"]), int(content["steps"]))


def _packed(progress: Progress) -> dict[str, Any]:
    nodes = progress.nodes
    return {
        **{name: value for name, value in vars(progress).items() if name != "nodes"},
        "bounds": np.array([[bound, number, len(path)] for bound, number, path in nodes], np.int64).reshape(-1, 3),
        "paths": np.concatenate([np.zeros(0, np.int64), *(path for *_, path in nodes)]),
    }


def _unpacked(content: dict[str, Any]) -> Progress:
    bounds = np.array(content["bounds"], np.int64).reshape(-1, 3)
    paths = np.split(np.array(content["paths"], np.int64), np.cumsum(bounds[:, 2])[:-1]) if len(bounds) else []
    nodes = tuple((int(b), int(n), path) for (b, n, _), path in zip(bounds, paths, strict=True))
    arrays = {name: np.array(content[name], np.int64) for name in ("best", "found", "supports", "counters", "cells")}
    return Progress(
        nodes=nodes,
        lower=int(content["lower"]),
        root=int(content["root"]),
        activity=np.array(content["activity"], np.float64),
        live=np.array(content["live"], np.uint8),
        **arrays,
    )
