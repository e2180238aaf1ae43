"""The outcome of a search over a score table: the best DAG found, and a bound on all of them."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.threads import interruptible
from sepset.inference.iterate import Until
from sepset.inference.result import Status
from sepset.kernels.structure.tables import best_in, improve_order
from sepset.learning.structure.exact.scoretable import ScoreTable

TIGHT = 1e-9
"""The relative difference of score and bound that counts as proof: rounding of sums and of linear programs."""


@dataclass(frozen=True)
class Optimum:
    """The best DAG found in a score table.

    Attributes:
        parents: one mask of parents per column.
        score: of the DAG.
        bound: an upper bound on the score of every DAG; equal to the score if the search was completed.
        status: how the search ended.
        num_steps: sets that were expanded, or programs that were solved.
    """

    parents: tuple[int, ...]
    score: float
    _: KW_ONLY
    bound: float
    status: Status = Status.COMPLETED
    num_steps: int = 0

    @property
    def gap(self) -> float:
        """The largest possible distance of the score from the optimum."""
        return max(self.bound - self.score, 0.0)

    @property
    def is_proved(self) -> bool:
        """Whether the bound proves that no DAG is better."""
        return self.gap <= TIGHT * (1.0 + abs(self.score))


@dataclass
class Clock:
    """The time and the steps that are left to a search.

    Args:
        until: the limits; None for none.
    """

    until: Until | None
    since: float = field(default_factory=time.monotonic)

    def status(self, steps: int) -> Status | None:
        """The reason to stop after this many steps, or None."""
        if self.until is None:
            return None
        if self.until.steps is not None and steps >= self.until.steps:
            return Status.STEP_LIMIT
        return Status.TIME_LIMIT if self.left() <= 0 else None

    def left(self) -> float:
        """The seconds that are left."""
        if self.until is None or self.until.seconds is None:
            return np.inf
        return self.until.seconds - (time.monotonic() - self.since)


def along(table: ScoreTable, order: Ints) -> tuple[tuple[int, ...], float]:
    """The best DAG whose edges all go forward in an order, and its score."""
    parents, score, before = [0] * table.num_columns, 0.0, 0
    for v in order.tolist():
        at = int(best_in(table.starts, table.masks, v, before))
        score += float(table.scores[at]) if at >= 0 else -np.inf
        parents[v] = int(table.masks[at]) if at >= 0 else 0
        before |= 1 << v
    return tuple(parents), score


def incumbent(table: ScoreTable, rng: np.random.Generator, restarts: int = 10) -> Optimum:
    """A good DAG: orders drawn at random, in which columns move to their best places until none improves."""
    best: tuple[tuple[int, ...], float] = ((0,) * table.num_columns, -np.inf)
    for _ in range(max(restarts, 1)):
        order = rng.permutation(table.num_columns).astype(np.int64)
        interruptible(lambda cancel, o=order: improve_order(table.starts, table.masks, table.scores, o, cancel))  # type: ignore[misc]
        found = along(table, order)
        if found[1] > best[1]:
            best = found
    return Optimum(best[0], best[1], bound=relaxed(table))


def relaxed(table: ScoreTable) -> float:
    """The sum of every column's best score, cycles allowed: an upper bound on all DAGs."""
    return float(table.scores[table.starts[:-1]].sum())
