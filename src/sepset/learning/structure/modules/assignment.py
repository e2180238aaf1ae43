"""Assignments of columns to modules, the parents of each module, and the changes that a search makes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.learning.structure.constraints import Allowed
from sepset.learning.structure.modules.pooledcounts import ModuleTables, PooledCounts

MOVE, ADD, DELETE = range(3)
"""The kinds of changes: a column to another module, a parent more, a parent less."""


class Change(NamedTuple):
    """A change: which kind, of which column, in which module, and the gain of score."""

    kind: int
    column: int
    module: int
    gain: float


class Modules:
    """Columns in modules, with the gain of every change; a change computes only its own modules again.

    Args:
        counts: the pooled counts.
        allowed: the constraints; forbidden edges and the largest number of parents.
        assigned: the module of each column.
        parents: of each module.
    """

    def __init__(self, counts: PooledCounts, allowed: Allowed, assigned: Ints, parents: list[list[int]]) -> None:
        self.counts, self.allowed = counts, allowed
        self.assigned, self.parents = assigned.copy(), [sorted(given) for given in parents]
        self.tables = [self._tables(k) for k in range(len(parents))]

    @property
    def score(self) -> float:
        """The sum of the scores of all modules."""
        return math.fsum(table.now for table in self.tables)

    def _tables(self, k: int) -> ModuleTables:
        return self.counts.tables(self.assigned == k, self.parents[k])

    def changes(self) -> list[Change]:
        """All changes, by their gain; equal gains by kind, column and module."""
        found = [Change(MOVE, x, k, gain) for x, k, gain in self._moves()]
        for k, table in enumerate(self.tables):
            gains = table.added - table.now
            found += [Change(ADD, int(x), k, float(gains[x])) for x in np.flatnonzero(~np.isnan(gains))]
            gone = zip(self.parents[k], (table.removed - table.now).tolist(), strict=True)
            found += [Change(DELETE, x, k, gain) for x, gain in gone]
        return sorted(found, key=lambda c: (-c.gain, c.kind, c.column, c.module))

    def _moves(self) -> Iterator[tuple[int, int, float]]:
        steps = np.array([table.toggled - table.now for table in self.tables])
        n = steps.shape[1]
        gains = steps + steps[self.assigned, np.arange(n)]
        for k, x in np.argwhere(np.arange(len(steps))[:, None] != self.assigned).tolist():
            yield x, k, float(gains[k, x])

    def best(self, tolerance: float) -> Change | None:
        """The legal change of largest gain, where it exceeds the tolerance."""
        for change in self.changes():
            if not change.gain > tolerance:
                return None
            if self.is_legal(change):
                return change
        return None

    def is_legal(self, change: Change) -> bool:
        """Whether the ground network stays acyclic and within the constraints."""
        kind, x, k, _ = change
        forbidden = self.allowed.forbidden
        if kind == DELETE:
            return True
        if kind == ADD:
            members = self.assigned == k
            if len(self.parents[k]) >= self.allowed.max_parents or forbidden[x, members].any():
                return False
            return not self.reach()[k, self.assigned[x]]
        if forbidden[self.parents[k], x].any():
            return False
        moved = self.assigned.copy()
        moved[x] = k
        return is_acyclic(edges_between(moved, self.parents))

    def make(self, change: Change) -> None:
        """Make a change, and compute the scores of its modules again."""
        kind, x, k, _ = change
        touched = {k}
        if kind == MOVE:
            touched.add(int(self.assigned[x]))
            self.assigned[x] = k
        elif kind == ADD:
            self.parents[k] = sorted([*self.parents[k], x])
        else:
            self.parents[k].remove(x)
        for module in touched:
            if not (self.assigned == module).any():
                self.parents[module] = []
            self.tables[module] = self._tables(module)

    def regrow(self, tolerance: float) -> bool:
        """Whether some module has better parents when they are chosen from none again; the first such one has them.

        Parents that were the best when others were not legal yet are replaced so, all at once.
        """
        for k in range(len(self.parents)):
            parents, table = self.parents[k], self.tables[k]
            if not parents:
                continue
            self.parents[k] = []
            self.tables[k] = self._tables(k)
            while (change := self._best_addition(k, tolerance)) is not None:
                self.make(change)
            if self.tables[k].now > table.now + tolerance:
                return True
            self.parents[k], self.tables[k] = parents, table
        return False

    def _best_addition(self, k: int, tolerance: float) -> Change | None:
        gains = self.tables[k].added - self.tables[k].now
        for x in np.argsort(-np.nan_to_num(gains, nan=-np.inf), kind="stable").tolist():
            if not gains[x] > tolerance:
                return None
            change = Change(ADD, x, k, float(gains[x]))
            if self.is_legal(change):
                return change
        return None

    def reach(self) -> Bools:
        """From row to column, whether a module leads to another; each leads to itself."""
        return closure(edges_between(self.assigned, self.parents))


def edges_between(assigned: Ints, parents: list[list[int]]) -> Bools:
    """From row to column, whether a member of one module is a parent of another."""
    edges = np.zeros((len(parents), len(parents)), np.bool_)
    for k, given in enumerate(parents):
        edges[assigned[given], k] = True
    return edges


def closure(edges: Bools) -> Bools:
    """From row to column, whether there is a path, also of no edge."""
    reach = edges | np.eye(len(edges), dtype=np.bool_)
    for middle in range(len(edges)):
        reach |= reach[:, middle : middle + 1] & reach[middle]
    return reach


def is_acyclic(edges: Bools) -> bool:
    """Whether modules have an order; then so have the columns, and only then.

    >>> is_acyclic(np.array([[False, True], [False, False]])), is_acyclic(np.array([[True]]))
    (True, False)
    """
    return not (edges & closure(edges).T).any()


def clustered(indicators: list[Floats], weights: Floats, num_modules: int, rng: np.random.Generator) -> Ints:
    """The columns in groups of similar ones, by k-means from starts far apart."""
    scale = np.sqrt(weights)[:, None]
    points = np.concatenate([one * scale for one in indicators[1:] or indicators]).T
    n = len(points)
    centers = [points[int(rng.integers(n))]]
    while len(centers) < min(num_modules, n):
        away = np.min([np.square(points - c).sum(1) for c in centers], axis=0)
        total = away.sum()
        centers.append(points[int(rng.choice(n, p=away / total)) if total > 0 else int(rng.integers(n))])
    means, found = np.array(centers), np.full(n, -1)
    for _ in range(20):
        nearest = np.argmin(-2 * points @ means.T + np.square(means).sum(1), axis=1)
        if np.array_equal(nearest, found):
            break
        found = nearest
        for k in np.unique(found):
            means[k] = points[found == k].mean(0)
    return found.astype(np.int64)
