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
from sepset.graphs.costs import SMALL_GRAPH
from sepset.graphs.ordering import DEFAULT_ORDER
from sepset.inference.compiled.domains import States
from sepset.inference.compiled.execution import run, run_tensors
from sepset.inference.compiled.narrowing import Narrowing, is_worth_a_look
from sepset.inference.compiled.planner import Kind, Planner, Positions, Settings
from sepset.inference.compiled.question import Question
from sepset.inference.compiled.readback import Choose, drawer, most_probable, read_back
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
from sepset.inference.compiled.question import Attempt, compile_greedily, compile_question, narrowed
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
        groups, question = self.compiler.all_marginals(self.compiler.narrowing.pattern(evidence), evidence)
        if question is None:
            return self._read_groups(groups, evidence), self.log_partition(evidence)
        return self._read_singles(question, evidence)

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
                known[group] = self._read_singles(self._question("group", group, evidence), evidence)[0]
            return known[group](target)

        return read

    @lazy
    def _scopes(self) -> tuple[tuple[Discrete], ...]:
        return self.problem.variables.singles  # type: ignore[return-value]  # all are discrete here

    def best(self, evidence: Evidence) -> Best:
        """The most probable values of every unobserved variable, by max-product."""
        question = self.compiler.best(evidence)
        values, found = self._within(question.states, evidence)
        with run_tensors(question, values, found, threads=self.compiler.planner.settings.threads) as done:
            log_value = done.log_partition
            codes = [] if log_value == -np.inf else most_probable(done)
        pairs, states = zip(question.ids, codes, strict=False), question.states
        if states is None:
            return Best(dict(pairs), log_value)
        return Best({v: int(states.codes(v)[code]) for v, code in pairs}, log_value)

    def best_seconds(self, evidence: Evidence) -> float:
        """The estimated seconds of `best`, whose plan is made."""
        return 1e-9 * self.compiler.best(evidence).nanoseconds

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, Ints]:
        """Independent draws of every unobserved variable from the posterior."""
        return self._read_back(self._question("draws", (), evidence), evidence, num_rows, drawer(rng))[1]

    def _read_back(
        self, question: Question, evidence: Evidence, num_rows: int, choose: Choose
    ) -> tuple[float, dict[int, Ints]]:
        """The log partition and, if it is finite, a column of codes for every eliminated variable."""
        values, found = self._within(question.states, evidence)
        with run_tensors(question, values, found, threads=self.compiler.planner.settings.threads) as done:
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
        with run_tensors(question, values, found, threads=self.compiler.planner.settings.threads) as done:
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
        if plan.step_memory > costs.HOPELESS_FACTOR * planner.settings.memory:
            return plan
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
        is_valid = planner.domains is None or planner.domains.hold(store)
        if is_valid and self.compiler.narrowing.allows(store):
            return TableEngine(problem, self.compiler, store)
        return TableEngine.of(problem, planner.settings)

    @lazy
    def store(self) -> FactorStore:
        """The values of all factors, laid out on first use: a question that is too large never needs them."""
        planner = self.compiler.planner
        return planner.store if planner.problem is self.problem else FactorStore.of(self.problem)

    def _question(self, kind: Kind, targets: Positions, evidence: Evidence) -> Question:
        compiler = self.compiler
        if kind in SUMS:
            return compiler.asked(kind, targets, compiler.narrowing.pattern(evidence), evidence)
        return compiler.asked(kind, targets, compiler.planner.pattern(evidence))

    def _run(self, question: Question, evidence: Evidence) -> Run:
        values, found = self._within(question.states, evidence)
        settings = self.compiler.planner.settings
        is_long = question.program.work >= costs.WORK_FOR_SUPPORTS or settings.zeros == "sparse"
        supports = self.compiler.supports if is_long else None
        return run(question, values, found, supports, threads=settings.threads)

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


UNSEARCHED: frozenset[Kind] = frozenset({"group", "mode", "draws"})
"""Questions whose steps keep the order of elimination: it is shared, or decides between ties and draws."""


REPLANNED: frozenset[Kind] = frozenset({"joint", "marginals"})
"""Questions that get a longer search after repeated uses, if they are expensive."""

SUMS: frozenset[Kind] = frozenset({"joint", "marginals", "group"})
"""Questions whose answers are the same whichever states their tables leave out: no ties, and no draws."""


class AllMarginals:
    """The way to all marginals for one pattern, and the number of requests.

    Attributes:
        uses: the number of requests.
        entries: the table entries of a single tree, if one greedy order was tried for it.
        found: the targets in groups, and the question that answers for all of them or None; None before any request.
    """

    def __init__(self) -> None:
        self.uses = 0
        self.entries: float | None = None
        self.found: tuple[tuple[Positions, ...], Question | None] | None = None


class Uses:
    """The number of times that an expensive question was asked."""

    def __init__(self) -> None:
        self.num = 0


def _key(kind: Kind, targets: Positions, pattern: Pattern) -> tuple[Kind, Positions, Pattern]:
    """The key of a question; all marginals are always about every unobserved variable."""
    return kind, () if kind == "marginals" else targets, pattern


class Compiler:
    """Compiled questions about one structure, valid for all values that are zero where those of its problem are."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.narrowing = Narrowing(planner)
        self._questions: Cache[Question] = Cache(128)
        self._marginals: Cache[AllMarginals] = Cache(128)
        self._uses: Cache[Uses] = Cache(128)
        self._narrowed: Cache[Question] = Cache(16)
        self._shared: Cache[Uses] = Cache(128)  # findings whose own states hardly make best values cheaper

    @lazy
    def supports(self) -> Supports | None:
        """The programs over supports; None if there are no zeros, or they are treated like other values."""
        zeros = self.planner.settings.zeros
        domains = self.planner.zeros if zeros == "auto" else self.planner.domains
        return None if domains is None else Supports(domains, self.narrowing.claim, at_once=zeros == "sparse")

    def question(self, kind: Kind, targets: Positions, pattern: Pattern) -> Question:
        """The compiled question, made on first use."""
        return self._questions.get(_key(kind, targets, pattern), lambda: self._compiled(kind, targets, pattern))

    def all_marginals(
        self, pattern: Pattern, evidence: Evidence | None = None
    ) -> tuple[tuple[Positions, ...], Question | None]:
        """The unobserved positions in groups, and the question that answers for all, or None.

        An observed set with repeated questions gets a longer search, and one program for all groups.

        Args:
            evidence: the findings, if tables may leave out the states that they exclude.
        """
        asked = self._marginals.get(pattern, AllMarginals)
        uses = asked.uses = asked.uses + 1  # threads may lose a count, but the threshold is reached all the same
        found = asked.found
        if found is None:
            if (made := self._tried(asked, pattern, costs.ENTRIES_PER_SINK_FOR_GROUPS)) is not None:
                found = asked.found = (), made
            elif evidence is not None and (fewer := self._narrower(asked, pattern, evidence)) is not None:
                return self.all_marginals(fewer)
            else:
                found = asked.found = self._grouped(asked, pattern, costs.ENTRIES_PER_SINK_FOR_GROUPS)
        elif uses == costs.USES_BEFORE_SEARCH + 1:
            groups, question = self._grouped(asked, pattern, costs.ENTRIES_PER_SINK_FOR_GROUPS_LATER)
            if question is None:
                question = self._bundled(pattern, groups)
            elif question.is_expensive:
                question = self._improved("marginals", self.planner.hidden(pattern), pattern)
            found = asked.found = groups, question
        return found

    def _narrower(self, asked: AllMarginals, pattern: Pattern, evidence: Evidence) -> Pattern | None:
        """The pattern over fewer states, if a greedy order has sufficiently smaller tables over these."""
        if not self._is_quick("marginals", self.planner.relevant("marginals", (), pattern)):
            return None
        entries = self._entries(asked, pattern)
        if not is_worth_a_look(entries, self.planner.store):
            return None
        fewer = self.narrowing.candidate(pattern, evidence)
        if fewer is None or fewer.states is None:
            return None
        other = self._marginals.get(fewer, AllMarginals)
        made = self._tried(other, fewer, costs.ENTRIES_PER_SINK_FOR_GROUPS)
        if made is not None:
            other.found = (), made
        ratio = self._entries(other, fewer) / entries
        return fewer if self.narrowing.decide(evidence, fewer.states, ratio) else None

    def _entries(self, asked: AllMarginals, pattern: Pattern) -> float:
        """The table entries of a greedy order; the same if its kernel is not compiled yet."""
        if asked.entries is None:
            asked.entries = self.planner.size_of_one_tree(pattern)
        return asked.entries

    def asked(self, kind: Kind, targets: Positions, pattern: Pattern, evidence: Evidence | None = None) -> Question:
        """The compiled question, which is improved if it is expensive and asked repeatedly.

        Best values and draws are not: their order breaks ties and uses up random numbers, and stays what it was.

        Args:
            evidence: the findings, if tables may leave out the states that they exclude.
        """
        question = self.question(kind, targets, pattern)
        if not question.is_expensive or kind in UNSEARCHED:
            return question
        counted = self._uses.get((kind, targets, pattern), Uses)
        counted.num += 1
        if counted.num <= costs.USES_BEFORE_SEARCH and evidence is not None:
            return self._over_fewer_states(question, kind, targets, pattern, evidence)
        return self._improved(kind, targets, pattern) if counted.num == costs.USES_BEFORE_SEARCH + 1 else question

    def _over_fewer_states(
        self, question: Question, kind: Kind, targets: Positions, pattern: Pattern, evidence: Evidence
    ) -> Question:
        """The question over the states that the findings leave, if it is sufficiently cheaper."""
        if not is_worth_a_look(question.contraction.entries, self.planner.store):
            return question
        fewer = self.narrowing.candidate(pattern, evidence)
        if fewer is None or fewer.states is None:
            return question
        other = self.question(kind, targets, fewer)
        is_used = self.narrowing.decide(evidence, fewer.states, other.nanoseconds / question.nanoseconds)
        return other if is_used else question

    def best(self, evidence: Evidence) -> Question:
        """The question of the best values; over the states that these findings leave, if it is expensive otherwise."""
        planner = self.planner
        if planner.domains is None:
            known = self._questions.find(("mode", (), (evidence.observed, evidence.weighted, None)))
            return self.question("mode", (), planner.pattern(evidence)) if known is None else known
        pattern = planner.pattern(evidence)
        question = self.question("mode", (), pattern)
        if question.nanoseconds < costs.NANOSECONDS_FOR_OWN_STATES or self._shared.get(pattern, Uses).num:
            return question
        states = planner.domains.own(evidence)
        if states is None or (question.states is not None and states.cards.sum() >= question.states.cards.sum()):
            return question
        found = self._narrowed.get((question, states), lambda: narrowed(question, states.layout, states))
        if found.nanoseconds <= costs.SHARE_OF_OWN_STATES * question.nanoseconds:
            return found
        self._shared.get(pattern, Uses).num += 1
        return question

    def _improved(self, kind: Kind, targets: Positions, pattern: Pattern) -> Question:
        """The question after a longer search, if its steps are cheaper then."""
        question = self.question(kind, targets, pattern)
        try:
            other = self._planned(kind, targets, pattern, costs.LATER_ORDER_PASSES)
        except TooLarge:
            return question
        if other.nanoseconds >= question.nanoseconds:
            return question
        question.pool.clear()
        self._questions.put(_key(kind, targets, pattern), other)
        return other

    def _grouped(
        self, asked: AllMarginals, pattern: Pattern, entries_per_sink: int
    ) -> tuple[tuple[Positions, ...], Question | None]:
        made = self._tried(asked, pattern, entries_per_sink)
        if made is not None:
            return (), made
        groups = self.planner.groups(pattern, entries_per_sink, whole=asked.entries)
        return groups, self.question("marginals", groups[0], pattern) if len(groups) == 1 else None

    def _tried(self, asked: AllMarginals, pattern: Pattern, entries_per_sink: int) -> Question | None:
        """All marginals from a single tree in one compiled call; None if that was tried, or if a search is worth it."""
        relevant = self.planner.relevant("marginals", (), pattern)
        if asked.entries is not None or not self._is_quick("marginals", relevant):
            return None
        most = self.planner.most_in_one_tree(entries_per_sink)
        attempt = self._attempt("marginals", (), pattern, relevant, most=most)
        asked.entries, made = attempt.entries, attempt.question
        if made is None:
            return None
        return self._questions.get(_key("marginals", (), pattern), lambda: made)

    def _is_quick(self, kind: Kind, relevant: Relevant) -> bool:
        """Whether a question is first compiled in one call; best values and draws, only with the order that the search
        on a small graph begins with: rows of findings have the same, which breaks ties."""
        most = costs.FACTORS_AT_ONCE if kind in ("joint", "group", "marginals") else SMALL_GRAPH
        return len(relevant.numbers) <= most and self.planner.settings.order == DEFAULT_ORDER

    def _attempt(
        self, kind: Kind, targets: Positions, pattern: Pattern, relevant: Relevant, *, most: float = math.inf
    ) -> Attempt:
        """The question in one compiled call, if no search is worth its time."""
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
            reads_tensors=kind not in ("joint", "marginals", "group"),
            most=most,
            effort=costs.FIRST_ORDER_PASSES,
            search=kind not in UNSEARCHED,
            haste=kind in REPLANNED,
        )

    def _bundled(self, pattern: Pattern, groups: Sequence[Positions]) -> Question | None:
        """The groups as one program that shares intermediate results; None if it is too large."""
        total = self.question("joint", (), pattern)
        parts = [self.question("group", group, pattern) for group in groups]
        return bundle(total, parts, self.planner.layout(pattern.states))

    def _compiled(self, kind: Kind, targets: Positions, pattern: Pattern) -> Question:
        relevant = self.planner.relevant(kind, targets, pattern)
        entries = self._marginals.get(pattern, AllMarginals).entries if kind == "marginals" else None
        if entries is None and self._is_quick(kind, relevant):
            question, total = self._attempt(kind, targets, pattern, relevant)
            if question is not None:
                return question
            entries = Attempt(None, total).entries
        is_hasty = kind in REPLANNED and (entries or 0.0) >= costs.ENTRIES_FOR_HASTE
        effort = costs.HASTY_ORDER_PASSES if is_hasty else costs.FIRST_ORDER_PASSES
        try:
            return self._planned(kind, targets, pattern, effort)
        except TooLarge:
            plan = self.planner.plan(
                kind, targets, pattern, effort=effort
            )  # one far beyond the memory is refused again
            if plan.step_memory > costs.PATIENT_FACTOR * self.planner.settings.memory:
                raise
        return self._planned(kind, targets, pattern, costs.LATER_ORDER_PASSES)

    def _planned(self, kind: Kind, targets: Positions, pattern: Pattern, effort: float) -> Question:
        """The question along a new plan.

        Args:
            effort: how long to search for the order, in passes; for the tree likewise.
        """
        is_later = effort >= costs.LATER_ORDER_PASSES
        share = costs.LATER_SHARE_OF_TREE_SEARCH if is_later else costs.SHARE_OF_TREE_SEARCH
        plan = self.planner.plan(kind, targets, pattern, effort=effort)
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
            reads_tensors=kind not in ("joint", "marginals", "group"),
            memory=self.planner.settings.memory,
            states=pattern.states,
            search=0.0 if kind in UNSEARCHED else share,
        )


def _inside(touched: Positions, relevant: Relevant) -> Positions:
    """The positions with likelihoods that are relevant."""
    if not touched:
        return touched
    inside = set(relevant.variables)
    return tuple([v for v in touched if v in inside])
