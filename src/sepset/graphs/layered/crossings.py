r"""Orders within layers so that few edges cross.

An order of a layer is improved by barycenters (sort by the mean places of neighbors in the next layer) and by sifting
(move one item to the place where it crosses least). For items $u$ and $v$ of a layer, with $U_{ui} = 1$ if $u$ is
joined to place $i$ of a neighboring layer, their edges cross

$$C_{uv} = \sum_i U_{ui} \sum_{j < i} U_{vj}$$

times if $u$ is left of $v$. Sweeps go down and up from several starts, which are the same each time.

Reference: Sugiyama, Tagawa & Toda (1981); Matuszewski, Schönfeld & Molitor (1999) for sifting.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from sepset.base.arraytypes import Floats, Floats32, Ints

WORK = 120_000
"""Squares of the sizes of layers, times starts, above which fewer starts are made."""

PER_MOVE = 4
"""The comparisons that moving an item past another takes, in addition to comparing them all at once."""

MOST_WORK = 20_000_000
"""The comparisons of items after which no layer is sifted any more: about a third of a second."""

LARGE = 64
"""The size of a layer from which on sums are of integers, which is faster there."""

PATIENCE = 4
"""The sweeps without a gain after which a start is given up."""


class Side:
    """The edges of a layer to one of its neighbors.

    Attributes:
        joins: how many edges join each item of the neighbor (rows) with each item of the layer (columns).
        degrees: the edges of each item of the layer.
    """

    def __init__(self, joins: Floats) -> None:
        self.joins: Floats32 = np.ascontiguousarray(joins, dtype=np.float32)
        self.degrees = self.joins.sum(axis=0)
        self._of_items: Floats32 = np.ascontiguousarray(self.joins.T)

    def costs(self, order: Ints) -> Floats32:
        """The crossings of two items' edges if one is left of the other, for an order of the neighbor.

        >>> Side(np.eye(2)).costs(np.array([1, 0]))
        array([[0., 1.],
               [0., 0.]], dtype=float32)
        """
        placed = self._of_items[:, order]
        before = summed(placed) - placed
        return placed @ before.T


class Orders:
    """The orders of all layers, while they are improved.

    Attributes:
        joins: for each pair of neighboring layers, how many edges join each upper with each lower item.
        orders: the items of each layer, from left to right.
        work: the comparisons of items so far.
    """

    def __init__(self, joins: Sequence[Floats], orders: Sequence[Ints]) -> None:
        self.above: list[Side | None] = [None, *map(Side, joins)]
        self.below: list[Side | None] = [*(Side(join.T) for join in joins), None]
        self.work = 0
        self.start(orders)

    def start(self, orders: Sequence[Ints]) -> None:
        """Begin again with other orders."""
        self.orders = [np.array(order) for order in orders]

    def copy(self) -> list[Ints]:
        """The orders as they are now."""
        return [order.copy() for order in self.orders]

    def crossings(self) -> int:
        """The number of crossings of all edges."""
        return sum(self._over(k) for k in range(1, len(self.orders)))

    def _over(self, k: int) -> int:
        """The crossings between a layer and the one above."""
        side = self.above[k]
        assert side is not None
        m = side.joins[self.orders[k - 1]][:, self.orders[k]]
        left = m.cumsum(axis=1) - m
        return round(float((m * (left.sum(axis=0) - left.cumsum(axis=0))).sum()))

    def _sides(self, k: int) -> Iterator[tuple[Side, Ints]]:
        """The edges of a layer above and below, with the order there."""
        above, below = self.above[k], self.below[k]
        if above is not None:
            yield above, self.orders[k - 1]
        if below is not None:
            yield below, self.orders[k + 1]

    def barycenter(self, k: int, *, above: bool, flip: bool) -> None:
        """Sort a layer by the mean places of neighbors on one side; items without any keep their places."""
        side, order = (self.above if above else self.below)[k], self.orders[k]
        if side is None:
            return
        near = self.orders[k - 1 if above else k + 1]
        sums = np.arange(len(near), dtype=np.float64) @ side.joins[near]
        joined = side.degrees[order] > 0
        which = order[joined][::-1] if flip else order[joined]
        order[joined] = which[np.argsort(sums[which] / side.degrees[which], kind="stable")]

    def gains(self, k: int) -> Floats32:
        """The crossings that go when an item of a layer, left of another, comes to be right of it; by places."""
        order = self.orders[k]
        self.work += len(order) ** 2
        cost: Floats32 = np.zeros((len(order), len(order)), dtype=np.float32)
        for side, near in self._sides(k):
            cost += side.costs(near)
        return (cost - cost.T)[order][:, order]

    def sift(self, k: int) -> int:
        """Move items of a layer to their best places, until none gains; the crossings that went."""
        if self.work >= MOST_WORK:
            return 0
        order, saved, gain = self.orders[k], 0.0, self.gains(k)
        while self.work < MOST_WORK:
            best = best_changes(gain)
            moving = np.argsort(best, kind="stable")[: np.count_nonzero(best)].tolist()
            self.work += len(order) * (len(order) + PER_MOVE * len(moving))
            if not moving:
                break
            found = list(range(len(order)))
            saved += sum([_moved(gain, found, item) for item in moving])
            order, gain = order[found], gain[found][:, found]
        self.orders[k] = order
        return round(saved)

    def drift(self, k: int) -> None:
        """Move each item of a layer to the first of its best places, also at no gain."""
        gain, order = self.gains(k), self.orders[k]
        if gain.any() and self.work < MOST_WORK:
            self.work += PER_MOVE * len(order) ** 2
            found = list(range(len(order)))
            for item in range(len(order)):
                _moved(gain, found, item)
            self.orders[k] = order[found]

    def settle(self, *, most: int = 8) -> None:
        """Sift all layers until nothing is gained."""
        changed = set(range(len(self.orders)))
        for _ in range(most):
            again: set[int] = set()
            for k in sorted(changed):
                if self.sift(k):
                    again |= {k - 1, k + 1}
            changed = {k for k in again if 0 <= k < len(self.orders)}
            if not changed:
                return


def _moved(gain: Floats32, found: list[int], item: int) -> float:
    """Move an item to the first of its best places in an order; the crossings that went."""
    place = found.index(item)
    sums: list[float] = [0.0, *itertools.accumulate(gain[item, found].tolist())]
    most = max(sums)
    gone, best = most - sums[place], sums.index(most)
    found.insert(best - (best > place), found.pop(place))
    return gone


def best_changes(gain: Floats32) -> Floats32:
    """The change of crossings if the item at each place moves to its best place.

    >>> best_changes(np.array([[0.0, 2.0], [-2.0, 0.0]], dtype=np.float32))
    array([-2., -2.], dtype=float32)
    """
    sums = summed(gain)
    changes: Floats32 = sums.diagonal() - sums.max(axis=1, initial=0.0)
    return changes


def summed(counts: Floats32) -> Floats32:
    """The running sums of counts along each row.

    >>> summed(np.array([[1.0, 2.0, 4.0]], dtype=np.float32))
    array([[1., 3., 7.]], dtype=float32)
    """
    if len(counts) < LARGE:
        return counts.cumsum(axis=1)
    return counts.astype(np.int32).cumsum(axis=1, dtype=np.int32).astype(np.float32)


def ordered(joins: Sequence[Floats], starts: Sequence[Sequence[Ints]]) -> list[Ints]:
    """The orders of the layers, from the best of several starts.

    >>> cross = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> [order.tolist() for order in ordered([cross], [[np.arange(2), np.arange(2)]])]
    [[0, 1], [1, 0]]
    """
    work = sum(len(order) ** 2 for order in starts[0])
    state, best, fewest = Orders(joins, starts[0]), list(starts[0]), -1
    for start in starts[: max(2, min(len(starts), WORK // max(1, work)))]:
        state.start(start)
        idle, sweep, own = 0, 0, -1
        while idle < PATIENCE and state.work < MOST_WORK:
            _sweep(state, down=sweep % 2 == 0, flip=sweep % 4 >= 2)
            if sweep % 3 == 2:
                for k in range(len(state.orders)):
                    state.drift(k)
            state.settle()
            count = state.crossings()
            idle, sweep = (0 if own < 0 or count < own else idle + 1), sweep + 1
            own = count if own < 0 else min(own, count)
            if fewest < 0 or count < fewest:
                best, fewest = state.copy(), count
            if not fewest:
                return best
    return best


def _sweep(state: Orders, *, down: bool, flip: bool) -> None:
    places = range(len(state.orders))
    for k in places if down else reversed(places):
        state.barycenter(k, above=down, flip=flip)
