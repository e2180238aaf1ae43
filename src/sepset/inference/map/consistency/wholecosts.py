r"""Cost functions as whole numbers, so that moving costs between them is exact.

With a unit $q$, a power of two, every cost becomes the whole number of units below it. Then for every assignment

$$b + q\,C(\mathbf x) \le c(\mathbf x) \le b + q\,(C(\mathbf x) + \text{number of functions}),$$

and what is a lower bound of $C$ is one of $c$.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.threads import interruptible
from sepset.inference.map.consistency.functions import CostFunctions
from sepset.kernels.map.arrangement import BITS, arrange, least_degrees
from sepset.kernels.map.costs import FORBIDDEN, LATEST, ROOM, SETTLED, UPPER, Network, State
from sepset.kernels.map.reduction import ARITY, FIRST, SCOPE, SIZE, STATES
from sepset.kernels.map.sweeps import Loose
from sepset.kernels.map.virtualarcs import Virtual

UNITS = 2**52
"""The number of units in the largest cost of an assignment."""

TRAIL = 2**20
"""The least number of entries of a trail that might be needed."""

MOST_WORDS = 2**25
"""The most words of bits for an order of least degrees."""


@dataclass(frozen=True, eq=False)
class WholeCosts:
    """A network of whole costs over some of the variables.

    Attributes:
        variables: the variable of each number of the network: those that costs move to first.
        base, unit: the cost of nothing, and of one unit.
        unary: whole costs of single variables.
        network: the other functions, as kernels take them.
        most: no assignment of a positive value, and of no larger cost than the known one, has so many units.
        is_limited: whether assignments of larger costs than the known one are forbidden.
    """

    variables: Ints
    base: float
    unit: float
    unary: Ints
    network: Network
    most: int
    is_limited: bool

    @classmethod
    def of(cls, functions: CostFunctions, variables: Ints, *, known: Ints | None = None) -> WholeCosts:
        """The functions of some variables, which have no others; none of them forbids everything.

        Args:
            known: an assignment of all variables; costs above its own may be forbidden.
        """
        order = search_order(functions, variables)
        states, unary = _own(functions, order)
        network, tables = _arranged(functions, order, states)
        below = math.inf if known is None else math.fsum(_entries(network, unary, tables, known[order]))
        pieces = np.concatenate([states[:-1], states[-1] + network.places])
        costs = np.concatenate([unary, tables])
        lowest = np.minimum.reduceat(costs, pieces) if len(pieces) else np.zeros(0)
        highest = np.maximum.reduceat(np.where(np.isfinite(costs), costs, -np.inf), pieces) if len(pieces) else lowest
        base, limit = math.fsum(lowest), math.fsum(highest - lowest)
        above = max(0.0, below - base) + 1e-9 * max(1.0, abs(below)) if below < math.inf else math.inf
        is_limited, limit = above < limit, min(above, limit)
        unit = 2.0 ** math.ceil(math.log2(limit) if limit > 0 else 0.0) / UNITS
        sizes = np.diff(np.concatenate([pieces, [len(costs)]]))
        whole = _whole(costs - np.repeat(lowest, sizes), unit, limit)
        network = network._replace(tables=whole[states[-1] :])
        return cls(order, base, unit, whole[: states[-1]], network, math.floor(limit / unit) + 1, is_limited)

    def real(self, units: int) -> float:
        """The cost of so many units."""
        return self.base + self.unit * units

    def cost(self, codes: Ints) -> int:
        """The units of an assignment, in the order of the network; `most` if it is forbidden."""
        return int(min(self.most, sum(_entries(self.network, self.unary, self.network.tables, codes).tolist())))

    def state(self) -> State:
        """The state before anything moved: all states are live, everything waits."""
        net, n = self.network, len(self.variables)
        arity, cards = int(np.diff(net.starts).max(initial=1)), np.diff(net.states)
        cells = len(self.unary) + int(cards[net.scope].sum())
        margin = cells + 2 * len(self.unary) + int((cards**2).sum()) + 64
        size = min(max(TRAIL, 4 * cells), cells * (len(self.unary) + 1)) + margin
        numbers = np.zeros(SETTLED + 1, np.int64)
        numbers[UPPER], numbers[ROOM], numbers[LATEST] = self.most, size - margin, n - 1
        return State(
            np.concatenate([self.unary, np.zeros(cells - len(self.unary), np.int64)]),
            np.zeros(cells, np.int64),
            np.ones(len(self.unary), np.uint8),
            cards.astype(np.int64),
            numbers,
            np.empty(size, np.int64),
            np.empty(size, np.int64),
            np.ones(n, np.uint8),
            np.ones(n, np.uint8),
            np.ones(len(net.places), np.uint8),
            np.zeros(n, np.int64),
            np.zeros(n),
            np.zeros(arity + 1, np.int64),
            np.zeros(arity + 1, np.int64),
            np.zeros(arity + 1, np.int64),
            np.zeros(arity * net.widest + net.widest, np.int64),
            np.zeros(net.widest, np.int64),
            np.zeros((arity + 1) * net.widest, np.uint8),
        )

    def loose(self) -> Loose:
        """Room for sweeps."""
        slots = int(np.diff(self.network.states)[self.network.scope].sum())
        return Loose(np.zeros(len(self.network.tables)), np.zeros(len(self.unary)), np.zeros(slots), np.zeros(slots))

    def virtual(self) -> Virtual:
        """Room for virtual arc consistency."""
        places, cells = len(self.unary), len(self.unary) + int(np.diff(self.network.states)[self.network.scope].sum())
        listed = {name: np.zeros(places, np.int64) for name in ("turns", "reasons", "listed", "needed")}
        moved = {name: np.zeros(cells, np.int64) for name in ("sent", "lent")}
        waiting = np.zeros(len(self.network.places), np.uint8)
        return Virtual(**listed, **moved, waiting=waiting, numbers=np.zeros(3, np.int64))


def search_order(functions: CostFunctions, variables: Ints) -> Ints:
    """The variables in an order for search: the last one first of an elimination of least degrees.

    If they are so many that the bits of all pairs take too much memory, they are in their own order, back to front.
    """
    words = -(-len(variables) // BITS)
    if words * len(variables) > MOST_WORDS:
        return variables[::-1].copy()
    place = np.full(len(functions.cards), -1, np.int64)
    place[variables] = np.arange(len(variables))
    rows, (degrees, found) = np.zeros(words * len(variables), np.int64), np.zeros((2, len(variables)), np.int64)
    interruptible(partial(least_degrees, functions.pool, place, rows, degrees, found))
    return np.asarray(variables[found[::-1]], np.int64)


def _own(functions: CostFunctions, order: Ints) -> tuple[Ints, Floats]:
    """Where the states of variables start, and their costs."""
    starts = functions.pool.variables[STATES]
    cards = starts[order + 1] - starts[order]
    states = _starts(cards)
    return states, functions.pool.unary[np.repeat(starts[order] - states[:-1], cards) + np.arange(states[-1])]


def _arranged(functions: CostFunctions, order: Ints, states: Ints) -> tuple[Network, Floats]:
    """The functions of variables, sorted by the places of these, without whole costs; and their costs."""
    pool, cards, place = functions.pool, np.diff(states), np.full(len(functions.cards), -1, np.int64)
    place[order] = np.arange(len(order))
    left = functions.left
    chosen = _sorted(functions, left[place[pool.slots[SCOPE, pool.functions[FIRST, left]]] >= 0], place)
    arities = pool.functions[ARITY, chosen]
    starts, places = _starts(arities), _starts(pool.functions[SIZE, chosen])
    scope, steps = np.zeros((2, int(starts[-1])), np.int64)
    tables, codes = np.zeros(int(places[-1])), np.zeros(int(arities.max(initial=1)), np.int64)
    arrange(pool, chosen, place, cards, starts, scope, steps, places, tables, codes)
    network = Network(
        states,
        starts,
        scope,
        np.repeat(np.arange(len(chosen)), arities).astype(np.int64),
        np.repeat(np.arange(len(order)), cards).astype(np.int64),
        _starts(np.bincount(scope, minlength=len(order))),
        np.argsort(scope, kind="stable").astype(np.int64),
        states[-1] + _starts(cards[scope])[:-1],
        steps,
        places[:-1],
        np.zeros(0, np.int64),
        int(cards.max(initial=1)),
    )
    return network, tables


def _sorted(functions: CostFunctions, chosen: Ints, place: Ints) -> Ints:
    """Functions in the order of the places of their variables, whatever order they were added in."""
    pool, arities = functions.pool, functions.pool.functions[ARITY, chosen]
    rows = np.repeat(np.arange(len(chosen)), arities)
    columns = np.arange(len(rows)) - np.repeat(_starts(arities)[:-1], arities)
    places = np.full((len(chosen), int(arities.max(initial=1))), len(place))
    places[rows, columns] = place[pool.slots[SCOPE, np.repeat(pool.functions[FIRST, chosen], arities) + columns]]
    return chosen[np.lexsort(np.sort(places, axis=1).T[::-1])]


def _entries(network: Network, unary: AnyArray, tables: AnyArray, codes: Ints) -> AnyArray:
    """The costs of single variables and of functions at an assignment."""
    rest = tables[:0]
    if len(network.places):
        rest = tables[network.places + np.add.reduceat(network.steps * codes[network.scope], network.starts[:-1])]
    return np.concatenate([unary[network.states[:-1] + codes], rest])


def _whole(above: Floats, unit: float, limit: float) -> Ints:
    """Whole units below each cost; costs beyond the limit are forbidden."""
    units = np.floor(np.minimum(above, limit) / unit).astype(np.int64)
    return np.where(above <= limit, units, FORBIDDEN)


def _starts(sizes: Any) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
