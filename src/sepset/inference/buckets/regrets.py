r"""The regrets of a max-elimination: the cost of each state, under many tangents at once.

With tangents $\lambda$ of concave functions $g$, the terms of every variable become log factors of its own, and buckets
bound the best assignment from above. Walking back from the root, the bound of a partial assignment is that of the root
less the regrets of its states,

$$b_\lambda(x_1, \ldots, x_j) = b_\lambda - \sum_{i \le j} \Bigl[\max_x \psi_{i,\lambda}(x, \mathbf s_i)
- \psi_{i,\lambda}(x_i, \mathbf s_i)\Bigr].$$
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.threads import spend
from sepset.factors.table import Table
from sepset.inference.buckets.pool import Pool
from sepset.variables.variable import Discrete

ENTRY_NANOSECONDS, LEVEL_NANOSECONDS = 12.0, 30_000.0
"""Time to make and to maximize the bound of one state under one tangent, and of each variable besides."""


class Logs(NamedTuple):
    """Log values over some variables, with a last axis for tangents; it has length one if they do not depend on them.

    Attributes:
        scope: the variables.
        values: an array with one axis per variable, and one for the tangents.
        is_message: whether it is the maximum that a bucket sent on.
    """

    scope: tuple[Discrete, ...]
    values: Floats
    is_message: bool = False

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


def regrets(
    factors: Iterable[Logs], order: Sequence[Discrete], terms: Mapping[Discrete, Floats], slopes: Floats
) -> Regrets:
    """The regrets of a max-elimination with tangents of these slopes, `[tangents, numbers]`.

    Args:
        terms: what the states of each variable add to the arguments, `[states, numbers]`; nothing for others.

    >>> a = Discrete("a")
    >>> ones, terms = Logs.of(Table(a, [1.0, 1.0])), {a: np.array([[0.0], [-1.0]])}
    >>> found = regrets([ones], [a], terms, np.array([[-1.0], [-2.0]]))
    >>> found.levels[a].regrets[0].tolist()
    [[-1.0, -2.0], [0.0, 0.0]]
    """
    place = {v: i for i, v in enumerate(order)}
    pool: Pool[Logs] = Pool(factors)
    levels: dict[Discrete, Level] = {}
    size = 0.0
    for variable in order:
        taken = pool.take(variable)
        sepset = tuple(sorted({v for m in taken for v in m.scope if v != variable}, key=place.__getitem__))
        own_terms = terms.get(variable, np.zeros((variable.num_states, slopes.shape[1])))
        level, best = _level(variable, sepset, taken, own_terms, slopes)
        levels[variable] = level
        finite = best[np.isfinite(best)]
        size = max(size, float(np.abs(finite).max(initial=0.0)))
        pool.put(Logs(sepset, best, is_message=True))
    rest = pool.rest()
    total = sum((m.values.reshape(-1) for m in rest), np.zeros(len(slopes)))
    constant = sum(float(m.values.reshape(-1)[0]) for m in rest if not m.is_message)
    return Regrets(levels, total + 8.0 * np.finfo(np.float64).eps * (len(order) + 8) * (size + 1.0), constant)


def _level(
    variable: Discrete, sepset: tuple[Discrete, ...], taken: Sequence[Logs], terms: Floats, slopes: Floats
) -> tuple[Level, Floats]:
    """The level of a variable, and the maxima that its bucket sends on."""
    wide = (*sepset, variable)
    cards = [v.num_states for v in wide]
    spend(ENTRY_NANOSECONDS * math.prod(cards) * len(slopes) + LEVEL_NANOSECONDS)
    own = np.zeros((*cards, 1))
    for message in taken:
        if not message.is_message:
            own = own + message.over(wide)
    total = own + terms @ slopes.T
    for message in taken:
        if message.is_message:
            total = total + message.over(wide)
    best = total.max(axis=-2)
    lost = total - np.where(np.isfinite(best), best, 0.0)[..., None, :]
    shape = (-1, variable.num_states)
    return Level(variable, sepset, own.reshape(shape), terms, lost.reshape(*shape, len(slopes))), best
