r"""Best assignments of independent variables under several concave functions, by branch and bound over relaxations.

This is the question of diagnosis with many findings that share rare causes: the functions couple all variables, but
nothing else does. `kernels.buckets.relaxation` says how bounds are found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.threads import OutOfTime, has_end, interruptible, require_work, spend, work_left
from sepset.factors.decomposition import Concave
from sepset.factors.table import Table
from sepset.inference.buckets.causearrays import causes_of, coupled
from sepset.kernels.buckets.causes import Causes
from sepset.kernels.buckets.relaxation import Branches, begin, branch
from sepset.kernels.buckets.shares import Shares
from sepset.variables.variable import Discrete

MOST_WORK = 225_000_000
"""The most terms that are read in one search without a time limit; less than two seconds."""

TERM_NANOSECONDS = 8.0
"""Time to read a term."""

FIRST_WORK, WORK_AT_ONCE = 2**12, 2**24
"""The terms that are read in the first part of a search, and in the largest; each part is twice the one before."""

WORK_BEFORE = 50_000_000
"""The terms that are read before the search, while pairs of variables are changed for a better start."""

FIRST_PASSES, PASSES = 50, 8
"""The passes over the variables before the search, and at each of its nodes."""

MOST_TOGETHER = 64
"""The most undecided variables that are moved together."""

MOST_STATES = 2**8
"""The most joint states of variables that other factors couple."""


class Ranked(NamedTuple):
    """Assignments by variable, best first, with their log values; and whether these are proved to be the best.

    Attributes:
        bound: if they are not, a log value that no assignment exceeds, if it is known that no other search is better.
    """

    assignments: list[dict[Discrete, int]]
    log_values: list[float]
    is_proved: bool
    bound: float = math.inf


@dataclass(frozen=True, eq=False)
class RelaxedSearch:
    """The search for the best assignments of independent variables.

    Variables that other factors couple are one variable of their joint states.

    Attributes:
        groups: the variables, by those that factors couple.
        causes: the joint states of each group, and the functions.
        constant: the log value of factors without variables.

    Guarantee: exact where proved.
    Tested by: inference/buckets/test_relaxed.py::test_best_assignments_are_those_of_enumeration
    """

    groups: tuple[tuple[Discrete, ...], ...]
    causes: Causes
    constant: float

    @classmethod
    def of(
        cls,
        factors: Sequence[Table],
        functions: Sequence[Concave],
        order: Sequence[Discrete],
    ) -> RelaxedSearch | None:
        """The search, if factors couple few variables each and the kernel has the functions; None otherwise.

        Raises `OutOfWork` if there is not enough left for its start.

        Args:
            factors: tables besides the functions.
        """
        groups = coupled(factors, order)
        sizes = [math.prod(v.num_states for v in group) for group in groups]
        if len(functions) < 2 or any(f.kind < 0 for f in functions) or max(sizes, default=1) > MOST_STATES:
            return None
        num_terms = sum(sum(map(np.size, f.terms)) for f in functions)
        require_work(TERM_NANOSECONDS * FIRST_PASSES * (4 * sum(sizes) + 2 * num_terms))
        home = {v: i for i, group in enumerate(groups) for v in group}
        tables: list[list[Table]] = [[] for _ in groups]
        for factor in factors:
            if factor.scope:
                tables[home[factor.scope[0]]].append(factor)
        constant = sum(float(np.asarray(f.log_values).reshape(-1)[0]) for f in factors if not f.scope)
        return cls(tuple(groups), causes_of(groups, tables, functions), constant)

    def run(self, k: int = 1, above: float = -math.inf) -> Ranked:
        """Up to k assignments, best first, and only those above a value; with a bound if there is no proof."""
        causes, num = self.causes, len(self.groups)
        here, path = room(causes)
        if (np.add.reduceat(here.alive, causes.states[:-1], dtype=np.int64) == 0).any() or self.constant == -math.inf:
            return Ranked([], [], True)
        best, found = np.full(k, above - self.constant), np.full(k * num, -1, np.int64)
        left = work_left() / TERM_NANOSECONDS
        before, limit = int(min(WORK_BEFORE, left)), math.inf if has_end() else int(min(MOST_WORK, left))
        interruptible(lambda cancel: begin(causes, here, path, before, FIRST_PASSES, best, found, cancel))
        step = FIRST_WORK
        while not path.now[2] and path.now[3] < limit:
            most = int(min(path.now[3] + step, limit))
            try:
                interruptible(lambda cancel: branch(causes, here, path, most, PASSES, best, found, cancel))  # noqa: B023
            except OutOfTime:
                break
            step = min(2 * step, WORK_AT_ONCE)
        if left < math.inf:
            spend(min(TERM_NANOSECONDS * float(path.now[3]), work_left()))
        rows = found.reshape(k, num)
        rows = rows[rows[:, 0] >= 0]
        values = [float(value) + self.constant for value in best[: len(rows)]]
        assignments = [self._states(row) for row in rows]
        if path.now[2]:
            return Ranked(assignments, values, True)
        return Ranked(assignments, values, False, float(path.bounds[: max(int(path.now[0]), 1)].max()) + self.constant)

    def _states(self, row: Ints) -> dict[Discrete, int]:
        """The states of all variables, from the joint states of their groups."""
        found: dict[Discrete, int] = {}
        for group, place in zip(self.groups, row.tolist(), strict=True):
            codes = np.unravel_index(place, [v.num_states for v in group])
            found |= {v: int(code) for v, code in zip(group, codes, strict=True)}
        return found


def room(causes: Causes) -> tuple[Shares, Branches]:
    """The arrays of a search that has not begun."""
    size, width, most = len(causes.own), len(causes.sums), min(MOST_TOGETHER, len(causes.states) - 1)
    here = Shares(
        shares=np.ones(size),
        alive=(causes.own > -np.inf).astype(np.uint8),
        scores=np.zeros(size),
        chords=np.zeros(len(causes.terms)),
        bases=np.zeros(width),
        heights=np.zeros(width),
        sums=np.zeros(width),
        lines=np.zeros(width),
        slopes=np.zeros(width),
        weights=np.zeros(width),
        moves=np.zeros(width),
        ascents=np.zeros(width),
        every=np.arange(width, dtype=np.int64),
        uppers=np.zeros(most, np.int64),
        lowers=np.zeros(most, np.int64),
        across=np.zeros(most * width),
        along=np.zeros(most * width),
        bends=np.zeros(most * most),
        rises=np.zeros(most),
        steps=np.zeros(most),
    )
    trail, marks, chosen = (np.zeros(size + 1, np.int64) for _ in range(3))
    codes = np.zeros(len(causes.states) - 1, np.int64)
    return here, Branches(trail, marks, chosen, np.full(size + 1, math.inf), np.zeros(5, np.int64), codes)
