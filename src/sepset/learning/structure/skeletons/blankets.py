r"""Markov blankets by growing and shrinking, and the neighbors among their members.

The Markov blanket $B(X)$ is the smallest set with $X \perp \text{all others} \mid B(X)$. Growing adds variables that
depend on $X$ given the set until now; shrinking removes those that do not given the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sepset.learning.structure.independence.boundtest import Queries, strongest_first
from sepset.learning.structure.skeletons.method import ClassMethod
from sepset.learning.structure.skeletons.skeleton import Knowledge, Skeleton, first_separator

Blanket: TypeAlias = set[int]
Learner: TypeAlias = Callable[[Queries, int, list[int]], Blanket]


def shrunk(queries: Queries, x: int, blanket: Blanket) -> Blanket:
    """The blanket without the members that are independent of `x` given the others."""
    kept = set(blanket)
    for y in sorted(blanket):
        if queries.independent(x, y, sorted(kept - {y})):
            kept.discard(y)
    return kept


def grow_shrink(queries: Queries, x: int, others: list[int]) -> Blanket:
    """The blanket by adding dependent variables as they come, those with the strongest association first.

    Reference: Margaritis & Thrun (2000).
    """
    order = [others[k] for k in strongest_first(queries.answers(x, others))] if others else []
    blanket: Blanket = set()
    is_growing = True
    while is_growing:
        is_growing = False
        for y in order:
            if y not in blanket and not queries.independent(x, y, sorted(blanket)):
                blanket.add(y)
                is_growing = True
    return shrunk(queries, x, blanket)


def iamb(queries: Queries, x: int, others: list[int]) -> Blanket:
    """The blanket by adding the variable with the strongest association given the set until now.

    Reference: Tsamardinos, Aliferis & Statnikov (2003).
    """
    blanket: Blanket = set()
    while (y := _strongest(queries, x, others, blanket)) is not None:
        blanket.add(y)
    return shrunk(queries, x, blanket)


def inter_iamb(queries: Queries, x: int, others: list[int]) -> Blanket:
    """As `iamb`, with a shrinking after each addition, so that conditioning sets stay small.

    Reference: Tsamardinos, Aliferis & Statnikov (2003); Yaramakala & Margaritis (2005).
    """
    blanket: Blanket = set()
    seen: set[frozenset[int]] = set()
    while (y := _strongest(queries, x, others, blanket)) is not None:
        blanket = shrunk(queries, x, blanket | {y})
        if frozenset(blanket) in seen:
            break
        seen.add(frozenset(blanket))
    return blanket


def fast_iamb(queries: Queries, x: int, others: list[int]) -> Blanket:
    """As `inter_iamb`, adding all variables that depend on `x` given the set until now before shrinking.

    Reference: Yaramakala & Margaritis (2005).
    """
    blanket: Blanket = set()
    seen: set[frozenset[int]] = set()
    while True:
        left = [y for y in others if y not in blanket]
        answers = queries.answers(x, left, sorted(blanket))
        added = {y for y, p in zip(left, answers[:, 0].tolist(), strict=True) if p <= queries.level}
        if not added:
            return blanket
        blanket = shrunk(queries, x, blanket | added)
        if frozenset(blanket) in seen:
            return iamb(queries, x, others)
        seen.add(frozenset(blanket))


def _strongest(queries: Queries, x: int, others: list[int], blanket: Blanket) -> int | None:
    """The variable with the strongest association given the blanket; None if all are independent."""
    left = [y for y in others if y not in blanket]
    if not left:
        return None
    answers = queries.answers(x, left, sorted(blanket))
    best = int(strongest_first(answers)[0])
    return left[best] if answers[best, 0] <= queries.level else None


def separate_by_blankets(
    queries: Queries, found: Skeleton, knowledge: Knowledge, learner: Learner, max_condition: int | None = None
) -> None:
    """Take apart the pairs that are not in each other's blankets, or that a set of the smaller blanket separates."""
    n = len(queries)
    blankets = [learner(queries, x, [y for y in range(n) if y != x]) for x in range(n)]
    for x, y in found.pairs():
        if knowledge.is_fixed(x, y):
            continue
        if y not in blankets[x] or x not in blankets[y]:
            blanket = blankets[x] if y not in blankets[x] else blankets[y]
            found.remove(x, y, queries.eligible(x, y, blanket - {x, y}))
            continue
        smaller, larger = sorted((blankets[x] - {y}, blankets[y] - {x}), key=len)
        given = first_separator(queries, x, y, smaller, max_condition)
        if given is None and queries.tiers is not None:  # a spouse by a later child is in no blanket
            given = first_separator(queries, x, y, larger, max_condition)
        if given is not None:
            found.remove(x, y, given)


@dataclass(frozen=True, kw_only=True)
class GrowShrink(ClassMethod):
    """Grow-Shrink: blankets that grow by any dependent variable, then shrink.

    Args:
        test, level, max_condition, conflicts: see `PC`; the limit is for sets within blankets.

    Reference: Margaritis & Thrun (2000); Margaritis (2003).
    Guarantee: the exact class, if the tests are right and the distribution is faithful to a DAG.
    Tested by: learning/structure/skeletons/test_blankets.py::test_an_oracle_gives_the_exact_class

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> GrowShrink(test=DSeparation(DAG.parse("A -> C <- B; C -> D"))).ask("ABCD").graph
    MixedGraph(A -> C; B -> C; C -> D)
    """

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_by_blankets(queries, found, knowledge, grow_shrink, self.max_condition)


@dataclass(frozen=True, kw_only=True)
class IAMB(ClassMethod):
    """IAMB: blankets that grow by the variable with the strongest association, then shrink.

    Args:
        test, level, max_condition, conflicts: see `PC`; the limit is for sets within blankets.

    Reference: Tsamardinos, Aliferis & Statnikov (2003).
    Guarantee: the exact class, if the tests are right and the distribution is faithful to a DAG.
    Tested by: learning/structure/skeletons/test_blankets.py::test_an_oracle_gives_the_exact_class

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> IAMB(test=DSeparation(DAG.parse("A -> C <- B; C -> D"))).ask("ABCD").graph
    MixedGraph(A -> C; B -> C; C -> D)
    """

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_by_blankets(queries, found, knowledge, iamb, self.max_condition)


@dataclass(frozen=True, kw_only=True)
class FastIAMB(ClassMethod):
    """Fast-IAMB: blankets that grow by all dependent variables at once.

    Args:
        test, level, max_condition, conflicts: see `PC`; the limit is for sets within blankets.

    Reference: Yaramakala & Margaritis (2005).
    Guarantee: the exact class, if the tests are right and the distribution is faithful to a DAG.
    Tested by: learning/structure/skeletons/test_blankets.py::test_an_oracle_gives_the_exact_class

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> FastIAMB(test=DSeparation(DAG.parse("A -> C <- B; C -> D"))).ask("ABCD").graph
    MixedGraph(A -> C; B -> C; C -> D)
    """

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_by_blankets(queries, found, knowledge, fast_iamb, self.max_condition)


@dataclass(frozen=True, kw_only=True)
class InterIAMB(ClassMethod):
    """Inter-IAMB: blankets that shrink after each addition, so that conditioning sets stay small.

    Args:
        test, level, max_condition, conflicts: see `PC`; the limit is for sets within blankets.

    Reference: Tsamardinos, Aliferis & Statnikov (2003); Yaramakala & Margaritis (2005).
    Guarantee: the exact class, if the tests are right and the distribution is faithful to a DAG.
    Tested by: learning/structure/skeletons/test_blankets.py::test_an_oracle_gives_the_exact_class

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> InterIAMB(test=DSeparation(DAG.parse("A -> C <- B; C -> D"))).ask("ABCD").graph
    MixedGraph(A -> C; B -> C; C -> D)
    """

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_by_blankets(queries, found, knowledge, inter_iamb, self.max_condition)
