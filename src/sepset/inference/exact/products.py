r"""Factors that findings turn into products: an absent finding of a noisy-or couples no causes, whatever its table.

$$P(\text{absent} \mid \mathbf u) = \prod_i \lambda_i(u_i)$$

A table whose entries at the findings are such a product is replaced by its terms, so that it joins no variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.errors import TooLarge
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.problem import ConditionalGroup, Problem
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete

MOST_LOOKED_AT = 2**20
"""The most entries of all factors that are looked at."""

ROUNDINGS = 4
"""Units in the last place, for each variable, by which entries may differ from a product."""


class Divisible(Protocol):
    """An engine for a problem, which can be made for one with more and smaller factors."""

    divisions: int
    """The number of findings for which that was done."""

    def divided(self, evidence: Evidence, *, is_new: bool = True) -> Self | None:
        """The same for the problem in which products given the findings are divided; None if there are none.

        Args:
            is_new: whether it is made now if it was not asked for before.
        """


E = TypeVar("E", bound=Divisible)
P = ParamSpec("P")
T = TypeVar("T")


def dividing(ask: Callable[Concatenate[E, P], T]) -> Callable[Concatenate[E, P], T]:
    """A question that is asked again with products divided if it is too large otherwise."""

    @wraps(ask)
    def asked(self: E, /, *args: P.args, **kwargs: P.kwargs) -> T:
        known = self.divided(_evidence(args, kwargs), is_new=False) if self.divisions else None
        if known is not None:
            return ask(known, *args, **kwargs)
        try:
            return ask(self, *args, **kwargs)
        except TooLarge:
            if (other := self.divided(_evidence(args, kwargs))) is None:
                raise
            self.divisions += 1
        return ask(other, *args, **kwargs)

    return asked


def _evidence(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Evidence:
    """The findings of a question."""
    return next(arg for arg in (*args, *kwargs.values()) if isinstance(arg, Evidence))


def with_products(problem: Problem, evidence: Evidence) -> Problem | None:
    """The problem in which conditionals that are products given the findings have become factors of single variables.

    Variables keep their positions and other factors their numbers. None if there are no such conditionals, or too many
    entries or variables.

    Guarantee: exact up to a rounding of each entry.
    Tested by: inference/exact/test_products.py::test_products_are_what_they_were
    """
    if problem.num_visible > costs.VARIABLES_ALWAYS_PLANNED or not problem.is_built:
        return None
    codes, cards, left = evidence.codes, problem.variables.cards, MOST_LOOKED_AT
    factors, scopes = list[Any](), list[list[int]]()
    groups, first = list(problem.conditionals), dict[int, Table]()
    for at, group in enumerate(groups):
        if group.child not in codes or len(group.factors) != 1 or sum(v not in codes for v in group.parents) < 2:
            continue
        scope = problem.scope(group.factors[0])
        left -= int(np.prod([float(cards[v]) for v in scope]))
        if left < 0:
            return None
        terms = _terms(problem.factor(group.factors[0]), scope, evidence)
        if terms is None:
            continue
        numbers = range(problem.num_factors + len(factors), problem.num_factors + len(factors) + len(terms) - 1)
        first[group.factors[0]], scopes = terms[group.child], [*scopes, *([v] for v in terms if v != group.child)]
        factors += [term for v, term in terms.items() if v != group.child]
        groups[at] = ConditionalGroup(group.child, group.parents, (*group.factors, *numbers), group.auxiliaries)
    return _divided(problem, first, factors, scopes, groups) if first else None


def _divided(
    problem: Problem,
    first: dict[int, Table],
    factors: list[Any],
    scopes: list[list[int]],
    groups: list[ConditionalGroup],
) -> Problem:
    """The problem with some factors replaced and others added."""
    places = problem.variables.positions
    own = [first.get(n) or problem.factor(n) for n in range(problem.num_factors)]
    members = problem.scopes_of(range(problem.num_factors))
    for n, term in first.items():
        members[n] = [places[v.name] for v in term.scope]
    made = Problem.of_factors(
        problem.variables,
        [*own, *factors],
        scopes=[*members, *scopes],
        conditionals=groups,
        num_visible=problem.num_visible,
    )
    return made.with_forms(problem.functions, problem.forms)


def _terms(factor: Any, scope: tuple[int, ...], evidence: Evidence) -> dict[int, Table] | None:
    """The terms of a factor at the findings, by position, an indicator for each finding; None if there are none."""
    if not isinstance(factor, Table) or factor.space == "log":
        return None
    codes, variables = evidence.codes, dict(zip(scope, factor.scope, strict=True))
    rest = factor.values[tuple(codes.get(v, slice(None)) for v in scope)]
    rows = _rank_one(rest)
    if rows is None:
        return None
    free = iter(rows)
    return {v: _indicator(variables[v], codes[v]) if v in codes else Table(variables[v], next(free)) for v in scope}


def _indicator(variable: Discrete, code: int) -> Table:
    return Table.indicator(variable, variable.states[code])


def _rank_one(array: Floats) -> list[Floats] | None:
    """Rows of numbers, one for each axis, whose outer product is the array up to rounding; None if there are none.

    >>> _rank_one(np.array([[2.0, 4.0], [1.0, 2.0]]))
    [array([1. , 0.5]), array([2., 4.])]
    >>> _rank_one(np.array([[1.0, 0.0], [0.0, 1.0]])) is None
    True
    """
    peak: tuple[Any, ...] = np.unravel_index(int(array.argmax()), array.shape)
    if not (most := float(array[peak])) > 0.0:
        return None
    lines = [array[(*peak[:axis], slice(None), *peak[axis + 1 :])] for axis in range(array.ndim)]
    rows = [*(line / most for line in lines[:-1]), lines[-1]]
    product = reduce(np.multiply.outer, rows)
    is_near = np.abs(array - product) <= ROUNDINGS * array.ndim * np.finfo(float).eps * product
    return rows if is_near.all() else None
