"""Exact answers about discrete problems by compiled programs: plan, compile, run, read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.errors import TooLarge
from sepset.factors.table import Table
from sepset.graphs.costs import NANOSECONDS_PER_ENTRY, SMALL_GRAPH
from sepset.graphs.ordering import DEFAULT_ORDER
from sepset.inference.compiled.domains import States
from sepset.inference.compiled.execution import run, run_tensors
from sepset.inference.compiled.planner import Kind, Planner, Positions, Settings
from sepset.inference.compiled.question import Question
from sepset.inference.compiled.readback import Choose, drawer, modes, read_back
from sepset.inference.compiled.run import Run
from sepset.inference.compiled.store import FactorStore, FactorValues
from sepset.inference.method import Answer, Best
from sepset.inference.plan import EliminationPlan
from sepset.problem import Problem, Relevant
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete

if TYPE_CHECKING:
    from sepset.inference.values import Values


from sepset.inference import costs
from sepset.inference.compiled.planner import Pattern
from sepset.inference.compiled.question import Attempt, compile_greedily, compile_question
from sepset.inference.compiled.sharedprogram import bundle
from sepset.inference.compiled.supports import Supports

NO_FINDINGS = Evidence()

Reader = Callable[[int], Table]
"""From a variable position to its marginal."""


class TableEngine:
    """Exact answers about one discrete problem: each question is compiled or found in the cache, run, and read.

    Args:
        problem: every variable discrete.
        compiler: compiles questions about the structure of the problem.

    Reference: Koller & Friedman 10.
    Guarantee: exact.
    Tested by: inference/compiled/test_engine.py::test_evidence_values_do_not_compile_again
    """

    def __init__(self, problem: Problem, compiler: Compiler, store: FactorStore | None = None) -> None:
        self.problem = problem
        self.compiler = compiler
        if store is not None:
            self.store = store

    @classmethod
    def of(cls, problem: Problem, settings: Settings) -> TableEngine:
        """The engine of a problem, with nothing planned yet."""
        return cls(problem, Compiler(Planner(problem, settings)))

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence, in the order asked."""
        question = self._question("joint", tuple(targets), evidence)
        kept, scopes = question.joint_positions, self._scopes
        scope = tuple([scopes[v][0] for v in kept])
        with self._run(question, evidence) as done:
            log_partition = done.log_partition
            table = self._joint(question, scope, done) if kept and log_partition > -np.inf else Table.ones(scope)
        if len(kept) > 1:
            table = table.align([scopes[v][0] for v in targets])
        return Answer(table, log_partition)

    def _joint(self, question: Question, scope: tuple[Discrete, ...], done: Run) -> Table:
        """The joint of a run: linear, or with logarithms where a state is beyond the range of floats."""
        kept, states = question.joint_positions, question.states
        if done.is_log:
            logs = done.log_joint()
            return Table._settled(scope, logs if states is None else states.joint(logs, kept, zero=-np.inf))
        flat = done.joint()
        return Table._make(scope, flat if states is None else states.joint(flat, kept))

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""
        with self._run(self._question("joint", (), evidence), evidence) as done:
            return done.log_partition

    def marginals(self, evidence: Evidence) -> tuple[Reader, float]:
        """A reader of single marginals (findings as point masses), by two sweeps per group of targets, and log Z."""
        groups, question = self.compiler.all_marginals(self.compiler.planner.pattern(evidence))
        if question is not None:
            return self._read_singles(question, evidence)
        total = self._question("joint", (), evidence, costs.NANOSECONDS_PER_ENTRY_ONCE)
        with self._run(total, evidence) as done:
            return self._read_groups(groups, evidence), done.log_partition

    def _read_singles(self, question: Question, evidence: Evidence) -> tuple[Reader, float]:
        with self._run(question, evidence) as done:
            log_partition, is_log = done.log_partition, done.is_log
            values = done.log_singles() if is_log else done.singles()
        scopes, places = self._scopes, question.places
        if question.spread is not None:
            zero = -np.inf if is_log else 0.0
            values, places = question.spread.read(values, zero=zero), question.spread.places
        if is_log:
            return lambda v: Table._settled(scopes[v], values[places[v]]), log_partition
        return Table._reader(scopes, values, places), log_partition

    def _read_groups(self, groups: Sequence[Positions], evidence: Evidence) -> Reader:
        """A reader that runs each group when its first target is read."""
        home = {v: group for group in groups for v in group}
        known: dict[Positions, Reader] = {}

        def read(target: int) -> Table:
            group = home.get(target)
            if group is None:
                variable = self._scopes[target][0]
                return Table.indicator(variable, variable.states[evidence.codes[target]])
            if group not in known:
                question = self._question("group", group, evidence, costs.NANOSECONDS_PER_ENTRY_ONCE)
                known[group] = self._read_singles(question, evidence)[0]
            return known[group](target)

        return read

    @lazy
    def _scopes(self) -> tuple[tuple[Discrete], ...]:
        return self.problem.variables.singles  # type: ignore[return-value]  # all are discrete here

    def best(self, evidence: Evidence) -> Best:
        """The most probable values of every unobserved variable, by max-product."""
        question = self._question("mode", (), evidence)
        log_value, codes = self._read_back(question, evidence, 1, modes)
        return Best({v: int(column[0]) for v, column in codes.items()}, log_value)

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, Ints]:
        """Independent draws of every unobserved variable from the posterior."""
        return self._read_back(self._question("draws", (), evidence), evidence, num_rows, drawer(rng))[1]

    def _read_back(
        self, question: Question, evidence: Evidence, num_rows: int, choose: Choose
    ) -> tuple[float, dict[int, Ints]]:
        """The log partition and, if it is finite, a column of codes for every eliminated variable."""
        values, found = self._within(question.states, evidence)
        with run_tensors(question, values, found) as done:
            if done.log_partition == -np.inf:
                return -np.inf, {}
            columns = read_back(done, num_rows, choose, maximize=question.maximize)
            log_partition = done.log_partition
        named = {question.ids[r]: column for r, column in columns.items()}
        states = question.states
        return log_partition, named if states is None else {v: states.codes(v)[c] for v, c in named.items()}

    def factor_marginals(self, evidence: Evidence) -> Floats | None:
        """The marginal over every factor's scope, in the layout of the store; None if the evidence is impossible."""
        from sepset.inference.compiled.gradients import factor_marginals

        question = self._question("factors", (), evidence)
        values, found = self._within(question.states, evidence)
        with run_tensors(question, values, found) as done:
            if done.log_partition == -np.inf:
                return None
            flat = factor_marginals(done, values.store, found)
        return flat if question.states is None else question.states.entries(flat)

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of a query; without targets, of all marginals."""
        planner = self.compiler.planner
        pattern = planner.pattern(NO_FINDINGS)._replace(observed=tuple(sorted(observed)))
        kind: Kind = "joint" if targets else "marginals"
        plan = planner.plan(kind, tuple(targets), pattern, to_run=False)
        try:
            question = self.compiler.question(kind, tuple(targets) or planner.hidden(pattern), pattern)
        except TooLarge:
            return plan
        return replace(plan, need=question.need)

    def with_values(self, values: Values) -> TableEngine:
        """The same plans and programs with new values, one array per factor over its scope."""
        from sepset.inference.values import checked_values

        problem, store = self.store.with_values(self.problem, checked_values(self.problem, values))
        planner = self.compiler.planner
        if planner.domains is None or planner.domains.hold(store):
            return TableEngine(problem, self.compiler, store)
        return TableEngine.of(problem, planner.settings)

    @lazy
    def store(self) -> FactorStore:
        """The values of all factors, laid out on first use: a question that is too large never needs them."""
        planner = self.compiler.planner
        return planner.store if planner.problem is self.problem else FactorStore.of(self.problem)

    def _question(
        self, kind: Kind, targets: Positions, evidence: Evidence, entry_time: float = NANOSECONDS_PER_ENTRY
    ) -> Question:
        return self.compiler.question(kind, targets, self.compiler.planner.pattern(evidence), entry_time=entry_time)

    def _run(self, question: Question, evidence: Evidence) -> Run:
        values, found = self._within(question.states, evidence)
        return run(question, values, found, self.compiler.supports)

    def _within(self, states: States | None, evidence: Evidence) -> tuple[FactorValues, Evidence]:
        """The factor values and the findings over these states."""
        if states is None:
            return self._all_values, evidence
        return self._values.get(states, lambda: self._over(states)), states.evidence(evidence)

    @lazy
    def _values(self) -> Cache[FactorValues]:
        return Cache(16)

    @lazy
    def _all_values(self) -> FactorValues:
        return FactorValues(self.problem, self.store)

    def _over(self, states: States) -> FactorValues:
        return FactorValues(self.problem, states.store(self.store), states.cells)


class AllMarginals:
    """The way to all marginals for one pattern, and the number of requests.

    Attributes:
        uses: the number of requests.
        attempt: the question of a single tree with one greedy order, if it was tried, until the longer search.
        found: the targets in groups, and the question that answers for all of them or None; None before any request.
    """

    def __init__(self) -> None:
        self.uses = 0
        self.attempt: Attempt | None = None
        self.found: tuple[tuple[Positions, ...], Question | None] | None = None


class Compiler:
    """Compiled questions about one structure, valid for all values that are zero where those of its problem are."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self._questions: Cache[Question] = Cache(128)
        self._marginals: Cache[AllMarginals] = Cache(128)

    @lazy
    def supports(self) -> Supports | None:
        """The programs over supports; None if zeros are treated like other values."""
        domains = self.planner.domains
        return None if domains is None else Supports(domains, at_once=self.planner.settings.zeros == "sparse")

    def question(
        self, kind: Kind, targets: Positions, pattern: Pattern, *, entry_time: float = NANOSECONDS_PER_ENTRY
    ) -> Question:
        """The compiled question, made on first use.

        Args:
            entry_time: the nanoseconds per table entry that a better order saves: how long to look for one.
        """
        named = () if kind == "marginals" else targets  # for these kinds, targets are all unobserved variables
        key = kind, named, pattern, entry_time
        return self._questions.get(key, lambda: self._compiled(kind, targets, pattern, entry_time))

    def all_marginals(self, pattern: Pattern) -> tuple[tuple[Positions, ...], Question | None]:
        """The unobserved positions in groups, and the question that answers for all, or None.

        An observed set with repeated questions gets a longer search, and one program for all groups.
        """
        asked = self._marginals.get(pattern, AllMarginals)
        uses = asked.uses = asked.uses + 1  # threads may lose a count, but the threshold is reached all the same
        found = asked.found
        if found is None:
            per_sink = costs.ENTRIES_PER_SINK_FOR_GROUPS
            found = asked.found = self._grouped(asked, pattern, per_sink, costs.NANOSECONDS_PER_ENTRY_ONCE)
        elif uses == costs.USES_BEFORE_SEARCH + 1:
            per_sink = costs.ENTRIES_PER_SINK_FOR_GROUPS_LATER
            groups, question = self._grouped(asked, pattern, per_sink, NANOSECONDS_PER_ENTRY)
            found = asked.found = groups, self._bundled(pattern, groups) if question is None else question
            asked.attempt = None
        return found

    def _grouped(
        self, asked: AllMarginals, pattern: Pattern, per_sink: int, entry_time: float
    ) -> tuple[tuple[Positions, ...], Question | None]:
        whole, relevant = None, self.planner.relevant("marginals", (), pattern)
        if self._is_quick(relevant):
            most = self.planner.most_in_one_tree(per_sink)
            if asked.attempt is None:
                asked.attempt = self._attempt("marginals", (), pattern, relevant, most=most, entry_time=entry_time)
            whole, question = asked.attempt.entries, asked.attempt.question
            if question is not None and whole <= most and asked.attempt.is_settled(entry_time):
                return (), question
        groups = self.planner.groups(pattern, per_sink, whole=whole)
        if len(groups) > 1:
            return groups, None
        return groups, self.question("marginals", groups[0], pattern, entry_time=entry_time)

    def _bundled(self, pattern: Pattern, groups: Sequence[Positions]) -> Question | None:
        """The groups as one program that shares intermediate results; None if it is too large."""
        total = self.question("joint", (), pattern)
        parts = [self.question("group", group, pattern) for group in groups]
        return bundle(total, parts, self.planner.layout(pattern.states))

    def _is_quick(self, relevant: Relevant) -> bool:
        """Whether a question is first compiled in one call."""
        return len(relevant.numbers) <= costs.FACTORS_AT_ONCE and self.planner.settings.order == DEFAULT_ORDER

    def _attempt(
        self,
        kind: Kind,
        targets: Positions,
        pattern: Pattern,
        relevant: Relevant,
        *,
        most: float = math.inf,
        entry_time: float = NANOSECONDS_PER_ENTRY,
    ) -> Attempt:
        """The question in one compiled call, if its first order is settled."""
        planner = self.planner
        asked = relevant.places if kind == "marginals" else np.array(targets, dtype=np.int64)
        return compile_greedily(
            planner.layout(pattern.states),
            cards=planner.cards(pattern.states),
            numbers=relevant.numbers,
            hidden=relevant.places,
            observed=pattern.observed,
            touched=_inside(pattern.touched, relevant),
            kept=targets if kind == "joint" else (),
            marginals=asked if kind in ("marginals", "group") else None,
            factors=kind == "factors",
            maximize=kind == "mode",
            memory=planner.settings.memory,
            states=pattern.states,
            most=most,
            entry_time=entry_time,
        )

    def _compiled(self, kind: Kind, targets: Positions, pattern: Pattern, entry_time: float) -> Question:
        relevant = self.planner.relevant(kind, targets, pattern)
        # Best values break ties by the order of the plan, for which a search on a large graph begins otherwise.
        if self._is_quick(relevant) and (kind in ("joint", "group") or len(relevant.places) <= SMALL_GRAPH):
            question = self._attempt(kind, targets, pattern, relevant, entry_time=entry_time).question
            if question is not None:
                return question
        plan = self.planner.plan(kind, targets, pattern, entry_time=entry_time, relevant=relevant)
        return compile_question(
            self.planner.layout(pattern.states),
            plan,
            cards=self.planner.cards(pattern.states),
            observed=pattern.observed,
            touched=_inside(pattern.touched, plan.relevant),
            kept=targets if kind == "joint" else (),
            marginals=targets if kind in ("marginals", "group") else None,
            factors=kind == "factors",
            maximize=kind == "mode",
            memory=self.planner.settings.memory,
            states=pattern.states,
            is_part=kind == "group",
        )


def _inside(touched: Positions, relevant: Relevant) -> Positions:
    """The positions with likelihoods that are relevant."""
    if not touched:
        return touched
    inside = set(relevant.variables)
    return tuple([v for v in touched if v in inside])
