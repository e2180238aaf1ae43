r"""The best DAG by an integer program with cluster cuts, on HiGHS.

One variable $x_{v,U} \in \{0, 1\}$ per family; every column takes one parent set; every cluster $C$ of columns has one
whose parents are all outside:

$$\max \sum F(v \mid U) x_{v,U}, \qquad \sum_U x_{v,U} = 1, \qquad
  \sum_{v \in C} \sum_{U : U \cap C = \emptyset} x_{v,U} \ge 1 .$$

There are exponentially many clusters; those that a solution violates are added until there are none. Families whose
reduced cost shows that they are in no better DAG are removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import interruptible
from sepset.errors import BrokenInvariant, NotApplicable
from sepset.inference.iterate import Until
from sepset.inference.result import Status
from sepset.kernels.structure.tables import improve_order
from sepset.learning.structure.exact.optimum import TIGHT, Clock, Optimum, along, incumbent, relaxed
from sepset.learning.structure.exact.scoretable import ScoreTable, bits

VIOLATED = 1e-6
"""How far below one the sum of a cluster must be to count as violated."""


@dataclass
class _Program:
    """The families that are left, and the clusters found so far."""

    table: ScoreTable
    children: Ints
    masks: Ints
    scores: Floats
    clusters: list[int]

    @classmethod
    def of(cls, table: ScoreTable) -> _Program:
        n = table.num_columns
        children = np.repeat(np.arange(n), np.diff(table.starts)).astype(np.int64)
        pairs = [1 << i | 1 << j for j in range(n) for i in range(j)]
        return cls(table, children, table.masks, table.scores, pairs)

    def rows(self) -> Any:
        """The constraints of clusters as a sparse matrix."""
        from scipy import sparse

        if not self.clusters:
            return sparse.csr_matrix((0, len(self.masks)))
        found = [self._inside(cluster) for cluster in self.clusters]
        starts = np.concatenate([[0], np.cumsum([len(f) for f in found])])
        places = np.concatenate(found)
        return sparse.csr_matrix((np.ones(len(places)), places, starts), shape=(len(found), len(self.masks)))

    def _inside(self, cluster: int) -> Ints:
        return np.flatnonzero((cluster >> self.children & 1 == 1) & (self.masks & cluster == 0))

    def choices(self) -> Any:
        """One parent set per column, as a sparse matrix."""
        from scipy import sparse

        shape = (self.table.num_columns, len(self.masks))
        return sparse.csr_matrix((np.ones(len(self.masks)), (self.children, np.arange(len(self.masks)))), shape=shape)

    def keep(self, kept: Any) -> None:
        """Remove the other families."""
        self.children, self.masks, self.scores = self.children[kept], self.masks[kept], self.scores[kept]


def integer_program(
    table: ScoreTable, *, until: Until | None = None, rng: np.random.Generator | None = None
) -> Optimum:
    """The best DAG of a score table, or the best known with a bound when the limits end the search.

    Args:
        table: the score table; it is pruned first.
        until: the largest number of programs that are solved, and of seconds.
        rng: for the orders from which a first DAG is found.

    Reference: Cussens (2011); Bartlett & Cussens (2017).
    Guarantee: exact, with the proof that the bound is the score; otherwise the gap.
    Tested by: learning/structure/exact/test_integer.py::test_equals_dynamic_programming
    """
    table = table.pruned()
    known = incumbent(table, np.random.default_rng(0) if rng is None else rng)
    if known.score < -1e299 or known.score == -np.inf:
        raise NotApplicable("The allowed parent sets have a cycle in every graph: no DAG is allowed.")
    search = _Search(table, known, Clock(until))
    return search.relax() or search.solve()


class _Search:
    """Rounds of linear programs, then of integer programs, each with the clusters that the last one violated."""

    def __init__(self, table: ScoreTable, known: Optimum, clock: Clock) -> None:
        self.table, self.known, self.clock = table, known, clock
        self.program = _Program.of(table)
        self.bound = relaxed(table)
        self.num_steps = 0

    def relax(self) -> Optimum | None:
        """Linear programs until no cluster is violated; the outcome if that is proof, or if the limits end it."""
        while True:
            if (ended := self._ended()) is not None:
                return ended
            solution, reduced = self._linear()
            self._improve(solution)
            self._remove(reduced)
            if self._is_proved():
                return self._outcome(Status.COMPLETED)
            if len(solution) != len(self.program.masks):
                continue  # families were removed: solve again
            cuts = self._violated(solution)
            if not cuts:
                return None
            self.program.clusters += cuts

    def solve(self) -> Optimum:
        """Integer programs until the solution is a DAG."""
        while True:
            if (ended := self._ended()) is not None:
                return ended
            solution = self._integer()
            if solution is None:
                continue  # the clock ended it
            cuts = _cycles(self.program, solution)
            self._improve(solution)
            if self._is_proved():
                return self._outcome(Status.COMPLETED)
            if not cuts:
                raise BrokenInvariant("An integer program has a DAG as its solution, and a bound above its score.")
            self.program.clusters += cuts

    def _linear(self) -> tuple[Floats, Floats]:
        from scipy.optimize import linprog

        program = self.program
        found = linprog(
            -program.scores,
            A_ub=-program.rows(),
            b_ub=-np.ones(len(program.clusters)),
            A_eq=program.choices(),
            b_eq=np.ones(self.table.num_columns),
            bounds=(0, None),
            method="highs",
        )
        if found.status != 0:
            raise BrokenInvariant(f"The linear program of {len(program.masks)} families failed: {found.message}")
        self.num_steps += 1
        self.bound = min(self.bound, -float(np.asarray(found.fun)))
        return np.asarray(found.x), np.asarray(found.lower.marginals)

    def _integer(self) -> Floats | None:
        from scipy.optimize import Bounds, LinearConstraint, milp

        program = self.program
        constraints = [LinearConstraint(program.choices(), 1, 1), LinearConstraint(program.rows(), 1, np.inf)]
        left = self.clock.left()
        options: Any = {"mip_rel_gap": 0.0} | ({} if left == np.inf else {"time_limit": max(left, 0.01)})
        found = milp(
            -program.scores,
            constraints=constraints,
            integrality=np.ones(len(program.masks), np.int64),
            bounds=Bounds(0, 1),
            options=options,
        )
        self.num_steps += 1
        if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
            self.bound = min(self.bound, max(-float(found.mip_dual_bound), self.known.score))
        return np.asarray(found.x) if found.status == 0 else None

    def _improve(self, solution: Floats) -> None:
        """Round a solution: columns are placed in the order in which most of their parents are, then moved."""
        order = _rounded(self.program, solution)
        table = self.table
        interruptible(lambda cancel: improve_order(table.starts, table.masks, table.scores, order, cancel))
        parents, score = along(table, order)
        if score > self.known.score:
            self.known = Optimum(parents, score, bound=self.bound)

    def _remove(self, reduced: Floats) -> None:
        """Remove families that a better DAG cannot have: their reduced cost is more than the gap."""
        room = self.bound - self.known.score + TIGHT * (1.0 + abs(self.known.score))
        kept = reduced <= room
        if kept.sum() < 0.9 * len(kept):
            self.program.keep(kept)

    def _violated(self, solution: Floats) -> list[int]:
        known = set(self.program.clusters)
        cuts = [c for c in _cycles(self.program, solution) if c not in known and self._is_violated(solution, c)]
        return cuts or [c for c in _separate(self.program, solution) if c not in known]

    def _is_violated(self, solution: Floats, cluster: int) -> bool:
        return float(solution[self.program._inside(cluster)].sum()) < 1 - VIOLATED

    def _is_proved(self) -> bool:
        return self.bound - self.known.score <= TIGHT * (1.0 + abs(self.known.score))

    def _ended(self) -> Optimum | None:
        status = self.clock.status(self.num_steps)
        return None if status is None else self._outcome(status)

    def _outcome(self, status: Status) -> Optimum:
        bound = self.known.score if self._is_proved() else self.bound
        return Optimum(self.known.parents, self.known.score, bound=bound, status=status, num_steps=self.num_steps)


def _rounded(program: _Program, solution: Floats) -> Ints:
    """An order: the next column is the one whose chosen parents are most surely placed already."""
    n = program.table.num_columns
    order: list[int] = []
    placed = 0
    for _ in range(n):
        ready = np.bincount(program.children, solution * (program.masks & ~placed == 0), minlength=n)
        ready[order] = -1.0
        order.append(int(ready.argmax()))
        placed |= 1 << order[-1]
    return np.array(order, np.int64)


def _cycles(program: _Program, solution: Floats) -> list[int]:
    """The sets of columns on common cycles, where every column takes its parent set of largest share."""
    n = program.table.num_columns
    order = np.lexsort((-solution, program.children))
    first = order[np.searchsorted(program.children[order], np.arange(n))]
    found = []
    left = (1 << n) - 1
    chosen = program.masks[first].tolist()
    while left:
        free = [v for v in bits(left) if not chosen[v] & left]
        if not free:
            break
        left ^= sum(1 << v for v in free)
    for v in bits(left):
        cycle = _cycle_through(chosen, v)
        if cycle and cycle not in found:
            found.append(cycle)
    return found


def _cycle_through(parents: list[int], start: int) -> int:
    """The columns of a shortest cycle through one column; zero if there is none."""
    before, reached, layer = {start: -1}, 1 << start, [start]
    while layer:
        following = []
        for v in layer:
            for p in bits(parents[v]):
                if p == start:
                    mask = 0
                    while v >= 0:
                        mask |= 1 << v
                        v = before[v]
                    return mask
                if not reached >> p & 1:
                    reached |= 1 << p
                    before[p] = v
                    following.append(p)
        layer = following
    return 0


def _separate(program: _Program, solution: Floats) -> Iterable[int]:
    """A cluster that a fractional solution violates most, by a small integer program; none if there is none.

    max of the sum of x J - y over clusters y, where a family J counts if its child and one of its parents are in y.
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    n = program.table.num_columns
    at = np.flatnonzero((solution > 1e-9) & (program.masks != 0))
    if not len(at):
        return []
    rows, columns, values = [], [], []
    for row, family in enumerate(at.tolist()):  # J <= y of the child; J <= sum of y of the parents
        inside = list(bits(program.masks[family]))
        rows += [2 * row, 2 * row, *([2 * row + 1] * (1 + len(inside)))]
        columns += [n + row, int(program.children[family]), n + row, *inside]
        values += [-1.0, 1.0, -1.0, *([1.0] * len(inside))]
    matrix = sparse.csr_matrix((values, (rows, columns)), shape=(2 * len(at), n + len(at)))
    size = sparse.csr_matrix((np.ones(n), (np.zeros(n, int), np.arange(n))), shape=(1, n + len(at)))
    found = milp(
        np.concatenate([np.ones(n), -solution[at]]),
        constraints=[LinearConstraint(matrix, 0, np.inf), LinearConstraint(size, 2, n)],
        integrality=np.concatenate([np.ones(n), np.zeros(len(at))]),
        bounds=Bounds(0, 1),
    )
    if found.x is None or found.fun >= 1 - VIOLATED:
        return []
    return [sum(1 << v for v in range(n) if found.x[v] > 0.5)]
