"""Exact inference in discrete problems by compiled programs, one for each kind of question, made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.factors.algebra import num_entries
from sepset.factors.table import Table
from sepset.graphs.ordering import MinFill, OrderingMethod
from sepset.inference.compiled import domains as sparsestates
from sepset.inference.compiled.domains import Domains, States
from sepset.inference.compiled.factormarginals import from_run
from sepset.inference.compiled.logspace import Finished, ask, ask_marginals, is_linear
from sepset.inference.compiled.question import Question, compile_question
from sepset.inference.compiled.readback import drawer, modes, read_back
from sepset.inference.compiled.sharedprogram import bundle
from sepset.inference.compiled.store import FactorStore
from sepset.inference.compiled.supports import SparseProgram
from sepset.inference.compiled.targetgroups import WORTH, Ancestry, target_groups
from sepset.inference.completion import by_chain_rule, by_posteriors
from sepset.inference.conflict import impossible
from sepset.inference.evidencerows import EvidenceRows, RowAnswers, RowCounts, RowValues, Workers
from sepset.inference.method import Answer, Best, Calibrated, Calibrates, Method
from sepset.inference.plan import JointPlan, Plan, make_plan
from sepset.inference.result import Answers
from sepset.inference.rows.batch import RowTables
from sepset.inference.rows.modes import row_modes
from sepset.inference.values import Values, checked_values
from sepset.problem import Problem, Relevant
from sepset.semiring import SUM, Semiring
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete

T = TypeVar("T")

Zeros = Literal["auto", "dense", "sparse"]
Positions = tuple[int, ...]
NO_FINDINGS = Evidence()

PATIENCE = 2
"""How often an observed set is asked about before a longer search for a cheaper plan."""

FEW = 4000
"""Up to this many entries of all factors the one tree is planned before anything else is looked for."""

EASY = 20_000
"""Up to this many variables a plan is always made: what is refused is refused with its figures."""


class TreeSettings(Protocol):
    """What the engine needs to know of a method."""

    @property
    def order(self) -> OrderingMethod:
        """How elimination orders are chosen."""

    @property
    def memory(self) -> int:
        """The most bytes a workspace may have."""

    @property
    def zeros(self) -> Zeros:
        """What is made of the factors' zeros."""


class Asked:
    """How all marginals are found for one observed set, and how often they were asked for.

    Attributes:
        uses: how often.
        found: the targets in groups, and the question that answers for all where there is one.
    """

    def __init__(self) -> None:
        self.uses = 0
        self.found: tuple[tuple[tuple[int, ...], ...], Any] | None = None


class PreparedTables:
    """A discrete problem with its numbers in one store, and a program for each kind of question."""

    def __init__(
        self,
        problem: Problem,
        method: Any,
        fallback: Callable[[Problem], Calibrates],
        store: FactorStore | None = None,
        questions: Cache[Any] | None = None,
        domains: Domains | None = None,
    ) -> None:
        self.problem = problem
        self.method: Method = method
        self._settings: TreeSettings = method
        self._fallback_of = fallback
        self._given_store = store
        self._questions = Cache(128) if questions is None else questions
        self._given_domains = domains
        self._numbers: Cache[FactorStore] = Cache(16)

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence, in the order asked."""
        question = self._question("query", evidence, targets=tuple(targets))
        variables, kept = self.problem.variables, question.order[list(question.kept)].tolist()
        scope = tuple(variables[v] for v in kept)
        log_partition, flat = self._joint(question, evidence)
        if log_partition == -np.inf or not kept:
            flat = np.ones(num_entries(scope))
        elif question.states is not None:
            flat = question.states.joint(flat, kept)
        answer = Answer(Table._make(scope, flat), log_partition)
        if len(targets) < 2:
            return answer
        return Answer(answer.distribution.align([variables[v] for v in targets]), answer.log_partition)

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of single marginals, findings as point masses, from two sweeps over each group of targets."""
        groups, question = self._groups(evidence)
        if question is None:
            return self._grouped(groups, evidence)
        return self._read_group(question, evidence)

    def _read_group(self, question: Question, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        store, findings = self._within(question.states, evidence)
        found = self._supported(question, store, findings, SparseProgram.marginals)
        log_partition, values = found or ask_marginals(question, store, self.problem, findings)
        scopes, places, single = self._scopes, question.places, Table._single
        if question.spread is not None:
            values, places = question.spread.read(values), question.spread.places
        return lambda v: single(scopes[v], values[places[v]]), log_partition

    def _point(self, position: int, evidence: Evidence) -> Table:
        variable = self._scopes[position][0]
        return Table.indicator(variable, variable.states[evidence.codes[position]])

    def _grouped(self, groups: Sequence[tuple[int, ...]], evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader that runs each group when the first of its targets is read."""
        log_partition = self.log_partition(evidence)
        home = {v: group for group in groups for v in group}
        known: dict[tuple[int, ...], Callable[[int], Any]] = {}

        def read(target: int) -> Any:
            group = home.get(target)
            if group is None:
                return self._point(target, evidence)
            if group not in known:
                known[group] = self._read_group(self._question("group", evidence, group), evidence)[0]
            return known[group](target)

        return read, log_partition

    def _groups(self, evidence: Evidence) -> tuple[tuple[tuple[int, ...], ...], Question | None]:
        """The targets in groups, and the question where they are one; an observed set that keeps being asked about is
        worth a longer look."""
        part = evidence.observed, evidence.weighted, self._states(evidence)
        asked: Asked = self._questions.get(("all", *part), Asked)
        uses = asked.uses = asked.uses + 1  # threads may count one use for two, but none passes the mark unseen
        found = asked.found
        if found is None or uses == PATIENCE + 1:
            groups = self._look_for_groups(*part, WORTH if found is None else WORTH // 10)
            question = self._question("marginals", evidence, groups[0]) if len(groups) == 1 else None
            if question is None and found is not None:
                question = self._bundle(evidence, groups)
            found = asked.found = groups, question
        return found

    def _bundle(self, evidence: Evidence, groups: Sequence[Positions]) -> Question | None:
        """The groups as one program that shares their sub-results; None where that is too large."""
        first, *rest = [self._question("query", evidence), *(self._question("group", evidence, g) for g in groups)]
        return bundle(first, rest, self._within(first.states, evidence)[0])

    def _look_for_groups(
        self, observed: Positions, touched: Positions, states: States | None, worth: int
    ) -> tuple[tuple[int, ...], ...]:
        hidden = self._hidden(observed)
        if self.problem.is_normalized:
            cards = None if states is None else states.cards
            whole = self._roughly(observed, touched, states)
            if whole > worth and whole > worth * self._ancestry.num_sinks:
                return target_groups(self.problem, self._ancestry, observed, touched, whole=whole, cards=cards)
        return (hidden,)

    def _roughly(self, observed: Positions, touched: Positions, states: States | None) -> int:
        """Entries of the one tree: of its plan, or where there is none yet and may never be, of one greedy order."""
        if len(self._store.values) <= FEW:
            return self._plan("marginals", (), observed, touched, states).total_size
        relevant = Relevant(np.arange(self.problem.num_factors), self._hidden(observed))
        cards = None if states is None else states.cards
        return make_plan(self.problem, relevant, method=MinFill(), cards=cards).total_size

    def _hidden(self, observed: tuple[int, ...]) -> tuple[int, ...]:
        hidden = list(range(len(self.problem.variables)))
        for v in reversed(observed):
            del hidden[v]
        return tuple(hidden)

    @lazy
    def _ancestry(self) -> Ancestry:
        return Ancestry.of(self.problem)

    @lazy
    def _scopes(self) -> tuple[tuple[Discrete], ...]:
        return self.problem.variables.singles  # type: ignore[return-value]  # all are discrete here

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""
        return self._joint(self._question("query", evidence), evidence)[0]

    def _joint(self, question: Question, evidence: Evidence) -> tuple[float, Floats]:
        """The log partition, and where it is finite the normalized joint over what the question keeps, flat."""
        store, findings = self._within(question.states, evidence)
        found = self._supported(question, store, findings, SparseProgram.joint)
        return found or ask(question, store, self.problem, findings, _read_joint)

    def _supported(
        self, question: Question, store: FactorStore, findings: Evidence, run: Callable[..., tuple[float, Any, bool]]
    ) -> tuple[float, Floats] | None:
        """What a program over supports answers; None where there is none, or its numbers leave linear range."""
        domains = self._domains
        if domains is None or not is_linear(store, findings):
            return None
        at_once = self._settings.zeros == "sparse"
        program = question.tier.program(question, lambda: domains.numbers(question.states), at_once=at_once)
        if program is None:
            return None
        log_partition, values, is_wide = run(program, store, findings)
        return None if is_wide else (log_partition, values)

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`; by max-product where that is everything, else by elimination."""
        if len(over) + len(evidence.observed) < len(self.problem.variables):
            return self._fallback.best(evidence, over)
        question = self._question("map", evidence)

        def read(run: Finished) -> Best:
            if run.log_partition == -np.inf:
                return Best({}, -np.inf)
            codes = _by_position(question, read_back(run, 1, modes))
            return Best({v: int(column[0]) for v, column in codes.items()}, run.log_partition)

        return self._ask(question, evidence, read)

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable from the posterior."""
        question = self._question("sample", evidence)
        codes = self._ask(question, evidence, lambda run: read_back(run, num_rows, drawer(rng)))
        return _by_position(question, codes)

    def calibrate(self, evidence: Evidence, semiring: Semiring = SUM) -> Calibrated:
        """Clique and sepset beliefs as factors, for those who want to look at them."""
        return self._fallback.calibrate(evidence, semiring)

    def pairwise_marginals(self, evidence: Evidence) -> Answers[tuple[str, str], Table]:
        """The joint of every pair of unobserved variables, in one sweep over a calibrated tree."""
        return self._fallback.pairwise_marginals(evidence)

    def joint(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> Answer:
        """The joint of `targets` from the tree calibrated for this evidence, in one clique or across several."""
        return self._fallback.joint(targets, evidence, calibration)

    def joint_plan(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> JointPlan:
        """How a tree calibrated for this evidence answers a joint, in one clique or across several."""
        return self._fallback.joint_plan(targets, evidence, calibration)

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> Plan:
        """What a query would cost; without targets, what all marginals do."""
        kind = "query" if targets else "marginals"
        return self._plan(kind, tuple(targets), tuple(sorted(observed)), (), self._states(NO_FINDINGS))

    def query_plan(self, targets: Sequence[int], evidence: Evidence) -> Plan:
        """The plan behind a query, made once."""
        return self._question("query", evidence, tuple(targets)).plan

    def with_values(self, values: Values) -> PreparedTables:
        """The same plans and programs with new numbers, one array a factor over its scope.

        Conditionals must stay conditionals: plans leave out what sums to one.
        """
        problem, store = self._store.with_values(self.problem, checked_values(self.problem, values))
        domains = self._domains
        keeps = domains is None or domains.hold(store)
        return PreparedTables(
            problem, self.method, self._fallback_of, store, *(self._questions, domains) if keeps else ()
        )

    def factor_marginals(self, evidence: Evidence) -> tuple[Floats, ...]:
        r"""The marginal over every factor's scope: the gradient $\partial \log Z / \partial \log \phi$."""
        return self._store.split(self.problem, self._factor_marginals(evidence))

    def _factor_marginals(self, evidence: Evidence) -> Floats:
        question = self._question("factors", evidence)
        store, findings = self._within(question.states, evidence)

        def read(run: Finished) -> Floats | None:
            return from_run(run, store, findings) if run.log_partition > -np.inf else None

        found = self._ask(question, evidence, read)
        if found is None:
            raise impossible(self, evidence)
        return found if question.states is None else question.states.entries(found)

    def answer_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The posterior of each target and the log partition, for every row of findings."""
        return self._rows.answers(rows, targets, workers)

    def mode_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowValues:
        """The targets with the most probable state of each by itself where a row misses it."""
        return by_posteriors(self, rows, targets, workers)

    def best_rows(self, rows: EvidenceRows, workers: Workers) -> RowValues:
        """The model's variables, missing ones at their most probable states together; auxiliaries are summed out."""
        different, which = rows.distinct()
        made = different.over(range(self.problem.num_visible), ())
        log_value = self.answer_rows(different, (), workers).log_partition
        holes = np.flatnonzero((made.codes < 0).any(axis=1) & (log_value > -np.inf))
        made.codes[holes], log_value[holes] = row_modes(self, made.codes[holes].astype(np.int64))
        return RowValues(made, log_value).take(which)

    def draw_rows(
        self, rows: EvidenceRows, targets: Sequence[int], rng: np.random.Generator, workers: Workers
    ) -> RowValues:
        """The targets, missing ones drawn together, one after the other."""
        return by_chain_rule(self, rows, targets, rng, workers)

    def summed_marginals(self, rows: EvidenceRows, weights: Floats, workers: Workers) -> RowCounts:
        """The weighted sums of the factor marginals given each row, and each row's log partition."""
        totals, log_partition = self._rows.summed(rows, weights, workers)
        return RowCounts(self._store.split(self.problem, totals), log_partition)

    @lazy
    def _store(self) -> FactorStore:
        """The numbers; a question that is refused never needs them."""
        return FactorStore.of(self.problem) if self._given_store is None else self._given_store

    @lazy
    def _domains(self) -> Domains | None:
        """What tables range over; None where that is every state whatever the zeros."""
        zeros = self._settings.zeros
        if zeros == "dense" or self.problem.num_visible > EASY:
            return None
        if zeros == "auto" and len(self._store.values) <= sparsestates.FEW:
            return None
        if self._given_domains is not None:
            return self._given_domains
        return Domains(self._store, np.array(self.problem.variables.cards))

    def _states(self, evidence: Evidence) -> States | None:
        return None if self._domains is None else self._domains.of(evidence)

    def _within(self, states: States | None, evidence: Evidence) -> tuple[FactorStore, Evidence]:
        """The numbers and the findings over these states."""
        if states is None:
            return self._store, evidence
        return self._numbers.get(states, lambda: states.store(self._store)), states.evidence(evidence)

    @lazy
    def _rows(self) -> RowTables:
        settings = self._settings
        parts = self.problem, self._store, self._questions, settings.order, settings.memory
        return RowTables(*parts, self, self._factor_marginals)

    @lazy
    def _fallback(self) -> Calibrates:
        """The executor over the factor protocol, for beliefs, pairs and maxima over some of the variables."""
        return self._fallback_of(self.problem)

    def _ask(self, question: Question, evidence: Evidence, read: Callable[[Finished], T]) -> T:
        """What `read` finds after a run: in logarithms where some table's range is too wide for linear numbers."""
        store, findings = self._within(question.states, evidence)
        return ask(question, store, self.problem, findings, read)

    def _question(self, kind: str, evidence: Evidence, targets: tuple[int, ...] = ()) -> Question:
        part = evidence.observed, evidence.weighted, self._states(evidence)
        named = () if kind == "marginals" else targets  # there those are all that is not observed
        return self._questions.get((kind, named, *part), lambda: self._compile(kind, targets, *part))  # type: ignore[no-any-return]

    def _plan(
        self, kind: str, targets: Positions, observed: Positions, touched: Positions, states: States | None
    ) -> Plan:
        """The plan of a question; what asks about everything shares one plan."""
        part = observed, touched, states
        if kind in ("query", "group"):
            return self._make_plan(kind, targets, *part)
        return self._questions.get(("plan", *part), lambda: self._make_plan(kind, (), *part))  # type: ignore[no-any-return]

    def _make_plan(
        self, kind: str, targets: Positions, observed: Positions, touched: Positions, states: States | None
    ) -> Plan:
        limit = self._settings.memory if self.problem.num_visible > EASY else None
        if kind in ("query", "group"):
            relevant = self.problem.relevant(targets, observed, touched=touched, constants=kind == "query")
        else:
            relevant = Relevant(np.arange(self.problem.num_factors), self._hidden(observed))
        return make_plan(
            self.problem,
            relevant,
            method=self._settings.order,
            targets=targets if kind == "query" else (),
            observed=observed,
            last=targets if kind == "query" else (),
            limit=limit,
            cards=None if states is None else states.cards,
        )

    def _compile(
        self, kind: str, targets: Positions, observed: Positions, touched: Positions, states: States | None
    ) -> Question:
        plan = self._plan(kind, targets, observed, touched, states)
        inside = set(plan.relevant.variables) if touched else ()
        store = self._store if states is None else self._numbers.get(states, lambda: states.store(self._store))
        return compile_question(
            self.problem,
            store,
            plan,
            observed=observed,
            touched=[v for v in touched if v in inside],
            kept=targets if kind == "query" else (),
            marginals=targets if kind in ("marginals", "group") else (),
            factors=kind == "factors",
            maximize=kind == "map",
            memory=self._settings.memory,
            states=states,
        )


def _read_joint(run: Finished) -> tuple[float, Floats]:
    log_partition = run.log_partition
    return log_partition, run.joint() if run.question.kept and log_partition > -np.inf else np.ones(1)


def _by_position(question: Question, columns: Mapping[int, Ints]) -> dict[int, Ints]:
    """Columns of codes by variable position, from columns by rank over the states that a question's tables have."""
    states = question.states
    named = {question.ids[r]: column for r, column in columns.items()}
    return named if states is None else {v: states.codes(v)[column] for v, column in named.items()}
