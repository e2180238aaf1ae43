"""Batches: one question asked of many rows of findings, in blocks, on several threads.

Rows that repeat are answered once. A set of observed variables that covers many rows gets a program of its own, from
which those variables have left; all other rows run through one program in which findings are masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.threads import in_order, num_threads
from sepset.errors import TooLarge
from sepset.graphs.ordering import OrderingMethod
from sepset.inference.capabilities import row_by_row
from sepset.inference.compiled.question import Question, compile_question
from sepset.inference.compiled.store import FactorStore
from sepset.inference.evidencerows import EvidenceRows, RowAnswers, Workers
from sepset.inference.method import Prepared
from sepset.inference.plan import make_plan
from sepset.inference.rows.program import LANES, LoadedRows, RowProgram, row_program
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

PLAN_SECONDS = 5e-5
"""What planning is taken to cost for each variable; multiplications and instructions of a block run in these times."""
WORK_SECONDS = 4e-10
STEP_SECONDS = 3e-8
SHORTEST, LONGEST = 2e-4, 0.25
"""Seconds a task; between these it takes one in `SHARE` of the rows that are left."""
SHARE = 4
CHUNKS_OF_COUNTS = 64


class Chunk(NamedTuple):
    """Rows and what was found in them: of rows that are `wide`, nothing."""

    rows: Ints
    log_partition: Floats
    marginals: dict[int, Floats]
    totals: Floats | float
    wide: Bytes


@dataclass(frozen=True, eq=False)
class RowTables:
    """A discrete problem as batches need it.

    Attributes:
        single: answers one row at a time, for rows whose numbers need logarithms.
        factor_marginals: the marginal over every factor's scope given evidence, flat as the store is.
    """

    problem: Problem
    store: FactorStore
    cache: Cache[Any]
    order: OrderingMethod
    memory: int
    single: Prepared
    factor_marginals: Callable[[Evidence], Floats]
    _loaded: Cache[LoadedRows] = field(default_factory=lambda: Cache(16), repr=False)

    def answers(self, findings: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The posterior of each target and the log partition, for every row."""
        rows, which = findings.distinct()
        cards = self.problem.variables.cards
        log_partition = np.empty(len(rows))
        probabilities = {v: np.full((len(rows), int(cards[v])), np.nan) for v in targets}
        for chunk in self._chunks(rows, tuple(targets), None, workers):
            found, place = RowAnswers(chunk.log_partition, chunk.marginals), _span(chunk.rows)
            _put(found, place, log_partition, probabilities)
            if np.count_nonzero(chunk.wide):
                alone = chunk.rows[chunk.wide > 0]
                _put(row_by_row(self.single, rows.take(alone), targets), alone, log_partition, probabilities)
        if len(rows) == len(findings):
            return RowAnswers(log_partition, probabilities)
        return RowAnswers(log_partition[which], {v: p[which] for v, p in probabilities.items()})

    def summed(self, rows: EvidenceRows, weight: Floats, workers: Workers) -> tuple[Floats, Floats]:
        """The sum of all rows' factor marginals, flat as the store is, and the log partition of every row."""
        log_partition, totals = np.empty(len(rows)), np.zeros(len(self.store.values))
        for chunk in self._chunks(rows, (), weight, workers):
            log_partition[chunk.rows] = chunk.log_partition
            totals += chunk.totals
            for row in chunk.rows[chunk.wide > 0].tolist():
                evidence = rows.evidence(row)
                log_partition[row] = self.single.log_partition(evidence)
                if log_partition[row] > -np.inf:
                    totals += weight[row] * self.factor_marginals(evidence)
        return totals, log_partition

    def _chunks(
        self, rows: EvidenceRows, targets: tuple[int, ...], weights: Floats | None, workers: Workers
    ) -> Iterator[Chunk]:
        """Chunks of rows with what was found in them, in an order that does not depend on the threads."""
        done = 0
        for chunk in in_order(self._tasks(rows, targets, weights), num_threads(workers.threads), is_short=_is_short):
            yield chunk
            done += len(chunk.rows)
            workers.report(done, len(rows))

    def _tasks(
        self, rows: EvidenceRows, targets: tuple[int, ...], weights: Floats | None
    ) -> Iterator[Callable[[Bytes], Chunk]]:
        for program, members in self._programs(rows, targets, weights is not None):
            loaded = None if program is None else self._loaded.get(program, partial(LoadedRows.of, program, self.store))
            if loaded is None or not loaded.is_safe:
                yield partial(_left, self, targets, members)
                continue
            for part in _chunks_of(loaded.program, members, counted=weights is not None):
                yield partial(_run, loaded, rows, targets, weights, part)

    def _programs(
        self, rows: EvidenceRows, targets: tuple[int, ...], counted: bool
    ) -> Iterator[tuple[RowProgram | None, Ints]]:
        """A program for each set of observed variables that deserves one, and one for all other rows."""
        first, which = rows.patterns
        counts = np.bincount(which)
        make = partial(self._program, rows.positions, targets, counted)
        own = np.arange(len(first))
        common = make(()) if len(first) > 1 else None
        if common is not None:
            plan = PLAN_SECONDS * len(self.problem.variables)
            own = _deserving(plan, counts, common, lambda i: make(rows.observed(first[i])))
            is_own = np.zeros(len(first), dtype=np.bool_)
            is_own[own] = True
            yield common, np.flatnonzero(~is_own[which])
        order, ends = (np.argsort(which, kind="stable"), np.cumsum(counts)) if len(own) else (which, counts)
        for i in own.tolist():
            yield make(rows.observed(first[i])), order[ends[i] - counts[i] : ends[i]]

    def _program(
        self, columns: tuple[int, ...], targets: tuple[int, ...], counted: bool, observed: tuple[int, ...]
    ) -> RowProgram | None:
        """The program for rows that observe just these, or without them any columns; None where it is too large."""
        seen = tuple(v for v in observed if v not in targets)
        masked = tuple(v for v in observed if v in targets) if observed else columns
        key = ("rows", columns, targets, counted, observed)

        def build() -> RowProgram | None:
            try:
                return row_program(self._question(targets, counted, seen, masked), columns)
            except TooLarge:
                return None

        return self.cache.get(key, build)  # type: ignore[no-any-return]  # a cache of anything

    def _question(
        self, targets: tuple[int, ...], counted: bool, observed: tuple[int, ...], masked: tuple[int, ...]
    ) -> Question:
        hidden = set(observed)
        asked = [v for v in range(len(self.problem.variables)) if v not in hidden] if counted else targets
        kept = targets if len(targets) == 1 else ()
        relevant = self.problem.relevant(asked, observed, touched=masked, constants=True)
        plan = make_plan(self.problem, relevant, method=self.order, targets=targets, observed=observed, last=kept)
        return compile_question(
            self.problem,
            self.store,
            plan,
            observed=observed,
            touched=masked,
            kept=kept,
            marginals=targets if len(targets) > 1 else (),
            factors=counted,
            memory=self.memory // LANES[-1],
        )


def _span(rows: Ints) -> slice | Ints:
    """The rows as a slice where they follow each other, which saves copies."""
    together = len(rows) > 0 and int(rows[-1]) - int(rows[0]) + 1 == len(rows)
    return slice(int(rows[0]), int(rows[-1]) + 1) if together else rows


def _put(found: RowAnswers, place: slice | Ints, log_partition: Floats, probabilities: dict[int, Floats]) -> None:
    log_partition[place] = found.log_partition
    for v, values in found.probabilities.items():
        probabilities[v][place] = values


def _run(
    loaded: LoadedRows, rows: EvidenceRows, targets: Sequence[int], weights: Floats | None, part: Ints, cancel: Bytes
) -> Chunk:
    weight = np.ones(len(part)) if weights is None else weights[part]
    log_partition, flat, totals, wide = loaded.run(rows.codes[_span(part)], weight, cancel)
    marginals = {v: flat[:, loaded.program.places[v]] for v in targets}
    return Chunk(part, log_partition, marginals, totals if weights is not None else 0.0, wide)


def _is_short(task: partial[Chunk]) -> bool:
    """Whether a task is done before anyone would wait for Ctrl-C to be heard."""
    return task.func is not _run or len(task.args[-1]) * _row_seconds(task.args[0].program) <= LONGEST


def _left(tables: RowTables, targets: Sequence[int], part: Ints, cancel: Bytes) -> Chunk:
    """Rows for which no program runs: each is answered alone."""
    nothing = {v: np.full((len(part), int(tables.problem.variables.cards[v])), np.nan) for v in targets}
    return Chunk(part, np.full(len(part), -np.inf), nothing, 0.0, np.ones(len(part), np.uint8))


def _row_seconds(program: RowProgram) -> float:
    return program.work * WORK_SECONDS + (len(program.ops) + 1) * STEP_SECONDS / program.lanes


def _chunks_of(program: RowProgram, members: Ints, *, counted: bool) -> Iterator[Ints]:
    """Rows task by task, fewer and fewer, so that no thread waits long for the last; but enough to be worth a thread,
    for counts enough that their totals are made few times, and not so many that progress stands still.

    The tasks do not depend on the threads, and so neither does the order in which counts are added.
    """
    seconds, start = _row_seconds(program), 0
    least = max(SHORTEST / seconds, len(members) / CHUNKS_OF_COUNTS if counted else 0)
    while start < len(members):
        wanted = max(least, min((len(members) - start) / SHARE, LONGEST / seconds))
        size = program.lanes * max(1, round(wanted / program.lanes))
        yield members[start : start + size]
        start += size


def _deserving(plan: float, counts: Ints, common: RowProgram, make: Callable[[int], RowProgram | None]) -> Ints:
    """The patterns whose rows save more in a program of their own than planning it costs.

    The pattern with most rows tells what such programs cost beside the common one.
    """
    usual = _row_seconds(common)
    sample = make(int(counts.argmax())) if counts.max() * usual > plan else None
    if sample is None:
        return np.zeros(0, np.int64)
    blocks = -(-counts // sample.lanes) * sample.lanes
    return np.flatnonzero(plan + blocks * _row_seconds(sample) < counts * usual)
