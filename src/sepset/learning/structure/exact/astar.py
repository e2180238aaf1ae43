r"""The best DAG by A* over the sets of columns that come first in an order, with pattern databases.

A path from the empty to the full set places one column after another; placing $v$ after $S$ costs
$-\max_{U \subseteq S} F(v \mid U)$. What is left is estimated from below: within each of a few groups of columns the
order is exact, and parents outside the group are free.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.text import readable
from sepset.base.threads import interruptible
from sepset.errors import TooLarge
from sepset.inference.iterate import Until
from sepset.inference.result import Status
from sepset.kernels.structure.astar import FINISHED, FULL, expand, pattern_costs, rehash
from sepset.learning.structure.exact.optimum import TIGHT, Clock, Optimum, along, incumbent
from sepset.learning.structure.exact.scoretable import ScoreTable

GROUP = 14
"""The most columns in a group of the pattern database."""

START = 1 << 12
"""The room for sets at the beginning."""

BLOCK = 20_000
"""Sets that are expanded between two checks of the clock."""


@dataclass
class _Frontier:
    """The sets that are known, and those that wait to be expanded."""

    keys: Ints = field(default_factory=lambda: np.zeros(START, np.int64))
    costs: Floats = field(default_factory=lambda: np.full(START, np.inf))
    last: Bytes = field(default_factory=lambda: np.zeros(START, np.uint8))
    heap: Floats = field(default_factory=lambda: np.zeros(START))
    items: Ints = field(default_factory=lambda: np.zeros(START, np.int64))
    counts: Ints = field(default_factory=lambda: np.zeros(3, np.int64))

    @property
    def num_bytes(self) -> int:
        return 17 * len(self.keys) + 16 * len(self.heap)

    def grow(self) -> None:
        if 2 * (self.counts[0] + 64) > len(self.keys):
            size = 2 * len(self.keys)
            made = np.zeros(size, np.int64), np.full(size, np.inf), np.zeros(size, np.uint8)
            rehash(self.keys, self.costs, self.last, *made)
            self.keys, self.costs, self.last = made
        if self.counts[1] + 64 > len(self.heap):
            self.heap, self.items = np.resize(self.heap, 2 * len(self.heap)), np.resize(self.items, 2 * len(self.items))


@dataclass(frozen=True)
class _Patterns:
    """The pattern databases: groups of columns one after another, and the costs of their subsets."""

    groups: Ints
    ends: Ints
    costs: Floats
    offsets: Ints


def astar(
    table: ScoreTable,
    *,
    until: Until | None = None,
    max_bytes: float = 2.0**33,
    rng: np.random.Generator | None = None,
) -> Optimum:
    """The best DAG of a score table, or the best known with a bound when the limits end the search.

    Args:
        table: the score table; it is pruned first.
        until: the largest number of expanded sets, and of seconds.
        max_bytes: the largest size of the tables of known and waiting sets.
        rng: for the orders from which a first DAG is found.

    Reference: Yuan & Malone (2013).
    Guarantee: exact, with the proof that the bound is the score; otherwise the gap.
    Tested by: learning/structure/exact/test_astar.py::test_equals_dynamic_programming
    """
    if not table.num_columns:
        return Optimum((), 0.0, bound=0.0)
    table = table.pruned()
    clock = Clock(until)
    known = incumbent(table, np.random.default_rng(0) if rng is None else rng)
    patterns = _patterns(table)
    frontier = _Frontier()
    full = (1 << table.num_columns) - 1
    _begin(frontier, patterns)
    slack = TIGHT * (1.0 + abs(known.score))
    ceiling = -known.score - slack
    while True:
        code = int(interruptible(lambda cancel: _expand(table, patterns, frontier, ceiling, cancel)))
        steps, waiting = int(frontier.counts[2]), int(frontier.counts[1])
        bound = -float(frontier.heap[0]) if waiting else known.score
        if code == FINISHED:
            break
        status = clock.status(steps)
        if status is not None:
            return Optimum(known.parents, known.score, bound=max(bound, known.score), status=status, num_steps=steps)
        if code == FULL:
            if 2 * frontier.num_bytes > max_bytes:
                raise TooLarge(
                    f"A* knows {int(frontier.counts[0]):,} sets of columns in {readable(frontier.num_bytes)}; the "
                    f"limit is {readable(max_bytes)}, and the gap still {bound - known.score:.4g}. Use "
                    "ExactSearch(method='integer'), fewer parents, or until= to take the best DAG with its gap."
                )
            frontier.grow()
    if not waiting or frontier.items[0] != full:
        return Optimum(known.parents, known.score, bound=known.score, status=Status.COMPLETED, num_steps=steps)
    parents, score = along(table, _order(frontier, full))
    return Optimum(parents, score, bound=score, status=Status.COMPLETED, num_steps=steps)


def _expand(table: ScoreTable, patterns: _Patterns, frontier: _Frontier, ceiling: float, cancel: Bytes) -> int:
    found: int = expand(
        table.starts,
        table.masks,
        table.scores,
        patterns.groups,
        patterns.ends,
        patterns.costs,
        patterns.offsets,
        frontier.keys,
        frontier.costs,
        frontier.last,
        frontier.heap,
        frontier.items,
        frontier.counts,
        ceiling,
        BLOCK,
        cancel,
    )
    return found


def _begin(frontier: _Frontier, patterns: _Patterns) -> None:
    ends = np.concatenate([patterns.offsets[1:], [len(patterns.costs)]]) - 1
    frontier.keys[0], frontier.costs[0] = 1, 0.0
    frontier.heap[0], frontier.items[0] = float(patterns.costs[ends].sum()), 0
    frontier.counts[:2] = 1


def _patterns(table: ScoreTable) -> _Patterns:
    n = table.num_columns
    count = max(-(-n // GROUP), min(2, n))
    parts = np.array_split(_related(table), count)
    costs = []
    for group in parts:
        found = np.empty(1 << len(group))
        interruptible(
            lambda cancel, g=group, f=found: pattern_costs(table.starts, table.masks, table.scores, g, f, cancel)  # type: ignore[misc]
        )
        costs.append(found)
    sizes = [len(c) for c in costs]
    return _Patterns(
        np.concatenate(parts).astype(np.int64),
        np.cumsum([len(p) for p in parts]).astype(np.int64),
        np.concatenate(costs),
        np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
    )


def _related(table: ScoreTable) -> Ints:
    """The columns, each next to those that are parents in its best sets: cycles inside a group are what it sees."""
    n = table.num_columns
    links = np.zeros((n, n))
    for child in range(n):
        masks, scores = table.of(child)
        top = masks[: max(1, min(len(masks), 20))]
        gain = scores[: len(top)] - scores[-1]
        for parent in range(n):
            links[child, parent] += float(gain[(top >> parent & 1) == 1].sum())
    links = links + links.T
    order, waiting, pull = [0], set(range(1, n)), links[0]
    while waiting:
        nearest = max(waiting, key=lambda v: (pull[v], -v))
        waiting.remove(nearest)
        order.append(nearest)
        pull = 0.5 * pull + links[nearest]
    return np.array(order, np.int64)


def _order(frontier: _Frontier, full: int) -> Ints:
    """The order in which columns were placed on the way to the full set."""
    order: list[int] = []
    mask = full
    while mask:
        at = int(np.flatnonzero(frontier.keys == mask + 1)[0])
        order.append(int(frontier.last[at]) & 127)
        mask ^= 1 << order[-1]
    return np.array(order[::-1], np.int64)
