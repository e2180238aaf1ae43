"""Marks of edges when common causes may be unobserved: the searches of FCI and RFCI."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Bools, Bytes
from sepset.graphs.pag import ARROW, CIRCLE, PAG, TAIL
from sepset.learning.structure.independence.boundtest import Group, Queries
from sepset.learning.structure.skeletons.method import ConstraintMethod, Drawn
from sepset.learning.structure.skeletons.pagrules import Path, apply_all_rules, by_separating_sets, orient_end
from sepset.learning.structure.skeletons.skeleton import Knowledge, Skeleton, remove_separated, separate_by_neighbors

Triple = tuple[int, int, int]


def separate_by_possible_sets(
    queries: Queries, found: Skeleton, knowledge: Knowledge, max_condition: int | None
) -> None:
    """Take apart the pairs that a set of nodes separates that need not be neighbors.

    Neighbors do not suffice to separate variables with unobserved common causes. The nodes that may be in a
    separating set are those on paths of colliders and triangles, and sets among them are tried next.

    Reference: Spirtes, Glymour & Scheines (2000), section 6.7.
    """
    pool = possibly_separating(_colliders(found, knowledge))
    size = 1
    while (max_condition is None or size <= max_condition) and _may_separate(found, pool, size):
        remove_separated(queries, found, knowledge, pool, size)
        size += 1


def fci_marks(found: Skeleton, knowledge: Knowledge) -> Bytes:
    """The marks that separating sets and all rules give a skeleton.

    Reference: Zhang (2008).
    """
    marks = _colliders(found, knowledge)
    apply_all_rules(marks, by_separating_sets(found))
    return marks


def _may_separate(found: Skeleton, pool: Bools, size: int) -> bool:
    return bool((found.adjacent.any(axis=1) & (pool.sum(axis=1) > size)).any())


def circles(found: Skeleton, knowledge: Knowledge) -> Bytes:
    """An edge `o-o` for each pair, but for what is known: required arrows, and heads where a tail is forbidden."""
    marks: Bytes = np.where(found.adjacent, CIRCLE, 0).astype(np.uint8)
    marks[found.adjacent & (knowledge.forbidden.T | knowledge.required)] = ARROW
    marks[found.adjacent & knowledge.required.T] = TAIL
    return marks


def _colliders(found: Skeleton, knowledge: Knowledge) -> Bytes:
    marks = circles(found, knowledge)
    for x, z, y in found.unshielded():
        given = found.separator(x, y)
        if given is not None and z not in given:
            _collide(marks, x, z, y)
    return marks


def _collide(marks: Bytes, x: int, z: int, y: int) -> None:
    """Heads at `z`, unless tails are known there."""
    for end in (x, y):
        if marks[end, z] != TAIL:
            marks[end, z] = ARROW


def possibly_separating(marks: Bytes) -> Bools:
    """For each node those that a path reaches on which every inner node is a collider or its neighbors are joined.

    Reference: Spirtes, Glymour & Scheines (2000), definition of Possible-D-SEP.
    """
    n = len(marks)
    found = np.zeros((n, n), np.bool_)
    for x in range(n):
        waiting = deque((x, int(y)) for y in np.flatnonzero(marks[x]))
        seen = set(waiting)
        while waiting:
            a, b = waiting.popleft()
            found[x, b] = True
            is_passed = ((marks[a, b] == ARROW) & (marks[:, b] == ARROW)) | (marks[a] > 0)
            for c in np.flatnonzero((marks[b] > 0) & is_passed).tolist():
                if c not in (x, a) and (b, c) not in seen:
                    seen.add((b, c))
                    waiting.append((b, c))
    return found


class QuickSearch:
    """The marks by RFCI: few tests with small sets instead of sets among possibly separating nodes.

    Every edge that a collider or a discriminating path relies on is tested once more given the set that the
    orientation relies on. Edges may be more than FCI's; every mark is right if tests are.

    Reference: Colombo, Maathuis, Kalisch & Richardson (2012), algorithms 3.1, 4.4 and 4.5.
    """

    def __init__(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        self.queries, self.found, self.knowledge = queries, found, knowledge
        self.waiting: deque[Triple] = deque(found.unshielded())
        self.accepted: list[Triple] = []

    def marks(self) -> Bytes:
        """The marks; the skeleton is changed."""
        self._check_triples()
        marks = circles(self.found, self.knowledge)
        self._orient(marks)
        apply_all_rules(marks, self._decide)
        return marks

    def _orient(self, marks: Bytes) -> None:
        for x, z, y in self.accepted:
            given = self.found.separator(x, y)
            joined = self.found.adjacent[x, z] and self.found.adjacent[z, y]
            if given is not None and z not in given and joined:
                _collide(marks, x, z, y)

    def _check_triples(self) -> None:
        """Test both edges of each unshielded triple given the set that separates its ends, less the middle."""
        while self.waiting:
            x, z, y = self.waiting.popleft()
            adjacent, given = self.found.adjacent, self.found.separator(x, y)
            if given is None or not (adjacent[x, z] and adjacent[z, y]):
                continue
            without = tuple(w for w in given if w != z)
            parted = [end for end in (x, y) if self._is_parted(end, z, without)]
            if not parted:
                self.accepted.append((x, z, y))
            for end in parted:
                self._part(end, z, without)

    def _is_parted(self, x: int, y: int, given: Group) -> bool:
        return not self.knowledge.is_fixed(x, y) and self.queries.independent(x, y, given)

    def _part(self, x: int, y: int, given: Group) -> None:
        """Take two variables apart; triangles that they were in are now unshielded triples."""
        minimal = list(self.queries.eligible(x, y, given))
        for w in tuple(minimal):
            fewer = [v for v in minimal if v != w]
            if self.queries.independent(x, y, fewer):
                minimal = fewer
        self.found.remove(x, y, minimal)
        shared = np.flatnonzero(self.found.adjacent[x] & self.found.adjacent[y]).tolist()
        self.waiting.extend((min(x, y), w, max(x, y)) for w in shared)
        ends = {x, y}
        self.accepted = [t for t in self.accepted if not (t[1] in ends and ends & {t[0], t[2]})]

    def _decide(self, marks: Bytes, path: Path) -> bool:
        """Rule 4, after a test of every edge on the path given sets that separate its ends."""
        first, a, b, c = path[0], *path[-3:]
        given = self.found.separator(first, c)
        if given is None:
            return False
        for x, y in itertools.pairwise(path):
            if self._parted_by_subset(x, y, given):
                self._check_triples()
                fresh = circles(self.found, self.knowledge)
                kept = (fresh > 0) & (marks > 0)
                marks[~kept] = 0
                self._orient(marks)
                return True
        orient_end(marks, a, b, c, is_collider=b not in given)
        return True

    def _parted_by_subset(self, x: int, y: int, given: Group) -> bool:
        if self.knowledge.is_fixed(x, y):
            return False
        members = [w for w in given if w not in (x, y)]
        for size in range(len(members) + 1):
            for subset in itertools.combinations(members, size):
                if self.queries.independent(x, y, subset):
                    self._part(x, y, subset)
                    return True
        return False


@dataclass(frozen=True, kw_only=True)
class FCI(ConstraintMethod[PAG]):
    """FCI: a partial ancestral graph, which allows for unobserved common causes and selected rows.

    Args:
        test, level, max_condition: see `PC`.

    Reference: Spirtes, Meek & Richardson (1999); Zhang (2008).
    Guarantee: the exact PAG, if the tests are right and the distribution is faithful.
    Tested by: learning/structure/skeletons/test_latent.py::test_fci_gives_what_all_members_of_a_class_share

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> truth = DAG.parse("A -> B <- H -> C <- D")
    >>> FCI(test=DSeparation(truth)).ask("ABCD").graph
    PAG(A o-> B; B <-> C; D o-> C)
    """

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_by_neighbors(queries, found, knowledge, max_condition=self.max_condition)
        separate_by_possible_sets(queries, found, knowledge, self.max_condition)

    def _graph(self, names: Sequence[str], found: Skeleton, knowledge: Knowledge, queries: Queries | None) -> Drawn:
        marks = _colliders(found, knowledge) if queries is None else fci_marks(found, knowledge)
        return PAG.from_marks(names, marks), ()


@dataclass(frozen=True, kw_only=True)
class RFCI(ConstraintMethod[PAG]):
    """RFCI: as FCI with fewer tests and smaller sets; it may keep more edges.

    Args:
        test, level, max_condition: see `PC`.

    Reference: Colombo, Maathuis, Kalisch & Richardson (2012).
    Guarantee: every mark is right, if the tests are right and the distribution is faithful.
    Tested by: learning/structure/skeletons/test_latent.py::test_marks_of_rfci_are_right

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> truth = DAG.parse("A -> B <- H -> C <- D")
    >>> RFCI(test=DSeparation(truth)).ask("ABCD").graph
    PAG(A o-> B; B <-> C; D o-> C)
    """

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_by_neighbors(queries, found, knowledge, max_condition=self.max_condition)

    def _graph(self, names: Sequence[str], found: Skeleton, knowledge: Knowledge, queries: Queries | None) -> Drawn:
        if queries is None:
            return PAG.from_marks(names, circles(found, knowledge)), ()
        return PAG.from_marks(names, QuickSearch(queries, found, knowledge).marks()), ()
