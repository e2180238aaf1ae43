"""Best assignments of a problem and of concave functions of its variables, from the frontier of partial ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.membership import without
from sepset.base.text import in_digits, listing
from sepset.base.threads import spend, work_left
from sepset.errors import TooLarge
from sepset.factors.algebra import MAX_ENTRIES, AnyVariable
from sepset.factors.decomposition import Concave, Decomposition
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.inference.buckets.bounded import Bounded
from sepset.inference.buckets.evidencefactors import reduced_factors
from sepset.inference.buckets.frontier import MOST_ENTRIES, FrontierSearch
from sepset.inference.buckets.pieces import Subproblem, Subproblems
from sepset.inference.buckets.pool import product, summed_out
from sepset.inference.buckets.relaxed import Ranked
from sepset.inference.buckets.summedcauses import MOST_CASES, SummedCauses
from sepset.inference.buckets.tangents import MOST_BRANCHES
from sepset.inference.method import (
    Best,
    ForeseesSums,
    Method,
    Prepared,
    can,
    dense,
    elimination_settings,
    prepare,
)
from sepset.inference.plan import make_plan
from sepset.inference.refusals import MORE_TIME
from sepset.inference.rewriting import FormParts, codes_of, given_by_variable, have_small_tables, rewritten
from sepset.problem import ConditionalGroup, Form, Problem
from sepset.semiring import MAX, SUM, Semiring
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete

MOST_IN_BRANCHES = 2**26
"""The most entries of the tables that are filled for all branches of one search."""


PARENT_NANOSECONDS = 30_000.0
"""Time to make what a search needs of each parent of a form."""

LARGE = 2**16
"""Entries from which tables of forms count as too large for an elimination, if they are many."""

SMALL_PLAN = 2**16
"""The entries of the tables of a plan up to which no other way is looked for."""


class Found(NamedTuple):
    """Assignments, best first, and whether they are proved to be the best.

    Attributes:
        bound: without a proof, a log value that none exceeds, if no other search is worth while; infinite otherwise.
    """

    best: list[Best]
    is_proved: bool
    bound: float = math.inf


class Frontiers:
    """The best assignments of some variables, others summed out.

    Args:
        wide: the functions, all of whose variables are in the assignment or observed.
        numbers: the factors that the question needs.
        parts: what the other forms become.
        method: how elimination orders are chosen.
    """

    def __init__(
        self, wide: WideForms, numbers: Collection[int], parts: Mapping[int, Decomposition], method: Method
    ) -> None:
        self._whole, self._evidence, self._over = wide.problem, wide.evidence, wide.over
        self._forms, self._bounded = wide.forms, wide.functions
        self._numbers, self._parts, self._method = numbers, parts, method

    @lazy
    def _problem(self) -> Problem:
        """All factors but those of the functions."""
        empty = dict.fromkeys(self._forms, Decomposition(()))
        return rewritten(self._whole, self._numbers, {**self._parts, **empty})[0]

    def best(self, k: int, above: float = -math.inf) -> Found:
        """Up to k assignments above a value, best first, and whether they are proved to be the best."""
        search = self._search
        return Found([], False) if search is None else self._read(search.run(k, above))

    def relaxed(self, k: int, above: float = -math.inf) -> Found | None:
        """The same by relaxations; None if other factors couple too many of the variables."""
        search = self._search
        found = None if search is None or search.relaxed is None else search.relaxed
        return None if found is None else self._read(found.run(k, above))

    def summing(self) -> Found | None:
        """The best assignment if variables of the functions are summed out; None if factors couple it with these."""
        problem, asked = self._problem, set(self._over)
        summed = sorted({v for one in self._bounded for v in one.places}.difference(asked))
        if problem.functions or math.prod(problem.variables.cards[summed].tolist()) > MOST_CASES:
            return None
        if (made := self._factors((*self._over, *summed))) is None:
            return None
        tables, order = made
        cases: Any = tuple(problem.variables[v] for v in summed)
        inside = [table for table in tables if set(cases).issuperset(table.scope)]
        rest = [table for table in tables if not set(cases).issuperset(table.scope)]
        if any(set(cases).intersection(table.scope) for table in rest):
            return None
        weights = product([Table.ones(cases), *inside])
        functions, order = [one.function for one in self._bounded], [v for v in order if v not in cases]
        return self._read(SummedCauses(rest, functions, order, dense(weights)).run())

    def _read(self, found: Ranked) -> Found:
        """Assignments by position."""
        place = {self._whole.variables[v]: v for v in self._over}
        rows = [{place[v]: code for v, code in row.items() if v in place} for row in found.assignments]
        best = [Best(row, value) for row, value in zip(rows, found.log_values, strict=True)]
        return Found(best, found.is_proved, found.bound)

    @lazy
    def _search(self) -> FrontierSearch | None:
        """The search; None if its tables would be too large."""
        made = self._alone()
        if made is None:
            over = self._problem.with_determined(self._over, self._evidence.observed, touched=self._evidence.weights)
            made = self._factors(over)
        return None if made is None else FrontierSearch(made[0], [one.function for one in self._bounded], made[1])

    def _alone(self) -> tuple[list[Table], list[Any]] | None:
        """The factors of variables that nothing but the functions couples, and these; None if something does."""
        problem, evidence, asked = self._whole, self._evidence, frozenset(self._over)
        if self._parts or not asked.issuperset(evidence.weights) or not (problem.variables.cards[[*asked]] > 0).all():
            return None
        inside = {n for i in self._forms for n in problem.forms[i].factors}
        kept = [n for n in sorted(self._numbers) if n not in inside]
        free = [[v for v in scope if v not in evidence.codes] for scope in problem.scopes_of(kept)]
        if any(len(row) > 1 or not asked.issuperset(row) for row in free):
            return None
        factors = map(dense, reduced_factors(problem, evidence, kept))
        tables = [t for t in factors if isinstance(t, Table)]
        if sum(t.size for t in tables) > MOST_ENTRIES:
            return None
        return tables, [problem.variables[v] for v in sorted(asked)]

    def _factors(self, over: Sequence[int]) -> tuple[list[Table], list[Any]] | None:
        """The factors of some variables, all others summed out, and an order of these; None if they are too large."""
        problem, observed = self._problem, self._evidence.observed
        touched = tuple(sorted(set(self._evidence.weights).difference(over)))
        relevant = problem.relevant(over, observed, touched=touched, constants=True)
        if not (problem.variables.cards[list(relevant.variables)] > 0).all():
            return None
        order, memory = elimination_settings(self._method)
        try:
            plan = make_plan(
                problem, relevant, method=order, targets=over, observed=observed, last=over, joint=False, limit=memory
            )
        except TooLarge:
            return None
        if plan.total_size > MOST_ENTRIES:
            return None
        chosen = {problem.variables[v] for v in over}
        eliminated: list[Any] = [problem.variables[name] for name in plan.order]
        factors = reduced_factors(problem, self._evidence, plan.relevant.factors)
        left = summed_out(factors, [v for v in eliminated if v not in chosen])
        tables = [table for factor in left if isinstance(table := dense(factor), Table)]
        return tables, [v for v in eliminated if v in chosen]


@dataclass(frozen=True, eq=False)
class WideForms:
    """The forms without factors for a maximum in one question.

    Attributes:
        problem: the problem.
        forms: by number.
        evidence: the findings.
        over: the variables whose best values are asked for.
        parts: the factors of the forms of the problem, and their functions.
    """

    problem: Problem
    forms: Mapping[int, Form]
    evidence: Evidence
    over: Sequence[int]
    parts: FormParts

    @property
    def _groups(self) -> list[ConditionalGroup]:
        return [self.problem.conditionals[form.group] for form in self.forms.values()]

    @lazy
    def joint_entries(self) -> int:
        """The largest number of joint states of what is asked about one form.

        Its auxiliaries are summed out first, which leaves a table with as many entries.
        """
        asked, cards = set(without(self.over, self.evidence.observed)), self.problem.variables.cards
        sizes = (math.prod(int(cards[v]) for v in (*g.parents, g.child) if v in asked) for g in self._groups)
        return max(sizes, default=1)

    @lazy
    def summed(self) -> dict[int, Discrete]:
        """The variables of the forms that are summed out; none if there are too many."""
        known = {*self.over, *self.evidence.codes}
        scopes = [(*group.parents, group.child) for group in self._groups]
        found: Any = {v: self.problem.variables[v] for scope in scopes for v in scope if v not in known}
        is_few = math.prod(v.num_states for v in found.values()) <= MOST_BRANCHES
        return found if is_few and (self.problem.variables.cards[list(self.over)] > 0).all() else {}

    @lazy
    def is_bounded(self) -> bool:
        """Whether there are any, all concave, and of variables that are asked for."""
        known = {*self.over, *self.evidence.codes}
        if not self.forms or not all(known.issuperset((*group.parents, group.child)) for group in self._groups):
            return False
        return all(self._concave(i) is not None for i in self.forms)

    @lazy
    def _given(self) -> Mapping[AnyVariable, Any]:
        return given_by_variable(self.problem, self.evidence)

    def _concave(self, i: int) -> Concave | None:
        """A form as a function of what is not observed; a child that is not has its first state."""
        form = self.forms[i]
        return self.parts.concave(i, {form.source.scope[-1]: 0} | codes_of(form, self._given))

    @property
    def hidden(self) -> dict[int, Discrete]:
        """The children that are not observed."""
        children: Any = {g.child: self.problem.variables[g.child] for g in self._groups}
        return {v: child for v, child in children.items() if v not in self.evidence.codes}

    @lazy
    def num_branches(self) -> int:
        """The number of their joint states."""
        return math.prod(v.num_states for v in self.hidden.values())

    def chances(self, child: int, values: Mapping[int, int]) -> Floats:
        """The probabilities of the states of a child, given those of its parents; unknown ones in the first state."""
        form = next(f for f in self.forms.values() if self.problem.conditionals[f.group].child == child)
        parents, codes = self.problem.conditionals[form.group].parents, {**values, **self.evidence.codes}
        columns = {self.problem.variables[v]: np.array([codes.get(v, 0)]) for v in parents}
        return np.asarray(form.source.probabilities(columns, 1)[0])

    @lazy
    def functions(self) -> list[Bounded]:
        """The forms as functions, if their children are observed."""
        spend(PARENT_NANOSECONDS * sum(len(group.parents) for group in self._groups))
        return [self._bounded(i, form) for i, form in self.forms.items()]

    def _bounded(self, i: int, form: Form) -> Bounded:
        """A form whose child is observed, with tangents for bounds."""
        group, function, child = self.problem.conditionals[form.group], self._concave(i), form.source.scope[-1]
        assert function is not None  # as checked before
        assert isinstance(child, Discrete)
        free = tuple([v for v in group.parents if v not in self.evidence.codes])
        return Bounded(child, self.evidence.codes[group.child], function, free)

    @property
    def _names(self) -> str:
        return listing(form.source.scope[-1].name for form in self.forms.values())

    def check_branches(self, entries: int) -> None:
        """Raise if the tables of the other conditionals have too many entries, in all branches together.

        Args:
            entries: in one branch.
        """
        num = min(self.num_branches, MOST_BRANCHES)
        if entries * num > MOST_IN_BRANCHES:
            raise TooLarge(
                f"The best states of the parents of {self._names} need tables of {in_digits(entries * num)} entries in "
                f"all for the other conditionals, in {in_digits(num)} joint states of these children; at most "
                f"{MOST_IN_BRANCHES:.3g} "
                "are filled. Observe some of them."
            )

    def refuse(self, chosen: Mapping[int, Semiring]) -> None:
        """Raise the error of the first form without factors.

        Args:
            chosen: what the factors of each form are for.
        """
        for i, form in self.forms.items():
            form.source.decomposed(codes_of(form, self._given), chosen[i])

    def refusal(self, best: float, bound: float = math.inf) -> TooLarge:
        """The error of a search that ended without a proof.

        Args:
            best: the log value of the best assignment found.
            bound: one that none exceed, if it is known.
        """
        more = f", and none have more than {bound:.6g}" if bound < math.inf else ""
        return TooLarge(
            f"The best states of the parents of {self._names} are not certain after a search: the best found have the "
            f"log value {best:.6g}{more}. {MORE_TIME}"
        )


class RelaxedForms:
    """The best assignments without some of the forms, which are at most one.

    Args:
        wide: the forms, some of them with hidden children.
        numbers: the factors that the question needs.
        method: the method for the rest.
    """

    def __init__(self, wide: WideForms, numbers: Collection[int], method: Method) -> None:
        self._wide, self._numbers, self._method = wide, numbers, method
        self._made: dict[frozenset[int], tuple[Subproblem, Prepared]] = {}

    def __call__(self, told: Evidence, known: Collection[int]) -> Best:
        """The best assignment without the forms of hidden children that are not known."""
        left = frozenset(self._wide.hidden).difference(known)
        if left not in self._made:
            self._made[left] = self._without(left)
        part, prepared = self._made[left]
        over = [v for v in part.place if v in self._asked and v not in told.codes]
        found = prepared.best(part.told(told, part.place), [part.place[v] for v in over])
        return Best({v: found.values[part.place[v]] for v in over if part.place[v] in found.values}, found.log_value)

    @lazy
    def _whole(self) -> Subproblems:
        return Subproblems(self._wide.problem, self._numbers)

    @lazy
    def _asked(self) -> frozenset[int]:
        return frozenset(self._wide.over)

    def _without(self, children: Collection[int]) -> tuple[Subproblem, Prepared]:
        """The problem without the conditionals of some children."""
        groups, parts = self._wide.problem.conditionals, enumerate(self._whole.parts)
        kept = [i for i, (group, _) in parts if group < 0 or groups[group].child not in children]
        free = self._asked.difference(self._wide.evidence.observed)
        made = self._whole.of(kept, {}, free)
        return made, prepare(self._method, made.problem)


@dataclass(frozen=True, eq=False)
class AskedForms:
    """The forms that a maximum needs, each looked at once.

    Attributes:
        problem: the problem.
        parts: the factors of its forms.
        find: finds the factors that the question needs.
        evidence: the findings.
        over: the variables whose best values are asked for.
    """

    problem: Problem
    parts: FormParts
    find: Callable[[], Collection[int]]
    evidence: Evidence
    over: Sequence[int]

    @lazy
    def mixed(self) -> frozenset[int]:
        """The forms with variables that are asked for, whose auxiliaries only sums allow."""
        groups, forms = self.problem.conditionals, enumerate(self.problem.forms)
        return frozenset(
            [i for i, f in forms if not f.is_functional and not self._asked.isdisjoint(groups[f.group].parents)]
        )

    @lazy
    def chosen(self) -> dict[int, Semiring]:
        """The forms to be decomposed, for maxima or for sums."""
        forms, mixed, numbers = self.problem.forms, self.mixed, self.find()
        used = [i for i, form in enumerate(forms) if form.factors[0] in numbers]
        return {i: MAX if i in mixed else SUM for i in used if forms[i].is_deferred or i in mixed}

    @lazy
    def _given(self) -> Mapping[AnyVariable, Any]:
        return given_by_variable(self.problem, self.evidence)

    @lazy
    def codes(self) -> dict[int, tuple[dict[AnyVariable, Any], Semiring]]:
        """The same, each with what is observed of it."""
        return {i: (self._codes(i), one) for i, one in self.chosen.items()}

    def _codes(self, i: int) -> dict[AnyVariable, Any]:
        """The findings on the variables of a form."""
        form = self.problem.forms[i]
        group = self.problem.conditionals[form.group]
        if self.evidence.reals or len(group.parents) + 1 != len(form.source.scope):
            return codes_of(form, self._given)
        known = self.evidence.codes
        pairs = zip(form.source.scope, (*group.parents, group.child), strict=True)
        return {v: known[place] for v, place in pairs if place in known}

    def has_maxima(self, most: float) -> bool:
        """Whether no form is known to have only factors for sums, and large tables have at most so many entries."""
        return self._fit(dict.fromkeys(self._sure, MAX), most) and self._fit(self.chosen, most)

    def _fit(self, forms: Mapping[int, Semiring], most: float) -> bool:
        entries = 0.0
        for i, one in forms.items():
            size = 0.0 if one is SUM else self.parts.largest(i, self._codes(i), one)
            entries += size if size > LARGE else 0.0
            if entries > most:
                return False
        return True

    @lazy
    def _sure(self) -> list[int]:
        """Forms that a maximum needs in any case: of an observed child and a parent that is asked for."""
        known, groups = self.evidence.codes, self.problem.conditionals
        asked = self._asked.difference(known)
        pairs = [(i, groups[form.group]) for i, form in enumerate(self.problem.forms) if not form.is_functional]
        return [i for i, group in pairs if group.child in known and not asked.isdisjoint(group.parents)]

    @lazy
    def wide(self) -> WideForms:
        """The forms that have no factors, or only a large table; refused if no search can even begin with them."""
        groups, forms = self.problem.conditionals, self.problem.forms
        most = PARENT_NANOSECONDS * sum(len(groups[forms[i].group].parents) for i in self._sure)
        if most > work_left():  # perhaps they are too many, whatever else is needed
            self._found(dict.fromkeys(self._sure, MAX))
        return WideForms(self.problem, self._found(self.chosen), self.evidence, self.over, self.parts)

    def _found(self, chosen: Mapping[int, Semiring]) -> dict[int, Form]:
        """Those of some forms that have no factors, or only a large table; refused if they are too many."""
        price, entries, found = 0.0, 0, dict[int, Form]()
        for i, one in chosen.items():
            if self.parts.has_none(i, self._codes(i), one):
                found[i] = self.problem.forms[i]
                size, most = self._large(i)
                price, entries = price + most, entries + size
                if price > work_left() and entries > MAX_ENTRIES:
                    self._refuse(found)
        return found

    def _large(self, i: int) -> tuple[int, float]:
        """The entries of the table of a form, and time to make what a search needs of it; nothing for small ones, nor
        where variables are summed out."""
        group, cards = self.problem.conditionals[self.problem.forms[i].group], self.problem.variables.cards
        free = [v for v in (*group.parents, group.child) if v not in self.evidence.codes]
        size = math.prod(cards[free].tolist())
        if size <= LARGE or not self._asked.issuperset(free):
            return 0, 0.0
        return size, PARENT_NANOSECONDS * len(group.parents)

    @lazy
    def joined(self) -> Ints:
        """Pairs of variables that the tables of forms with an observed child join: the first parent with the others."""
        pairs = [np.zeros((0, 2), np.int64)]
        for i in self._sure:
            form, codes = self.problem.forms[i], self._codes(i)
            parents = self.problem.conditionals[form.group].parents
            free = [v for v in parents if v not in self.evidence.codes]
            if len(free) > 1 and len(parents) + 1 == len(form.source.scope) and form.source.is_whole(codes):
                pairs.append(np.stack([np.full(len(free) - 1, free[0]), free[1:]], axis=1))
        return np.concatenate(pairs)

    @lazy
    def _asked(self) -> frozenset[int]:
        return frozenset(self.over)

    def _refuse(self, found: Collection[int]) -> None:
        """Raise, since these forms are too many."""
        parents = {v for i in found for v in self.problem.conditionals[self.problem.forms[i].group].parents}
        raise TooLarge(
            f"The best states of {len(parents):,} or more variables, which {len(found):,} or more functions of many "
            f"variables couple, need a search that takes seconds to prepare. {MORE_TIME}"
        )

    @lazy
    def functions(self) -> WideForms:
        """The forms, also those with factors, that can be concave functions: of asked parents and an observed child."""
        groups, known = self.problem.conditionals, self.evidence.codes
        kept = {
            i: form
            for i, form in self.summed_functions.forms.items()
            if self._asked.issuperset([v for v in groups[form.group].parents if v not in known])
        }
        return WideForms(self.problem, kept, self.evidence, self.over, self.parts)

    @lazy
    def summed_functions(self) -> WideForms:
        """The same, with any parents."""
        kept = {i: self.problem.forms[i] for i in self.chosen if self._is_function(i)}
        return WideForms(self.problem, kept, self.evidence, self.over, self.parts)

    def _is_function(self, i: int) -> bool:
        child = self.problem.conditionals[self.problem.forms[i].group].child
        return child in self.evidence.codes and self.parts.concave(i, self._codes(i)) is not None


def foresee(prepared: Prepared | None, asked: AskedForms) -> None:
    """Raise if a method for the whole problem sees that sums before these maxima are hopeless.

    Forms with an observed child and variables that are asked for may have other factors than the problem.
    """
    if prepared is not None and can(prepared, ForeseesSums) and not asked.evidence.weights:
        groups, forms, known = asked.problem.conditionals, asked.problem.forms, asked.evidence.codes
        children = [groups[forms[i].group].child for i in asked.mixed]
        apart = [v for v in children if v in known]
        prepared.refuse_sums(asked.over, asked.evidence.observed, apart)
        if asked.problem.num_visible >= costs.VARIABLES_OF_MINORS and have_small_tables(asked.problem):
            prepared.refuse_maxima(asked.over, asked.evidence.observed, apart)  # else a search needs no tables


def foresee_tables(prepared: Prepared | None, asked: AskedForms) -> None:
    """Raise if these maxima are hopeless with the tables of forms whose child is observed; none of them is made."""
    problem, is_large = asked.problem, asked.problem.num_visible >= costs.VARIABLES_OF_MINORS
    if is_large and prepared is not None and can(prepared, ForeseesSums) and not asked.evidence.weights:
        children = [problem.conditionals[problem.forms[i].group].child for i in asked.mixed]
        apart = [v for v in children if v in asked.evidence.codes]
        if len(asked.joined):
            prepared.refuse_maxima(asked.over, asked.evidence.observed, apart, asked.joined)


def with_sums(problem: Problem, numbers: Iterable[int], known: Collection[int]) -> list[int]:
    """Those of some forms that have variables which are neither asked for nor observed."""
    groups = ((i, problem.conditionals[problem.forms[i].group]) for i in numbers)
    return [i for i, group in groups if any(v not in known for v in (*group.parents, group.child))]


def cheapest(ways: Iterable[Callable[[], Prepared]], over: Sequence[int], observed: Sequence[int]) -> Prepared:
    """The first of several rewritten problems whose plan for the best values of `over` is small, else the smallest."""
    best, least, refusal = None, math.inf, None
    for way in ways:
        try:
            prepared = way()
            size = float(prepared.best_plan(over, observed).total_size)
        except TooLarge as error:
            refusal = refusal or error
            continue
        if best is None or size < least:
            best, least = prepared, size
        if size <= SMALL_PLAN:
            break
    if best is None:
        assert refusal is not None  # there is a way
        raise refusal
    return best


def joined(searched: Sequence[Found], log_weights: Sequence[float]) -> Found:
    """The assignments found in several disjoint parts, each of which has a weight."""
    pairs = list(zip(searched, log_weights, strict=True))
    best = [Best(one.values, one.log_value + weight) for found, weight in pairs for one in found.best]
    bounds = [found.bound + weight for found, weight in pairs if not found.is_proved]
    ranked = sorted(best, key=lambda one: -one.log_value)
    top = ranked[0].log_value if ranked else -math.inf
    return Found(ranked, all(bound <= top for bound in bounds), max(bounds, default=math.inf))


def check_found(found: Found, wide: WideForms, *, is_all: bool = True) -> None:
    """Raise if a search under some forms ended without a proof, and no other is worth while.

    Args:
        is_all: whether its bound is one of all assignments.
    """
    if not found.is_proved and found.bound < math.inf:
        best = found.best[0].log_value if found.best else -math.inf
        raise wide.refusal(best, found.bound if is_all else math.inf)
