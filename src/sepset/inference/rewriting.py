r"""Problems in which functions of many variables have become factors for one question.

$$\phi(\mathbf x) = \sum_{\mathbf a} \prod_i f_i(\mathbf x, \mathbf a)$$

The model's own variables keep their positions; auxiliaries of functions that are replaced are replaced by the new ones.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.cache import Cache
from sepset.errors import TooLarge
from sepset.factors.algebra import AnyVariable, Columns, num_entries
from sepset.factors.decomposition import Concave, Decomposition, Unfilled
from sepset.inference.capabilities import answer_rows
from sepset.inference.completion import drawn as chosen
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.method import Method
from sepset.problem import ConditionalGroup, Form, Problem
from sepset.semiring import MAX, SUM, Semiring
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe

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
        if largest == math.inf:
            return True
        return largest > MOST_TABLED and self.concave(i, {self._forms[i].source.scope[-1]: 0} | codes) is not None

    def concave(self, i: int, codes: Mapping[AnyVariable, Any]) -> Concave | None:
        """A form, whose child has a code, as a concave function of its other variables; None if it is not concave."""
        return self._concave.get((i, tuple(codes.items())), lambda: self._forms[i].source.concave(codes))

    def largest(self, i: int, codes: Mapping[AnyVariable, Any], semiring: Semiring) -> float:
        """The entries of the largest factor of a form; infinite if it has none that are small enough."""
        return self._largest.get(_key(i, codes, semiring), lambda: _largest(self._forms[i], codes, semiring))


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
