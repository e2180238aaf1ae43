"""Batches: one question for many rows of findings, in blocks, on several threads.

Equal rows are answered once. A set of observed variables with many rows gets a program of its own, without those
variables; all other rows use one program in which findings are masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.membership import among, without
from sepset.base.threads import in_order, num_threads
from sepset.errors import TooLarge
from sepset.graphs.costs import SMALL_GRAPH
from sepset.graphs.ordering import DEFAULT_ORDER
from sepset.inference import costs
from sepset.inference.capabilities import row_by_row
from sepset.inference.compiled.engine import TableEngine
from sepset.inference.compiled.planner import Pattern, Planner, Positions
from sepset.inference.compiled.question import Question, compile_greedily, compile_question
from sepset.inference.evidencerows import ROWS_LOOKED_AT, EvidenceRows, RowAnswers, Workers
from sepset.inference.plan import EliminationPlan, make_plan
from sepset.inference.rows.modes import LoadedModes, ModeProgram, mode_program
from sepset.inference.rows.program import LoadedRows, RowProgram, row_program
from sepset.problem import Problem, Relevant
from sepset.variables.evidence import Evidence


class Chunk(NamedTuple):
    """Rows and their answers, except for those that are `wide`."""

    rows: Ints
    log_partition: Floats
    marginals: dict[int, Floats]
    totals: Floats | float
    wide: Bytes


Programs = list[tuple[RowProgram | None, Ints]]
"""Programs, each with the numbers of its rows; None for rows that are answered one by one."""


class RowTables:
    """Answers to many rows of evidence about a discrete problem.

    Args:
        tables: the engine of the problem, which also answers, one at a time, rows that need log space.
        compiler: makes the programs, which are valid for all values of one structure.

    Guarantee: exact, any number of threads.
    Tested by: inference/rows/test_batch.py::test_random_models
    """

    def __init__(self, tables: TableEngine, compiler: RowCompiler) -> None:
        self.compiler = compiler
        self._tables = tables
        self._loaded: Cache[LoadedRows] = Cache(16)

    def answers(self, findings: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The posterior of each target and the log partition, for every row."""
        rows, which = findings.distinct()
        programs = self.plan(rows, tuple(targets), counted=False)
        cards = self._tables.problem.variables.cards
        log_partition = np.empty(len(rows))
        probabilities = {v: np.full((len(rows), int(cards[v])), np.nan) for v in targets}
        for chunk in self._chunks(rows, programs, tuple(targets), None, workers):
            found, place = RowAnswers(chunk.log_partition, chunk.marginals), _span(chunk.rows)
            _put(found, place, log_partition, probabilities)
            if np.count_nonzero(chunk.wide):
                alone = chunk.rows[chunk.wide > 0]
                _put(row_by_row(self._tables, rows.take(alone), targets), alone, log_partition, probabilities)
        if len(rows) == len(findings):
            return RowAnswers(log_partition, probabilities)
        return RowAnswers(log_partition[which], {v: p[which] for v, p in probabilities.items()})

    def summed(self, rows: EvidenceRows, weight: Floats, workers: Workers) -> tuple[Floats, Floats]:
        """The sum of all rows' factor marginals, in the layout of the store, and the log partition of every row."""
        programs = self.plan(rows)
        log_partition, totals = np.empty(len(rows.codes)), np.zeros(len(self._tables.store.values))
        for chunk in self._chunks(rows, programs, (), weight, workers):
            log_partition[chunk.rows] = chunk.log_partition
            totals += chunk.totals
            for row in chunk.rows[chunk.wide > 0].tolist():
                evidence = rows.evidence(row)
                log_partition[row] = self._tables.log_partition(evidence)
                if log_partition[row] > -np.inf:
                    totals += weight[row] * _marginals_of(self._tables, evidence)
        return totals, log_partition

    def plan(self, rows: EvidenceRows, targets: tuple[int, ...] = (), *, counted: bool = True) -> Programs:
        """Compile what sums or answers need, before anything is made for the rows: programs and the rows of each.

        Raises if a row that is asked about on its own, for want of a program, is too large.
        """
        if rows.codes.size >= costs.VARIABLES_OF_MINORS:
            fewest = rows.evidence(int((rows.codes[:ROWS_LOOKED_AT] >= 0).sum(axis=1).argmin()))
            is_all = len({*targets, *fewest.codes}) >= self._tables.problem.num_visible
            needed = None if is_all else ()  # the probability of the row is needed in any case
            self._tables.refuse_hopeless(self._tables.told(fewest), needed)
        programs = list(self._programs(rows, targets, counted))
        for program, members in programs:
            if program is None and len(members):
                evidence = min(map(rows.evidence, members[:ROWS_LOOKED_AT].tolist()), key=self._num_told)
                free = tuple([v for v in targets if v not in evidence.codes])
                self._tables.compile(
                    "factors" if counted else "joint" if len(free) <= 1 else "marginals", free, evidence
                )
        return programs

    def _num_told(self, evidence: Evidence) -> int:
        """The number of known values, with the auxiliaries that findings determine."""
        return len(self._tables.told(evidence).codes)

    def modes(self, rows: EvidenceRows, workers: Workers) -> tuple[Ints, Floats, Ints]:
        """The most probable codes of all variables in every row, the logarithms of their values, and the rows that need
        log space; impossible rows have -inf and undefined codes.
        """
        program = self.compiler.modes(rows.positions)
        if program is None and len(rows):
            self.compiler.plan_modes()
        codes = np.zeros((len(rows), len(self._tables.problem.variables)), np.int64)
        log_value, wide = np.full(len(rows), -np.inf), np.ones(len(rows), np.uint8)
        loaded = None if program is None else LoadedModes.of(program, self._tables.store)
        if loaded is not None and loaded.rows.is_safe:
            parts = list(chunks_of(loaded.modes.program, np.arange(len(rows)), counted=False))
            tasks = (partial(loaded.run, rows.codes[_span(part)]) for part in parts)
            for part, found in zip(parts, in_order(tasks, num_threads(workers.threads)), strict=True):
                codes[part], log_value[part], wide[part] = found
                workers.report(int(part[-1]) + 1, len(rows))
        return codes, log_value, np.flatnonzero(wide)

    def _chunks(
        self,
        rows: EvidenceRows,
        programs: Programs,
        targets: tuple[int, ...],
        weights: Floats | None,
        workers: Workers,
    ) -> Iterator[Chunk]:
        """Chunks of rows with their answers, in an order that does not depend on the threads."""
        done, total = 0, len(rows.codes)
        tasks = self._tasks(rows, programs, targets, weights)
        for chunk in in_order(tasks, num_threads(workers.threads), is_short=_is_short):
            yield chunk
            done += len(chunk.rows)
            workers.report(done, total)

    def _tasks(
        self, rows: EvidenceRows, programs: Programs, targets: tuple[int, ...], weights: Floats | None
    ) -> Iterator[Callable[[Bytes], Chunk]]:
        for program, members in programs:
            loaded = None if program is None else self._load(program)
            if loaded is None or not loaded.is_safe:
                yield partial(_left, self._tables.problem, targets, members)
                continue
            for part in chunks_of(loaded.program, members, counted=weights is not None):
                yield partial(_run, loaded, rows, targets, weights, part)

    def _load(self, program: RowProgram) -> LoadedRows:
        return self._loaded.get(program, partial(LoadedRows.of, program, self._tables.store))

    def _programs(
        self, rows: EvidenceRows, targets: tuple[int, ...], counted: bool
    ) -> Iterator[tuple[RowProgram | None, Ints]]:
        """A program for each set of observed variables worth one, and one for all other rows."""
        first, which = rows.patterns
        counts = np.bincount(which)
        make = partial(self.compiler.program, rows.positions, targets, counted=counted)
        own = np.arange(len(first))
        common = make() if len(first) > 1 else None
        if common is not None:
            own = deserving(
                self.compiler.plan_seconds, counts, common, lambda i: make(observed=rows.observed(first[i]))
            )
            is_own = np.zeros(len(first), dtype=np.bool_)
            is_own[own] = True
            yield common, np.flatnonzero(~is_own[which])
        order, ends = (np.argsort(which, kind="stable"), np.cumsum(counts)) if len(own) else (which, counts)
        for i in own.tolist():
            yield make(observed=rows.observed(first[i])), order[ends[i] - counts[i] : ends[i]]


def _span(rows: Ints) -> slice | Ints:
    """The rows as a slice if they are consecutive, which saves copies."""
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


def _marginals_of(tables: TableEngine, evidence: Evidence) -> Floats:
    """The factor marginals of one row, flat; zeros if it is impossible."""
    flat = tables.flat_factor_marginals(evidence)
    return np.zeros(len(tables.store.values)) if flat is None else flat


def _is_short(task: partial[Chunk]) -> bool:
    """Whether a task is too short to check for Ctrl-C."""
    if task.func is not _run:
        return True
    program: RowProgram = task.args[0].program
    seconds = len(task.args[-1]) * program.seconds
    return 8 * program.size <= costs.SHORT_WORKSPACE_BYTES and seconds <= costs.LONGEST_TASK_SECONDS


def _left(problem: Problem, targets: Sequence[int], part: Ints, cancel: Bytes) -> Chunk:
    """Rows without a program: each is answered on its own."""
    nothing = {v: np.full((len(part), int(problem.variables.cards[v])), np.nan) for v in targets}
    return Chunk(part, np.full(len(part), -np.inf), nothing, 0.0, np.ones(len(part), np.uint8))


def chunks_of(program: RowProgram, members: Ints, *, counted: bool) -> Iterator[Ints]:
    """The rows in tasks of decreasing size, so that no thread waits long for the last; each large enough for a thread
    (for counts, large enough that few totals are summed), and small enough to report progress.

    The tasks do not depend on the number of threads, and so neither does the order of summation.
    """
    seconds, start = program.seconds, 0
    least = max(costs.SHORTEST_TASK_SECONDS / seconds, len(members) / costs.MOST_TASKS_OF_COUNTS if counted else 0)
    while start < len(members):
        wanted = max(least, min((len(members) - start) / costs.TASK_SHARE, costs.LONGEST_TASK_SECONDS / seconds))
        size = program.lanes * max(1, round(wanted / program.lanes))
        yield members[start : start + size]
        start += size


def deserving(plan: float, counts: Ints, common: RowProgram, make: Callable[[int], RowProgram | None]) -> Ints:
    """The patterns whose rows save more with a program of their own than planning it costs.

    The program of the pattern with the most rows gives the cost relative to the common one.
    """
    usual = common.seconds
    sample = make(int(counts.argmax())) if counts.max() * usual > plan else None
    if sample is None:
        return np.zeros(0, np.int64)
    blocks = -(-counts // sample.lanes) * sample.lanes
    return np.flatnonzero(plan + blocks * sample.seconds < counts * usual)


class RowCompiler:
    """Compiled programs for rows of one problem.

    Args:
        planner: the problem and its plans; row programs use all states, whatever the zeros.

    Attributes:
        plan_seconds: an estimate of the time to plan one program.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self.plan_seconds = costs.ROW_PLAN_SECONDS_PER_VARIABLE * len(planner.problem.variables)
        self._programs: Cache[RowProgram | None] = Cache(128)
        self._modes: Cache[ModeProgram | None] = Cache(16)

    def program(
        self, columns: Positions, targets: Positions, *, counted: bool = False, observed: Positions = ()
    ) -> RowProgram | None:
        """The program for rows of codes; None if it is too large.

        Args:
            columns: the position of each column.
            targets: positions whose posterior is read in every row.
            counted: whether factor marginals are summed.
            observed: the positions that every row observes, which are removed from the program unless they are targets;
                by default, findings on the columns are masks.
        """
        key = columns, targets, counted, observed
        return self._programs.get(key, lambda: self._compiled(columns, targets, counted, observed))

    def modes(self, columns: Positions) -> ModeProgram | None:
        """The program that completes rows of codes, findings on the columns as masks; None if it is too large.

        It uses the elimination order of all marginals without findings, which breaks ties.
        """
        return self._modes.get(columns, lambda: self._compiled_modes(columns))

    def plan_modes(self) -> EliminationPlan:
        """The plan of completions, whose findings are masks; raises if it is far too large."""
        return self._planner.plan("mode", (), Pattern((), (), None))

    def _compiled_modes(self, columns: Positions) -> ModeProgram | None:
        planner = self._planner
        try:
            plan = self.plan_modes()
            question = compile_question(
                planner.layout(None),
                plan,
                cards=planner.cards(None),
                observed=(),
                touched=columns,
                maximize=True,
                memory=planner.settings.memory // costs.LANES[-1],
                search=0.0,
            )
        except TooLarge:
            return None
        return mode_program(row_program(question, columns))

    def _compiled(
        self, columns: Positions, targets: Positions, counted: bool, observed: Positions
    ) -> RowProgram | None:
        seen = tuple(without(observed, targets)) if targets else observed
        masked = tuple(among(observed, targets)) if observed else columns
        try:
            return row_program(self._question(targets, counted, seen, masked), columns)
        except TooLarge:
            return None

    def _question(self, targets: Positions, counted: bool, observed: Positions, masked: Positions) -> Question:
        planner = self._planner
        problem, settings, hidden = planner.problem, planner.settings, set(observed)
        asked = [v for v in range(len(problem.variables)) if v not in hidden] if counted else targets
        kept = targets if len(targets) == 1 else ()
        relevant = problem.relevant(asked, observed, touched=masked, constants=True)
        about: dict[str, Any] = {
            "cards": planner.cards(None),
            "observed": observed,
            "touched": masked,
            "kept": kept,
            "marginals": np.array(targets, np.int64) if len(targets) > 1 else None,
            "factors": counted,
            "memory": settings.memory // costs.LANES[-1],
        }
        if settings.order == DEFAULT_ORDER and len(relevant.places) <= SMALL_GRAPH:
            numbers, places = relevant.numbers, relevant.places
            question = compile_greedily(planner.layout(None), numbers=numbers, hidden=places, **about).question
            if question is not None:
                return question
        plan = self._plan(relevant, kept, observed, masked)
        return compile_question(planner.layout(None), plan, search=0.0, **about)

    def _plan(self, relevant: Relevant, kept: Positions, observed: Positions, masked: Positions) -> EliminationPlan:
        """The plan of rows; that of a single one if it needs the same factors, so that a refusal is for both."""
        planner, effort = self._planner, costs.ROW_ORDER_PASSES
        if kept:
            return planner.plan("joint", kept, Pattern(observed, masked, None), effort=effort)
        if len(relevant.numbers) == planner.problem.num_factors:
            return planner.plan("marginals", (), Pattern(observed, (), None), effort=effort)
        order, memory = planner.settings.order, planner.settings.memory
        search: dict[str, Any] = {"limit": memory, "effort": effort, "has_tables": False}
        return make_plan(planner.problem, relevant, method=order, observed=observed, **search)
