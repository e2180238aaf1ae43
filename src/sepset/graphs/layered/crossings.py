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

PATIENCE = 4
"""The sweeps without a gain after which a start is given up."""


class Orders:
    """The orders of all layers, while they are improved.

    Attributes:
        joins: for each pair of neighboring layers, how many edges join each upper with each lower item.
        orders: the items of each layer, from left to right.
    """

    def __init__(self, joins: Sequence[Floats], orders: Sequence[Ints]) -> None:
        self.joins = joins
        self.orders = [np.array(order) for order in orders]

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
        cost = np.zeros((len(order), len(order)))
        for side in self._sides(k, True, True):
            placed = side[order]
            cost += placed @ (placed.cumsum(axis=1) - placed).T
        return cost - cost.T

    def sift(self, k: int) -> int:
        """Move the item of a layer that gains most to its best place, until none gains; the crossings that went."""
        gain, order, saved = self._gains(k), self.orders[k], 0.0
        while gain.any():
            change = _changes(gain)
            item, to = divmod(int(change.argmin()), len(order))
            if change[item, to] >= 0:
                break
            saved -= change[item, to]
            moved = list(range(len(order)))
            moved.insert(to, moved.pop(item))
            order, gain = order[moved], gain[moved][:, moved]
        self.orders[k] = order
        return round(saved)

    def drift(self, k: int) -> None:
        """Move each item of a layer to the first of its best places, also at no gain."""
        gain, order = self._gains(k), self.orders[k]
        if not gain.any():
            return
        found = list(range(len(order)))
        for item in range(len(order)):
            place = found.index(item)
            steps = gain[item, found]
            change = np.concatenate([steps[:place][::-1].cumsum()[::-1], [0.0], -steps[place + 1 :].cumsum()])
            found.insert(int(change.argmin()), found.pop(place))
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
    best, fewest = [np.array(order) for order in starts[0]], -1
    for start in starts:
        state, idle, sweep, own = Orders(joins, start), 0, 0, -1
        while idle < PATIENCE:
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
