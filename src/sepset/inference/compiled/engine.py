"""Exact answers about discrete problems by compiled programs: plan, compile, run, read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.base.memory import uncollected
from sepset.errors import TooLarge
from sepset.factors.table import Table
from sepset.graphs.ordering import SideToSide
from sepset.inference import costs
from sepset.inference.compiled.compiler import SUMS, Compiler
from sepset.inference.compiled.domains import States
from sepset.inference.compiled.execution import is_linear, run, run_tensors
from sepset.inference.compiled.planner import Kind, Pattern, Planner, Positions
from sepset.inference.compiled.question import Question
from sepset.inference.compiled.readback import drawer, most_probable, read_back
from sepset.inference.compiled.run import Run, TensorRun
from sepset.inference.compiled.store import FactorStore, FactorValues
from sepset.inference.exact.products import dividing, with_products
from sepset.inference.method import Answer, Best
from sepset.inference.plan import EliminationPlan
from sepset.inference.refusals import has_minors, refuse_cores, refuse_minors
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete

NO_FINDINGS = Evidence()

T = TypeVar("T")

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

    divisions = 0

    def __init__(self, problem: Problem, compiler: Compiler, store: FactorStore | None = None) -> None:
        self.problem = problem
        self.compiler = compiler
        self._has_own_values = store is None
        if store is not None:
            self.store = store

    def divided(self, evidence: Evidence, *, is_new: bool = True) -> TableEngine | None:
        """An engine for the problem in which products given the findings are divided; None if there are none.

        Args:
            is_new: whether it is made now if it was not asked for before.
        """
        told = self.told(evidence)

        def make() -> TableEngine | None:
            made = with_products(self.problem, told)
            return None if made is None else TableEngine(made, Compiler(Planner(made, self.compiler.planner.settings)))

        key = tuple(sorted(told.codes.items()))
        return self._divided.get(key, make) if is_new else self._divided.find(key)

    @lazy
    def _divided(self) -> Cache[TableEngine | None]:
        return Cache(16)

    @dividing
    def compile(self, kind: Kind, targets: Positions, evidence: Evidence) -> None:
        """Compile a question, to know that it is not too large before anything is made for its answer."""
        self._with_told(partial(self._compile, kind, targets), evidence)

    def _compile(self, kind: Kind, targets: Positions, evidence: Evidence) -> None:
        if kind == "marginals":
            groups, question = self.compiler.all_marginals(self.compiler.narrowing.pattern(evidence), evidence)
            if question is not None or not groups:
                return
            kind, targets = "joint", ()  # groups are compiled when they are read
        self.compiler.question(kind, targets, self.compiler.planner.pattern(evidence))

    @dividing
    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence, in the order asked."""
        question, evidence = self.question("joint", tuple(targets), evidence)
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

    @dividing
    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""
        with self._run(*self.question("joint", (), evidence)) as done:
            return done.log_partition

    @dividing
    def marginals(self, evidence: Evidence) -> tuple[Reader, float]:
        """A reader of single marginals (findings as point masses), by two sweeps per group of targets, and log Z."""
        return self._with_told(self._marginals, evidence)[0]

    def _marginals(self, evidence: Evidence) -> tuple[Reader, float]:
        self.refuse_hopeless(evidence, None)
        pattern = self.compiler.narrowing.pattern(evidence)
        first = self._first(pattern, evidence) if self.compiler.is_new(pattern) else None
        if first is not None:
            return first
        try:
            groups, question = self.compiler.all_marginals(pattern, evidence)
        except TooLarge:
            if (question := self.compiler.over_own_states("marginals", (), evidence)) is None:
                raise
        if question is None:
            return self._read_groups(groups, evidence), self.log_partition(evidence)
        return self._read_singles(question, evidence)

    def _first(self, pattern: Pattern, evidence: Evidence) -> tuple[Reader, float] | None:
        """A reader, and log Z, by the call that compiles the question; None if its program is not run at once."""
        store, found = self.store, evidence
        if pattern.states is not None:
            values, found = self.within(pattern.states, evidence)
            store = values.store
        if not is_linear(store, found):
            return None
        made = self.compiler.answered(pattern, store, found)
        if made is None or made.singles is None:
            return None
        singles = made.singles if pattern.states is None else pattern.states.extended(made.singles)
        return Table._reader(self._scopes, singles, self._places), made.log_partition

    @lazy
    def _places(self) -> Sequence[slice]:
        """The place of each variable's marginal behind those of the variables before it."""
        ends = list(itertools.accumulate(self.problem.variables.cards.tolist(), initial=0))
        return list(map(slice, ends, ends[1:]))

    def _read_singles(self, question: Question, evidence: Evidence) -> tuple[Reader, float]:
        with self._run(question, evidence) as done:
            log_partition, is_log = done.log_partition, done.is_log
            values = done.log_singles() if is_log else done.singles()
        scopes, is_plain = self._scopes, question.is_whole and question.states is None
        places: Mapping[int, slice] | Sequence[slice] = self._places if is_plain else question.places
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
                known[group] = self._read_singles(*self.question("group", group, evidence))[0]
            return known[group](target)

        return read

    @lazy
    def _scopes(self) -> Sequence[tuple[Discrete]]:
        return self.problem.variables.singles  # type: ignore[return-value]  # all are discrete here

    def best_of_all(self, evidence: Evidence) -> Best:
        """The most probable values of every unobserved variable, by max-product."""
        question = self._best(evidence)
        with self._run_tensors(question, evidence) as done:
            log_value = done.log_partition
            codes = [] if log_value == -np.inf else most_probable(done)
        pairs, states = zip(question.ids, codes, strict=False), question.states
        if states is None:
            return Best(dict(pairs), log_value)
        return Best({v: int(states.codes(v)[code]) for v, code in pairs}, log_value)

    def best_seconds(self, evidence: Evidence) -> float:
        """The estimated seconds of `best_of_all`, whose plan is made."""
        return 1e-9 * self._best(evidence).nanoseconds

    def _best(self, evidence: Evidence) -> Question:
        """The compiled question of the best values."""
        self._refuse_minors(evidence, None)
        return self.compiler.best(evidence)

    @dividing
    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable from the posterior."""
        question, evidence = self.question("draws", (), evidence)
        with self._run_tensors(question, evidence) as done:
            if done.log_partition == -np.inf:
                return {}
            columns = read_back(done, num_rows, drawer(rng), maximize=question.maximize)
        named, states = {question.ids[r]: column for r, column in columns.items()}, question.states
        return {v: column if states is None else states.codes(v)[column] for v, column in named.items()}

    def flat_factor_marginals(self, evidence: Evidence) -> Floats | None:
        """The marginal over every factor's scope, in the layout of the store; None if the evidence is impossible."""
        from sepset.inference.compiled.gradients import factor_marginals

        question, evidence = self.question("factors", (), evidence)
        with self._run_tensors(question, evidence) as done:
            if done.log_partition == -np.inf:
                return None
            values, found = self.within(question.states, evidence)
            flat = factor_marginals(done, values.store, found)
        return flat if question.states is None else question.states.entries(flat)

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of a query; without targets, of all marginals."""
        planner = self.compiler.planner
        pattern = planner.pattern(NO_FINDINGS)._replace(observed=tuple(sorted(observed)))
        kind: Kind = "joint" if targets else "marginals"
        if has_minors(self.problem):
            refuse_minors(self.problem, targets or None, observed)
        plan, need = planner.plan(kind, tuple(targets), pattern, to_run=False), None
        if plan.step_memory <= costs.HOPELESS_FACTOR * planner.settings.memory:
            with suppress(TooLarge):
                question = self.compiler.question(kind, tuple(targets) or planner.hidden(pattern), pattern)
                need = question.need
                if plan.step_memory <= planner.settings.memory or np.array_equal(plan.positions, question.order):
                    return replace(plan, need=need)
        with suppress(TooLarge):
            other = planner.plan(kind, tuple(targets), pattern, to_run=False, method=SideToSide())
            if planner.has_usual_order and other.symbolic.rounded_total < plan.symbolic.rounded_total:
                is_followed = need is None or np.array_equal(other.positions, question.order)
                plan = other if is_followed else plan
        return replace(plan, need=need)

    @lazy
    def store(self) -> FactorStore:
        """The values of all factors, laid out on first use: a question that is too large never needs them."""
        planner = self.compiler.planner
        return planner.store if planner.problem is self.problem else FactorStore.of(self.problem)

    def question(self, kind: Kind, targets: Positions, evidence: Evidence) -> tuple[Question, Evidence]:
        """The compiled question of a kind about these targets, and the findings of its runs."""
        ask = partial(self._question, kind, targets)
        question, found = self._with_told(ask, evidence)
        if (
            not self._has_auxiliaries
            or question.nanoseconds < costs.NANOSECONDS_BEFORE_TELLING
            or (told := self.told(found)) is found
        ):
            return question, found
        other = ask(told)
        if other.nanoseconds > costs.SHARE_OF_FEWER_STATES * question.nanoseconds:
            return question, found
        self.compiler.wide.get(found.observed, lambda: True)
        return other, told

    def _with_told(self, ask: Callable[[Evidence], T], evidence: Evidence) -> tuple[T, Evidence]:
        """The answer with some findings, and those: auxiliaries that these determine are findings too if they are many,
        or if tables are too large otherwise.

        An absent finding of a noisy-or couples no causes. Elsewhere all values of the findings share one program.
        """
        if not self._has_auxiliaries:
            return ask(evidence), evidence
        told = self.told(evidence)
        is_large = self.problem.num_visible > costs.VARIABLES_ALWAYS_PLANNED
        is_much = is_large or len(told.codes) - len(evidence.codes) >= costs.TOLD_FIRST
        if is_much or self.compiler.wide.find(evidence.observed):
            return ask(told), told
        try:
            return ask(evidence), evidence
        except TooLarge:
            if told is evidence:
                raise
        self.compiler.wide.get(evidence.observed, lambda: True)
        return ask(told), told

    def told(self, evidence: Evidence) -> Evidence:
        """The findings, with the auxiliaries that they determine; the same object if there are none."""
        if not evidence.codes or not self._has_auxiliaries:
            return evidence
        codes = self._telling.quiet(evidence.codes) | dict(evidence.codes)
        return replace(evidence, codes=codes) if len(codes) > len(evidence.codes) else evidence

    @lazy
    def _has_auxiliaries(self) -> bool:
        return len(self.problem.variables) > self.problem.num_visible

    @lazy
    def _telling(self) -> Problem:
        """The problem whose findings determine auxiliaries: that of the plans, if these values have all its zeros."""
        planner = self.compiler.planner
        if planner.problem is self.problem or (self.store.values[planner.store.values == 0.0] > 0.0).any():
            return self.problem
        return planner.problem

    def _question(self, kind: Kind, targets: Positions, evidence: Evidence) -> Question:
        compiler = self.compiler
        if kind in SUMS or kind in ("factors", "draws"):
            self.refuse_hopeless(evidence, targets)
        try:
            if kind in SUMS:
                return compiler.asked(kind, targets, compiler.narrowing.pattern(evidence), evidence)
            return compiler.asked(kind, targets, compiler.planner.pattern(evidence))
        except TooLarge:
            if (found := compiler.over_own_states(kind, targets, evidence)) is None:
                raise
            return found

    def refuse_hopeless(self, evidence: Evidence, targets: Positions | None) -> None:
        """Raise if the graph alone tells that no order has tables that fit; None asks for all variables."""
        if self._has_own_values and not evidence.weights:
            refuse_cores(self.problem, evidence.codes, self.compiler.planner.settings.memory)
            self._refuse_minors(evidence, targets)

    def _refuse_minors(self, evidence: Evidence, targets: Positions | None) -> None:
        """The same by minors, where these are looked at."""
        if has_minors(self.problem) and self._has_own_values and not evidence.weights:
            with uncollected():  # arrays of pairs, of which none is garbage
                refuse_minors(self.problem, targets, evidence.codes, self.compiler.planner.settings.memory)

    def _run(self, question: Question, evidence: Evidence) -> Run:
        values, found = self.within(question.states, evidence)
        settings = self.compiler.planner.settings
        is_long = question.program.work >= costs.WORK_FOR_SUPPORTS or settings.zeros == "sparse"
        supports = self.compiler.supports if is_long else None
        return run(question, values.holding(question.numbers), found, supports, threads=settings.threads)

    def _run_tensors(self, question: Question, evidence: Evidence) -> TensorRun:
        values, found = self.within(question.states, evidence)
        values = values.holding(question.numbers)
        return run_tensors(question, values, found, threads=self.compiler.planner.settings.threads)

    def within(self, states: States | None, evidence: Evidence) -> tuple[FactorValues, Evidence]:
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
