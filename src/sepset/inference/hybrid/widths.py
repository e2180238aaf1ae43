"""How many hidden numbers depend on each other in a question about regressions, counted from their graph alone.

A question too wide for a sweep is known before any regression is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.inference import costs
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Vector


class Edges(NamedTuple):
    """The real variables of each regression, one entry for each: the child, and the child or one of its parents."""

    child: Ints
    member: Ints


@dataclass(frozen=True, eq=False)
class Widths:
    """The sizes of the parts of a problem in which each real variable has a regression and no other factor.

    Attributes:
        problem: the problem.
        prune: whether regressions that a question does not need are left out.
    """

    problem: Problem
    prune: bool = True
    _found: Cache[bool] = field(default_factory=lambda: Cache(16), repr=False)

    @lazy
    def _sizes(self) -> Ints:
        """The number of coordinates of each variable; none of a discrete one."""
        return np.array([v.size if isinstance(v, Vector) else 0 for v in self.problem.variables], np.int64)

    @lazy
    def is_small(self) -> bool:
        """Whether a sweep over all numbers at once is small enough."""
        return int(self._sizes.sum()) <= costs.NUMBERS_SWEPT

    def covers(self, targets: Sequence[int], evidence: Evidence) -> bool:
        """Whether the parts that a question needs are small enough for a sweep over each."""
        if self.is_small:
            return True
        asked = np.zeros(len(self._sizes), np.bool_)
        asked[list(targets) if self.prune else slice(None)] = True
        wanted, found = np.flatnonzero(asked & (self._sizes > 0)), np.array(sorted(evidence.reals), np.int64)
        return self._found.get((wanted.tobytes(), found.tobytes()), lambda: self._is_narrow(wanted, found))

    def _is_narrow(self, wanted: Ints, found: Ints) -> bool:
        sizes = self.part_sizes(wanted, found)
        return not len(sizes) or int(sizes.max()) <= costs.NUMBERS_SWEPT

    def part_sizes(self, wanted: Ints, found: Ints) -> Ints:
        """The number of hidden coordinates in each part that shares no hidden number with the others.

        Args:
            wanted: the positions of the real variables asked for.
            found: those of the observed ones.
        """
        from scipy import sparse

        num, (child, member) = len(self._sizes), self._edges
        needed, is_found = self._ancestors(np.concatenate([wanted, found])), np.zeros(num, np.bool_)
        is_found[found] = True
        kept = needed[child] & ~is_found[member]
        ends = num + child[kept], member[kept]  # a node for each regression, after one for each variable
        graph = sparse.csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(2 * num, 2 * num))
        labels = sparse.csgraph.connected_components(graph, directed=False)[1][:num]
        hidden = needed & ~is_found
        sizes = np.bincount(labels[hidden], self._sizes[hidden]).astype(np.int64)
        return np.asarray(sizes[sizes > 0])

    def _ancestors(self, chosen: Ints) -> Bools:
        """The chosen variables and all real ones that these depend on."""
        from scipy import sparse

        num, (child, member) = len(self._sizes), self._edges
        ends = np.concatenate([child, np.full(len(chosen), num)]), np.concatenate([member, chosen])
        graph = sparse.csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(num + 1, num + 1))
        met = sparse.csgraph.breadth_first_order(graph, num, return_predecessors=False)
        found = np.zeros(num + 1, np.bool_)
        found[met] = True
        return found[:num]

    @lazy
    def _edges(self) -> Edges:
        start, members = self.problem.scopes
        child = np.full(self.problem.num_factors, -1)
        groups = [g for g in self.problem.conditionals if len(g.factors) == 1]
        child[[g.factors[0] for g in groups]] = [g.child for g in groups]
        own = np.repeat(child, np.diff(start))
        kept = (own >= 0) & (self._sizes[own] > 0) & (self._sizes[members] > 0)
        return Edges(own[kept], members[kept])


def all_regressions(problem: Problem) -> bool:
    """Whether there are real variables and each has a regression and no other factor.

    >>> from sepset.factors.block import Single
    >>> from sepset.factors.table import Table
    >>> from sepset.variables.universe import Universe
    >>> from sepset.variables.variable import Discrete
    >>> all_regressions(Problem(Universe([Discrete("d")]), (Single(Table(Discrete("d"), [1, 2]), [0]),)))
    False
    """
    is_real = problem.variables.cards == 0
    num = int(np.count_nonzero(is_real))
    if not num or len(problem.regressions) != num:  # regressions are of real variables only
        return False
    start, members = problem.scopes
    before = np.concatenate([[0], np.cumsum(is_real[members])])
    return int(np.count_nonzero(np.diff(before[start]))) == num
