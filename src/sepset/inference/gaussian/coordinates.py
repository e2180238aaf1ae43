r"""The real variables of a problem as one scalar regression per coordinate, parents first.

$$x_i = a_{i,d} + \sum_{j < i} b_{ij,d}\, x_j + \varepsilon_i, \qquad \varepsilon_i \sim N(0, c_{i,d})$$

A vector becomes a regression of each coordinate on those before it (`vectors`). So does a joint normal distribution,
which is one vector without parents.

Reference: Shachter & Kenley (1989), Gaussian influence diagrams.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.lazy import carry_over, lazy
from sepset.base.memory import uncollected
from sepset.factors.moments import Gaussian
from sepset.factors.regression import Regression
from sepset.inference import costs
from sepset.inference.gaussian.vectors import Parameters, sequential
from sepset.inference.gaussian.widths import all_regressions
from sepset.problem import Problem

NOTHING = np.zeros(0, np.int64)


class Coordinate(NamedTuple):
    """A scalar regression on earlier coordinates; parameters have one row per joint state of `by`.

    Attributes:
        parents: the coordinates it depends on.
        by: the discrete variables it depends on, by their index among all contexts.
        intercept, slopes, variance: $a$, $b$ and $c$.
        vector: the parameters of the vector it is a coordinate of, and its place there; None for a scalar.
    """

    parents: Ints
    by: tuple[int, ...]
    intercept: Floats
    slopes: Floats
    variance: Floats
    vector: tuple[Parameters, int] | None = None


class Flat(NamedTuple):
    """All coordinates, concatenated.

    Attributes:
        structure: where each coordinate's parents and parameters are.
        intercept, slopes, variance: the parameters, one context after the other.
    """

    structure: tuple[Ints, Ints, Ints, Ints]
    intercept: Floats
    slopes: Floats
    variance: Floats


class Family(NamedTuple):
    """A real variable and its parents: coordinates of the real ones, context indices of the discrete ones."""

    parents: Ints
    own: Ints
    by: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Real variables as scalar regressions, parents first.

    Attributes:
        contexts: the positions of the discrete variables that any of them depends on.
        cards: the number of states of each context.
        families: the family of each real variable, by its position.
        all: the scalar regressions.
    """

    contexts: tuple[int, ...]
    cards: Ints
    families: Mapping[int, Family] = field(repr=False)
    all: tuple[Coordinate, ...] = field(repr=False)

    @classmethod
    def of(cls, problem: Problem) -> Coordinates | None:
        """The coordinates of a problem in which each real variable has a regression and no other factor, or None.

        >>> from sepset.factors.block import Single
        >>> from sepset.problem import ConditionalGroup
        >>> from sepset.variables.universe import Universe
        >>> from sepset.variables.variable import Real
        >>> noise = Regression(Real("x"), 1.0, None, 4.0)
        >>> x, one = Universe([Real("x")]), ConditionalGroup(0, (), (0,))
        >>> problem = Problem(x, (Single(noise, [0]),), conditionals=(one,))
        >>> Coordinates.of(problem).all[0].variance.tolist()
        [4.0]
        """
        return cls.of_regressions(problem) if all_regressions(problem) else None

    @classmethod
    def of_regressions(cls, problem: Problem, among: Bools | None = None) -> Coordinates:
        """The coordinates of a problem that is known to be such.

        Args:
            among: which variables there are coordinates of, with all their ancestors; by default all real ones.
        """
        with uncollected():
            return _families(problem, among).with_values(problem.regressions)

    @classmethod
    def of_gaussian(cls, joint: Gaussian, positions: tuple[int, ...]) -> Coordinates:
        """The coordinates of a joint normal distribution, each given all before it.

        Args:
            positions: the positions of the variables of the joint, in its order.
        """
        ends = np.cumsum([v.size for v in joint.scope]).tolist()
        spans = [np.arange(end - v.size, end) for v, end in zip(joint.scope, ends, strict=True)]
        families = {v: Family(np.arange(span[0]), span, ()) for v, span in zip(positions, spans, strict=True)}
        whole = Family(NOTHING, np.arange(len(joint.mu)), ())
        parts = _scalars(whole, joint.mu[None], np.zeros((1, len(joint.mu), 0)), joint.covariance[None])
        return cls((), NOTHING, families, tuple(parts))

    def with_values(self, regressions: Mapping[int, Regression]) -> Coordinates:
        """The same variables with the parameters of these regressions, one per variable."""
        made = [
            part
            for v, family in self.families.items()
            for part in _scalars(
                family, regressions[v].intercept, regressions[v].coefficients, regressions[v].covariance
            )
        ]
        found = replace(self, all=tuple(made))
        if self.all:
            carry_over(self, found, "reals", "structure", "layout", "owner", "places")
        return found

    def __len__(self) -> int:
        return len(self.all)

    @lazy
    def reals(self) -> tuple[int, ...]:
        """The positions of the scalar variables."""
        return tuple(v for v, family in self.families.items() if len(family.own) == 1)

    @lazy
    def place(self) -> dict[int, int]:
        """The index of each context among all, by its position."""
        return {position: i for i, position in enumerate(self.contexts)}

    def column(self, variable: int) -> int:
        """The coordinate of a scalar variable."""
        return int(self.families[variable].own[0])

    @lazy
    def owner(self) -> Ints:
        """The position of the variable of each coordinate."""
        sizes = [len(family.own) for family in self.families.values()]
        return np.repeat(np.array(list(self.families), np.int64), sizes)

    @lazy
    def places(self) -> Mapping[int, Any]:
        """The coordinate of each scalar variable, and the coordinates of each vector, by its position."""
        return {v: f.own if len(f.own) > 1 else int(f.own[0]) for v, f in self.families.items()}

    def entries_given(self, codes: Mapping[int, int]) -> Ints:
        """For each coordinate the row of its parameters in these states; the first of states that are not given.

        Args:
            codes: the states of contexts, by their positions.
        """
        coordinate, context, stride = self._strides
        known = np.array([codes.get(v, 0) for v in self.contexts], np.int64)
        return np.bincount(coordinate, stride * known[context], len(self)).astype(np.int64)

    @lazy
    def _strides(self) -> tuple[Ints, Ints, Ints]:
        """Each coordinate once for every context it depends on, the context, and how far its states are apart."""
        coordinate, context, stride = list[int](), list[int](), list[int]()
        for i, part in enumerate(self.all):
            step = 1
            for place in reversed(part.by):
                coordinate.append(i)
                context.append(place)
                stride.append(step)
                step *= int(self.cards[place])
        return np.array(coordinate, np.int64), np.array(context, np.int64), np.array(stride, np.int64)

    def entry(self, by: tuple[int, ...], contexts: Ints) -> Ints:
        """The index of the joint state of some contexts in each row of states."""
        entry = np.zeros(len(contexts), np.int64)
        for place in by:
            entry = entry * self.cards[place] + contexts[:, place]
        return entry

    @lazy
    def structure(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The start of each coordinate's parents, the parents, and the starts of its parameters and its slopes."""
        parents = [part.parents for part in self.all]
        sizes = [len(part.variance) for part in self.all]
        ends = [np.concatenate([[0], np.cumsum(counts)]).astype(np.int64) for counts in (
            [len(above) for above in parents], sizes, [part.slopes.size for part in self.all])]  # fmt: skip
        return ends[0], np.concatenate([NOTHING, *parents]), ends[1][:-1], ends[2][:-1]

    @lazy
    def flat(self) -> Flat:
        """The parameters, concatenated."""
        columns = zip(*((part.intercept, part.slopes.reshape(-1), part.variance) for part in self.all), strict=True)
        return Flat(self.structure, *(np.concatenate(column) for column in columns))

    def selected(self, entries: Ints) -> tuple[Floats, Floats, Floats]:
        """The slope of every arc; the intercept and the variance of every coordinate, in one context.

        Args:
            entries: for each coordinate the row of its parameters.
        """
        flat = self.flat
        start, above, first, slope_first = flat.structure
        count = np.diff(start)
        child = np.repeat(np.arange(len(count)), count)
        at = slope_first[child] + entries[child] * count[child] + np.arange(len(above)) - start[child]
        own = first + entries
        return flat.slopes[at], flat.intercept[own], flat.variance[own]

    @lazy
    def layout(self) -> tuple[Ints, Ints, Ints]:
        """The start of each family, the coordinates of all families, and the start of each family's matrices."""
        members = [np.concatenate([f.parents, f.own]) for f in self.families.values()]
        sizes = [self._contexts_of(f) * (len(m) + 1) ** 2 for f, m in zip(self.families.values(), members, strict=True)]
        ends = [
            np.concatenate([[0], np.cumsum(list(counts))]).astype(np.int64) for counts in (map(len, members), sizes)
        ]
        return ends[0], np.concatenate(members), ends[1]

    def _contexts_of(self, family: Family) -> int:
        return math.prod(int(self.cards[place]) for place in family.by)

    def split(self, moments: Floats) -> dict[int, Floats]:
        """The matrices of each real variable's family, one per context, from their concatenated lower triangles."""
        found = {}
        for (v, family), first in zip(self.families.items(), self.layout[2].tolist(), strict=False):
            num, side = self._contexts_of(family), len(family.parents) + len(family.own) + 1
            lower = moments[first : first + num * side * side].reshape(num, side, side)
            found[v] = np.where(_is_lower(side), lower, lower.transpose(0, 2, 1))
        return found

    def ancestors(self, chosen: Bools) -> Bools:
        """The chosen coordinates (columns) and all that these depend on, for each row."""
        if len(self) <= costs.NUMBERS_SWEPT:
            return np.asarray(chosen @ self._is_above)
        found = chosen.T.copy()
        for i in reversed(range(len(self))):
            parents = self.all[i].parents
            if len(parents):
                found[parents] |= found[i]
        return found.T

    @lazy
    def has_vectors(self) -> bool:
        """Whether parameters of coordinates were rounded to floats."""
        return any(part.vector is not None for part in self.all)

    @lazy
    def _is_above(self) -> Bools:
        """For each coordinate (rows) its ancestors, itself included (columns)."""
        above = np.eye(len(self), dtype=np.bool_)
        for i, part in enumerate(self.all):
            above[i] |= above[part.parents].any(axis=0)
        return above

    def needed(self, chosen: Bools) -> Bools:
        """The contexts (columns) that the chosen coordinates depend on directly, for each row."""
        if len(self) <= costs.NUMBERS_SWEPT:
            return np.asarray(chosen @ self._depends)
        found = np.zeros((len(chosen), len(self.contexts)), np.bool_)
        for i, part in enumerate(self.all):
            if part.by:
                found[:, list(part.by)] |= chosen[:, i, None]
        return found

    @lazy
    def _depends(self) -> Bools:
        """For each coordinate (rows) the contexts it depends on directly (columns)."""
        found = np.zeros((len(self), len(self.contexts)), np.bool_)
        for i, part in enumerate(self.all):
            found[i, list(part.by)] = True
        return found


def _families(problem: Problem, among: Bools | None) -> Coordinates:
    """The variables of a problem in which each real one has a regression, without parameters."""
    variables, known = problem.variables, problem.regressions
    start, members = problem.scopes
    is_real = variables.cards == 0
    chosen = np.flatnonzero(is_real if among is None else is_real & among).tolist()
    number = {g.child: g.factors[0] for g in problem.conditionals if g.child in known}
    first, end = (edge[[number[v] for v in chosen]] for edge in (start[:-1], start[1:]))
    before = np.concatenate([[0], np.cumsum(~is_real[members])])
    middle = first + before[end] - before[first]  # the states come first, then the numbers, then the child
    listed = members.tolist()
    spots = {v: spot for v, *spot in zip(chosen, first.tolist(), middle.tolist(), (end - 1).tolist(), strict=True)}
    above = {v: listed[spots[v][1] : spots[v][2]] for v in chosen}
    order = tuple(TopologicalSorter(above).static_order())
    sizes = [known[v].child.size for v in order]
    places, ends = np.arange(sum(sizes)), np.cumsum([0, *sizes]).tolist()
    spans = {v: places[a:b] for v, a, b in zip(order, ends, ends[1:], strict=False)}
    contexts = tuple(
        np.unique(np.concatenate([NOTHING, *(members[spots[v][0] : spots[v][1]] for v in order)])).tolist()
    )
    place = {d: i for i, d in enumerate(contexts)}
    families = {
        v: Family(_joined([spans[u] for u in above[v]]), spans[v],
                  tuple([place[d] for d in listed[spots[v][0] : spots[v][1]]]))
        for v in order
    }  # fmt: skip
    return Coordinates(contexts, variables.cards[list(contexts)].astype(np.int64), families, ())


def _joined(spans: list[Ints]) -> Ints:
    """The coordinates of several variables."""
    return spans[0] if len(spans) == 1 else np.concatenate(spans) if spans else NOTHING


@cache
def _is_lower(side: int) -> Bools:
    """Which entries of a square matrix are on or below its diagonal."""
    return np.tri(side, dtype=np.bool_)


def _scalars(family: Family, a: Floats, B: Floats, C: Floats) -> Iterator[Coordinate]:
    """The coordinates of one variable, one after the other."""
    parents, own, by = family
    if len(own) == 1:
        yield Coordinate(parents, by, a[:, 0], B[:, 0], C[:, 0, 0])
        return
    a, B, M, D, source = sequential(a, B, C)
    for i in range(len(own)):
        slopes = np.concatenate([B[:, i], M[:, i, :i]], axis=1)
        yield Coordinate(np.concatenate([parents, own[:i]]), by, a[:, i], slopes, D[:, i], (source, i))
