"""The forms of a problem that one question for best values needs, with what is observed of each."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sepset.base.lazy import lazy
from sepset.base.threads import work_left
from sepset.errors import TooLarge
from sepset.factors.algebra import MAX_ENTRIES, AnyVariable
from sepset.inference.maxima import MORE_TIME, PARENT_NANOSECONDS, WideForms
from sepset.inference.rewriting import FormParts, codes_of, given_by_variable
from sepset.problem import Problem
from sepset.semiring import MAX, SUM, Semiring
from sepset.variables.evidence import Evidence


@dataclass(frozen=True, eq=False)
class AskedForms:
    """The forms that a maximum needs, each looked at once.

    Attributes:
        problem: the problem.
        parts: the factors of its forms.
        numbers: the factors that the question needs.
        evidence: the findings.
        over: the variables whose best values are asked for.
    """

    problem: Problem
    parts: FormParts
    numbers: Collection[int]
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
        forms, mixed = self.problem.forms, self.mixed
        used = [i for i, form in enumerate(forms) if form.factors[0] in self.numbers]
        return {i: MAX if i in mixed else SUM for i in used if forms[i].is_deferred or i in mixed}

    @lazy
    def _given(self) -> Mapping[AnyVariable, Any]:
        return given_by_variable(self.problem, self.evidence)

    @lazy
    def codes(self) -> dict[int, tuple[dict[AnyVariable, Any], Semiring]]:
        """The same, each with what is observed of it."""
        return {i: (self._codes(i), one) for i, one in self.chosen.items()}

    def _codes(self, i: int) -> dict[AnyVariable, Any]:
        """What is observed of a form."""
        form = self.problem.forms[i]
        group = self.problem.conditionals[form.group]
        if self.evidence.reals or len(group.parents) + 1 != len(form.source.scope):
            return codes_of(form, self._given)
        known = self.evidence.codes
        pairs = zip(form.source.scope, (*group.parents, group.child), strict=True)
        return {v: known[place] for v, place in pairs if place in known}

    @property
    def has_maxima(self) -> bool:
        """Whether no form is known to have only factors for sums."""
        pairs = self.codes.items()
        return all(one is SUM or self.parts.largest(i, codes, one) < math.inf for i, (codes, one) in pairs)

    @lazy
    def wide(self) -> WideForms:
        """The forms that have no factors, or only a large table; refused if no search can even begin with them."""
        price, found = 0.0, {}
        for i, one in self.chosen.items():
            if self.parts.has_none(i, self._codes(i), one):
                found[i] = self.problem.forms[i]
                price += self._price(i)
                if price > work_left():
                    self._refuse(found)
        return WideForms(self.problem, found, self.evidence, self.over, self.parts)

    def _price(self, i: int) -> float:
        """Time to make what a search needs of a form that no elimination can have as a table; nothing for others."""
        group, cards = self.problem.conditionals[self.problem.forms[i].group], self.problem.variables.cards
        free = [v for v in (*group.parents, group.child) if v not in self.evidence.codes]
        if not self._asked.issuperset(free) or math.prod(cards[free].tolist()) <= MAX_ENTRIES:
            return 0.0
        return PARENT_NANOSECONDS * len(group.parents)

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
        kept = {i: self.problem.forms[i] for i in self.chosen if self._is_function(i)}
        return WideForms(self.problem, kept, self.evidence, self.over, self.parts)

    def _is_function(self, i: int) -> bool:
        group, known = self.problem.conditionals[self.problem.forms[i].group], self.evidence.codes
        if group.child not in known or not self._asked.issuperset([v for v in group.parents if v not in known]):
            return False
        return self.parts.concave(i, self._codes(i)) is not None
