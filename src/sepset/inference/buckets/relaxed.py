r"""Best assignments of independent variables under several concave functions, by branch and bound over relaxations.

This is the question of diagnosis with many findings that share rare causes: the functions couple all variables, but
nothing else does. `kernels.buckets.relaxation` says how bounds are found.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import OutOfTime, has_end, interruptible, spend, work_left
from sepset.factors.decomposition import Concave
from sepset.factors.table import Table
from sepset.inference.buckets.regrets import Logs
from sepset.kernels.buckets.causes import REST, Causes
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

NEAR = 1e-3
"""The largest contact of a tangent, in parts of the smallest term."""


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

        Args:
            factors: tables besides the functions.
        """
        groups = _groups(factors, order)
        sizes = [math.prod(v.num_states for v in group) for group in groups]
        if len(functions) < 2 or any(f.kind < 0 for f in functions) or max(sizes, default=1) > MOST_STATES:
            return None
        home = {v: i for i, group in enumerate(groups) for v in group}
        tables: list[list[Table]] = [[] for _ in groups]
        for factor in factors:
            if factor.scope:
                tables[home[factor.scope[0]]].append(factor)
        fixed, terms = fixed_logs(functions), _terms(functions)
        own = [_joint_logs(group, part, fixed) for group, part in zip(groups, tables, strict=True)]
        joint = [_joint_terms(group, terms) for group in groups]
        constant = sum(float(np.asarray(f.log_values).reshape(-1)[0]) for f in factors if not f.scope)
        return cls(tuple(groups), _causes(own, functions, joint), constant)

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


def _groups(factors: Sequence[Table], order: Sequence[Discrete]) -> list[tuple[Discrete, ...]]:
    """The variables by those that factors couple, directly or through others."""
    home = {v: [v] for v in order}
    for factor in factors:
        for v in factor.scope[1:]:
            first, other = home[factor.scope[0]], home[v]
            if first is not other:
                first += other
                for one in other:
                    home[one] = first
    return [tuple(group) for v, group in home.items() if group[0] == v]


def fixed_logs(functions: Sequence[Concave]) -> dict[Discrete, Floats]:
    """The log values of the states of each variable in the linear parts of all functions."""
    found: dict[Discrete, Floats] = {}
    for variable, row in (pair for f in functions for pair in zip(f.variables, f.fixed, strict=True)):
        found[variable] = found[variable] + row if variable in found else row
    return found


def _joint_logs(group: Sequence[Discrete], tables: Sequence[Table], fixed: Mapping[Discrete, Floats]) -> Floats:
    """The log value of each joint state under some factors and the linear parts of functions."""
    logs = np.zeros([v.num_states for v in group])
    for table in tables:
        logs = logs + (table.log_values if table.scope == group else Logs.of(table).over(group)[..., 0])
    for axis, v in enumerate(group):
        if v in fixed:
            logs = logs + fixed[v].reshape([-1 if i == axis else 1 for i in range(len(group))])
    return logs.reshape(-1)


def _terms(functions: Sequence[Concave]) -> dict[Discrete, list[tuple[int, Floats]]]:
    """The terms of each variable in the arguments of functions, each with the place of its first number."""
    found: dict[Discrete, list[tuple[int, Floats]]] = {}
    first = 0
    for function in functions:
        for variable, terms in zip(function.variables, function.terms, strict=True):
            found.setdefault(variable, []).append((first, terms))
        first += len(function.start)
    return found


def _joint_terms(
    group: Sequence[Discrete], terms: Mapping[Discrete, Sequence[tuple[int, Floats]]]
) -> tuple[Ints, Floats]:
    """The arguments that some variables have a part in, and the terms of each joint state in these."""
    if len(group) == 1:
        return _own_terms(group[0], terms.get(group[0], ()))
    parts = [(axis, first, term) for axis, v in enumerate(group) for first, term in terms.get(v, ())]
    numbers = sorted({first + i for _, first, term in parts for i in range(term.shape[1])})
    place = {number: i for i, number in enumerate(numbers)}
    total = np.zeros((*(v.num_states for v in group), len(numbers)))
    for axis, first, term in parts:
        shape = [1] * len(group)
        shape[axis] = len(term)
        at = place[first]
        total[..., at : at + term.shape[1]] += term.reshape(*shape, -1)
    rows = total.reshape(math.prod(v.num_states for v in group), len(numbers))
    is_used = rows.any(axis=0)
    return np.array(numbers, np.int64)[is_used], rows[:, is_used]


def _own_terms(variable: Discrete, terms: Sequence[tuple[int, Floats]]) -> tuple[Ints, Floats]:
    """The same for one variable."""
    numbers = np.array([first + i for first, term in terms for i in range(term.shape[1])], np.int64)
    rows = np.concatenate([np.zeros((variable.num_states, 0)), *(term for _, term in terms)], axis=1)
    is_used = rows.any(axis=0)
    return (numbers, rows) if is_used.all() else (numbers[is_used], rows[:, is_used])


def _causes(own: Sequence[Floats], functions: Sequence[Concave], joint: Sequence[tuple[Ints, Floats]]) -> Causes:
    """The arrays of variables with these log values and terms."""
    places = np.cumsum([0, *(len(f.start) for f in functions)])
    numbers, parts = [one for one, _ in joint], [terms.reshape(-1) for _, terms in joint]
    kinds = np.array([f.kind for f in functions], np.int64)
    home = np.repeat(np.arange(len(functions)), np.diff(places))
    sums = np.concatenate([f.start for f in functions]).astype(np.float64)
    flat = np.concatenate(parts).astype(np.float64)
    which = np.concatenate([np.tile(one, len(terms)) for one, terms in joint]).astype(np.int64)
    least = np.where(sums != 0, np.abs(sums), np.inf)
    np.minimum.at(least, which[flat != 0], np.abs(flat[flat != 0]))
    near = np.where(kinds[home] == REST, -np.clip(NEAR * least, 1e-289, 1.0), np.inf)
    return Causes(
        _starts(own),
        np.concatenate(own).astype(np.float64),
        _starts(numbers),
        np.concatenate(numbers).astype(np.int64),
        _starts(parts),
        flat,
        sums,
        home.astype(np.int64),
        places.astype(np.int64),
        kinds,
        near.astype(np.float64),
    )


def _starts(parts: Sequence[Floats | Ints]) -> Ints:
    """Where each of some arrays starts among all."""
    return np.array(list(itertools.accumulate(map(len, parts), initial=0)), np.int64)


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
