"""AND/OR search: the best assignment with proof, branches that are independent searched apart and no context twice."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import whole
from sepset.base.threads import interruptible
from sepset.inference.assignment import AssignmentTask, Certificate, Found, best_of
from sepset.inference.iterate import Info, Until, as_until
from sepset.inference.map.coordinates import improved
from sepset.inference.map.dual import AGREE, bound_of
from sepset.inference.map.mplp import MPLP
from sepset.inference.map.search.boundedtree import BoundedTree
from sepset.inference.result import Guarantee, Status
from sepset.kernels.map.andor import AT, HITS, MOVES, NODES, Frames, and_or

LEAST_MOVES, MOST_MOVES = 2**9, 2**20
"""The number of moves of the first step and of the longest one; each step has twice as many as the one before."""

SLACK = 1e-13
"""A branch must be better by this part of the bound, or by this much if the bound is small: less is rounding."""


@dataclass(frozen=True, eq=False)
class Explored:
    """The state of an AND/OR search.

    Attributes:
        messages: those that the factors and variables exchanged before.
        limit: the bound that they prove.
        first: the assignment that they suggest.
        codes: the best assignment so far.
        frames: the open nodes and the caches, which further steps change.
        steps: the number of steps so far.
    """

    messages: Floats
    limit: float
    first: Ints
    codes: Ints
    frames: Frames
    steps: int = 0


@dataclass(frozen=True)
class AndOrSearch:
    """The best assignment by depth-first branch and bound over an AND/OR tree with caches.

    A pseudo tree of an elimination order has branches that are independent given the states above them, and a branch
    depends on its context only: its best value is stored and never searched again. `MPLP` gives a first assignment and
    messages; mini-buckets of the model after these messages bound the branches.

    Args:
        entries: the most entries of a mini-bucket's table: more give better bounds.
        cache: the most numbers that caches store; contexts with few joint states come first. 0 stores nothing.
        rounds: the most rounds of messages.

    Cost: exponential in the depth of the pseudo tree at worst; in the width of the elimination order if all contexts
        fit into the caches. Little where the bounds are good.
    Reference: Marinescu & Dechter (2009), Memory intensive AND/OR search for combinatorial optimization in graphical
        models.
    Guarantee: exact if it ends; a valid bound whenever it is stopped.
    Tested by: inference/map/search/test_andor.py::test_the_best_assignment_by_enumeration

    >>> import sepset as ss
    >>> found = ss.map_assignment(ss.datasets.load("alarm"), method=ss.inference.AndOrSearch(entries=8))
    >>> found.guarantees["assignment"], found.certificate.check()
    (EXACT, True)
    >>> abs(found.log_value - ss.map_assignment(ss.datasets.load("alarm")).log_value) < 1e-9
    True
    """

    entries: int = 2**14
    cache: int = 2**23
    _: KW_ONLY
    rounds: int = 100

    def __post_init__(self) -> None:
        whole("AndOrSearch(entries=)", self.entries, least=1)
        whole("AndOrSearch(cache=)", self.cache, least=0)
        whole("AndOrSearch(rounds=)", self.rounds, least=1)

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignment, proved if the search ended."""
        task.require_all(self)
        task.wiring.require_tables(self)
        search = _Search(self)
        done = task.iterated(search, until=Until(steps=None, tolerance=0.0), codec=_ExploredCodec())
        state, tree = done.state, search.tree(task, done.state.messages)
        codes, value = search.best(task, state)
        bound, counters = search.bound(task, state, value), state.frames.counters
        return Found(
            codes[None],
            (value,),
            bound=bound,
            guarantee=Guarantee.HEURISTIC,
            certificate=_certificate(task, self, state, bound),
            status=done.status,
            trace=done.trace,
            info={
                "seconds": round(done.seconds, 3),
                "nodes": int(counters[NODES]),
                "cached": int(counters[HITS]),
                "depth": tree.pseudo.depth,
                "width": max(len(c) for c in tree.pseudo.contexts),
            },
        )


class _Search:
    """The iteration of an AND/OR search; keeps its tree between steps.

    Args:
        method: the settings.
    """

    def __init__(self, method: AndOrSearch) -> None:
        self.method = method
        self._made: BoundedTree | None = None

    def __repr__(self) -> str:
        return repr(self.method)

    def tree(self, task: AssignmentTask, messages: Floats) -> BoundedTree:
        """The tree of the model after messages."""
        if self._made is None:
            wiring, method = task.wiring.consistent, self.method
            self._made = BoundedTree.of(wiring, messages, entries=method.entries, cache=method.cache)
        return self._made

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Explored:
        """Messages, a first assignment, and the root."""
        wiring, rule = task.wiring.consistent, as_until(task.until, Until(steps=None, tolerance=0.0))
        seconds = None if rule.seconds is None else rule.seconds / 4.0
        until = Until(steps=self.method.rounds, tolerance=1e-5, seconds=seconds)
        done = task.again(until=until, checkpoint=None, progress=False).iterated(MPLP(), until=until)
        passed = MPLP().decoded(wiring, done.state)
        task.known.note(passed.codes, passed.messages)
        if done.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        limit = min(passed.bound, bound_of(wiring, passed.messages))
        messages = passed.messages if limit > -np.inf else np.zeros(len(passed.messages))
        return Explored(messages, limit, passed.codes, passed.codes, self.tree(task, messages).frames())

    def step(self, task: AssignmentTask, state: Explored, rng: np.random.Generator) -> tuple[Explored, Info]:
        """Some more moves, twice as many as before."""
        return self.advanced(task, state, min(LEAST_MOVES * 2 ** min(state.steps, 30), MOST_MOVES))

    def advanced(self, task: AssignmentTask, state: Explored, moves: int) -> tuple[Explored, Info]:
        """The best assignment of what is done so far, then some more moves."""
        tree, frames = self.tree(task, state.messages), state.frames
        codes, value = self.best(task, state)
        frames.needed[0] = max(frames.needed[0], value - tree.constant if value > -np.inf else -np.inf)
        slack = SLACK * max(1.0, abs(state.limit) if np.isfinite(state.limit) else 1.0)
        interruptible(lambda cancel: and_or(tree.tree, frames, moves, slack, cancel), is_partial=True)
        found = replace(state, codes=codes, steps=state.steps + 1)
        bound = self.bound(task, found, value)
        return found, Info(-bound, np.inf, is_done=bool(frames.counters[AT] < 0), gap=float(bound) - float(value))

    def best(self, task: AssignmentTask, state: Explored) -> tuple[Ints, float]:
        """The better one of the assignment so far and that of what is done, and its value."""
        found = self.tree(task, state.messages).solution(state.frames, state.codes)
        if state.frames.counters[AT] >= 0:
            found = improved(task.wiring, found)
        return best_of([state.codes, found], task.wiring)

    def bound(self, task: AssignmentTask, state: Explored, value: float) -> float:
        """The most that an assignment can have, with a value that is known."""
        return min(state.limit, max(value, self.tree(task, state.messages).bound(state.frames)))


def _certificate(task: AssignmentTask, method: AndOrSearch, state: Explored, bound: float) -> Certificate:
    return Certificate(
        f"No assignment has a log value above {bound:.10g}.",
        "An AND/OR search in which every branch that was left out has a mini-bucket bound that is not above it.",
        verify=partial(_proves, task, method, state, int(state.frames.counters[MOVES]), bound),
    )


def _proves(task: AssignmentTask, method: AndOrSearch, state: Explored, moves: int, bound: float) -> bool:
    """Whether the search, done again from the same messages, arrives at the bound."""
    search, limit = _Search(method), bound_of(task.wiring.consistent, state.messages)
    frames = search.tree(task, state.messages).frames()
    again = Explored(state.messages, limit, state.first, state.first, frames)
    for _ in range(state.steps):
        again, _info = search.step(task, again, task.rng)
    if frames.counters[MOVES] < moves:  # of a step that was interrupted
        again, _info = search.advanced(task, again, moves - int(frames.counters[MOVES]))
    found = search.bound(task, again, search.best(task, again)[1])
    return found == bound or found <= bound + AGREE * max(1.0, abs(bound))


class _ExploredCodec:
    """Stores the state of a search in a checkpoint."""

    def pack(self, state: Explored) -> object:
        return {**vars(state), "frames": state.frames._asdict()}

    def unpack(self, content: dict[str, Any]) -> Explored:
        frames = Frames(**{name: np.array(array) for name, array in content["frames"].items()})
        first, codes = (np.array(content[name], np.int64) for name in ("first", "codes"))
        messages = np.array(content["messages"], np.float64)
        return Explored(messages, float(content["limit"]), first, codes, frames, int(content["steps"]))
