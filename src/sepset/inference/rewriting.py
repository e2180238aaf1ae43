r"""Problems in which functions of many variables have become factors for one question.

$$\phi(\mathbf x) = \sum_{\mathbf a} \prod_i f_i(\mathbf x, \mathbf a)$$

The model's own variables keep their positions; auxiliaries of functions that are replaced are replaced by the new ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.cache import Cache
from sepset.errors import TooLarge
from sepset.factors.algebra import AnyVariable, Columns, num_entries
from sepset.factors.decomposition import Concave, Decomposition, Unfilled
from sepset.factors.regression import Regression
from sepset.factors.table import Table
from sepset.inference.capabilities import answer_rows, with_values
from sepset.inference.completion import drawn as chosen
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.method import Method, Prepared, dense
from sepset.problem import ConditionalGroup, Form, Problem
from sepset.semiring import MAX, SUM, Semiring
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

MOST_TABLED = 2**16
"""The largest table of a concave function that is maximized as one; the frontier of larger ones is searched."""


def functional(problem: Problem) -> Problem:
    """The problem with factors in which every auxiliary is a function of other variables, whatever the question.

    Then exactly one product of factors belongs to each joint state, so that their logarithms add up to its own.
    """
    parts = {i: form.source.decomposed({}, MAX) for i, form in enumerate(problem.forms)}
    return rewritten(problem, range(problem.num_factors), parts)[0] if parts else problem


def rewritten(
    problem: Problem, numbers: Collection[int], parts: Mapping[int, Decomposition]
) -> tuple[Problem, Mapping[AnyVariable, int], Mapping[int, tuple[int, ...]]]:
    """A problem with some of its factors, in which forms have become their parts.

    The model's own variables keep their positions. Those whose conditionals are left out remain without factors.

    Returns:
        The problem, the position of every variable, and the numbers of the factors of each part.
    """
    replaced = {n for i in parts for n in problem.forms[i].factors}
    kept = [n for n in sorted(numbers) if n not in replaced]
    own_scopes = problem.scopes_of(kept)
    old = sorted({v for scope in own_scopes for v in scope if v >= problem.num_visible})
    own = [problem.variables[v] for v in range(problem.num_visible)]
    new = [a for part in parts.values() for a in part.auxiliaries]
    variables = Universe([*own, *(problem.variables[v] for v in old), *new])
    place = {v: v for v in range(problem.num_visible)} | {v: problem.num_visible + i for i, v in enumerate(old)}
    ids: dict[AnyVariable, int] = {v: problem.num_visible + len(old) + i for i, v in enumerate(new)}
    ids |= {problem.variables[v]: at for v, at in place.items()}
    factors: list[Any] = [problem.factor(n) for n in kept]
    scopes = [[place[v] for v in scope] for scope in own_scopes]
    homes: dict[int, tuple[int, ...]] = {}
    for i, part in parts.items():
        homes[i] = tuple(range(len(factors), len(factors) + len(part.factors)))
        factors += part.factors
        scopes += [[ids[v] for v in factor.scope] for factor in part.factors]
    functions = {place[a]: tuple(place[v] for v in inputs) for a, inputs in problem.functions.items() if a in place}
    functions |= {ids[a]: tuple(ids[v] for v in f) for part in parts.values() for a, f in part.functions.items()}
    groups = tuple(_groups(problem, dict(zip(kept, range(len(kept)), strict=True)), place, parts, homes, ids))
    made = Problem.of_factors(variables, factors, scopes=scopes, conditionals=groups, num_visible=problem.num_visible)
    late = {n: factor.filled for n, factor in enumerate(factors) if isinstance(factor, Unfilled)}
    return made.with_forms(functions, ()).with_deferred(late) if late else made.with_forms(functions, ()), ids, homes


@dataclass(frozen=True, eq=False)
class Rewritten:
    """A method prepared for a rewritten problem.

    Attributes:
        prepared: the method.
        parts: what each form became.
        numbers: the numbers of the factors of each form.
    """

    prepared: Prepared
    parts: Mapping[int, Decomposition]
    numbers: Mapping[int, tuple[int, ...]]

    def with_parts(self, parts: Mapping[int, Decomposition]) -> Prepared:
        """The same plans with other parts of the same scopes."""
        values = {
            number: dense(factor).in_range
            for form, part in parts.items()
            for number, factor in zip(self.numbers[form], part.filled, strict=True)
        }
        return with_values(self.prepared, values)


def _groups(
    problem: Problem,
    number: Mapping[int, int],
    place: Mapping[int, int],
    parts: Mapping[int, Decomposition],
    homes: Mapping[int, tuple[int, ...]],
    ids: Mapping[AnyVariable, int],
) -> Iterator[ConditionalGroup]:
    """The conditionals that remain; those left out have no factors."""
    made = {problem.forms[i].group: i for i in parts}
    for at, group in enumerate(problem.conditionals):
        if at in made:
            new = tuple(ids[a] for a in parts[made[at]].auxiliaries)
            yield ConditionalGroup(group.child, group.parents, homes[made[at]], new)
            continue
        factors = tuple(number[n] for n in group.factors if n in number)
        hidden = tuple(place[v] for v in group.auxiliaries) if factors else ()
        yield ConditionalGroup(group.child, group.parents, factors, hidden)


def given_by_variable(problem: Problem, evidence: Evidence) -> dict[AnyVariable, Any]:
    """The observed codes, and the values of real variables as tuples, by variable."""
    reals = {problem.variables[v]: tuple(value.tolist()) for v, value in evidence.reals.items()}
    return reals | {problem.variables[v]: code for v, code in evidence.codes.items()}


def codes_of(form: Form, given: Mapping[AnyVariable, Any]) -> dict[AnyVariable, Any]:
    """The codes and values of the observed variables of a form."""
    return {v: given[v] for v in form.source.scope if v in given}


def repeated(value: Floats, num_rows: int) -> Floats:
    """The value of a real variable in every row."""
    rows = np.tile(value, (num_rows, 1))
    return rows[:, 0] if rows.shape[1] == 1 else rows


class FormParts:
    """The factors of the forms of a problem, and which of them were found to be too large.

    Args:
        forms: of the problem.
    """

    def __init__(self, forms: Sequence[Form]) -> None:
        self._forms = forms
        self._largest: Cache[float] = Cache(max(256, 2 * len(forms)))
        self._concave: Cache[Concave | None] = Cache(max(256, len(forms)))

    def part(self, i: int, codes: Mapping[AnyVariable, Any], semiring: Semiring) -> Decomposition:
        """The factors of a form; if maxima have none that fit, those for sums."""
        form = self._forms[i]
        if semiring is SUM or form.is_deferred:
            return form.source.decomposed(codes, semiring)
        if self._largest.find(_key(i, codes, semiring)) != math.inf:
            with suppress(TooLarge):
                return form.source.decomposed(codes, semiring)
        return form.source.decomposed(codes, SUM)

    def has_none(self, i: int, codes: dict[AnyVariable, Any], semiring: Semiring) -> bool:
        """Whether a form has no factors at these codes that are small enough, or large tables of a concave function."""
        largest = self.largest(i, codes, semiring)
        if largest <= MOST_TABLED or largest == math.inf:
            return largest == math.inf
        return self.concave(i, {self._forms[i].source.scope[-1]: 0} | codes) is not None

    def concave(self, i: int, codes: Mapping[AnyVariable, Any]) -> Concave | None:
        """A form, whose child has a code, as a concave function of its other variables; None if it is not concave."""
        return self._concave.get((i, tuple(codes.items())), lambda: self._forms[i].source.concave(codes))

    def largest(self, i: int, codes: Mapping[AnyVariable, Any], semiring: Semiring) -> float:
        """The entries of the largest factor of a form, or of a table that is small enough; infinite if none are."""
        free = [v for v in self._forms[i].source.scope if v not in codes]
        if all(isinstance(v, Discrete) for v in free) and (table := num_entries(free)) <= MOST_TABLED:
            return float(table)  # its factors are no larger, and need not be made
        return self._largest.get(_key(i, codes, semiring), lambda: _largest(self._forms[i], codes, semiring))


def needed_factors(
    problem: Problem, asked: Sequence[int], observed: Sequence[int], touched: Sequence[int] = ()
) -> frozenset[int]:
    """The factors of a question about some variables; those of all are known without a look at scopes."""
    if {*asked, *observed}.issuperset(range(problem.num_visible)):  # no conditional is barren
        return frozenset(range(problem.num_factors))
    return frozenset(problem.relevant(asked, observed, touched=touched, constants=True).factors)


def have_small_tables(problem: Problem) -> bool:
    """Whether all forms have small tables, whatever is observed of them; no table is made."""
    start, members, _ = problem.families
    bits = np.log2(np.maximum(problem.variables.cards, 1))[members] * (members < problem.num_visible)
    sizes = np.bincount(np.repeat(np.arange(len(start) - 1), np.diff(start)), bits, len(start) - 1)
    children = [problem.conditionals[form.group].child for form in problem.forms]
    return bool((sizes[children] <= np.log2(MOST_TABLED)).all())


def _key(i: int, codes: Mapping[AnyVariable, Any], semiring: Semiring) -> Hashable:
    return i, semiring.name, tuple(codes.items())


def _largest(form: Form, codes: Mapping[AnyVariable, Any], semiring: Semiring) -> float:
    try:
        part = form.source.decomposed(codes, semiring)
    except TooLarge:
        return math.inf
    return max((num_entries(factor.scope) for factor in part.factors), default=1)


def drawn_last(problem: Problem, needed: Collection[int]) -> list[int]:
    """The deferred conditionals without needed factors, and their descendants; parents first."""
    groups = problem.conditionals
    late = {form.group for form in problem.forms if form.is_deferred and form.factors[0] not in needed}
    children = {groups[place].child for place in late}
    waiting = [place for place in range(len(groups)) if place not in late]
    while found := [place for place in waiting if children.intersection(groups[place].parents)]:
        late.update(found)
        children.update(groups[place].child for place in found)
        waiting = [place for place in waiting if place not in late]
    order: list[int] = []
    while late:
        left = {groups[place].child for place in late}
        order += [place for place in sorted(late) if not left.intersection(groups[place].parents)]
        late.difference_update(order)
    return order


def drawn(
    method: Method, problem: Problem, place: int, rows: Columns, num_rows: int, rng: np.random.Generator
) -> Columns:
    """Draws of the child of one conditional, given its parents."""
    group = problem.conditionals[place]
    child = problem.variables[group.child]
    form = next((form for form in problem.forms if form.group == place), None)
    if form is not None:
        return {child: form.source.sample(rows, num_rows, rng)}
    if len(group.factors) == 1:
        return problem.factor(group.factors[0]).eliminate([child])[0].sample(rows, num_rows, rng)
    known = np.stack([rows[problem.variables[v]] for v in group.parents], axis=1)
    alone = method.prepare(rewritten(problem, group.factors, {})[0])
    found = answer_rows(alone, EvidenceRows(tuple(group.parents), known), (group.child,), Workers())
    return {child: chosen(found.probabilities[group.child], rng.random(num_rows))}


def silenced(problem: Problem, evidence: Evidence, children: Collection[int]) -> Evidence:
    """The evidence with any values of variables that are in no factor, so that nothing is drawn for them."""
    cards, variables = problem.variables.cards, problem.variables
    codes = {v: 0 for v in children if cards[v]}
    reals = {v: np.zeros(variables[v].size) for v in children if not cards[v]}  # type: ignore[union-attr]
    return replace(evidence, codes={**evidence.codes, **codes}, reals={**evidence.reals, **reals})


MOST_COUNTED = 2**20
"""The most joint states of one row's form that are counted."""

MOST_TOGETHER = 2**22
"""The most entries of the tables of rows that are answered together."""


def countable(
    rows: EvidenceRows, forms: Sequence[Form], entries: Callable[[Form, EvidenceRows], int]
) -> Iterator[tuple[Ints, EvidenceRows]]:
    """The rows that observe the same variables, as many at a time as their tables allow, and their places.

    Args:
        forms: whose joint states are counted in each row.
        entries: how many a form has in rows that observe the same variables.
    """
    for places, some in rows.alike():
        sizes = [entries(form, some) for form in forms]
        wide = [form.source for form, size in zip(forms, sizes, strict=True) if size > MOST_COUNTED]
        if wide:
            raise TooLarge(f"{wide[0]!r} has too many missing parents in a row to count its joint states.")
        size = MOST_TOGETHER // max(sizes, default=1)
        for start in range(0, len(some), size):
            part = np.arange(start, min(start + size, len(some)))
            yield places[part], some.take(part)


@dataclass(frozen=True, slots=True, eq=False)
class Certain:
    """The states and numbers that factors of one variable leave no choice about.

    To observe them changes nothing: every other state has weight zero, and a relation without noise has density one on
    its support.
    """

    codes: dict[int, int]
    reals: dict[int, Floats]

    @classmethod
    def of(cls, problem: Problem) -> Certain:
        """Those of a problem.

        >>> from sepset.variables.universe import Universe
        >>> from sepset.variables.variable import Discrete
        >>> dose, pulse = Discrete("dose"), Discrete("pulse")
        >>> factors = [Table(dose, [0.0, 1.0]), Table(pulse, [0.5, 0.5])]
        >>> Certain.of(Problem.of_factors(Universe([dose, pulse]), factors, scopes=[[0], [1]])).codes
        {0: 1}
        """
        codes: dict[int, int] = {}
        reals: dict[int, Floats] = {}
        start, members = problem.scopes
        late = [form.factors[0] for form in problem.forms if form.is_deferred]
        alone = np.setdiff1d(np.flatnonzero(np.diff(start) == 1), late).tolist()
        for place, factor in zip(members[start[alone]].tolist(), problem.factors(alone), strict=True):
            if isinstance(factor, Table) and np.count_nonzero(factor.log_values > -np.inf) == 1:
                codes[place] = int(np.argmax(factor.log_values))
            elif isinstance(factor, Regression) and not factor.covariance.any():
                reals[place] = factor.intercept[0]
        return cls(codes, reals)

    def told(self, evidence: Evidence, targets: Iterable[int] = ()) -> Evidence:
        """The evidence, with all variables that are certain but the targets and those with evidence of their own."""
        taken = {*evidence.touched, *targets}
        codes = {v: code for v, code in self.codes.items() if v not in taken}
        reals = {v: value for v, value in self.reals.items() if v not in taken}
        if not codes and not reals:
            return evidence
        return replace(evidence, codes={**evidence.codes, **codes}, reals={**evidence.reals, **reals})

    def drawn(self, evidence: Evidence, num_rows: int) -> dict[int, AnyArray]:
        """The columns of draws of the variables that are certain and have no evidence of their own."""
        told = self.told(evidence)
        found: dict[int, AnyArray] = {
            v: np.full(num_rows, code) for v, code in told.codes.items() if v not in evidence.codes
        }
        for v, value in told.reals.items():
            if v not in evidence.reals:
                found[v] = np.tile(value, (num_rows, 1)) if len(value) > 1 else np.full(num_rows, value[0])
        return found

    def beside(self, rows: EvidenceRows, targets: Iterable[int]) -> EvidenceRows:
        """The rows, each with the states that are certain, but for targets."""
        taken = {*rows.positions, *targets}
        more = {v: code for v, code in self.codes.items() if v not in taken}
        return rows.beside([*more], [np.full(len(rows), code) for code in more.values()]) if more else rows
