r"""The regrets of a max-elimination: the cost of each state, under many tangents at once.

With tangents $\lambda$ of concave functions $g$, the terms of every variable become log factors of its own, and buckets
bound the best assignment from above. Walking back from the root, the bound of a partial assignment is that of the root
less the regrets of its states,

$$b_\lambda(x_1, \ldots, x_j) = b_\lambda - \sum_{i \le j} \Bigl[\max_x \psi_{i,\lambda}(x, \mathbf s_i)
- \psi_{i,\lambda}(x_i, \mathbf s_i)\Bigr].$$
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.threads import spend
from sepset.factors.table import Table
from sepset.inference.buckets.pool import Pool
from sepset.variables.variable import Discrete

ENTRY_NANOSECONDS, LEVEL_NANOSECONDS = 12.0, 20_000.0
"""Time to make and to maximize the bound of one state under one tangent, and of each variable besides."""


class Logs(NamedTuple):
    """Log values over some variables, with a last axis for tangents; it has length one if they do not depend on them.

    Attributes:
        scope: the variables.
        values: an array with one axis per variable, and one for the tangents.
    """

    scope: tuple[Discrete, ...]
    values: Floats

    @classmethod
    def of(cls, table: Table) -> Logs:
        """A factor."""
        return cls(table.scope, np.asarray(table.log_values)[..., None])

    def over(self, wide: Sequence[Discrete]) -> Floats:
        """The values with an axis for each of these variables, of length one where they are constant."""
        mine = [v for v in wide if v in self.scope]
        moved = self.values.transpose([*(self.scope.index(v) for v in mine), len(self.scope)])
        return moved.reshape([*(v.num_states if v in self.scope else 1 for v in wide), moved.shape[-1]])


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One variable in its bucket.

    Attributes:
        variable: the variable.
        sepset: the variables that are assigned before it.
        own: the log values of its factors in each joint state of the sepset, `[contexts, states]`.
        terms: what its states add to the arguments of the functions, `[states, numbers]`.
        regrets: at most zero: what its states cost under each tangent, `[contexts, states, tangents]`.
    """

    variable: Discrete
    sepset: tuple[Discrete, ...]
    own: Floats
    terms: Floats
    regrets: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Regrets:
    """The levels of a max-elimination under several tangents.

    Attributes:
        levels: by variable, in elimination order.
        bounds: one for each tangent, with what rounding can add to it.
        constant: the log value of factors without variables.
    """

    levels: Mapping[Discrete, Level]
    bounds: Floats
    constant: float

    def walk(self) -> Iterator[Level]:
        """Every level after those of its sepset, each branch to its end; branches with the largest terms first."""
        place = {v: i for i, v in enumerate(self.levels)}
        below: dict[Discrete | None, list[Discrete]] = {}
        for level in self.levels.values():
            above = min(level.sepset, key=place.__getitem__, default=None)
            below.setdefault(above, []).append(level.variable)
        stack = below.get(None, [])[::-1]
        while stack:
            variable = stack.pop()
            yield self.levels[variable]
            stack += below.get(variable, [])[::-1]


class Bucket(NamedTuple):
    """The parts of a maximum over one variable that do not depend on the tangents.

    Attributes:
        variable: the variable.
        sepset: the variables that are assigned before it.
        own: the log values of its factors, with an axis for each variable of the sepset, itself, and tangents.
        terms: what its states add to the arguments of the functions, `[states, numbers]`.
        taken: the buckets whose maxima it takes, each with the order of their axes and the shape in which they add up.
    """

    variable: Discrete
    sepset: tuple[Discrete, ...]
    own: Floats
    terms: Floats
    taken: list[tuple[int, list[int], list[int]]]


class Buckets:
    """A max-elimination under tangents that are given later.

    Args:
        factors: the factors, which do not depend on the tangents.
        order: of elimination.
        terms: what the states of each variable add to the arguments, `[states, numbers]`; nothing for others.
        width: the number of arguments.

    >>> a = Discrete("a")
    >>> ones, terms = Logs.of(Table(a, [1.0, 1.0])), {a: np.array([[0.0], [-1.0]])}
    >>> found = Buckets([ones], [a], terms, 1).regrets(np.array([[-1.0], [-2.0]]))
    >>> found.levels[a].regrets[0].tolist()
    [[-1.0, -2.0], [0.0, 0.0]]
    """

    def __init__(
        self, factors: Iterable[Logs], order: Sequence[Discrete], terms: Mapping[Discrete, Floats], width: int
    ) -> None:
        place = {v: i for i, v in enumerate(order)}
        pool: Pool[Logs | _Message] = Pool(factors)
        self._buckets: list[Bucket] = []
        for number, variable in enumerate(order):
            taken = pool.take(variable)
            sepset = tuple(sorted({v for m in taken for v in m.scope if v != variable}, key=place.__getitem__))
            own_terms = terms.get(variable, np.zeros((variable.num_states, width)))
            self._buckets.append(_bucket(variable, sepset, taken, own_terms))
            pool.put(_Message(sepset, number))
        rest = pool.rest()
        self._last = [m.bucket for m in rest if isinstance(m, _Message)]
        self._constant = sum(float(m.values.reshape(-1)[0]) for m in rest if isinstance(m, Logs))

    def regrets(self, slopes: Floats) -> Regrets:
        """The regrets of all states with tangents of these slopes, `[tangents, numbers]`."""
        levels: dict[Discrete, Level] = {}
        bounds = self._maximized(slopes, levels)
        return Regrets(levels, bounds, self._constant)

    def bounds(self, slopes: Floats) -> Floats:
        """The bounds of the best assignment alone, one for each tangent."""
        return self._maximized(slopes, None)

    def _maximized(self, slopes: Floats, levels: dict[Discrete, Level] | None) -> Floats:
        """The bounds; sets the levels, if they are asked for."""
        messages, size = list[Floats](), 0.0
        for bucket in self._buckets:
            spend(ENTRY_NANOSECONDS * bucket.own.size * len(slopes) + LEVEL_NANOSECONDS)
            total = bucket.own + bucket.terms @ slopes.T
            for number, axes, shape in bucket.taken:
                total += messages[number].transpose(axes).reshape(shape)
            best = total.max(axis=-2)
            finite = np.where(np.isfinite(best), best, 0.0)
            size = max(size, float(finite.max()), -float(finite.min()))
            messages.append(best)
            if levels is not None:
                cards = (-1, bucket.variable.num_states)
                lost, own = (total - finite[..., None, :]).reshape(*cards, len(slopes)), bucket.own.reshape(cards)
                levels[bucket.variable] = Level(bucket.variable, bucket.sepset, own, bucket.terms, lost)
        last = sum((messages[number].reshape(-1) for number in self._last), np.zeros(len(slopes)))
        rounding = 8.0 * np.finfo(np.float64).eps * (len(self._buckets) + 8) * (size + 1.0)
        return np.asarray(last + self._constant + rounding)


class _Message(NamedTuple):
    """The maxima of a bucket."""

    scope: tuple[Discrete, ...]
    bucket: int


def _bucket(
    variable: Discrete, sepset: tuple[Discrete, ...], taken: Sequence[Logs | _Message], terms: Floats
) -> Bucket:
    """The bucket of a variable, from what mentions it."""
    wide = (*sepset, variable)
    own, messages = np.zeros((*(v.num_states for v in wide), 1)), []
    for one in taken:
        if isinstance(one, Logs):
            own = own + one.over(wide)
        else:
            axes = [one.scope.index(v) for v in wide if v in one.scope]
            shape = [*(v.num_states if v in one.scope else 1 for v in wide), -1]
            messages.append((one.bucket, [*axes, len(axes)], shape))
    return Bucket(variable, sepset, own, terms, messages)
