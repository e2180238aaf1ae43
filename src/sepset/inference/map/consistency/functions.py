r"""Cost functions: a wired model as costs to be minimized, made smaller by operations that keep a best assignment.

$$\min_{\mathbf x} \sum_f c_f(\mathbf x_f), \qquad c_f = -\theta_f$$

A variable whose neighbors have few joint states is eliminated: its functions are replaced by

$$c(\mathbf s) = \min_x \sum_{f \ni X} c_f(x, \mathbf s),$$

and its best state is found from its neighbors' afterward. A state is forbidden if another one is never worse:

$$\sum_{f \ni X} \min_{\mathbf s_f} \bigl[ c_f(a, \mathbf s_f) - c_f(b, \mathbf s_f) \bigr] \ge 0.$$

Reference: Bertele & Brioschi (1972), Nonserial dynamic programming; Desmet, De Maeyer, Hazes & Lasters (1992), The
dead-end elimination theorem; Larrosa (2000), Boosting search with variable elimination; de Givry, Prestwich &
O'Sullivan (2013), Dead-end elimination for weighted CSP.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import interruptible
from sepset.inference.wiring import Wiring
from sepset.kernels.map.arrangement import label
from sepset.kernels.map.reduction import (
    AFTER,
    BEST,
    COST,
    ENTRIES,
    FUNCTIONS,
    GONE,
    HEADS,
    JUMPS,
    LISTED,
    NEAR,
    OUT,
    PLACE,
    SCOPE,
    SIZE,
    SLOTS,
    STAMP,
    STATES,
    TOUCHED,
    UNKNOWN,
    Pool,
    absorb,
    complete,
    fill,
    insert,
    reduce,
)
from sepset.kernels.propagation.wires import TABLE

Scope = tuple[int, ...]

GROWING = {"functions": FUNCTIONS, "slots": SLOTS, "tables": ENTRIES, "near": NEAR, "best": BEST}
"""The arrays of a pool that may grow, by the number of their entries that are used."""


@dataclass(eq=False)
class CostFunctions:
    """Cost functions: one per set of variables, merged as they are added.

    Attributes:
        cards: the number of states of each variable.
        pool: the functions, as kernels take them.

    Guarantee: `reduce` keeps one best assignment.
    Tested by: inference/map/consistency/test_functions.py::test_an_optimum_is_kept
    """

    cards: tuple[int, ...]
    pool: Pool

    @classmethod
    def of(cls, wiring: Wiring) -> CostFunctions:
        """The cost functions of a wired model.

        Cost: a pass over the tables; named potentials of pairs become tables.
        """
        plugs, tables, places = wiring.plugs, *_tables(wiring)
        sizes = np.multiply.reduceat(plugs.cards[plugs.scope], plugs.starts[:-1]) if len(places) else np.zeros(1, int)
        made = cls.empty(plugs.cards.tolist(), len(places), len(plugs.scope), int(sizes.sum()), int(sizes.max()))
        made.pool.unary[:-1], made.pool.unary[-1] = -wiring.unary, -wiring.constant
        interruptible(partial(fill, made.pool, plugs.starts, plugs.scope, places, tables))
        return made

    @classmethod
    def empty(
        cls, cards: Sequence[int], functions: int = 0, slots: int = 0, entries: int = 0, largest: int = 0
    ) -> CostFunctions:
        """No functions, with room for some.

        Args:
            functions, slots, entries: their number, that of their variables, and that of their costs.
            largest: the costs of the largest one.
        """
        n = len(cards)
        variables = np.zeros((JUMPS + 1, n + 1), np.int64)
        variables[STATES, 1:], variables[HEADS] = np.cumsum(cards), -1
        pool = Pool(
            variables,
            np.zeros((SIZE + 1, 2 * functions + n), np.int64),
            np.zeros((AFTER + 1, 2 * slots + n), np.int64),
            np.zeros(int(variables[STATES, n]) + 1),
            np.zeros(2 * entries + n),
            np.zeros(n, np.int64),
            np.zeros(n, np.int64),
            np.zeros(largest),
            np.zeros(STAMP + 1, np.int64),
        )
        return cls(tuple(cards), pool)

    def _grow(self, functions: int, slots: int, entries: int) -> None:
        """Give all arrays half as much room again, and at least that for some more functions."""
        pool, more = self.pool, {FUNCTIONS: functions, SLOTS: slots, ENTRIES: entries, NEAR: slots, BEST: entries}
        grown: dict[str, Any] = {}
        for name, used in GROWING.items():
            old = getattr(pool, name)
            rest = np.zeros((*old.shape[:-1], int(pool.numbers[used]) // 2 + more[used]), old.dtype)
            grown[name] = np.concatenate([old[..., : pool.numbers[used]], rest], axis=-1)
        self.pool = pool._replace(**grown)

    def _widen(self, entries: int) -> None:
        """Make room for the costs of a step."""
        if entries > len(self.pool.room):
            self.pool = self.pool._replace(room=np.zeros(entries))

    def add(self, scope: Scope, costs: Floats) -> None:
        """Add a function; the variables of its scope increase."""
        self._grow(1, len(scope), costs.size)
        self._widen(costs.size)
        self.pool.variables[LISTED, : len(scope)] = scope
        self.pool.room[: costs.size] = costs.reshape(-1)
        insert(self.pool, len(scope), costs.size)

    def reduce(self, entries: int) -> None:
        """Eliminate variables and forbid dominated states, until nothing changes.

        Args:
            entries: the most entries of a function that an elimination leaves, unless the variable has a larger one.
        """
        variables = self.pool.variables
        variables[COST], variables[TOUCHED] = UNKNOWN, 1
        widest = max(entries, int(self.pool.functions[SIZE, : self.pool.numbers[FUNCTIONS]].max(initial=1)))
        self._widen(widest * max(self.cards, default=1))
        while not interruptible(partial(reduce, self.pool, entries, widest)):
            self._grow(1, len(self.cards) + 1, 4 * widest)

    def absorb(self) -> None:
        """Add functions over parts of other functions' scopes to those; single variables keep theirs."""
        interruptible(partial(absorb, self.pool))

    @property
    def num_eliminated(self) -> int:
        """The number of variables that were eliminated."""
        return int(self.pool.numbers[GONE])

    @property
    def eliminated(self) -> Ints:
        """The variables that were eliminated, in order."""
        return self.pool.variables[OUT, : self.num_eliminated]

    def completed(self, codes: Ints) -> Ints:
        """The assignment with the best states of the variables that were eliminated, from those of the others."""
        found = np.array(codes, np.int64)
        complete(self.pool, found)
        return found

    @property
    def left(self) -> Ints:
        """The numbers of the functions of two and more variables that are left."""
        return np.flatnonzero(self.pool.functions[SIZE, : self.pool.numbers[FUNCTIONS]])

    @property
    def constant(self) -> float:
        """The cost of functions without variables."""
        return float(self.pool.unary[-1])

    @property
    def tables(self) -> dict[Scope, Floats]:
        """The costs of two and more variables by scope."""
        pool, found = self.pool, {}
        for f in self.left.tolist():
            first, arity, place, size = pool.functions[:, f].tolist()
            scope, costs = pool.slots[SCOPE, first : first + arity].tolist(), pool.tables[place : place + size]
            found[tuple(scope)] = costs.reshape([self.cards[i] for i in scope])
        return found

    @property
    def is_possible(self) -> bool:
        """Whether no function forbids everything."""
        least, starts = self.least, self.pool.variables[STATES, :-1]
        single = np.logical_or.reduceat(np.isfinite(self.pool.unary[:-1]), starts) if len(starts) else np.ones(0)
        return self.constant < math.inf and bool(single.all() and np.isfinite(least).all())

    @property
    def least(self) -> Floats:
        """The least cost of each function of two and more variables that is left."""
        pool, num = self.pool, int(self.pool.numbers[FUNCTIONS])
        if not num:
            return np.zeros(0)
        return np.minimum.reduceat(pool.tables[: pool.numbers[ENTRIES]], pool.functions[PLACE, :num])[self.left]

    def cost(self, codes: Sequence[int] | Ints) -> float:
        """The cost of an assignment."""
        single = self.pool.unary[self.pool.variables[STATES, :-1] + np.asarray(codes, np.int64)]
        rest = [float(t[tuple(codes[i] for i in scope)]) for scope, t in self.tables.items()]
        return self.constant + math.fsum(rest) + float(single.sum())

    def components(self) -> list[Ints]:
        """The variables of each connected part, in increasing order; those without functions are left out."""
        labels = np.zeros(len(self.cards), np.int64)
        num = int(label(self.pool, labels))
        return [np.flatnonzero(labels == part) for part in range(num)]


def _tables(wiring: Wiring) -> tuple[Floats, Ints]:
    """The tables of all factors, those of named ones made, and where each starts."""
    plugs, places = wiring.plugs, wiring.plugs.places.copy()
    named, made, end = np.flatnonzero(plugs.kinds != TABLE), [plugs.tables], len(plugs.tables)
    shapes = [tuple(plugs.cards[wiring.scope(f)].tolist()) for f in named.tolist()]
    for shape in dict.fromkeys(shapes):
        same = named[[each == shape for each in shapes]]
        made += [wiring.tables(same)] if len(shape) == 2 else [wiring.table(f) for f in same.tolist()]
        places[same] = end + math.prod(shape) * np.arange(len(same))
        end += math.prod(shape) * len(same)
    return np.concatenate([table.reshape(-1) for table in made]), places
