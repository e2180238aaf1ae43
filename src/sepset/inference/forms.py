r"""Questions about problems with functions of many variables: evidence reaches these before they become factors.

A conditional of forty parents has no table, but given its parents it is one distribution, and given all of them but two
it is a small table. So a problem with such forms is rewritten for each question: parts that do not matter are dropped,
the remaining forms choose factors for what is observed and asked, and any method answers about the result.

$$P(\mathbf y \mid \mathbf e) \propto \sum_{\mathbf h} \prod_i \phi_i[\mathbf e](\mathbf y, \mathbf h)$$

Reference: Koller & Friedman, sections 5.3, 5.4 and 9.6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial, reduce
from itertools import zip_longest
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.entries import Answers
from sepset.base.lazy import lazy
from sepset.base.membership import without
from sepset.base.threads import OutOfWork, has_end, work_left, working
from sepset.errors import NotApplicable, TooLarge
from sepset.factors.algebra import MAX_ENTRIES, AnyVariable, Columns, num_entries
from sepset.factors.decomposition import Decomposition
from sepset.factors.table import Table
from sepset.inference import capabilities, completion, costs
from sepset.inference.buckets.bounded import Maximum
from sepset.inference.buckets.children import FEW_BRANCHES, ChildSearch
from sepset.inference.buckets.pieces import PieceSearch
from sepset.inference.buckets.tangents import MOST_AFTER_SEARCH, MOST_BRANCHES, MOST_SURE, TangentSearch, branches
from sepset.inference.cases import best_by_cases
from sepset.inference.evidencerows import EvidenceRows, JointCounts, RowAnswers, RowCounts, RowValues, Workers
from sepset.inference.maxima import (
    AskedForms,
    Found,
    Frontiers,
    RelaxedForms,
    WideForms,
    cheapest,
    check_found,
    foresee,
    foresee_tables,
    joined,
    with_sums,
)
from sepset.inference.method import (
    Answer,
    Best,
    Calibrated,
    Calibrates,
    ContextMoments,
    Method,
    Prepared,
    can,
    elimination_settings,
    prepare,
)
from sepset.inference.plan import EliminationPlan, JointPlan, make_plan
from sepset.inference.refusals import limited_elimination, refusing
from sepset.inference.rewriting import (
    MOST_TOGETHER,
    Certain,
    FormParts,
    Rewritten,
    codes_of,
    countable,
    drawn,
    drawn_last,
    given_by_variable,
    needed_factors,
    repeated,
    rewritten,
    silenced,
)
from sepset.inference.values import Values
from sepset.problem import Form, Problem
from sepset.semiring import SUM, Semiring
from sepset.variables.evidence import Evidence

MOST_PER_ROW = 2**12
"""The largest table of one row's form for which rows are answered together."""

MOST_JOINT = 2**26
"""The most joint states of a form's variables for which a plan is made that sums its auxiliaries out."""


class PreparedForms:
    """Any method bound to a problem with forms; it has every capability that the method has, and those of questions.

    Args:
        problem: some of whose factors depend on the question.
        method: what answers about the rewritten problems.

    Guarantee: as the method.
    Tested by: inference/test_forms.py::test_every_question_is_enumeration
    """

    def __init__(self, problem: Problem, method: Method) -> None:
        self.problem = problem
        self.method = method
        self._made: Cache[Prepared] = Cache(16)
        self._patterns: Cache[Rewritten] = Cache(16)
        self._parts = FormParts(problem.forms)
        self._needed: Cache[frozenset[int]] = Cache(16)
        self._questions: Cache[AskedForms] = Cache(4)
        self._too_wide: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()

    @lazy
    def _whole(self) -> Prepared | None:
        """The method bound to the problem itself, whose factors serve all sums; None if some are not built yet."""
        return None if any(form.is_deferred for form in self.problem.forms) else self.method.prepare(self.problem)

    @lazy
    def _certain(self) -> Certain:
        """The variables that have one value whatever is observed; none where all factors are built."""
        return Certain({}, {}) if self._whole is not None else Certain.of(self.problem)

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence."""
        return self._about(targets, told := self._certain.told(evidence, targets)).query(targets, told)

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""
        return self._about((), told := self._certain.told(evidence)).log_partition(told)

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of single marginals, and the log partition; one question each if some are about too large a form."""
        try:
            return self._about(None, evidence).marginals(evidence)
        except (TooLarge, NotApplicable):
            if self._whole is not None:
                raise
            return lambda v: self.query([v], evidence).distribution, self.log_partition(evidence)

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable; forms that nothing observed depends on are drawn last."""
        sure, evidence = self._certain.drawn(evidence, num_rows), self._certain.told(evidence)
        last = [] if self._whole is not None else drawn_last(self.problem, self._relevant((), evidence))
        if not last:
            return self._about(None, evidence).sample(num_rows, evidence, rng) | sure
        children = {self.problem.conditionals[place].child for place in last}
        known = {*children, *evidence.observed}
        rest = [v for v in range(self.problem.num_visible) if v not in known]
        first = self._about(rest, evidence).sample(num_rows, silenced(self.problem, evidence, children), rng)
        columns: Columns = {self.problem.variables[v]: first[v] for v in rest}
        columns |= {self.problem.variables[v]: np.full(num_rows, code) for v, code in evidence.codes.items()}
        columns |= {self.problem.variables[v]: repeated(x, num_rows) for v, x in evidence.reals.items()}
        for place in last:
            columns |= drawn(self.method, self.problem, place, columns, num_rows, rng)
        return {v: columns[self.problem.variables[v]] for v in (*rest, *children)} | sure

    @refusing
    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out."""
        evidence = self._certain.told(evidence, over)
        foresee(self._whole, self.asked(evidence, over))
        searched, search = list[Found](), working(costs.NANOSECONDS_OF_A_SEARCH)
        with search:
            is_many = self._wide(evidence, over).num_branches > MOST_BRANCHES
        with working(costs.NANOSECONDS_OF_A_SEARCH) if is_many else search:  # which other ways need as a whole
            if (best := self._piece_by_piece(evidence, over)) is not None:
                return best
            if (found := self.k_best(evidence, over, 1, searched)) is not None:
                return found[0]
            if (best := self._with_summed_causes(evidence, over)) is not None:
                return best
        key, wide = (tuple(over), evidence.observed), self._wide(evidence, over)
        if (key not in self._too_wide or has_end()) and wide.joint_entries <= MOST_JOINT:
            try:
                return self._by_elimination(evidence, over, search)
            except TooLarge:
                with search:
                    if not wide.is_bounded and (best := self._under_functions(evidence, over)) is not None:
                        return best
                if not wide.summed and not wide.is_bounded:
                    raise
                self._too_wide.update([key] if work_left() == math.inf else [])  # as it is for any question
        with search:
            if wide.summed:
                return best_by_cases(self, wide.summed, evidence, over)
            if wide.is_bounded:
                return self.best_by_tangents(evidence, over, searched)
        if wide.joint_entries > MAX_ENTRIES:
            wide.refuse(self.asked(evidence, over).chosen)
        return self._by_elimination(evidence, over, search)

    def _piece_by_piece(self, evidence: Evidence, over: Sequence[int]) -> Best | None:
        """The best values from those of pieces; None if single variables do not separate forms, or one takes long."""
        wide = self._wide(evidence, over).forms.values()
        with suppress(TooLarge, OutOfWork):
            numbers = self._relevant(over, evidence)
            pieces = PieceSearch.of(self.problem, numbers, wide, evidence, over) if len(wide) > 1 else None
            return None if pieces is None else Best(*pieces.best(partial(prepare, self.method)))
        return None

    def _with_summed_causes(self, evidence: Evidence, over: Sequence[int]) -> Best | None:
        """The best values if some parents of wide forms are summed out; None without a proof."""
        wide, more = self._wide(evidence, over), self.asked(evidence, over).summed_functions
        if wide.is_bounded or not wide.forms or not wide.forms.keys() <= more.forms.keys():
            return None
        with suppress(OutOfWork, TooLarge):
            found = self._frontiers(evidence, over, more).summing()
            if found is not None and found.is_proved:
                return next(iter(found.best), Best({}, -np.inf))
        return None

    def _by_elimination(self, evidence: Evidence, over: Sequence[int], search: working) -> Best:
        """The best values by one elimination, whose work is limited."""
        foresee_tables(self._whole, self.asked(evidence, over))
        with limited_elimination((made := self.for_best(evidence, over)).problem, search):
            return made.best(evidence, over)

    def asked(self, evidence: Evidence, over: Sequence[int]) -> AskedForms:
        """The forms that a maximum needs; what was found out about them holds for the whole question."""

        def make() -> AskedForms:
            return AskedForms(self.problem, self._parts, partial(self._relevant, over, evidence), evidence, over)

        return self._questions.get((id(evidence), id(over)), make)  # which it keeps, so that no other has their ids

    def _wide(self, evidence: Evidence, over: Sequence[int]) -> WideForms:
        """The forms that a maximum needs and that have no factors for it, or only a large table."""
        return self.asked(evidence, over).wide

    def has_maxima(self, evidence: Evidence, over: Sequence[int], most: float) -> bool:
        """Whether no form of a maximum has only factors for sums, and large tables have at most so many entries."""
        return self.asked(evidence, over).has_maxima(most)

    def best_by_tangents(self, evidence: Evidence, over: Sequence[int], searched: Sequence[Found] = ()) -> Best:
        """The best assignment in each joint state of hidden children; frontiers of the first were searched before."""
        self._check_branches(evidence, over)
        found, cells = Best({}, -np.inf), list(branches(evidence, self._wide(evidence, over).hidden))
        if len(searched) == len(cells):
            check_found(joined(searched, [weight for _, _, weight in cells]), self._wide(evidence, over))
        with working(costs.NANOSECONDS_OF_A_SEARCH):
            for (told, known, log_weight), before in zip_longest(cells, searched):
                rest = [v for v in over if v not in known] if known else over
                best = self._best_in(told, rest, found.log_value - log_weight, before, is_all=len(cells) == 1)
                if best.log_value + log_weight > found.log_value:
                    found = Best({**best.values, **known}, best.log_value + log_weight)
        return found

    def k_best(
        self, evidence: Evidence, over: Sequence[int], k: int, searched: list[Found] | None = None
    ) -> list[Best] | None:
        """Up to k assignments, best first, if wide forms are concave; None without a proof (see `searched`)."""
        wide = self._wide(evidence, over)
        try:
            search = self._by_children(evidence, over, k, searched) if wide.is_bounded else None
        except (TooLarge, OutOfWork):
            return None
        found = [] if search is None else [Best(*one) for one in search.best]
        if search is None or search.bound == math.inf:
            return None
        if search.bound > (found[k - 1].log_value if len(found) >= k else -math.inf):
            if k > 1 and wide.joint_entries > MOST_JOINT:  # there are no factors either
                check_found(Found(found, False, search.bound), wide)
            return None
        return found or [Best({}, -np.inf)]

    def _by_children(
        self, evidence: Evidence, over: Sequence[int], k: int, searched: list[Found] | None
    ) -> ChildSearch:
        """The search over the states of hidden children of wide forms, of few of them one by one."""
        wide, entries = self._wide(evidence, over), self._check_branches(evidence, over)
        is_few = wide.num_branches <= FEW_BRANCHES

        def found(told: Evidence, known: Mapping[int, int], above: float) -> tuple[list[Best], float]:
            more = self._searched(told, without(over, known) if known else over, k, above)
            if searched is not None and is_few:
                searched.append(more)
            return more.best, -math.inf if more.is_proved else more.bound

        relaxed = RelaxedForms(wide, self._relevant(over, evidence), self.method)
        search = ChildSearch(wide.hidden, evidence, found, relaxed, wide.chances, entries, len(over))
        with working(costs.NANOSECONDS_OF_A_SEARCH):
            (search.each if is_few else search.run)(k)
        return search

    def _check_branches(self, evidence: Evidence, over: Sequence[int]) -> int:
        """The entries of the factors of other forms; raises if there are too many for all branches."""
        parts = self._other_parts(evidence, over, (wide := self._wide(evidence, over)).forms).values()
        wide.check_branches(entries := sum(num_entries(factor.scope) for part in parts for factor in part.factors))
        return entries

    def _best_in(
        self, evidence: Evidence, over: Sequence[int], above: float, searched: Found | None, *, is_all: bool
    ) -> Best:
        """The best assignment given all children of wide forms, if it is above a value; of all, or of one branch."""
        wide = self._wide(evidence, over)
        if not wide.forms:
            return self.for_best(evidence, over).best(evidence, over)
        found = searched or self._searched(evidence, over, 1, above)
        best = found.best[0] if found.best else Best({}, -np.inf)
        if found.is_proved:
            return best
        check_found(found, wide, is_all=is_all)
        numbers, parts = self._relevant(over, evidence), self._other_parts(evidence, over, wide.forms)

        def maximizer(tangents: Sequence[Decomposition], told: Evidence) -> Maximum:
            whole = {**parts, **dict(zip(wide.forms, tangents, strict=True))}
            if not all(part.is_linear for part in whole.values()):
                return Maximum(*self._prepared(numbers, whole).prepared.best(told, over))
            shape = tuple((i, tuple(f.scope for f in part.factors)) for i, part in whole.items())
            pattern = self._patterns.get((numbers, shape), lambda: self._prepared(numbers, whole))
            return Maximum(*pattern.with_parts(whole).best(told, over))

        most = MOST_AFTER_SEARCH if found.best and len(wide.forms) > MOST_SURE else None
        search = TangentSearch(wide.functions, maximizer, evidence, most)
        try:
            last = search.run(max(above, best.log_value))
        except OutOfWork:
            raise wide.refusal(search.found.log_value, search.bound if is_all else math.inf) from None
        return max(best, Best(*last), key=lambda one: one.log_value)

    def _other_parts(self, evidence: Evidence, over: Sequence[int], wide: Collection[int]) -> dict[int, Decomposition]:
        """The factors of all forms but these for a maximum."""
        chosen = self.asked(evidence, over).codes.items()
        return {i: self._parts.part(i, codes, one) for i, (codes, one) in chosen if i not in wide}

    def _searched(self, evidence: Evidence, over: Sequence[int], k: int, above: float) -> Found:
        """The best assignments if all children of wide forms are observed, as far as a search finds and proves them."""
        more, wide = self.asked(evidence, over).functions, self._wide(evidence, over)
        try:
            first = self._frontiers(evidence, over, more)
            found = first.relaxed(k, above) if len(more.forms) > 1 else None
            is_same = more.forms.keys() == wide.forms.keys()
            return found or (first if is_same else self._frontiers(evidence, over, wide)).best(k, above)
        except OutOfWork:
            return Found([], False)

    def _under_functions(self, evidence: Evidence, over: Sequence[int]) -> Best | None:
        """The best assignment under all concave forms as functions; None if other factors couple what is asked."""
        more = self.asked(evidence, over).functions
        with working(costs.NANOSECONDS_OF_A_SEARCH), suppress(OutOfWork):
            found = self._frontiers(evidence, over, more).relaxed(1) if len(more.forms) > 1 else None
            if found is not None:
                check_found(found, more)
                return next(iter(found.best), Best({}, -np.inf))
        return None

    def _frontiers(self, evidence: Evidence, over: Sequence[int], wide: WideForms) -> Frontiers:
        """The search from the frontier of partial assignments under forms whose children are observed."""
        parts = self._other_parts(evidence, over, wide.forms)
        return Frontiers(wide, self._relevant(over, evidence), parts, self.method)

    def for_best(self, evidence: Evidence, over: Sequence[int]) -> Prepared:
        """The method prepared for the problem rewritten for the best values of `over`."""
        foresee(self._whole, self.asked(evidence, over))
        return self._maximizing(over, evidence, given_by_variable(self.problem, evidence))

    def for_sums(self, evidence: Evidence, targets: Sequence[int]) -> Prepared:
        """The method prepared for the problem rewritten for a query of `targets`."""
        return self._about(targets, evidence)

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of a query; without targets, of all marginals."""
        try:
            return self._about(targets or None, Evidence(dict.fromkeys(observed, 0))).plan(targets, observed)
        except TooLarge:
            if self._whole is not None:
                raise
            return self._whole_plan(targets or range(self.problem.num_visible), targets, observed, joint=True)

    def best_plan(self, over: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of `best`: maxima over `over`, after sums over the rest."""
        evidence = Evidence(dict.fromkeys(observed, 0))
        children = {self.problem.conditionals[form.group].child for form in self.problem.forms}
        given = given_by_variable(self.problem, Evidence({v: 0 for v in observed if v not in children}))
        try:
            return self._maximizing(over, evidence, given).best_plan(over, observed)
        except TooLarge:
            return self._whole_plan(over, over, observed, joint=False)

    def _whole_plan(
        self, targets: Sequence[int], last: Sequence[int], observed: Sequence[int], *, joint: bool
    ) -> EliminationPlan:
        """The plan with the factors that are not built, which tells their size."""
        order, _ = elimination_settings(self.method)
        relevant = self.problem.relevant(without(targets, observed), observed, constants=True)
        return make_plan(self.problem, relevant, method=order, targets=last, observed=observed, last=last, joint=joint)

    def with_values(self, values: Values) -> Prepared:
        """The method with new values of all factors; its maxima sum auxiliaries out, since forms keep their values."""
        if self._whole is None:
            raise NotApplicable("Factors that depend on what is observed take no new values. Prepare the new model.")
        return capabilities.with_values(self._whole, values)

    def answer_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The log partition of every row, and in each the posterior of every target; rows with equal gaps together."""
        if self._whole is not None:
            return capabilities.answer_rows(self._whole, rows, targets, workers)
        different, which = self._certain.beside(rows, targets).distinct()
        found = RowAnswers.empty(len(different), targets, self.problem.variables.cards)
        found = found._replace(residual=np.full(len(different), np.nan))
        for places, some in different.alike():
            found.write(places, self._answers(some, targets, workers))
        return found.measured().take(which)

    def _answers(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The answers to rows that observe the same variables."""
        seen = {*rows.positions, *rows.real_positions}
        free = [v for v in targets if v not in seen]
        numbers = self._relevant(free, Evidence(dict.fromkeys(seen, 0)))
        used = [i for i, form in enumerate(self.problem.forms) if form.is_deferred and form.factors[0] in numbers]
        entries = max((self._entries(self.problem.forms[i], rows) for i in used), default=1)
        if entries > MOST_PER_ROW or not all(self._is_discrete(self.problem.forms[i]) for i in used):
            return capabilities.row_by_row(self, rows, targets, workers)
        size = MOST_TOGETHER // entries
        answers = (
            self._together(rows.take(np.arange(start, min(start + size, len(rows)))), targets, numbers, used, workers)
            for start in range(0, len(rows), size)
        )
        return reduce(RowAnswers.joined, answers)

    def _together(
        self,
        rows: EvidenceRows,
        targets: Sequence[int],
        numbers: Collection[int],
        used: Sequence[int],
        workers: Workers,
    ) -> RowAnswers:
        """The answers to rows that observe the same variables, each row with a context of its own in every form."""
        parts, columns = self._stacked(used, rows)
        problem, places, _ = rewritten(self.problem, numbers, parts)
        told = rows.beside([places[parts[i].auxiliaries[0]] for i in used], columns)
        return capabilities.answer_rows(self.method.prepare(problem), told, targets, workers)

    def _is_discrete(self, form: Form) -> bool:
        return all(v.is_discrete for v in form.source.scope)

    def _entries(self, form: Form, rows: EvidenceRows) -> int:
        """The entries of a form's table over what these rows do not observe."""
        ids = self.problem.scope(form.factors[0])
        cards = self.problem.variables.cards
        return math.prod(int(cards[v]) for v in ids if v not in rows.positions) * int(cards[ids[-1]])

    def _stacked(self, used: Sequence[int], rows: EvidenceRows) -> tuple[dict[int, Decomposition], list[Ints]]:
        """For each form one table with an axis for the rows' contexts, and the context of every row."""
        parts: dict[int, Decomposition] = {}
        columns: list[Ints] = []
        for i in used:
            source, ids = self.problem.forms[i].source, self.problem.scope(self.problem.forms[i].factors[0])
            parts[i], which = rows.in_contexts(source, ids[:-1])
            columns.append(which)
        return parts, columns

    def complete_rows(self, rows: EvidenceRows, workers: Workers) -> RowValues:
        """Every variable of the model, missing cells of each row at their jointly most probable values."""
        if self._whole is not None and all(form.is_functional for form in self.problem.forms):
            return completion.complete_rows(self._whole, rows, workers)
        everyone = range(self.problem.num_visible)

        def complete(evidence: Evidence, number: int) -> tuple[Mapping[int, Any], float]:
            known = {*evidence.codes, *evidence.reals}
            return self.best(evidence, [v for v in everyone if v not in known])

        return completion.one_by_one(self.problem, rows, everyone, complete, workers)

    def mode_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowValues:
        """The targets, each missing cell at its own most probable value."""
        if self._whole is not None:
            return completion.mode_rows(self._whole, rows, targets, workers)
        return completion.modes_one_by_one(self, rows, targets, workers)

    def draw_rows(
        self, rows: EvidenceRows, targets: Sequence[int], rng: np.random.Generator, workers: Workers
    ) -> RowValues:
        """The targets, missing cells drawn jointly, independently between rows."""
        if self._whole is not None:
            return completion.draw_rows(self._whole, rows, targets, rng, workers)
        chain = completion.by_chain_rule if self.problem.variables.all_discrete else completion.draw_one_by_one
        return chain(self, rows, targets, rng, workers)

    def factor_marginals(self, evidence: Evidence) -> tuple[Floats, ...]:
        """The marginal over every factor's scope; raises for factors that are not built."""
        return capabilities.factor_marginals(self._built(), evidence)

    def summed_marginals(self, rows: EvidenceRows, weights: Floats, workers: Workers) -> RowCounts:
        """The weighted sum over the rows of their factor marginals; `JointCounts` for factors that are not built."""
        if self._whole is not None:
            return capabilities.summed_marginals(self._whole, rows, weights, workers)
        deferred = {form.factors[0]: i for i, form in enumerate(self.problem.forms) if form.is_deferred}
        parts: list[list[Any]] = [[] for _ in self.problem.shapes]
        log_partition = np.empty(len(rows))
        for places, some in countable(rows, [self.problem.forms[i] for i in deferred.values()], self._entries):
            found = self._counted(some, [*deferred.values()], weights[places], workers)
            log_partition[places] = found.log_partition
            for part, one in zip(parts, found.factors, strict=True):
                part.append(one)
        joined = [JointCounts.joined(part) if number in deferred else sum(part) for number, part in enumerate(parts)]
        return RowCounts(tuple(joined), log_partition)

    def _counted(self, rows: EvidenceRows, used: Sequence[int], weights: Floats, workers: Workers) -> RowCounts:
        """The marginals of rows that observe the same variables, those of forms as `JointCounts`."""
        parts, columns = self._stacked(used, rows)
        problem, places, homes = rewritten(self.problem, range(self.problem.num_factors), parts)
        told = rows.beside([places[parts[i].auxiliaries[0]] for i in used], columns)
        found = capabilities.summed_marginals(self.method.prepare(problem), told, weights, workers)
        forms = {self.problem.forms[i].factors[0]: i for i in used}
        rest, cards = iter(found.factors), self.problem.variables.cards
        made = [
            JointCounts.of(found.factors[homes[forms[n]][0]], rows.joint_states(self.problem.scope(n), cards))
            if n in forms
            else next(rest)
            for n in range(self.problem.num_factors)
        ]
        return RowCounts(tuple(made), found.log_partition)

    def _built(self) -> Prepared:
        if self._whole is None:
            wide = next(form.source for form in self.problem.forms if form.is_deferred)
            raise TooLarge(f"The marginal over all variables of {wide!r} is a table that is too large.")
        return self._whole

    def moments(self, reals: Sequence[int], by: Sequence[int]) -> ContextMoments:
        """The moments of real variables in each joint state of discrete ones."""
        return capabilities.moments(self._about((*reals, *by), Evidence()), reals, by)

    def calibrate(self, evidence: Evidence, semiring: Semiring = SUM) -> Calibrated:
        """The calibrated tree over every unobserved variable."""
        return self._tree(evidence).calibrate(evidence, semiring)

    def pairwise_marginals(self, evidence: Evidence) -> Answers[tuple[str, str], Table]:
        """The joint of every pair of unobserved variables."""
        return self._tree(evidence).pairwise_marginals(evidence)

    def joint(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> Answer:
        """The joint of `targets` from the tree calibrated for this evidence."""
        return self._tree(evidence).joint(targets, evidence, calibration)

    def joint_plan(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> JointPlan:
        """The plan of `joint`, with its cost."""
        return self._tree(evidence).joint_plan(targets, evidence, calibration)

    def _tree(self, evidence: Evidence) -> Calibrates:
        prepared = self._about(None, evidence)
        if not can(prepared, Calibrates):
            raise NotApplicable(f"{type(self.method).__name__} has no calibrated tree. Use CliqueTree.")
        return prepared

    def _about(self, targets: Sequence[int] | None, evidence: Evidence) -> Prepared:
        """The method prepared for sums about some variables, or about all."""
        if self._whole is not None:
            return self._whole
        numbers = range(self.problem.num_factors) if targets is None else self._relevant(targets, evidence)
        used = [i for i, form in enumerate(self.problem.forms) if form.is_deferred and form.factors[0] in numbers]
        given = given_by_variable(self.problem, evidence)
        return self._rewritten(numbers, dict.fromkeys(used, SUM), given)

    def _maximizing(self, over: Sequence[int], evidence: Evidence, given: Mapping[AnyVariable, Any]) -> Prepared:
        """The method prepared for the best values of some variables."""
        asked = self.asked(evidence, over)
        if self._whole is not None and not asked.mixed:
            return self._whole
        numbers, chosen = self._relevant(over, evidence), asked.chosen
        summed = dict.fromkeys(with_sums(self.problem, chosen, {*over, *evidence.observed}), SUM)
        if all(chosen[i] is SUM for i in summed):
            return self._rewritten(numbers, chosen, given)
        ways = (partial(self._rewritten, numbers, one, given) for one in (chosen | summed, chosen))
        return cheapest(ways, over, evidence.observed)

    def _relevant(self, targets: Sequence[int], evidence: Evidence) -> frozenset[int]:
        question = tuple(targets), evidence.observed, tuple(evidence.weighted)
        return self._needed.get(question, lambda: needed_factors(self.problem, *question))

    def _rewritten(
        self, numbers: Collection[int], chosen: Mapping[int, Semiring], given: Mapping[AnyVariable, Any]
    ) -> Prepared:
        """The method prepared for some of the factors, with forms decomposed for what is given."""
        forms, kept = self.problem.forms, frozenset(numbers)
        codes = {i: codes_of(forms[i], given) for i in chosen}
        key = kept, tuple((i, one.name, tuple(codes[i].items())) for i, one in chosen.items())

        def make() -> Prepared:
            parts = {i: self._parts.part(i, codes[i], one) for i, one in chosen.items()}
            is_shared = all(self._is_discrete(forms[i]) and part.is_linear for i, part in parts.items())
            if not is_shared:  # densities are not conditionals; large tables wait; logarithms would be read as zeros
                return self._prepared(kept, parts).prepared
            shape = tuple((i, tuple(f.scope for f in part.factors)) for i, part in parts.items())
            found = self._patterns.get((kept, shape), lambda: self._prepared(kept, parts))
            return found.prepared if found.parts is parts else found.with_parts(parts)

        return self._made.get(key, make)

    def _prepared(self, numbers: Collection[int], parts: Mapping[int, Decomposition]) -> Rewritten:
        problem, _, places = rewritten(self.problem, numbers, parts)
        return Rewritten(self.method.prepare(problem), parts, places)
