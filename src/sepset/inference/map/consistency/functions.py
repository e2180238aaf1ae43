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
    BEGUN,
    BEST,
    ENTRIES,
    FUNCTIONS,
    GONE,
    LEVELS,
    NEAR,
    NEEDED,
    SLOTS,
    Pool,
    absorb,
    complete,
    fill,
    insert,
    reduce,
)

Scope = tuple[int, ...]

GROWING: dict[str, int] = {
    **dict.fromkeys(("firsts", "arities", "places", "sizes"), FUNCTIONS),
    **dict.fromkeys(("scope", "owner", "after"), SLOTS),
    **{"tables": ENTRIES, "near": NEAR, "best": BEST},
}
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
        wires, cards = wiring.wires, wiring.plugs.cards
        sizes = np.multiply.reduceat(cards[wires.scope], wires.starts[:-1]) if wiring.num_factors else np.zeros(1, int)
        made = cls.empty(cards.tolist(), wiring.num_factors, len(wires.scope), int(sizes.sum()), int(sizes.max()))
        made.pool.unary[:], made.pool.constant[0] = -wiring.unary, -wiring.constant
        interruptible(partial(fill, wires, made.pool, np.zeros(len(cards), np.int64)))
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
        n, states = len(cards), np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
        every = {name: np.zeros(n, np.int64) for name in ("gone", "near_at", "best_at", "stamps", "spots")}
        every |= {name: np.zeros(n, np.int64) for name in ("before", "behind", "listed", "codes", "jumps")}
        every |= {name: np.full(n, -1, np.int64) for name in ("heads", "level")}
        num = {FUNCTIONS: functions, SLOTS: slots, ENTRIES: entries, NEAR: 0, BEST: 0}
        grows = {name: np.zeros(2 * num[used] + n, np.int64) for name, used in GROWING.items() if name != "tables"}
        pool = Pool(
            states=states,
            unary=np.zeros(int(states[-1])),
            constant=np.zeros(1),
            tables=np.zeros(2 * entries + n),
            queues=np.full(LEVELS, -1, np.int64),
            touched=np.zeros(n, np.uint8),
            room=np.zeros(max(largest, 2**12)),
            numbers=np.zeros(BEGUN + 1, np.int64),
            **every,
            **grows,
        )
        return cls(tuple(cards), pool)

    def _grow(self) -> None:
        """Give all arrays twice their room, and what the next step needs."""
        pool, needed = self.pool, int(self.pool.numbers[NEEDED])
        grown: dict[str, Any] = {"room": np.zeros(max(len(pool.room), needed))}
        for name, used in GROWING.items():
            old = getattr(pool, name)
            grown[name] = np.concatenate([old, np.zeros(int(pool.numbers[used]) + needed, old.dtype)])
        self.pool = pool._replace(**grown)

    def add(self, scope: Scope, costs: Floats) -> None:
        """Add a function; the variables of its scope increase."""
        pool = self.pool
        pool.numbers[NEEDED] = max(1, len(scope), costs.size)
        self._grow()
        self.pool.listed[: len(scope)] = scope
        self.pool.room[: costs.size] = costs.reshape(-1)
        insert(self.pool, len(scope), costs.size)

    def reduce(self, entries: int) -> None:
        """Eliminate variables and forbid dominated states, until nothing changes.

        Args:
            entries: the most entries of a function that an elimination leaves, unless the variable has a larger one.
        """
        self.pool.numbers[BEGUN] = 0
        while not interruptible(partial(reduce, self.pool, entries)):
            self._grow()

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
        return self.pool.gone[: self.num_eliminated]

    def completed(self, codes: Ints) -> Ints:
        """The assignment with the best states of the variables that were eliminated, from those of the others."""
        found = np.array(codes, np.int64)
        complete(self.pool, found)
        return found

    @property
    def left(self) -> Ints:
        """The numbers of the functions of two and more variables that are left."""
        return np.flatnonzero(self.pool.sizes[: self.pool.numbers[FUNCTIONS]])

    @property
    def constant(self) -> float:
        """The cost of functions without variables."""
        return float(self.pool.constant[0])

    @property
    def tables(self) -> dict[Scope, Floats]:
        """The costs of two and more variables by scope."""
        pool, found = self.pool, {}
        for f in self.left.tolist():
            scope = pool.scope[pool.firsts[f] : pool.firsts[f] + pool.arities[f]].tolist()
            costs = pool.tables[pool.places[f] : pool.places[f] + pool.sizes[f]]
            found[tuple(scope)] = costs.reshape([self.cards[i] for i in scope])
        return found

    @property
    def is_possible(self) -> bool:
        """Whether no function forbids everything."""
        pool, least = self.pool, self.least
        single = np.logical_or.reduceat(np.isfinite(pool.unary), pool.states[:-1]) if len(self.cards) else np.ones(0)
        return self.constant < math.inf and bool(single.all() and np.isfinite(least).all())

    @property
    def least(self) -> Floats:
        """The least cost of each function of two and more variables that is left."""
        pool, num = self.pool, int(self.pool.numbers[FUNCTIONS])
        if not num:
            return np.zeros(0)
        return np.minimum.reduceat(pool.tables[: pool.numbers[ENTRIES]], pool.places[:num])[self.left]

    def cost(self, codes: Sequence[int] | Ints) -> float:
        """The cost of an assignment."""
        single = self.pool.unary[self.pool.states[:-1] + np.asarray(codes, np.int64)]
        rest = [float(t[tuple(codes[i] for i in scope)]) for scope, t in self.tables.items()]
        return self.constant + math.fsum(rest) + float(single.sum())

    def components(self) -> list[Ints]:
        """The variables of each connected part, in increasing order; those without functions are left out."""
        labels = np.zeros(len(self.cards), np.int64)
        num = int(label(self.pool, labels))
        return [np.flatnonzero(labels == part) for part in range(num)]
