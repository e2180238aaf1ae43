"""Skeletons by all subsets (SGS), by a search for one separating set (IC), and in Cheng's three phases."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from sepset.base.arraytypes import Bools
from sepset.errors import TooLarge
from sepset.learning.structure.independence.boundtest import Queries, strongest_first
from sepset.learning.structure.skeletons.method import ClassMethod
from sepset.learning.structure.skeletons.skeleton import Knowledge, Pair, Skeleton, first_separator

MOST_TESTS = 10_000_000
"""More questions are refused before the first is asked."""


def separate_by_every_subset(
    queries: Queries, found: Skeleton, knowledge: Knowledge, max_condition: int | None = None
) -> None:
    r"""Take apart the pairs that a set separates; all $2^{n-2}$ sets are asked for each pair.

    Reference: Spirtes, Glymour & Scheines (2000), section 5.4.1.
    """
    n = len(queries)
    _refuse_many(n, max_condition)
    for x, y in found.pairs():
        if knowledge.is_fixed(x, y):
            continue
        others = queries.eligible(x, y, (z for z in range(n) if z not in (x, y)))
        largest = len(others) if max_condition is None else min(max_condition, len(others))
        sets = [s for size in range(largest + 1) for s in itertools.combinations(others, size)]
        separating = [given for given in sets if queries.independent(x, y, given)]
        if separating:
            found.every[x, y] = separating
            found.remove(x, y, separating[0])


def separate_by_one_subset(
    queries: Queries, found: Skeleton, knowledge: Knowledge, max_condition: int | None = None
) -> None:
    r"""Take apart the pairs that a set among all others separates, the smallest first.

    Cost: at most $\binom n2 \sum_{k \le d} \binom{n - 2}{k}$ questions with `max_condition` $d$; a DAG of at most $d$
    parents needs no larger sets. Reference: Verma & Pearl (1990); Koller & Friedman, algorithm 3.3.
    """
    n = len(queries)
    _refuse_many(n, max_condition)
    for x, y in found.pairs():
        if not knowledge.is_fixed(x, y):
            given = first_separator(queries, x, y, [z for z in range(n) if z not in (x, y)], max_condition)
            if given is not None:
                found.remove(x, y, given)


def _refuse_many(n: int, max_condition: int | None) -> None:
    others = max(n - 2, 0)
    largest = others if max_condition is None else min(max_condition, others)
    sets = 1 << others if largest == others else sum(math.comb(others, k) for k in range(largest + 1))
    count = math.comb(n, 2) * sets
    if count > MOST_TESTS:
        many = f"{count:,}" if count < 10**12 else f"about {Decimal(count):.4g}"
        raise TooLarge(
            f"All sets of {n} columns are up to {many} tests; the most is {MOST_TESTS:,}. Use PC, or max_condition=."
        )


def separate_in_phases(
    queries: Queries, found: Skeleton, knowledge: Knowledge, max_condition: int | None = None
) -> None:
    """Draft, thicken and thin a skeleton.

    The draft joins dependent pairs, the strongest first, that no path joins yet. Thickening joins every other
    dependent pair that no set on its paths separates. Thinning takes apart the pairs that such a set separates in
    the end. Tests stand for the threshold of information, and all sets on the paths for the greedy search among them.

    Reference: Cheng, Greiner, Kelly, Bell & Liu (2002), Learning Bayesian networks from data: an information-theory
    based approach.
    """
    try:
        _draft_thicken_thin(queries, found, knowledge.fixed, max_condition)
    except BaseException:  # a draft lacks edges: what is not separated yet stays joined
        found.adjacent[:] = knowledge.possible
        for x, y in found.separating:
            found.adjacent[x, y] = found.adjacent[y, x] = False
        raise


def _draft_thicken_thin(queries: Queries, found: Skeleton, fixed: Bools, max_condition: int | None) -> None:
    for x, y in _draft(queries, found, fixed):
        given = _separator_on_paths(queries, found, x, y, max_condition)
        if given is None:
            found.adjacent[x, y] = found.adjacent[y, x] = True
        else:
            found.remove(x, y, given)
    for x, y in found.pairs():
        found.adjacent[x, y] = found.adjacent[y, x] = False
        given = None if fixed[x, y] else _separator_on_paths(queries, found, x, y, max_condition)
        if given is None:
            found.adjacent[x, y] = found.adjacent[y, x] = True
        else:
            found.remove(x, y, given)


def _draft(queries: Queries, found: Skeleton, fixed: Bools) -> list[Pair]:
    """Join dependent pairs that no path joins yet; the dependent pairs that were not joined."""
    pairs = [pair for pair in found.pairs() if not fixed[pair]]
    found.adjacent[:] = fixed
    answers = np.array([queries.answers(x, [y])[0] for x, y in pairs]).reshape(-1, 2)
    postponed = []
    for k in strongest_first(answers).tolist():
        x, y = pairs[k]
        if answers[k, 0] > queries.level:
            found.remove(x, y, ())
        elif y in _reached(found, x):
            postponed.append((x, y))
        else:
            found.adjacent[x, y] = found.adjacent[y, x] = True
    return postponed


def _reached(found: Skeleton, start: int, without: int = -1) -> set[int]:
    """The variables that a path joins to one, avoiding another."""
    seen, waiting = {start}, [start]
    while waiting:
        for y in found.neighbors(waiting.pop()):
            if y not in seen and y != without:
                seen.add(y)
                waiting.append(y)
    return seen


def _separator_on_paths(
    queries: Queries, found: Skeleton, x: int, y: int, max_condition: int | None
) -> tuple[int, ...] | None:
    """A set of neighbors of one, on paths to the other, that separates two variables; None if there is none."""
    for one, other in ((x, y), (y, x)):
        near = [z for z in found.neighbors(one) if z != other and z in _reached(found, other, without=one)]
        given = first_separator(queries, x, y, near, max_condition)
        if given is not None:
            return given
    return None


@dataclass(frozen=True, kw_only=True)
class SGS(ClassMethod):
    r"""The SGS algorithm: all sets for all pairs; an immorality if no separating set has the middle.

    Args:
        test, level, max_condition, conflicts: see `PC`.

    Cost: $\binom n2 2^{n-2}$ tests. Reference: Spirtes, Glymour & Scheines (2000), section 5.4.1.
    Reference: Spirtes, Glymour & Scheines (2000).
    Guarantee: the exact class, if the tests are right and the distribution is faithful to a DAG.
    Tested by: learning/structure/skeletons/test_phases.py::test_the_student_network_takes_80_tests

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> SGS(test=DSeparation(DAG.parse("A -> C <- B"))).ask("ABC").graph
    MixedGraph(A -> C; B -> C)
    """

    def check_columns(self, num_columns: int) -> None:
        """Raise if there are more columns than all of whose sets can be tested."""
        _refuse_many(num_columns, self.max_condition)

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_by_every_subset(queries, found, knowledge, self.max_condition)


@dataclass(frozen=True, kw_only=True)
class IC(ClassMethod):
    r"""The IC algorithm: for each pair a search for one separating set among all other variables.

    Args:
        test, level, max_condition, conflicts: see `PC`. With `max_condition` $d$ it is exact for graphs with at
            most $d$ parents of a node.

    Cost: at most $\binom n2 \sum_{k \le d} \binom{n-2}k$ tests.
    Reference: Verma & Pearl (1990); Koller & Friedman, algorithm 3.3.
    Guarantee: the exact class, if the tests are right and the distribution is faithful to a DAG.
    Tested by: learning/structure/skeletons/test_phases.py::test_an_oracle_gives_the_exact_class

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> IC(test=DSeparation(DAG.parse("A -> C <- B"))).ask("ABC").graph
    MixedGraph(A -> C; B -> C)
    """

    def check_columns(self, num_columns: int) -> None:
        """Raise if there are more columns than all of whose sets can be tested."""
        _refuse_many(num_columns, self.max_condition)

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_by_one_subset(queries, found, knowledge, self.max_condition)


@dataclass(frozen=True, kw_only=True)
class Cheng(ClassMethod):
    """Cheng's three phases: a draft from the strongest associations, thickened, then thinned.

    Args:
        test, level, max_condition, conflicts: see `PC`.

    Reference: Cheng, Greiner, Kelly, Bell & Liu (2002).
    Guarantee: the exact class, if the tests are right and the distribution is faithful to a DAG.
    Tested by: learning/structure/skeletons/test_phases.py::test_an_oracle_gives_the_exact_class

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> Cheng(test=DSeparation(DAG.parse("A -> C <- B; C -> D"))).ask("ABCD").graph
    MixedGraph(A -> C; B -> C; C -> D)
    """

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_in_phases(queries, found, knowledge, self.max_condition)
