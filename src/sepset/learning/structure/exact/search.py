r"""`ExactSearch`: the DAG of largest score, with the proof that none is better."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from sepset.base.checks import Seed, generator, number, one_of
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Until, as_until, deadline, left_until, was_interrupted
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.ending import ended
from sepset.learning.structure.exact.astar import astar
from sepset.learning.structure.exact.cutshort import cut_short
from sepset.learning.structure.exact.dynamic import best_dag, check_size, dense_scores, needs
from sepset.learning.structure.exact.families import check_columns, dense_families, num_families, score_table
from sepset.learning.structure.exact.integer import integer_program
from sepset.learning.structure.exact.optimum import Optimum, incumbent
from sepset.learning.structure.exact.scoretable import ScoreTable, bits
from sepset.learning.structure.learned import NO_LIMIT, Learned, StructureTask, dag_of

FIRST_STEPS = 1_000_000
"""The sets that A* expands before the integer program is tried."""

ExactMethod = Literal["auto", "dynamic", "astar", "integer"]


@dataclass(frozen=True, slots=True)
class ExactSearch:
    r"""The DAG of largest score among all that the constraints allow, with the proof that none is better.

    $$\hat{\mathcal G} = \arg\max_{\mathcal G} \sum_i F(X_i \mid \text{Pa}_i)$$

    - "dynamic": dynamic programming over the subsets of columns; about 22 columns, whatever the parents.
    - "astar": A* over those subsets with pattern databases; expands only the subsets that matter.
    - "integer": an integer program with cluster cuts; many columns with few parents.
    - "auto": dynamic programming where an eighth of the memory holds it; otherwise A* until it has expanded a million
      sets, and then the integer program.

    `until` ends all with the best DAG known and the gap to a bound; if the scores of all parent sets alone would take
    many times longer, "astar" and "integer" refuse with the estimate. The methods find DAGs of equal score; where
    several are best, each may find another.

    Args:
        method: one of these.
        max_bytes: the largest size of tables; what takes more is refused with an estimate before it starts.

    Reference: Koller & Friedman, section 18.4.2; Silander & Myllymaki (2006); Yuan & Malone (2013); Cussens (2011).
    Guarantee: exact, with bound = score; a gap where `until` ended it.
    Tested by: learning/structure/exact/test_search.py::test_all_methods_agree

    >>> from sepset.learning.structure.columns import Columns
    >>> from sepset.learning.structure.scores.likelihood import BIC
    >>> rows = {"a": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 1] * 9, "c": [0, 1, 1, 0] * 9}
    >>> found = ExactSearch().learn(StructureTask(Columns.of(rows), BIC()))
    >>> found.gap, found.guarantees["structure"], len(found.graph.edges)
    (0.0, EXACT, 2)
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    method: ExactMethod = "auto"
    max_bytes: float = 2.0**33

    def __post_init__(self) -> None:
        one_of("ExactSearch(method=)", self.method, ("auto", "dynamic", "astar", "integer"))
        number("ExactSearch(max_bytes=)", self.max_bytes, above=0)

    def check_columns(self, num_columns: int) -> None:
        """Raise if there are more columns than all of whose DAGs can be searched."""
        check_columns(num_columns)

    def learn(self, task: StructureTask) -> Learned[DAG]:
        """The best DAG."""
        n = len(task.columns)
        check_columns(n)
        method = self._method(n)
        end, found, tables = deadline(as_until(task.until, NO_LIMIT)), list[Optimum](), list[ScoreTable]()
        if method == "dynamic":
            check_size(n, self.max_bytes)
            status = ended(
                task,
                lambda: found.append(best_dag(dense_families(task.scorer, task.allowed), threads=task.scorer.threads)),
            )
        else:
            seconds = end - time.monotonic()
            status = ended(
                task, lambda: tables.append(score_table(task.scorer, task.allowed, pruned=True, seconds=seconds))
            )
            found += [self._solved(task, table, end) for table in tables]
        return self._learned(task, found[0], method) if found else cut_short(task, self, status)

    def _solved(self, task: StructureTask, table: ScoreTable, end: float) -> Optimum:
        """The best DAG of a table; after Ctrl-C one from random orders."""
        until = None if task.until is None else left_until(as_until(task.until, NO_LIMIT), end)
        try:
            return self.solve(table, until=until, seed=task.rng)
        except (KeyboardInterrupt, SystemError) as error:
            if not was_interrupted(error):
                raise
            return replace(incumbent(table, task.rng), status=Status.INTERRUPTED)

    def solve(self, table: ScoreTable, *, until: Until | None = None, seed: Seed = 0) -> Optimum:
        """The best DAG of a score table, such as one read from a file.

        Args:
            table: parent sets and their scores.
            until: the largest number of steps and of seconds; of a table, dynamic programming always completes.
            seed: for the orders from which a first DAG is found.

        >>> table = ScoreTable.from_scores({"a": {(): -4.0, ("b",): -2.5}, "b": {(): -3.0, ("a",): -1.0}})
        >>> table.graph(ExactSearch().solve(table).parents)
        DAG(a -> b)
        """
        method = self._method(table.num_columns)
        if method == "dynamic":
            check_size(table.num_columns, self.max_bytes)
            return best_dag(dense_scores(table))
        rng, end = generator(seed), math.inf if until is None else deadline(until)
        if method == "astar":
            return astar(table, until=until, max_bytes=self.max_bytes, rng=rng)
        if method == "auto":
            first = astar(table, until=_shorter(until), max_bytes=self.max_bytes, rng=rng)
            if first.is_proved or (until is not None and first.status is Status.TIME_LIMIT):
                return first
        return integer_program(table, until=None if until is None else left_until(until, end), rng=rng)

    def _method(self, num_columns: int) -> ExactMethod:
        if self.method != "auto":
            return self.method
        return "dynamic" if needs(num_columns)[0] <= self.max_bytes / 8 else "auto"

    def _learned(self, task: StructureTask, found: Optimum, method: ExactMethod) -> Learned[DAG]:
        parents = [list(bits(mask)) for mask in found.parents]
        score = task.scorer.total(parents)
        is_proved = found.is_proved
        return Learned(
            dag_of(task.columns, parents),
            columns=task.columns,
            score=score,
            bound=score if is_proved else found.bound,
            num_scores=max(task.scorer.num_scores, num_families(len(parents), task.allowed.max_parents)),
            method=self,
            status=Status.COMPLETED if is_proved else found.status,
            guarantees={"structure": Guarantee.EXACT if is_proved else Guarantee.LOWER_BOUND},
            info={"by": method, "steps": found.num_steps},
        )


def _shorter(until: Until | None) -> Until:
    """The limits, and no more than the steps that A* gets before the integer program."""
    if until is None:
        return Until(steps=FIRST_STEPS, tolerance=None)
    return replace(until, steps=FIRST_STEPS if until.steps is None else min(until.steps, FIRST_STEPS))
