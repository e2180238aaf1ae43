"""Shared parts of methods by independences: settings, budget, results with separating sets and conflicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic

from sepset.base.checks import fraction, one_of, whole
from sepset.base.progress import Bar
from sepset.base.text import described, listing
from sepset.errors import NotApplicable
from sepset.graphs.graph import MixedGraph, UndirectedGraph
from sepset.inference.iterate import Until, as_until, was_interrupted
from sepset.inference.result import Status
from sepset.learning.fit import FitResult, LearningMethod
from sepset.learning.structure.independence.boundtest import AnyTest, Names, Queries, check_test
from sepset.learning.structure.independence.discrete import G_TEST
from sepset.learning.structure.learned import G, Learned, StructureTask
from sepset.learning.structure.skeletons.orientation import CONFLICTS, Conflict, Conflicts, directed
from sepset.learning.structure.skeletons.skeleton import Knowledge, Skeleton

Drawn = tuple[Any, tuple[Conflict, ...]]
"""A graph, and what contradicted each other."""

NO_LIMIT = Until(steps=None, tolerance=None, seconds=float("inf"))


class Stopped(Exception):
    """The budget is spent.

    Args:
        status: which one.
    """

    def __init__(self, status: Status) -> None:
        super().__init__()
        self.status = status


MOST_PATHS = 2**20
"""The most paths of two edges in a skeleton that is still directed after an interrupt: about a second of work."""


@dataclass(frozen=True, eq=False, repr=False)
class Discovered(Learned[G]):
    """A structure from independences.

    Attributes:
        separating_sets: for each pair that is not joined, in column order, the set that separated it.
        conflicts: edges and triples about which tests contradict each other; an edge that is directed both ways is a
            line in the graph.
    """

    separating_sets: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict, kw_only=True)
    conflicts: tuple[Conflict, ...] = field(default=(), kw_only=True)

    def _facts(self) -> Iterator[tuple[str, str]]:
        if self.columns is None:  # an oracle was asked
            yield from (("structure", repr(self.graph)), ("method", described(self.method)))
            yield "independence tests", f"{self.num_tests:,}"
        else:
            yield from super()._facts()
        if self.conflicts:
            yield "conflicts", listing([" ".join(conflict.edge) for conflict in self.conflicts])

    def fit(self, method: LearningMethod | None = None, **options: Any) -> FitResult:
        """The network with the learned structure and parameters from the same rows; see `Learned.fit`."""
        if self.columns is None:
            raise NotApplicable("An oracle was asked, so that there are no rows to fit parameters to.")
        return super().fit(method, **options)


@dataclass(frozen=True, kw_only=True)
class ConstraintMethod(Generic[G]):
    """A method that asks about independences.

    Args:
        test: the test of independence.
        level: pairs with a p-value above it count as independent.
        max_condition: the largest conditioning set; any by default.
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False
    uses_score: ClassVar[bool] = False

    test: AnyTest = G_TEST
    level: float = 0.05
    max_condition: int | None = None

    def __post_init__(self) -> None:
        check_test(self.test)
        fraction("level", self.level)
        if self.max_condition is not None:
            whole("max_condition", self.max_condition, otherwise="None")

    def learn(self, task: StructureTask) -> Discovered[G]:
        """The structure; see `ss.learn_structure`."""
        if task.columns.intervened is not None:
            raise NotApplicable(
                f"{type(self).__name__} tests rows without interventions. Leave those rows out, or use a score."
            )
        if task.constraints.max_parents is not None:
            raise NotApplicable(
                f"{type(self).__name__}() joins what tests do not separate, however many parents that gives; found "
                f"max_parents={task.constraints.max_parents}. Leave it out (max_condition= limits the tests), or use a "
                "score."
            )
        knowledge = Knowledge(task.allowed.required, task.allowed.forbidden)
        with Bar(task.progress, "tests") as bar:
            watch = _watch(as_until(task.until, NO_LIMIT), bar)
            queries = Queries(
                self.test.bind(task.columns), task.columns.names, self.level, tiers=task.allowed.tiers, watch=watch
            )
            return self._discovered(queries, knowledge, task.columns)

    def ask(self, names: Sequence[str]) -> Discovered[G]:
        """The structure that an oracle's answers about these names give, without rows.

        Args:
            names: of the variables.

        >>> from sepset.graphs.graph import DAG
        >>> from sepset.learning.structure.independence.oracles import DSeparation
        >>> from sepset.learning.structure.skeletons.pc import PC
        >>> PC(test=DSeparation(DAG.parse("A -> B <- C; B -> D"))).ask("ABCD").graph
        MixedGraph(A -> B; B -> D; C -> B)
        """
        if self.test.needs_rows:
            raise NotApplicable(f"{type(self.test).__name__} is a test of rows. Use learn_structure.")
        named = tuple(names)
        return self._discovered(
            Queries(self.test.bind(Names(named)), named, self.level), Knowledge.none(len(named)), None
        )

    def _discovered(self, queries: Queries, knowledge: Knowledge, columns: Any) -> Discovered[G]:
        found, status = Skeleton.complete(knowledge), Status.COMPLETED
        try:
            self._search(queries, found, knowledge)
            graph, conflicts = self._graph(queries.names, found, knowledge, queries)
        except Stopped as stopped:
            status = stopped.status
        except (KeyboardInterrupt, SystemError) as error:
            if not was_interrupted(error):
                raise
            if found.num_paths > MOST_PATHS:
                raise KeyboardInterrupt from None
            status = Status.INTERRUPTED
        if status is not Status.COMPLETED:
            graph, conflicts = self._graph(queries.names, found, knowledge, None)
        return Discovered(
            graph,
            columns=columns,
            method=self,
            status=status,
            num_tests=queries.num_tests,
            separating_sets=named_sets(found, queries.names),
            conflicts=conflicts,
        )

    def _search(self, queries: Queries, found: Skeleton, knowledge: Knowledge) -> None:
        """Take apart the pairs that are separated."""
        raise NotImplementedError

    def _graph(self, names: Sequence[str], found: Skeleton, knowledge: Knowledge, queries: Queries | None) -> Drawn:
        """The graph of a skeleton, and what contradicted each other; without queries if the budget is spent."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ClassMethod(ConstraintMethod[MixedGraph]):
    """A method that learns an equivalence class of DAGs.

    Args:
        test, level, max_condition: see `ConstraintMethod`.
        conflicts: what becomes of an edge that immoralities direct both ways: "bidirected" gives it no direction,
            "first" the first one in column order; "majority" and "conservative" decide each triple by all separating
            sets among the neighbors.
    """

    conflicts: Conflicts = "bidirected"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("conflicts", self.conflicts, CONFLICTS)

    def _graph(self, names: Sequence[str], found: Skeleton, knowledge: Knowledge, queries: Queries | None) -> Drawn:
        made = directed(found, knowledge, conflicts=self.conflicts, queries=queries)
        return made.graph(names), made.named_conflicts(names)


@dataclass(frozen=True, kw_only=True)
class SkeletonMethod(ConstraintMethod[UndirectedGraph]):
    """A method that learns who is joined to whom, and no directions."""

    def _graph(self, names: Sequence[str], found: Skeleton, knowledge: Knowledge, queries: Queries | None) -> Drawn:
        pairs = found.pairs()
        ends = [[pair[k] for pair in pairs] for k in (0, 1)]
        return UndirectedGraph.from_arrays(names, sources=ends[0], targets=ends[1]), ()


def named_sets(found: Skeleton, names: Sequence[str]) -> dict[tuple[str, str], tuple[str, ...]]:
    """The separating sets of pairs that are not joined, by name."""
    return {
        (names[x], names[y]): tuple(names[z] for z in given)
        for (x, y), given in sorted(found.separating.items())
        if not found.adjacent[x, y]
    }


def _watch(until: Until, bar: Bar) -> Callable[[int], None]:
    """A function that shows progress, and raises when the budget is spent; a step is one test."""
    start = time.monotonic()

    def watch(num_tests: int) -> None:
        bar.report(num_tests, until.steps, f"{num_tests:,} tests")
        status = until.status(num_tests, time.monotonic() - start, None)
        if status is not None:
            raise Stopped(status)

    return watch
