r"""Orders within layers so that few edges cross.

An order of a layer is improved by barycenters (sort by the mean places of neighbors in the next layer) and by sifting
(move one item to the place where it crosses least). For items $u$ and $v$ of a layer, with $U_{ui} = 1$ if $u$ is
joined to place $i$ of a neighboring layer, their edges cross

$$C_{uv} = \sum_i U_{ui} \sum_{j < i} U_{vj}$$

times if $u$ is left of $v$. Sweeps go down and up from several starts, which are the same each time.

Reference: Sugiyama, Tagawa & Toda (1981); Matuszewski, Schönfeld & Molitor (1999) for sifting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sepset.base.arraytypes import Floats, Ints

WORK = 120_000
"""Squares of the sizes of layers, times starts, above which fewer starts are made."""

SMALL_PRODUCT = 200_000
"""The multiplications of a dense product up to which it is not worth looking for zeros."""

PER_MOVE = 4
"""The comparisons that moving an item past another takes, in addition to comparing them all at once."""

MOST_WORK = 40_000_000
"""The comparisons of items after which no layer is sifted any more: about two seconds."""

PATIENCE = 4
"""The sweeps without a gain after which a start is given up."""


class Orders:
    """The orders of all layers, while they are improved.

    Attributes:
        joins: for each pair of neighboring layers, how many edges join each upper with each lower item.
        orders: the items of each layer, from left to right.
        work: the comparisons of items so far.
    """

    def __init__(self, joins: Sequence[Floats], orders: Sequence[Ints], work: int = 0) -> None:
        self.joins = joins
        self.orders = [np.array(order) for order in orders]
        self.work = work

    def copy(self) -> list[Ints]:
        """The orders as they are now."""
        return [order.copy() for order in self.orders]

    def crossings(self) -> int:
        """The number of crossings of all edges."""
        return sum(self._between(k) for k in range(len(self.joins)))

    def _between(self, k: int) -> int:
        m = self.joins[k][np.ix_(self.orders[k], self.orders[k + 1])]
        left = np.cumsum(m, axis=1) - m
        return round(float((m * (left[::-1].cumsum(axis=0)[::-1] - left)).sum()))

    def _sides(self, k: int, above: bool, below: bool) -> Iterator[Floats]:
        """How many edges join each item of a layer with each place of the layer above, and below."""
        if above and k > 0:
            yield self.joins[k - 1][self.orders[k - 1]].T
        if below and k < len(self.joins):
            yield self.joins[k][:, self.orders[k + 1]]

    def barycenter(self, k: int, *, above: bool, flip: bool) -> None:
        """Sort a layer by the mean places of neighbors on one side; items without any keep their places."""
        order = self.orders[k]
        for side in self._sides(k, above, not above):
            degree = side.sum(axis=1)
            sums = side @ np.arange(side.shape[1], dtype=np.float64)
            joined = degree[order] > 0
            which = order[joined]
            means = sums[which] / degree[which]
            ranked = (
                which[::-1][np.argsort(means[::-1], kind="stable")] if flip else which[np.argsort(means, kind="stable")]
            )
            order[joined] = ranked

    def _gains(self, k: int) -> Floats:
        """The crossings that go when an item of a layer, left of another, comes to be right of it; by places."""
        order = self.orders[k]
        self.work += len(order) ** 2
        cost = np.zeros((len(order), len(order)))
        for side in self._sides(k, True, True):
            placed = side[order]
            cost += _product(placed, placed.cumsum(axis=1) - placed)
        return cost - cost.T

    def sift(self, k: int) -> int:
        """Move items of a layer to their best places, until none gains; the crossings that went."""
        order, saved = self.orders[k], 0.0
        if self.work >= MOST_WORK:
            return 0
        gain = self._gains(k)
        while gain.any() and self.work < MOST_WORK:
            best = _changes(gain).min(axis=1)
            found = list(range(len(order)))
            moving = [item for item in np.argsort(best, kind="stable").tolist() if best[item] < 0]
            self.work += len(order) * (len(order) + PER_MOVE * len(moving))
            gone = sum(_moved(gain, found, item) for item in moving)
            if not gone:
                break
            saved += gone
            order, gain = order[found], gain[found][:, found]
        self.orders[k] = order
        return round(saved)

    def drift(self, k: int) -> None:
        """Move each item of a layer to the first of its best places, also at no gain."""
        gain, order = self._gains(k), self.orders[k]
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


def _product(few: Floats, left: Floats) -> Floats:
    """The product of a matrix with few entries and the transpose of another.

    >>> _product(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 3.],
           [2., 4.]])
    """
    if few.size * len(few) < SMALL_PRODUCT:
        return few @ left.T
    rows, columns = np.nonzero(few)
    found = np.zeros((len(few), len(left)))
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    if len(rows):
        found[rows[first]] = np.add.reduceat(left.T[columns] * few[rows, columns][:, None], first)
    return found


def _moved(gain: Floats, found: list[int], item: int) -> float:
    """Move an item to the first of its best places in an order; the crossings that went."""
    place = found.index(item)
    steps = gain[item, found]
    change = np.concatenate([steps[:place][::-1].cumsum()[::-1], [0.0], -steps[place + 1 :].cumsum()])
    best = int(change.argmin())
    found.insert(best, found.pop(place))
    return -float(change[best])


def _changes(gain: Floats) -> Floats:
    """The change of crossings if the item at each place moves to each other place.

    >>> _changes(np.array([[0.0, 2.0], [-2.0, 0.0]]))
    array([[ 0., -2.],
           [-2.,  0.]])
    """
    count = len(gain)
    sums = np.zeros((count, count + 1))
    np.cumsum(gain, axis=1, out=sums[:, 1:])
    here = sums.diagonal()[:, None]
    return np.where(np.tri(count, k=-1, dtype=bool), here - sums[:, :-1], here - sums[:, 1:])


def ordered(joins: Sequence[Floats], starts: Sequence[Sequence[Ints]]) -> list[Ints]:
    """The orders of the layers, from the best of several starts.

    >>> cross = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> [order.tolist() for order in ordered([cross], [[np.arange(2), np.arange(2)]])]
    [[0, 1], [1, 0]]
    """
    work = sum(len(order) ** 2 for order in starts[0])
    best, fewest, spent = [np.array(order) for order in starts[0]], -1, 0
    for start in starts[: max(2, min(len(starts), WORK // max(1, work)))]:
        state, idle, sweep, own = Orders(joins, start, spent), 0, 0, -1
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
        spent = state.work
    return best


def _sweep(state: Orders, *, down: bool, flip: bool) -> None:
    places = range(len(state.orders))
    for k in places if down else reversed(places):
        state.barycenter(k, above=down, flip=flip)
