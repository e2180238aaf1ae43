r"""The parents and children of each variable: MMPC and HPC. Hybrid searches take them as candidates.

MMPC adds the variable whose smallest association with $T$, over all sets of what it has, is largest:

$$\max_X \min_{\mathbf S \subseteq \mathrm{CPC}} \mathrm{assoc}(X; T \mid \mathbf S)$$
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, replace

from sepset.errors import ArgumentError
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Until, as_until, deadline
from sepset.inference.result import Status
from sepset.learning.checkpoints import keeps_checkpoint
from sepset.learning.structure.independence.boundtest import Group, Queries
from sepset.learning.structure.learned import NO_LIMIT, Learned, StructureMethod, StructureTask
from sepset.learning.structure.search.hillclimb import HillClimb
from sepset.learning.structure.skeletons.blankets import inter_iamb
from sepset.learning.structure.skeletons.method import SkeletonMethod
from sepset.learning.structure.skeletons.skeleton import Knowledge, Skeleton, first_separator
from sepset.learning.structure.unused import uses_score


def max_min_candidates(queries: Queries, target: int, max_condition: int | None) -> tuple[set[int], dict[int, Group]]:
    """The candidates of one variable, and the sets that separate it from others.

    Reference: Tsamardinos, Brown & Aliferis (2006), algorithms 1 and 2.
    """
    members: list[int] = []
    separated: dict[int, Group] = {}
    weakest = {y: (-1.0, 0.0) for y in range(len(queries)) if y != target}  # largest p-value and its statistic
    fresh: list[Group] = [()]
    while weakest:
        for given in fresh:
            _weaken(queries, target, weakest, separated, given)
        if not weakest:
            break
        chosen = min(weakest, key=lambda y: (weakest[y][0], -weakest[y][1], y))
        del weakest[chosen]
        most = len(members) if max_condition is None else min(max_condition - 1, len(members))
        subsets = (c for size in range(most + 1) for c in itertools.combinations(members, size))
        fresh = [tuple(sorted((*c, chosen))) for c in subsets]
        members.append(chosen)
    for y in list(members):
        found = first_separator(queries, target, y, [z for z in members if z != y], max_condition)
        if found is not None:
            members.remove(y)
            separated[y] = found
    return set(members), separated


def _weaken(
    queries: Queries, target: int, weakest: dict[int, tuple[float, float]], separated: dict[int, Group], given: Group
) -> None:
    """Lower the associations by tests given one more set; what is independent is dropped."""
    ys = list(weakest)
    if not ys:
        return
    for y, (p, statistic) in zip(ys, queries.answers(target, ys, given).tolist(), strict=True):
        if p > queries.level:
            separated[y] = queries.eligible(target, y, given)
            del weakest[y]
        elif (p, -abs(statistic)) > (weakest[y][0], -abs(weakest[y][1])):
            weakest[y] = (p, statistic)


def separate_by_max_min(
    queries: Queries, found: Skeleton, knowledge: Knowledge, max_condition: int | None = None
) -> None:
    """Take apart the pairs that are not candidates of each other."""
    learned = [max_min_candidates(queries, x, max_condition) for x in range(len(queries))]
    for x, y in found.pairs():
        is_joined = y in learned[x][0] and x in learned[y][0]
        if not is_joined and not knowledge.is_fixed(x, y):
            found.remove(x, y, learned[x][1].get(y, learned[y][1].get(x, ())))


def hybrid_candidates(queries: Queries, target: int, max_condition: int | None) -> set[int]:
    """The parents and children of one variable by HPC: supersets of these and of spouses, then blankets among them.

    Reference: de Morais & Aussem (2010); Gasse, Aussem & Elghazel (2014).
    """
    near, separated = _superset(queries, target)
    spouses = _spouses(queries, target, near, separated)
    among = sorted(near | spouses | {target})
    found = _parents_and_children(queries, target, among, max_condition)
    if queries.tiers is not None:  # blankets without spouses by later children do not separate as well
        return found
    return found | {y for y in near - found if target in _parents_and_children(queries, y, among, max_condition)}


def _superset(queries: Queries, target: int) -> tuple[set[int], dict[int, Group]]:
    """Variables that no set of at most one other separates from the target, and the sets of the others."""
    others = [y for y in range(len(queries)) if y != target]
    p_values = queries.answers(target, others)[:, 0].tolist()
    separated: dict[int, Group] = {y: () for y, p in zip(others, p_values, strict=True) if p > queries.level}
    near = [y for y in others if y not in separated]
    for y in list(near):
        given = next((z for z in near if z != y and queries.independent(target, y, (z,))), None)
        if given is not None:
            near.remove(y)
            separated[y] = (given,)
    return set(near), separated


def _spouses(queries: Queries, target: int, near: set[int], separated: dict[int, Group]) -> set[int]:
    """Variables that become dependent on the target given one near it."""
    found: set[int] = set()
    for x in sorted(near):
        mine = [y for y in separated if not queries.independent(target, y, sorted({*separated[y], x}))]
        for y in list(mine):
            if any(queries.independent(target, y, sorted((x, z))) for z in mine if z != y):
                mine.remove(y)
        found |= set(mine)
    return found


def _parents_and_children(queries: Queries, target: int, among: list[int], max_condition: int | None) -> set[int]:
    """The members of a blanket among some variables that no set of the other members separates from the target."""
    blanket = inter_iamb(queries, target, [y for y in among if y != target])
    return {y for y in blanket if first_separator(queries, target, y, blanket - {y}, max_condition) is None}


def separate_by_hpc(queries: Queries, found: Skeleton, knowledge: Knowledge, max_condition: int | None = None) -> None:
    """Take apart the pairs that are not candidates of each other by HPC."""
    learned = [hybrid_candidates(queries, x, max_condition) for x in range(len(queries))]
    for x, y in found.pairs():
        is_joined = y in learned[x] and x in learned[y]
        if not is_joined and not knowledge.is_fixed(x, y):
            found.adjacent[x, y] = found.adjacent[y, x] = False


@dataclass(frozen=True, kw_only=True)
class MMPC(SkeletonMethod):
    """Max-min parents and children: the skeleton by the largest of smallest associations.

    Args:
        test, level, max_condition: see `PC`.

    Reference: Tsamardinos, Brown & Aliferis (2006).
    Guarantee: the exact skeleton, if the tests are right and the distribution is faithful to a DAG.
    Tested by: learning/structure/skeletons/test_candidates.py::test_an_oracle_gives_the_exact_skeleton

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> MMPC(test=DSeparation(DAG.parse("A -> C <- B; C -> D"))).ask("ABCD").graph
    UndirectedGraph(A - C; B - C; C - D)
    """

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_by_max_min(queries, found, knowledge, self.max_condition)


@dataclass(frozen=True, kw_only=True)
class HPC(SkeletonMethod):
    """Hybrid parents and children: the skeleton by blankets among few variables, robust where rows are few.

    Args:
        test, level, max_condition: see `PC`.

    Reference: de Morais & Aussem (2010); Gasse, Aussem & Elghazel (2014).
    Guarantee: the exact skeleton, if the tests are right and the distribution is faithful to a DAG.
    Tested by: learning/structure/skeletons/test_candidates.py::test_an_oracle_gives_the_exact_skeleton

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.oracles import DSeparation
    >>> HPC(test=DSeparation(DAG.parse("A -> C <- B; C -> D"))).ask("ABCD").graph
    UndirectedGraph(A - C; B - C; C - D)
    """

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        separate_by_hpc(queries, found, knowledge, self.max_condition)


CANDIDATES, SEARCH = MMPC(), HillClimb()
"""The defaults of `MMHC`."""


@dataclass(frozen=True, kw_only=True)
class MMHC:
    """Max-min hill climbing: a search among the edges of a skeleton that tests found.

    Args:
        candidates: the method that finds the skeleton; `HPC()` makes it H2PC.
        search: the search over DAGs with a score.

    Steps in `until` are those of the search; seconds are of tests and search together. If they end amid the tests, the
    result is the graph to begin with.

    Reference: Tsamardinos, Brown & Aliferis (2006); Gasse, Aussem & Elghazel (2014).
    Guarantee: that of the search, among the edges of the skeleton.
    Tested by: learning/structure/skeletons/test_candidates.py::test_the_search_stays_within_the_skeleton

    >>> from sepset.learning.structure.columns import Columns
    >>> from sepset.learning.structure.scores.likelihood import BIC
    >>> columns = Columns.of({"a": [0, 1] * 40, "b": [0, 1] * 40, "c": [0, 0, 1, 1] * 20})
    >>> MMHC().learn(StructureTask(columns, BIC())).graph.edges
    (('a', 'b'),)
    """

    candidates: SkeletonMethod = CANDIDATES
    search: StructureMethod[DAG] = SEARCH

    def __post_init__(self) -> None:
        if not isinstance(self.candidates, SkeletonMethod):
            raise ArgumentError(f"MMHC(candidates=) takes a method such as MMPC() or HPC(); found {self.candidates!r}.")
        is_method = not isinstance(self.search, type) and isinstance(self.search, StructureMethod)
        if not (is_method and uses_score(self.search)):
            raise ArgumentError(f"MMHC(search=) takes a search by scores such as HillClimb(); found {self.search!r}.")

    @property
    def keeps_checkpoint(self) -> bool:
        """Whether the search does; tests are made again."""
        return keeps_checkpoint(self.search)

    def learn(self, task: StructureTask) -> Learned[DAG]:
        """The structure; see `ss.learn_structure`."""
        until = as_until(task.until, NO_LIMIT)
        ends = deadline(until)
        alone = Until(steps=None, tolerance=None, seconds=math.inf if until.seconds is None else until.seconds)
        known = replace(task.constraints, max_parents=None)
        found = self.candidates.learn(replace(task, constraints=known, start=None, checkpoint=None, until=alone))
        near = {name: found.graph.neighbors(name) for name in found.graph.nodes}
        before = task.constraints.candidates or {}
        kept = {name: tuple(p for p in near[name] if p in before.get(name, near[name])) for name in near}
        own = replace(task, constraints=replace(task.constraints, candidates=kept))
        is_cut = found.status is not Status.COMPLETED
        if is_cut:
            own = replace(own, until=Until(steps=0, tolerance=None, seconds=0.0), checkpoint=None)
        elif until.seconds is not None:
            own = replace(own, until=replace(until, seconds=max(0.0, ends - time.monotonic())))
        learned = self.search.learn(own)
        status = found.status if is_cut else learned.status
        return replace(
            learned,
            method=self,
            num_tests=found.num_tests,
            status=status,
            info={**learned.info, "among": "the edges of the skeleton"},
        )
