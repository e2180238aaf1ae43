r"""Best values of a problem from those of its pieces, which single variables separate.

$$\max_{\mathbf x} \prod_p f_p(x_{c_p}, \mathbf x_p), \qquad
m_p(x_{c_p}) = \max_{\mathbf x_p} f_p(x_{c_p}, \mathbf x_p) \prod_{q \text{ below } p} m_q(x_{c_q})$$

Given the variable that separates it, a piece depends on nothing above it. So a tree of functions of many variables is
one search for each of them and each state of one variable, not a search over all of their states together. Variables
that are summed out separate nothing, since a sum and a maximum are not exchanged.

Reference: Hopcroft & Tarjan (1973), Efficient algorithms for graph manipulation; Dechter & Mateescu (2007), AND/OR
search spaces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.threads import spend
from sepset.factors.table import Table
from sepset.inference.buckets.bounded import Maximum
from sepset.problem import ConditionalGroup, Form, Problem
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe

VISIT_NANOSECONDS, PLACE_NANOSECONDS = 3_000.0, 10_000.0
"""Time to look at a variable of a function, and to make its part of a piece."""


class Prepared(Protocol):
    """A method bound to a problem."""

    def best(self, evidence: Evidence, over: Sequence[int]) -> tuple[Mapping[int, Any], float]:
        """The best values of some variables, others summed out, and their log value."""

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight."""


class Piece(NamedTuple):
    """Some of the scopes.

    Attributes:
        members: their numbers.
        cut: the variable that separates it from what is above; -1 for the first piece.
        above: the number of the piece that has this variable, which comes earlier.
    """

    members: list[int]
    cut: int = -1
    above: int = -1


class Division(NamedTuple):
    """Scopes divided at single variables.

    Attributes:
        pieces: the first one is above all others.
        home: for each variable the piece that has it, and that it does not separate from others.
    """

    pieces: list[Piece]
    home: dict[int, int]


def divided(scopes: Sequence[Sequence[int]], is_wide: Sequence[bool], cuts: Collection[int]) -> Division:
    """Scopes divided at single variables, as far as each piece but the first has a wide one.

    Args:
        is_wide: whether a scope is one of those that should be in pieces of their own.
        cuts: the variables that may separate pieces.

    Cost: linear in the sizes of all scopes.

    >>> found = divided([(0, 1), (1, 2), (2, 3), (3, 2), (4,)], [True, False, True, True, False], {0, 1, 2, 3, 4})
    >>> [(piece.members, piece.cut, piece.above) for piece in found.pieces]
    [([4], -1, -1), ([0, 1], 0, 0), ([2, 3], 2, 1)]
    """
    first, low, above = _traversed(scopes, cuts)
    made, of, home = [Piece([])], dict[int, int](), dict[int, int]()
    for node in first:  # what is above comes first
        if node >= 0:
            home[node] = of[above[node]] if node in above else 0
        elif (cut := above[node]) in cuts and low[node] >= first[cut]:
            of[node] = len(made)
            made.append(Piece([], cut, home[cut]))
        else:
            of[node] = home[cut]
    with_wide = {of[~i] for i, wide in enumerate(is_wide) if wide and ~i in of}
    target, kept = {0: 0}, [made[0]]
    for i, piece in enumerate(made[1:], 1):
        target[i] = len(kept) if i in with_wide else target[piece.above]
        if i in with_wide:
            kept.append(piece._replace(above=target[piece.above]))
    for i, scope in enumerate(scopes):
        old = of[~i] if ~i in of else home.get(scope[0], 0) if scope else 0
        kept[target[old]].members.append(i)
    return Division(kept, {v: target[i] for v, i in home.items()})


def _traversed(
    scopes: Sequence[Sequence[int]], cuts: Collection[int]
) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Variables, and scopes of several as the complements of their numbers, depth first: the time of each, the earliest
    time that can be reached from it without what is above, and that."""
    wide = [(~i, scope) for i, scope in enumerate(scopes) if len(scope) > 1]
    near: dict[int, list[int]] = {i: list(scope) for i, scope in wide}
    for i, scope in wide:
        for v in scope:
            near.setdefault(v, []).append(i)
    first, low, above = dict[int, int](), dict[int, int](), dict[int, int]()
    for root in sorted((v for v in near if v >= 0), key=lambda v: v not in cuts):
        if root in first:
            continue
        first[root] = low[root] = len(first)
        stack = [(root, iter(near[root]))]
        while stack:
            node, rest = stack[-1]
            for other in rest:
                if other not in first:
                    first[other] = low[other] = len(first)
                    above[other] = node
                    stack.append((other, iter(near[other])))
                    break
                low[node] = min(low[node], first[other])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[node])
    return first, low, above


@dataclass(frozen=True, eq=False)
class Subproblem:
    """Some of the factors of a problem.

    Attributes:
        problem: over their variables alone.
        place: the position there of each variable of the whole problem that it has.
    """

    problem: Problem
    place: Mapping[int, int]

    def told(self, evidence: Evidence, weighted: Collection[int]) -> Evidence:
        """The evidence on its variables.

        Args:
            weighted: those of whose likelihoods it takes account.
        """
        codes = {at: evidence.codes[v] for v, at in self.place.items() if v in evidence.codes}
        reals = {at: evidence.reals[v] for v, at in self.place.items() if v in evidence.reals}
        weights = {self.place[v]: row for v, row in evidence.weights.items() if v in weighted}
        return Evidence(codes, weights, reals=reals)


class Subproblems:
    """A problem whose factors are taken apart, those of one conditional together.

    Args:
        problem: the problem.
        numbers: the factors that a question needs.
    """

    def __init__(self, problem: Problem, numbers: Collection[int]) -> None:
        self._problem, kept = problem, sorted(numbers)
        self._scope: dict[int, list[int]] = dict(zip(kept, problem.scopes_of(kept), strict=True))
        self._form = {form.group: form for form in problem.forms}
        groups = [(i, [n for n in group.factors if n in self._scope]) for i, group in enumerate(problem.conditionals)]
        self.parts = [(i, part) for i, part in groups if part]
        known = {n for _, part in self.parts for n in part}
        self.parts += [(-1, [n]) for n in sorted(self._scope) if n not in known]

    def scope(self, i: int) -> list[int]:
        """The variables of a part."""
        group, numbers = self.parts[i]
        if group < 0:
            return self._scope[numbers[0]]
        found = self._problem.conditionals[group]
        hidden = {v for n in numbers for v in self._scope[n]}.difference(found.parents)
        return [*found.parents, *sorted(hidden | {found.child})]

    def num_states(self, v: int) -> int:
        """The number of states of a variable."""
        return int(self._problem.variables.cards[v])

    def form(self, i: int) -> Form | None:
        """The form that a part is, if it is one."""
        return self._form.get(self.parts[i][0])

    def of(self, members: Sequence[int], more: Mapping[int, Sequence[Floats]], asked: Collection[int]) -> Subproblem:
        """The problem of some parts.

        Args:
            more: the logarithms of further factors of one variable.
            asked: variables that it has in any case.
        """
        own = self._problem
        held = {v for i in members for v in self.scope(i)}.union(more, asked)
        place = {v: at for at, v in enumerate(sorted(held))}
        numbers = [n for i in members for n in self.parts[i][1]]
        number = {n: at for at, n in enumerate(numbers)}
        variables: Any = Universe([own.variables[v] for v in place])
        late = {n for i in members if self.form(i) is not None for n in self.parts[i][1]}
        factors: list[Any] = [Table.ones() if n in late else own.factor(n) for n in numbers]
        scopes = [[place[v] for v in self._scope[n]] for n in numbers]
        for v, rows in more.items():
            factors += [Table.from_log((variables[place[v]],), row) for row in rows]
            scopes += [[place[v]]] * len(rows)
        homes = [self.parts[i][0] for i in members if self.parts[i][0] >= 0]
        groups = [_moved(own.conditionals[home], place, number) for home in homes]
        num_visible = sum(v < own.num_visible for v in place)
        made = Problem.of_factors(variables, factors, scopes=scopes, conditionals=groups, num_visible=num_visible)
        made = made.with_deferred({number[n]: partial(own.factor, n) for n in late}) if late else made
        functions = {place[a]: tuple(place[v] for v in f) for a, f in own.functions.items() if a in place}
        forms = [
            replace(self._form[home], factors=tuple(number[n] for n in self._form[home].factors), group=at)
            for at, home in enumerate(homes)
            if home in self._form
        ]
        return Subproblem(made.with_forms(functions, forms), place)


def _moved(group: ConditionalGroup, place: Mapping[int, int], number: Mapping[int, int]) -> ConditionalGroup:
    """A conditional with other positions, and other numbers of factors."""
    parents, factors = tuple(place[v] for v in group.parents), tuple(number[n] for n in group.factors)
    return ConditionalGroup(place[group.child], parents, factors, tuple(place[v] for v in group.auxiliaries))


class PieceSearch:
    """The best values of some variables, others summed out, piece by piece.

    Args:
        whole: the problem, taken apart.
        division: of the scopes of its parts without what is observed.
        evidence: the findings.
        over: the variables whose best values are asked for.

    Guarantee: as the method.
    Tested by: inference/buckets/test_pieces.py::test_best_values_are_those_of_enumeration
    """

    def __init__(self, whole: Subproblems, division: Division, evidence: Evidence, over: Sequence[int]) -> None:
        self._whole, self._division, self._evidence = whole, division, evidence
        self._over = frozenset(over).difference(evidence.observed)
        alone = [v for v in (*over, *evidence.weights) if v not in division.home]
        self._home = {**dict.fromkeys(alone, 0), **division.home}

    @classmethod
    def of(
        cls, problem: Problem, numbers: Collection[int], wide: Collection[Form], evidence: Evidence, over: Sequence[int]
    ) -> PieceSearch | None:
        """The search; None if not several pieces have wide forms, or numbers are not observed."""
        spend(VISIT_NANOSECONDS * sum(len(form.source.scope) for form in wide))
        whole, observed = Subproblems(problem, numbers), set(evidence.observed)
        scopes = [[v for v in whole.scope(i) if v not in observed] for i in range(len(whole.parts))]
        held = list({v for scope in scopes for v in scope})
        if not (problem.variables.cards[held] > 0).all():
            return None
        groups = {form.group for form in wide}
        found = divided(scopes, [group in groups for group, _ in whole.parts], frozenset(over))
        num_wide = sum(any(whole.parts[i][0] in groups for i in piece.members) for piece in found.pieces)
        return cls(whole, found, evidence, over) if num_wide > 1 else None

    def best(self, prepare: Callable[[Problem], Prepared]) -> Maximum:
        """The best values, by a method prepared for each piece; of value minus infinity if all are impossible."""
        pieces, known = self._division.pieces, list[list[Maximum]]()
        messages: list[dict[int, list[Floats]]] = [{} for _ in pieces]
        scale = 0.0
        for i in reversed(range(len(pieces))):
            known.append(list(self._piece(prepare, i, messages[i])))
            logs = np.array([best.log_value for best in known[-1]])
            if logs.max() == -math.inf:
                return Maximum({}, -math.inf)
            scale += float(logs.max())
            if i:
                messages[pieces[i].above].setdefault(pieces[i].cut, []).append(logs - logs.max())
        values: dict[int, Any] = {}
        for piece, found in zip(pieces, reversed(known), strict=True):
            values |= found[values[piece.cut] if piece.cut >= 0 else 0].values
        return Maximum({v: values[v] for v in self._over}, scale)

    def _piece(
        self, prepare: Callable[[Problem], Prepared], i: int, messages: Mapping[int, Sequence[Floats]]
    ) -> Iterator[Maximum]:
        """The best values of a piece, for each state of the variable above it; one for the first piece."""
        piece = self._division.pieces[i]
        own = {v for v, home in self._home.items() if home == i}
        part = self._whole.of(piece.members, messages, own & self._over)
        spend(PLACE_NANOSECONDS * len(part.place))
        prepared = prepare(part.problem)
        told, over = part.told(self._evidence, own), [part.place[v] for v in sorted(own & self._over)]
        if piece.cut < 0:
            yield _best(prepared, told, over, part)
            return
        for code in range(self._whole.num_states(piece.cut)):
            yield _best(prepared, replace(told, codes={**told.codes, part.place[piece.cut]: code}), over, part)


def _best(prepared: Prepared, told: Evidence, over: Sequence[int], part: Subproblem) -> Maximum:
    """The best values by their positions in the whole problem."""
    if not over:
        return Maximum({}, prepared.log_partition(told))
    (values, log_value), back = prepared.best(told, over), {at: v for v, at in part.place.items()}
    return Maximum({back[at]: values[at] for at in over if at in values}, log_value)
