"""The discrete variables of a problem as a problem of their own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.problem import ConditionalGroup, Problem
from sepset.variables.universe import Universe


class DiscretePart(NamedTuple):
    """A problem of discrete variables alone.

    Attributes:
        problem: the part; None if no variable is discrete.
        positions: the positions of its variables in the whole problem.
        factors: the numbers of its factors in the whole problem.
    """

    problem: Problem | None
    positions: tuple[int, ...]
    factors: tuple[int, ...]


def discrete_part(problem: Problem) -> DiscretePart:
    """The factors over discrete variables only, with those variables.

    >>> from sepset.factors.block import Single
    >>> from sepset.factors.table import Table
    >>> from sepset.variables.variable import Discrete, Real
    >>> mixed = Problem(Universe([Real("x"), Discrete("d")]), (Single(Table(Discrete("d"), [1, 2]), [1]),))
    >>> discrete_part(mixed).positions
    (1,)
    """
    cards = problem.variables.cards
    positions = tuple(np.flatnonzero(cards > 0).tolist())
    factors = tuple(i for i, shape in enumerate(problem.shapes) if 0 not in shape)
    if not positions:
        return DiscretePart(None, (), factors)
    place, number = ({old: new for new, old in enumerate(kept)} for kept in (positions, factors))
    start, members = (part.tolist() for part in problem.scopes)
    scopes = [[place[v] for v in members[start[i] : start[i + 1]]] for i in factors]
    groups = tuple(
        ConditionalGroup(
            place[g.child],
            tuple(place[v] for v in g.parents),
            tuple(number[i] for i in g.factors),
            tuple(place[v] for v in g.auxiliaries),
        )
        for g in problem.conditionals
        if cards[g.child] > 0
    )
    visible = sum(v < problem.num_visible for v in positions)
    own = Universe([problem.variables[v] for v in positions])
    part = Problem.of_factors(
        own, tuple(problem.factors(factors)), scopes=scopes, conditionals=groups, num_visible=visible
    )
    if problem.functions:
        functions = {place[a]: tuple(place[v] for v in inputs) for a, inputs in problem.functions.items()}
        part = part.with_forms(functions, ())
    return DiscretePart(part, positions, factors)
