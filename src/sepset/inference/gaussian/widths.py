"""How many hidden numbers depend on each other in a question about regressions, and on how many joint states.

Both are counted from the graph alone: a question too wide for a sweep, or with too many joint states, is known before
any regression is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.base.text import readable
from sepset.errors import TooLarge
from sepset.inference import costs
from sepset.inference.evidencerows import ROWS_LOOKED_AT, EvidenceRows, check_numbers
from sepset.inference.gaussian.narroworders import NarrowOrder, narrow_order
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Vector

TARGETS_LOOKED_AT = 4
"""The last targets of rows, whose joint states are counted before the rows are laid out."""


class Edges(NamedTuple):
    """The real variables of each regression, one entry for each: the child, and the child or one of its parents."""

    child: Ints
    member: Ints


class Parts(NamedTuple):
    """The parts of a question that share no hidden number.

    Attributes:
        is_hidden: which variables of the problem are needed and not observed.
        variable: the part of each hidden variable.
        regression: the part of each needed regression with hidden numbers, by its child; -1 for all others.
    """

    is_hidden: Bools
    variable: Ints
    regression: Ints


class Counts(NamedTuple):
    """For each part its hidden coordinates, those asked for, those found there, and the arcs between variables."""

    hidden: Floats
    asked: Floats
    found: Floats
    arcs: Floats


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
    _orders: Cache[NarrowOrder | None] = field(default_factory=lambda: Cache(4), repr=False)

    @lazy
    def _sizes(self) -> Ints:
        """The number of coordinates of each variable; none of a discrete one."""
        return np.array([v.size if isinstance(v, Vector) else 0 for v in self.problem.variables], np.int64)

    @lazy
    def is_small(self) -> bool:
        """Whether a sweep over all numbers at once is small enough."""
        return int(self._sizes.sum()) <= costs.NUMBERS_SWEPT

    @lazy
    def num_reals(self) -> int:
        """The number of real variables."""
        return int(np.count_nonzero(self._sizes))

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

    def narrow_order(self, targets: Sequence[int], evidence: Evidence) -> NarrowOrder | None:
        """The order of an elimination in seconds of all hidden numbers of a question, those asked for last.

        None if a sweep takes so few numbers, or cliques are large, or numbers depend on hidden states.
        """
        if self.is_small or not self.prune:
            return None
        found, states = (np.array(sorted(kind), np.int64) for kind in (evidence.reals, evidence.codes))
        asked = np.zeros(len(self._sizes), np.bool_)
        asked[list(targets)] = True
        asked &= self._sizes > 0
        key = ("order", asked.tobytes(), found.tobytes(), states.tobytes())
        return self._orders.get(key, lambda: self._narrow_order(asked, found, states))

    def _narrow_order(self, asked: Bools, found: Ints, states: Ints) -> NarrowOrder | None:
        needed, is_found = self.ancestors(np.concatenate([np.flatnonzero(asked), found])), np.zeros_like(asked)
        is_found[found] = True
        child, context = self._context_edges
        is_known = np.zeros(len(self._sizes), np.bool_)
        is_known[states] = True
        if int(self._sizes[needed].sum()) <= costs.NUMBERS_SWEPT or (needed[child] & ~is_known[context]).any():
            return None
        return narrow_order(self._edges, self._sizes, needed, is_found, asked)

    def carries(self, targets: Sequence[int], evidence: Evidence) -> bool:
        """Whether targets and findings are few enough to be sums over paths from their ancestors.

        Args:
            targets: the positions of real variables that are not observed.
        """
        wanted, found = (np.array(sorted(some), np.int64) for some in (targets, evidence.reals))
        key = ("paths", wanted.tobytes(), found.tobytes())
        return self.prune and self._found.get(key, lambda: self._is_carried(wanted, found))

    def _is_carried(self, wanted: Ints, found: Ints) -> bool:
        count = self._counts(wanted, found)
        carried = count.asked + count.found
        weights = count.hidden * carried
        most = costs.WEIGHTS_CARRIED_BACK, costs.PAIRS_CARRIED_BACK
        return bool(weights.sum() <= most[0] and (weights * carried).sum() <= most[1])

    def in_moments(self, targets: Sequence[int], evidence: Evidence) -> bool:
        """Whether a question is answered in moment form: by sweeps, along a narrow order, or by sums over paths."""
        is_covered = self.covers(targets, evidence) or self.carries(targets, evidence)
        return is_covered or self.narrow_order(targets, evidence) is not None

    def fills_rows(self, evidence: Evidence) -> bool:
        """Whether the numbers that a row misses, and findings depend on, are too many for a batch of rows."""
        if self.is_small:
            return False
        sizes = self.part_sizes(np.zeros(0, np.int64), np.array(sorted(evidence.reals), np.int64))
        most = int(sizes.max(initial=0))
        return most * (most + int(self._sizes.sum())) > costs.MOST_CONTEXT_ENTRIES

    def _counts(self, wanted: Ints, found: Ints) -> Counts:
        parts, num = self._parts(wanted, found), 2 * len(self._sizes)
        measured, (child, member) = found[parts.regression[found] >= 0], self._edges
        arcs = child[(child != member) & (parts.regression[child] >= 0)]

        def sums(at: Ints, sizes: Ints) -> Floats:
            return np.bincount(at, sizes, num).astype(np.float64)

        return Counts(
            sums(parts.variable[parts.is_hidden], self._sizes[parts.is_hidden]),
            sums(parts.variable[wanted], self._sizes[wanted]),
            sums(parts.regression[measured], self._sizes[measured]),
            sums(parts.regression[arcs], np.ones_like(arcs)),
        )

    def carries_all(self, evidence: Evidence) -> bool:
        """Whether there are few enough real variables for the marginals of all, some at a time, to be such sums."""
        found = np.array(sorted(evidence.reals), np.int64)
        key = ("all paths", found.tobytes())
        return self.prune and self._found.get(key, lambda: self._are_carried(found))

    def _are_carried(self, found: Ints) -> bool:
        is_open = self._sizes > 0
        is_open[found] = False
        count = self._counts(np.flatnonzero(is_open), found)
        times = count.asked * (1.0 + count.found / np.maximum(count.found, costs.TARGETS_TOGETHER))
        return bool((times * (count.hidden + 0.25 * count.arcs)).sum() <= costs.WEIGHTS_OF_ALL)

    def part_sizes(self, wanted: Ints, found: Ints) -> Ints:
        """The number of hidden coordinates in each part that shares no hidden number with the others.

        Args:
            wanted: the positions of the real variables asked for.
            found: those of the observed ones.
        """
        parts = self._parts(wanted, found)
        sizes = np.bincount(parts.variable[parts.is_hidden], self._sizes[parts.is_hidden]).astype(np.int64)
        return np.asarray(sizes[sizes > 0])

    def _parts(self, wanted: Ints, found: Ints) -> Parts:
        from scipy import sparse

        num, (child, member) = len(self._sizes), self._edges
        needed, is_found = self.ancestors(np.concatenate([wanted, found])), np.zeros(num, np.bool_)
        is_found[found] = True
        kept = needed[child] & ~is_found[member]
        ends = num + child[kept], member[kept]  # a node for each regression, after one for each variable
        graph = sparse.csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(2 * num, 2 * num))
        labels = sparse.csgraph.connected_components(graph, directed=False)[1].astype(np.int64)
        has_hidden = np.zeros(num, np.bool_)
        has_hidden[child[kept]] = True
        return Parts(needed & ~is_found, labels[:num], np.where(has_hidden, labels[num:], -1))

    def check_contexts(self, reals: Sequence[int], evidence: Evidence) -> None:
        """Raise if the moments of a part in all joint states of its hidden contexts take too much memory.

        Args:
            reals: the positions of the real variables asked for.
        """
        if self.is_small:
            return  # what is small is divided into its parts at once
        wanted = np.array(sorted(reals), np.int64) if self.prune else np.flatnonzero(self._sizes > 0)
        found, states = (np.array(sorted(kind), np.int64) for kind in (evidence.reals, evidence.codes))
        key = ("contexts", *(part.tobytes() for part in (wanted, found, states)))
        self._found.get(key, lambda: self._check_states(self._parts(wanted, found), states))

    def check_rows(self, rows: EvidenceRows, targets: Sequence[int], *, together: bool) -> None:
        """Raise if the moments of the first of these rows take too much memory: later ones need not be looked at then.

        Args:
            together: whether all targets are asked for at once, or one after the other.
        """
        if self.is_small:
            return
        reals = [t for t in targets if self._sizes[t]]
        asked = [reals] if together else [[], *([t] for t in reals[-TARGETS_LOOKED_AT:])]
        for row in range(min(len(rows), ROWS_LOOKED_AT)):
            evidence = rows.evidence(row)
            for some in asked:
                self.check_contexts([t for t in some if t not in evidence.reals], evidence)

    def check_missing(self, rows: EvidenceRows) -> None:
        """Raise if one of the first rows misses so many numbers that the matrix of their covariances is too large."""
        most = 0 if self.is_small else min(len(rows), ROWS_LOOKED_AT)
        found = [int(self._sizes[list(rows.evidence(row).reals)].sum()) for row in range(most)]
        check_numbers(int(self._sizes.sum()) - min(found) if found else 0)

    def _check_states(self, parts: Parts, states: Ints) -> bool:
        """True; raises for the part that takes most."""
        cards, num = self.problem.variables.cards, int(parts.variable.max(initial=0)) + 1
        child, context = self._context_edges
        is_open = parts.regression[child] >= 0
        is_open &= ~np.isin(context, states)
        part, hidden = np.unique(np.stack([parts.regression[child], context])[:, is_open], axis=1)
        bits = np.bincount(part, np.log2(cards[hidden]), num) + np.log2(1.0 + self._places(parts, num))
        most = int(np.argmax(bits))
        if bits[most] > math.log2(costs.MOST_CONTEXT_ENTRIES) + 1e-6:
            joint = math.prod(cards[hidden[part == most]].tolist())
            reals = int(np.count_nonzero(parts.is_hidden & (parts.variable == most)))
            check_entries(joint * (int(self._places(parts, num)[most]) + 1), f"{reals:,} hidden real variables")
        return True

    def _places(self, parts: Parts, num: int) -> Ints:
        """The number of coordinates of each part, those of observed parents included."""
        child, member = self._edges
        inside = parts.regression[child] >= 0
        part, own = np.unique(np.stack([parts.regression[child], member])[:, inside], axis=1)
        return np.bincount(part, self._sizes[own], num).astype(np.int64)

    def ancestors(self, chosen: Ints) -> Bools:
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
        own, members = self._scopes
        kept = self._sizes[members] > 0
        return Edges(own[kept], members[kept])

    @lazy
    def _context_edges(self) -> Edges:
        """The same for the discrete parents of each regression."""
        own, members = self._scopes
        kept = self._sizes[members] == 0
        return Edges(own[kept], members[kept])

    @lazy
    def _scopes(self) -> Edges:
        """All variables of each regression."""
        start, members = self.problem.scopes
        child = np.full(self.problem.num_factors, -1)
        groups = [g for g in self.problem.conditionals if len(g.factors) == 1]
        child[[g.factors[0] for g in groups]] = [g.child for g in groups]
        own = np.repeat(child, np.diff(start))
        kept = (own >= 0) & (self._sizes[own] > 0)
        return Edges(own[kept], members[kept])


def check_entries(size: int, what: str) -> None:
    """Raise before anything is allocated if the moments of what is named would take too much memory.

    >>> check_entries(1000, "x")
    """
    if size > costs.MOST_CONTEXT_ENTRIES:
        raise TooLarge(
            f"The discrete variables that {what} depend on have so many joint states that their moments take "
            f"{readable(8 * size)}; the limit is {readable(8 * costs.MOST_CONTEXT_ENTRIES)}. Observe some of these "
            "discrete variables, or ask for fewer targets."
        )


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
