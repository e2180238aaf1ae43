r"""Who is joined to whom: the pairs that no set separates, with the sets that separate the others.

In a DAG that has exactly the independences of the distribution, two variables are joined if and only if no set
separates them, and if they are not, the parents of one of them do. So sets among the neighbors suffice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.numerics.matrices import full
from sepset.learning.structure.independence.boundtest import Group, Queries, Separations
from sepset.learning.structure.independence.corrections import Correction

Pair = tuple[int, int]


class Knowledge(NamedTuple):
    """Known edges: `required[i, j]` and `forbidden[i, j]` of the arrow from column `i` to `j`."""

    required: Bools
    forbidden: Bools

    @classmethod
    def none(cls, n: int) -> Knowledge:
        """Nothing is known.

        >>> Knowledge.none(2).is_fixed(0, 1)
        False
        """
        return cls(np.zeros((n, n), np.bool_), np.zeros((n, n), np.bool_))

    @property
    def possible(self) -> Bools:
        """Which pairs may be joined."""
        return ~(self.forbidden & self.forbidden.T) & ~np.eye(len(self.forbidden), dtype=np.bool_)

    @property
    def fixed(self) -> Bools:
        """Which pairs are joined for certain."""
        return self.required | self.required.T

    def is_fixed(self, x: int, y: int) -> bool:
        """Whether two columns are joined for certain."""
        return bool(self.required[x, y] or self.required[y, x])


@dataclass
class Skeleton:
    """A skeleton in progress.

    Attributes:
        adjacent: who is joined to whom.
        separating: for pairs in order, a set that separates them.
        p_values: for each pair the largest p-value of its tests; -1 where there was none.
        every: for pairs in order, all sets that separate them, where all were tried.
    """

    adjacent: Bools
    separating: dict[Pair, Group] = field(default_factory=dict)
    p_values: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    every: dict[Pair, list[Group]] = field(default_factory=dict)

    @classmethod
    def complete(cls, knowledge: Knowledge) -> Skeleton:
        """All pairs that may be joined."""
        adjacent = knowledge.possible
        return cls(adjacent, {}, full((len(adjacent), len(adjacent)), -1.0))

    def neighbors(self, x: int) -> list[int]:
        """The variables joined to one."""
        found: list[int] = np.flatnonzero(self.adjacent[x]).tolist()
        return found

    def pairs(self) -> list[Pair]:
        """The joined pairs in order."""
        return [(x, y) for x, row in enumerate(self.adjacent) for y in (x + np.flatnonzero(row[x:])).tolist()]

    def remove(self, x: int, y: int, given: Sequence[int]) -> None:
        """Take two variables apart, which a set separates."""
        self.adjacent[x, y] = self.adjacent[y, x] = False
        self.separating[min(x, y), max(x, y)] = tuple(sorted(given))

    def separator(self, x: int, y: int) -> Group | None:
        """The set that separated two variables; None if their edge was forbidden."""
        return self.separating.get((min(x, y), max(x, y)))

    @property
    def num_paths(self) -> int:
        """The number of paths of two edges."""
        degrees = self.adjacent.sum(axis=1, dtype=np.int64)
        return int((degrees * (degrees - 1) // 2).sum())

    def unshielded(self) -> list[tuple[int, int, int]]:
        """The triples `(x, z, y)` with `x - z - y`, `x < y`, and `x` and `y` not joined, in order."""
        found: list[tuple[int, int, int]] = []
        for z in range(len(self.adjacent)):
            near = np.flatnonzero(self.adjacent[z])
            apart = np.triu(~self.adjacent[np.ix_(near, near)], 1)
            found += [(x, z, y) for x, y in near[np.argwhere(apart)].tolist()]
        return sorted(found, key=lambda t: (t[0], t[2], t[1]))


def separate_by_neighbors(
    queries: Queries,
    found: Skeleton,
    knowledge: Knowledge,
    *,
    max_condition: int | None = None,
    stable: bool = True,
) -> None:
    r"""Take apart the pairs that a set among the neighbors of one of them separates, the smallest sets first.

    With `stable`, neighbors are those at the beginning of each size, so that the order of columns says nothing.

    Cost: at most $\binom n2 \sum_{k \le d} 2 \binom{n - 2}{k}$ questions, $d$ the largest number of neighbors.
    Reference: Spirtes & Glymour (1991); Colombo & Maathuis (2014) for `stable`.
    """
    size = 0
    while (max_condition is None or size <= max_condition) and found.adjacent.sum(axis=1).max(initial=0) > size:
        remove_separated(queries, found, knowledge, found.adjacent.copy() if stable else found.adjacent, size)
        size += 1


def remove_separated(queries: Queries, found: Skeleton, knowledge: Knowledge, pool: Bools, size: int) -> None:
    """Take apart the pairs that a set of this size separates, out of those that `pool` has for one of them."""
    fixed = knowledge.fixed
    for x in range(len(queries)):
        known = Separations(~found.adjacent[x] | fixed[x])
        asked = ~known.done
        if not asked.any():
            continue
        queries.separate(pool, x, size, known)
        better = known.best > found.p_values[x]
        found.p_values[x, better] = found.p_values[better, x] = known.best[better]
        for y in np.flatnonzero(better).tolist():
            found.separating[min(x, y), max(x, y)] = known.given[y]
        for y in np.flatnonzero(asked & known.done).tolist():
            found.remove(x, y, known.given[y])


def remove_doubtful(found: Skeleton, knowledge: Knowledge, correction: Correction | None, level: float) -> None:
    """Take apart the pairs whose p-values, corrected for the number of pairs, exceed the level.

    The p-value of an edge is the largest of its tests: it is a true one only if no set separates its variables.

    Reference: Strobl, Spirtes & Visweswaran (2019).
    """
    if correction is None:
        return
    pairs = [(int(x), int(y)) for x, y in np.argwhere(np.triu(knowledge.possible & ~knowledge.fixed))]
    p_values = np.clip([found.p_values[pair] for pair in pairs], 0.0, 1.0)
    for (x, y), p in zip(pairs, correction.adjusted(p_values).tolist(), strict=True):
        if p > level and found.adjacent[x, y]:
            found.remove(x, y, found.separating.get((x, y), ()))


def first_separator(
    queries: Queries, x: int, y: int, pool: Iterable[int], max_condition: int | None = None
) -> Group | None:
    """The first set, the smallest first, that separates two variables; None if no subset of the pool does."""
    members = queries.eligible(x, y, pool)
    largest = len(members) if max_condition is None else min(max_condition, len(members))
    for size in range(largest + 1):
        for given in itertools.combinations(members, size):
            if queries.independent(x, y, given):
                return given
    return None
