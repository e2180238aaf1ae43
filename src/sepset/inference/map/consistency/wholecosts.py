r"""Cost functions as whole numbers, so that moving costs between them is exact.

With a unit $q$, a power of two, every cost becomes the whole number of units below it. Then for every assignment

$$b + q\,C(\mathbf x) \le c(\mathbf x) \le b + q\,(C(\mathbf x) + \text{number of functions}),$$

and what is a lower bound of $C$ is one of $c$.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.ordering import MinFill, elimination_order
from sepset.inference.map.consistency.functions import CostFunctions, Scope
from sepset.kernels.map.costs import FORBIDDEN, LATEST, ROOM, UPPER, Network, State
from sepset.kernels.map.virtualarcs import Virtual

UNITS = 2**53
"""The number of units in the largest cost of an assignment."""

TRAIL = 2**20
"""The least number of entries of a trail that might be needed."""


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
    def of(cls, functions: CostFunctions, variables: Sequence[int], *, below: float = math.inf) -> WholeCosts:
        """The functions of some variables, which have no others; none of them forbids everything.

        Args:
            below: the cost of an assignment of these variables that is known.
        """
        order = search_order(functions, variables)
        place = {i: d for d, i in enumerate(order)}
        scopes = _scopes(functions, place)
        tables = [functions.tables.get((i,), np.zeros(functions.cards[i])) for i in order]
        tables += [functions.tables[s].transpose(np.argsort([place[i] for i in s], kind="stable")) for s in scopes]
        lowest = [float(t.min()) for t in tables]
        base, highest = math.fsum(lowest), [float(t[np.isfinite(t)].max()) for t in tables]
        limit = math.fsum(h - low for h, low in zip(highest, lowest, strict=True))
        known = max(0.0, below - base) + 1e-9 * max(1.0, abs(below)) if below < math.inf else math.inf
        is_limited, limit = known < limit, min(known, limit)
        unit = 2.0 ** math.ceil(math.log2(limit) if limit > 0 else 0.0) / UNITS
        whole = [_whole(t, low, unit, limit) for t, low in zip(tables, lowest, strict=True)]
        n, cap = len(order), math.floor(limit / unit)
        network = _network(functions, order, [sorted(place[i] for i in s) for s in scopes], whole[n:])
        return cls(np.array(order, np.int64), base, unit, _joined(whole[:n]), network, cap + 1, is_limited)

    def real(self, units: int) -> float:
        """The cost of so many units."""
        return self.base + self.unit * units

    def cost(self, codes: Ints) -> int:
        """The units of an assignment, in the order of the network; `most` if it is forbidden."""
        net = self.network
        costs = self.unary[net.states[:-1] + codes].tolist()
        if len(net.places):
            at = net.places + np.add.reduceat(net.steps * codes[net.scope], net.starts[:-1])
            costs += net.tables[at].tolist()
        return int(min(self.most, sum(costs)))

    def state(self) -> State:
        """The state before anything moved: all states are live, everything waits."""
        net, n = self.network, len(self.variables)
        arity, cards = int(np.diff(net.starts).max(initial=1)), np.diff(net.states)
        cells = len(self.unary) + int(cards[net.scope].sum())
        margin = cells + 2 * len(self.unary) + int((cards**2).sum()) + 64
        size = min(max(TRAIL, 4 * cells), cells * (len(self.unary) + 1)) + margin
        numbers = np.zeros(8, np.int64)
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

    def virtual(self) -> Virtual:
        """Room for virtual arc consistency."""
        places, cells = len(self.unary), len(self.unary) + int(np.diff(self.network.states)[self.network.scope].sum())
        listed = {name: np.zeros(places, np.int64) for name in ("turns", "reasons", "listed", "needed")}
        moved = {name: np.zeros(cells, np.int64) for name in ("sent", "lent")}
        waiting = np.zeros(len(self.network.places), np.uint8)
        return Virtual(**listed, **moved, waiting=waiting, numbers=np.zeros(3, np.int64))


def search_order(functions: CostFunctions, variables: Sequence[int]) -> list[int]:
    """The variables in an order for search: the last one to be eliminated first."""
    place = {i: d for d, i in enumerate(variables)}
    pairs = {(place[i], place[j]) for i in variables for j in functions.neighbors(i) if i < j}
    ends = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    names = [str(d) for d in range(len(variables))]
    graph = UndirectedGraph.from_arrays(names, sources=ends[:, 0], targets=ends[:, 1])
    cards = {str(d): functions.cards[i] for d, i in enumerate(variables)}
    found = elimination_order(graph, cards, method=MinFill()).order
    return [variables[int(name)] for name in reversed(found)]


def _scopes(functions: CostFunctions, place: dict[int, int]) -> list[Scope]:
    """The scopes of two and more of these variables, by their places in the search."""
    found = {scope for i in place for scope in functions.of_variable(i) if len(scope) > 1}
    return sorted(found, key=lambda scope: sorted(place[i] for i in scope))


def _whole(costs: Floats, lowest: float, unit: float, limit: float) -> Ints:
    """Whole units below each cost; costs beyond the limit are forbidden."""
    above = costs.reshape(-1) - lowest
    units = np.floor(np.minimum(above, limit) / unit).astype(np.int64)
    return np.where(above <= limit, units, FORBIDDEN)


def _network(functions: CostFunctions, order: list[int], scopes: list[list[int]], tables: list[Ints]) -> Network:
    cards = np.array([functions.cards[i] for i in order], np.int64)
    scope = np.array([d for s in scopes for d in s], np.int64)
    starts = _starts([len(s) for s in scopes])
    owner = np.repeat(np.arange(len(scopes)), np.diff(starts)).astype(np.int64)
    slots = np.argsort(scope, kind="stable").astype(np.int64)
    degrees = _starts(np.bincount(scope, minlength=len(order)))
    states = _starts(cards)
    steps = [math.prod(int(cards[d]) for d in s[at + 1 :]) for s in scopes for at in range(len(s))]
    return Network(
        states,
        starts,
        scope,
        owner,
        np.repeat(np.arange(len(order)), cards).astype(np.int64),
        degrees,
        slots,
        states[-1] + _starts(cards[scope])[:-1],
        np.array(steps, np.int64),
        _starts([t.size for t in tables])[:-1],
        _joined(tables),
        int(cards.max(initial=1)),
    )


def _joined(arrays: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *arrays])


def _starts(sizes: Any) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
