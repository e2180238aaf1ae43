r"""Best assignments under concave functions of many variables, from the frontier of their partial assignments.

$$\max_{\mathbf x}\; \ell(\mathbf x) + \sum_f g_f(\mathbf s_f(\mathbf x)), \qquad
\mathbf s_f = \mathbf s_{f,0} + \sum_i \mathbf t_{f,i}(x_i)$$

Variables are assigned one after the other. Of two partial assignments that agree on all that is still to be connected,
the one with a smaller $\ell$ and with larger sums $\mathbf s$ can be dropped, since every $g$ falls; and so can one
whose bound under some tangent is not above the best assignment found (Lagrange bounds; `buckets.regrets`). What remains
of independent causes is a frontier of pairs, which is short if causes are rare or alike. If nothing but several
functions couples the variables, `buckets.relaxed` searches instead.

Reference: Nemhauser & Ullmann (1969); Geoffrion (1974) for the bounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from sepset.base.arraytypes import AnyArray, Bools, Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.threads import OutOfWork, spend, working
from sepset.factors.decomposition import Concave
from sepset.factors.table import Table
from sepset.inference.buckets.bounded import SLACK
from sepset.inference.buckets.causearrays import fixed_logs
from sepset.inference.buckets.regrets import Buckets, Level, Logs, Regrets
from sepset.inference.buckets.relaxed import Ranked, RelaxedSearch
from sepset.variables.variable import Discrete

NUM_POINTS = 32
"""The number of contacts of tangents with each function."""

STEEPEST = 1e289
"""The steepest gradient of a tangent."""

MOST_TURNED = 40
"""The most functions whose tangents are turned one by one."""

FEW = 8
"""The most functions whose tangents are turned by all of these steps."""

STEPS = (-8, -3, 3, 8)
"""How far the tangents of one function are turned while the others stay."""

MOST_STATES = 2**16
"""The most partial assignments of the frontier."""

MOST_WORK = 2**27
"""The most bounds of partial assignments, one for each tangent, that are computed in one search."""

MOST_NANOSECONDS = 1e9
"""The estimated time of one search: half of that of a question, since another search may follow."""

BOUND_NANOSECONDS, STATE_NANOSECONDS = 6.0, 300.0
"""Time to compute a bound under one tangent of one extended assignment, and of what else is done with it."""

MOST_ENTRIES = 2**18
"""The most entries of the tables of an elimination that is searched with many tangents."""

AT_ONCE = 2**22
"""The most bounds that are computed together."""

MOST_KEYS = 2**62
"""The most joint states of variables that one integer tells apart."""

BEAMS = (64, 1024, 8192)
"""The numbers of partial assignments of passes that find good ones; a wider one if there is no proof after a pass."""


@dataclass(frozen=True, slots=True, eq=False)
class Frontier:
    """Partial assignments.

    Attributes:
        codes: the states of the variables that are still to be connected, `[assignments, variables]`.
        logs: the log value of all factors so far.
        sums: the arguments of the functions so far, `[assignments, numbers]`.
        bounds: of the best completion, `[assignments, tangents]`.
        origin: the number of each one's predecessor, and its last state.
    """

    codes: Ints
    logs: Floats
    sums: Floats
    bounds: Floats
    origin: Ints

    def __len__(self) -> int:
        return len(self.logs)

    def take(self, which: Ints | Bools) -> Frontier:
        """Some of them."""
        return Frontier(self.codes[which], self.logs[which], self.sums[which], self.bounds[which], self.origin[which])


class FrontierSearch:
    """The search for the best assignments under concave functions of their variables.

    Args:
        factors: tables over the variables of the assignment.
        functions: the concave functions; their `fixed` parts are factors too.
        order: all variables, in an order of elimination.

    Guarantee: exact where proved; the frontier is limited to `MOST_STATES`.
    Tested by: inference/buckets/test_frontier.py::test_best_assignments_are_those_of_enumeration
    """

    def __init__(self, factors: Sequence[Table], functions: Sequence[Concave], order: Sequence[Discrete]) -> None:
        self._factors, self._functions, self._order = factors, tuple(functions), tuple(order)
        ends = np.cumsum([0, *(len(f.start) for f in functions)])
        self._places = [slice(a, b) for a, b in itertools.pairwise(ends.tolist())]
        self._start = np.concatenate([f.start for f in functions]) if functions else np.zeros(0)

    @lazy
    def _terms(self) -> dict[Discrete, Floats]:
        """The parts of the states of each variable in the arguments of all functions."""
        width = self._places[-1].stop if self._places else 0
        found: dict[Discrete, Floats] = {}
        for function, place in zip(self._functions, self._places, strict=True):
            for variable, terms in zip(function.variables, function.terms, strict=True):
                found.setdefault(variable, np.zeros((variable.num_states, width)))[:, place] += terms
        return found

    @lazy
    def _logs(self) -> list[Logs]:
        fixed = fixed_logs(self._functions).items()
        return [*map(Logs.of, self._factors), *(Logs((v,), row[:, None]) for v, row in fixed)]

    @lazy
    def relaxed(self) -> RelaxedSearch | None:
        """The search that serves if nothing but several functions couples more than a few variables."""
        return RelaxedSearch.of(self._factors, self._functions, self._order)

    def run(self, k: int = 1, above: float = -math.inf) -> Ranked:
        """Up to k assignments, best first, and only those above a value; the best ones found if there is no proof."""
        if self.relaxed is not None:
            return self.relaxed.run(k, above)
        found = Ranked([], [], False)
        with working(MOST_NANOSECONDS), suppress(OutOfWork):
            walk = self._walk(self._contacts())
            for width in BEAMS:
                found = _merged(found, walk.best(k, self._worst(found, k, above), width=max(width, 2 * k)), k)
                last = _merged(found, walk.best(k, self._worst(found, k, above)), k)
                if last.is_proved:
                    return last
        return found._replace(is_proved=False)

    def _worst(self, found: Ranked, k: int, above: float) -> float:
        """The value that further assignments have to exceed."""
        return max(above, found.log_values[k - 1]) if len(found.log_values) >= k else above

    @lazy
    def _buckets(self) -> Buckets:
        return Buckets(self._logs, self._order, self._terms, len(self._start))

    def _walk(self, contacts: Sequence[Floats]) -> Walk:
        """The variables in the order of their assignment, with bounds under several tangents."""
        slopes, lines = self._tangents(contacts)
        found = self._buckets.regrets(slopes)
        return Walk(found, found.bounds + lines, self._start, self._value)

    def _tangents(self, contacts: Sequence[Floats]) -> tuple[Floats, Floats]:
        """The joint slopes of tangents that touch at these arguments, and their values without any variable."""
        pairs = [(f, at, f.slope(at)) for f, at in zip(self._functions, contacts, strict=True)]
        lines = [f.value(at) + ((f.start - at) * slope).sum(axis=1) for f, at, slope in pairs]
        if not pairs:
            return np.zeros((1, 0)), np.zeros(1)
        return np.concatenate([slope for _, _, slope in pairs], axis=1), np.asarray(sum(lines))

    def _value(self, sums: Floats) -> Floats:
        """The sum of the functions at each row of arguments."""
        parts = [f.value(sums[:, place]) for f, place in zip(self._functions, self._places, strict=True)]
        return np.asarray(sum(parts, np.zeros(len(sums))))

    def _contacts(self) -> list[Floats]:
        """For each function the arguments at which its tangents touch, one row for each joint tangent."""
        points = [self._points(f) for f in self._functions]
        num = len(self._functions)
        together = np.tile(np.arange(NUM_POINTS)[:, None], num)
        if num < 2 or num > MOST_TURNED:
            return [each[column] for each, column in zip(points, together.T, strict=True)]
        best = self._lowest(points, together)
        for _ in range(2):
            for i in range(num):
                best = self._lowest(points, _turned(best, i, np.arange(NUM_POINTS)))
        steps = STEPS if num <= FEW else STEPS[1:3]
        near = [_turned(best, i, best[i] + np.array(steps)) for i in range(num)]
        rows = np.unique(np.clip(np.vstack([best, *near, together[::2]]), 0, NUM_POINTS - 1), axis=0)
        return [each[column] for each, column in zip(points, rows.T, strict=True)]

    def _lowest(self, points: Sequence[Floats], rows: Ints) -> Ints:
        """The row of contacts whose tangents bound the best assignment most tightly."""
        slopes, lines = self._tangents([each[column] for each, column in zip(points, rows.T, strict=True)])
        return np.asarray(rows[(self._buckets.bounds(slopes) + lines).argmin()])

    def _points(self, function: Concave) -> Floats:
        """Arguments between the smallest and the largest that the function can have."""
        kept = [a > -np.inf for a in function.fixed]
        rows = [t[which] for t, which in zip(function.terms, kept, strict=True) if which.any()]
        low = sum((row.min(axis=0) for row in rows), function.start)
        high = sum((row.max(axis=0) for row in rows), function.start)
        sizes = np.abs(np.concatenate([row.reshape(-1) for row in rows])) if rows else np.ones(1)
        least = sizes[sizes > 0].min(initial=1.0)
        return function.inside(function.between(low, np.where(high == 0, -least / 8, high), NUM_POINTS), STEEPEST)


class Walk:
    """The assignment of one variable after the other.

    Args:
        levels: the regrets of all variables.
        bounds: of the best assignment, one for each tangent.
        start: the arguments of the functions without any variable.
        value: the sum of the functions at each row of arguments.
        height: the bound that follows from those under all tangents, which are the last axis; by default the lowest.
    """

    def __init__(
        self,
        levels: Regrets,
        bounds: Floats,
        start: Floats,
        value: Callable[[Floats], Floats],
        height: Callable[[Floats], Floats] = lambda bounds: np.asarray(bounds.min(axis=-1)),
    ) -> None:
        self._levels = list(levels.walk())
        self._kept = _boundaries(self._levels)
        first = np.zeros((1, 2), np.int64)
        self._first = Frontier(first[:, :0], np.array([levels.constant]), start[None], bounds[None], first)
        self._value, self._height = value, height

    def best(self, k: int, above: float, width: int | None = None) -> Ranked:
        """Up to k assignments above a value, best first; with a width, from so many partial ones at each step."""
        cut = above + SLACK * max(1.0, abs(above)) if above > -math.inf else above
        frontier, steps, work = self._first, list[Ints](), MOST_WORK
        known: tuple[Discrete, ...] = ()
        for level, kept in zip(self._levels, self._kept, strict=True):
            made, size = len(frontier) * level.own.shape[1], frontier.bounds.shape[1]
            work -= made * size
            spend(made * (BOUND_NANOSECONDS * size + STATE_NANOSECONDS))
            frontier = _extended(frontier, level, [known.index(v) for v in level.sepset], cut, self._height)
            if not len(frontier):
                return Ranked([], [], True)
            known = (*known, level.variable)
            frontier = replace(frontier, codes=frontier.codes[:, [known.index(v) for v in kept]])
            known = kept
            if k == 1:
                frontier = frontier.take(_undominated(frontier, [v.num_states for v in kept]))
            if width is None and (len(frontier) > MOST_STATES or work < 0):
                return Ranked([], [], False)
            if width is not None and len(frontier) > width:
                order = np.argsort(-self._height(frontier.bounds), kind="stable")
                frontier = frontier.take(np.sort(order[:width]))
            steps.append(frontier.origin)
        return self._read(frontier, steps, k, above)

    def _read(self, frontier: Frontier, steps: Sequence[Ints], k: int, above: float) -> Ranked:
        """The best of complete assignments."""
        values = frontier.logs + self._value(frontier.sums)
        order = np.argsort(-values, kind="stable")[:k]
        order = order[values[order] > above]
        columns, at = dict[Discrete, Ints](), order
        for level, step in zip(reversed(self._levels), reversed(steps), strict=True):
            columns[level.variable] = step[at, 1]
            at = step[at, 0]
        rows = [{v: int(column[i]) for v, column in columns.items()} for i in range(len(order))]
        return Ranked(rows, values[order].tolist(), True)


def _turned(row: Ints, place: int, choices: Ints) -> Ints:
    """A row with each of these choices at one place."""
    rows = np.tile(row, (len(choices), 1))
    rows[:, place] = choices
    return rows


def _extended(
    frontier: Frontier, level: Level, columns: Sequence[int], cut: float, height: Callable[[Floats], Floats]
) -> Frontier:
    """Every assignment with each state of one more variable, if its bound is above a value."""
    place = np.zeros(len(frontier), np.int64)
    for column, variable in zip(columns, level.sepset, strict=True):
        place = place * variable.num_states + frontier.codes[:, column]
    card, size = level.own.shape[1], frontier.bounds.shape[1]
    step = max(AT_ONCE // (card * size), 1)
    parts = []
    for start in range(0, len(frontier), step):
        here = slice(start, start + step)
        bounds = frontier.bounds[here, None] + level.regrets[place[here]]
        rows, codes = np.nonzero(height(bounds) > cut)
        old = rows + start
        parts.append(
            Frontier(
                np.column_stack([frontier.codes[old], codes]),
                frontier.logs[old] + level.own[place[old], codes],
                frontier.sums[old] + level.terms[codes],
                bounds[rows, codes],
                np.column_stack([old, codes]),
            )
        )
    return Frontier(*(np.concatenate(arrays) for arrays in zip(*map(_fields, parts), strict=True)))


def _fields(frontier: Frontier) -> tuple[AnyArray, ...]:
    return frontier.codes, frontier.logs, frontier.sums, frontier.bounds, frontier.origin


def _undominated(frontier: Frontier, cards: Sequence[int]) -> Ints:
    """The assignments for which no other one has the same codes, at least the same logs and at most the same sums."""
    everyone = np.arange(len(frontier))
    if frontier.sums.shape[1] > 1 or math.prod(cards) > MOST_KEYS or len(frontier) < 2:
        return everyone
    key = np.zeros(len(frontier), np.int64)
    for card, column in zip(cards, frontier.codes.T, strict=True):
        key = key * card + column
    sums = frontier.sums[:, 0] if frontier.sums.shape[1] else np.zeros(len(frontier))
    order = np.lexsort((-frontier.logs, sums, key))
    rank = np.empty(len(frontier), np.int64)
    rank[np.lexsort((-everyone, frontier.logs[order]))] = everyone
    groups = np.cumsum(np.r_[False, np.diff(key[order]) > 0])
    height = groups * len(frontier) + rank
    top = np.maximum.accumulate(height)
    return np.asarray(np.sort(order[np.r_[True, height[1:] > top[:-1]]]))


def _boundaries(levels: Sequence[Level]) -> list[tuple[Discrete, ...]]:
    """After each step the variables so far that later ones depend on."""
    last = {v: i for i, level in enumerate(levels) for v in level.sepset}
    found: list[tuple[Discrete, ...]] = []
    kept: tuple[Discrete, ...] = ()
    for i, level in enumerate(levels):
        kept = tuple(v for v in (*kept, level.variable) if last.get(v, -1) > i)
        found.append(kept)
    return found


def _merged(one: Ranked, other: Ranked, k: int) -> Ranked:
    """The best of both, no assignment twice."""
    pairs: dict[tuple[int, ...], tuple[float, dict[Discrete, int]]] = {}
    for found in (one, other):
        for row, value in zip(found.assignments, found.log_values, strict=True):
            pairs[tuple(row.values())] = value, row
    best = sorted(pairs.values(), key=lambda pair: -pair[0])[:k]
    return Ranked([row for _, row in best], [value for value, _ in best], other.is_proved)
