"""Branch and bound: the best assignments with proof, and a valid bound whenever the search is stopped."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import whole
from sepset.base.threads import interruptible
from sepset.inference.assignment import AssignmentTask, Certificate, Found
from sepset.inference.iterate import Info, Until, as_until
from sepset.inference.map.dual import AGREE, bound_of
from sepset.inference.map.minibuckets import MiniBuckets
from sepset.inference.map.mplp import MPLP
from sepset.inference.result import Guarantee, Status
from sepset.kernels.map.branching import branch_and_bound, branch_values, level

LEAST_NODES, MOST_NODES = 2**8, 2**18
"""The number of nodes of the first step and of the longest one; each step has twice as many as the one before."""


@dataclass(frozen=True)
class Branched:
    """The state of a depth-first search.

    Attributes:
        messages: those that the factors and variables exchanged before.
        limit: the bound that they prove.
        codes: the present assignment in search order, up to the depth.
        open_values: the bounds of the states of each variable, -inf where they were taken.
        values: the values of the best assignments so far, in decreasing order, -inf where fewer are known.
        found: their codes in search order, one row after the other.
        depth: the variable whose states are compared, -1 at the end.
        nodes: the number of nodes so far.
    """

    messages: Floats
    limit: float
    codes: Ints
    open_values: Floats
    values: Floats
    found: Ints
    depth: int
    nodes: int = 0

    @property
    def bound(self) -> float:
        """The most that an assignment can have: the best known one, or the best open branch."""
        open_bound = max(level(float(self.values[0])), float(self.open_values.max(initial=-np.inf)))
        return min(self.limit, open_bound)

    @property
    def others(self) -> float:
        """The most that an assignment can have that is not among the best."""
        return min(self.limit, max(level(float(self.values[-1])), float(self.open_values.max(initial=-np.inf))))


@dataclass(frozen=True)
class BranchAndBound:
    """The best assignments by a depth-first search that leaves out what a bound shows to be no better.

    `MPLP` gives a first assignment and messages; mini-buckets of the model after these messages give the bounds.

    Args:
        entries: the most entries of a mini-bucket's table: more give better bounds.
        rounds: the most rounds of messages.

    Cost: exponential in the number of variables at worst; little where the bounds are good.
    Reference: Kask & Dechter (2001); Koller & Friedman, section 13.7 and exercise 13.18.
    Guarantee: exact if it ends, also the k best; a valid bound whenever it is stopped.
    Tested by: inference/map/test_branching.py::test_the_best_assignments_by_enumeration

    >>> import sepset as ss
    >>> found = ss.map_assignment(ss.datasets.load("asia"), k=3, method=ss.BranchAndBound())
    >>> np.exp(found.log_values).round(4).tolist()
    [0.2904, 0.2011, 0.1508]
    >>> found.guarantees["assignment"], found.certificate.check()
    (EXACT, True)
    """

    entries: int = 2**14
    rounds: int = 100

    def __post_init__(self) -> None:
        whole("BranchAndBound(entries=)", self.entries, least=1)
        whole("BranchAndBound(rounds=)", self.rounds, least=1)

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignments, proved if the search ended."""
        if task.over is not None:
            task.require_all(self)
        task.wiring.require_tables(self)
        search = _Search(self)
        done = task.iterated(search, until=Until(steps=None, tolerance=0.0), codec=_BranchedCodec())
        state, order = done.state, search.buckets(task, done.state.messages).order
        known = max(1, int((state.values > -np.inf).sum()))
        codes = np.empty((known, len(order)), np.int64)
        codes[:, order] = state.found.reshape(len(state.values), len(order))[:known]
        return Found(
            codes,
            tuple(task.wiring.log_value(row) for row in codes),
            bound=state.bound,
            guarantee=Guarantee.HEURISTIC,
            certificate=_certificate(task, self, state),
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "nodes": state.nodes},
            others=state.others if task.k > 1 else -np.inf,
        )


class _Search:
    """The iteration of branch and bound; keeps the mini-buckets between its steps.

    Args:
        method: the settings.
    """

    def __init__(self, method: BranchAndBound) -> None:
        self.method = method
        self._made: MiniBuckets | None = None

    def __repr__(self) -> str:
        return repr(self.method)

    def buckets(self, task: AssignmentTask, messages: Floats) -> MiniBuckets:
        """The mini-buckets of the model after messages."""
        if self._made is None:
            self._made = MiniBuckets.of(task.wiring.consistent, messages, entries=self.method.entries)
        return self._made

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Branched:
        """Messages, a first assignment, and the bounds of the first variable's states."""
        wiring, rule = task.wiring.consistent, as_until(task.until, Until(steps=None, tolerance=0.0))
        seconds = None if rule.seconds is None else rule.seconds / 4.0
        until = Until(steps=self.method.rounds, tolerance=1e-5, seconds=seconds)
        first = task.again(k=1, until=until, checkpoint=None, progress=False)
        done = first.iterated(MPLP(), until=until)
        passed = MPLP().decoded(wiring, done.state)
        task.known.note(passed.codes, passed.messages)
        if done.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        limit = bound_of(wiring, passed.messages) if passed.bound > -np.inf else passed.bound
        messages = passed.messages if limit > -np.inf else np.zeros(len(passed.messages))
        return self.begun(task, messages, limit, passed.codes)

    def begun(self, task: AssignmentTask, messages: Floats, limit: float, codes: Ints) -> Branched:
        """The search before its first node, with an assignment that is known."""
        made, n = self.buckets(task, messages), task.wiring.num_variables
        values, found = np.full(task.k, -np.inf), np.tile(codes[made.order], task.k)
        if task.k == 1 or n == 0:
            values[0] = task.wiring.log_value(codes)
        open_values, path = np.full(int(made.buckets.states[-1]), -np.inf), np.zeros(n, np.int64)
        if n == 0 or made.root == -np.inf:
            return Branched(messages, limit, path, open_values, values, found, -1)
        branch_values(made.buckets, 0, path, made.root, open_values)
        return Branched(messages, limit, path, open_values, values, found, 0)

    def step(self, task: AssignmentTask, state: Branched, rng: np.random.Generator) -> tuple[Branched, Info]:
        """Some more nodes, twice as many as before."""
        return self.searched(task, state, min(max(LEAST_NODES, state.nodes), MOST_NODES))

    def searched(self, task: AssignmentTask, state: Branched, nodes: int) -> tuple[Branched, Info]:
        """The state after some more nodes."""
        made = self.buckets(task, state.messages).buckets
        codes, left = state.codes.copy(), state.open_values.copy()
        values, rows = state.values.copy(), state.found.copy()
        depth = interruptible(
            lambda cancel: branch_and_bound(made, nodes, codes, left, values, rows, state.depth, cancel)
        )
        found = Branched(state.messages, state.limit, codes, left, values, rows, depth, state.nodes + nodes)
        return found, Info(-found.bound, np.inf, is_done=depth < 0, gap=found.bound - float(values[0]))


def _certificate(task: AssignmentTask, method: BranchAndBound, state: Branched) -> Certificate:
    return Certificate(
        f"No assignment has a log value above {state.bound:.10g}.",
        "A depth-first search in which every branch that was left out has a mini-bucket bound that is not above it.",
        verify=partial(_proves, task, method, state),
    )


def _proves(task: AssignmentTask, method: BranchAndBound, state: Branched) -> bool:
    """Whether the search, done again with the value that is known, arrives at the bound."""
    search, wiring = _Search(method), task.wiring.consistent
    order = search.buckets(task, state.messages).order
    codes = np.empty(len(order), np.int64)
    codes[order] = state.found[: len(order)]
    begun = search.begun(task.again(k=1), state.messages, bound_of(wiring, state.messages), codes)
    found, _ = search.searched(task, begun, state.nodes)
    return found.bound == state.bound or found.bound <= state.bound + AGREE * max(1.0, abs(state.bound))


class _BranchedCodec:
    """Stores the state of a search in a checkpoint."""

    def pack(self, state: Branched) -> object:
        return dict(vars(state))

    def unpack(self, content: dict[str, Any]) -> Branched:
        floats = {name: np.array(content[name], np.float64) for name in ("messages", "open_values", "values")}
        ints = {name: np.array(content[name], np.int64) for name in ("codes", "found")}
        rest = {"limit": float(content["limit"]), "depth": int(content["depth"]), "nodes": int(content["nodes"])}
        return Branched(**floats, **ints, **rest)  # type: ignore[arg-type]
