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

WORK = 400_000
"""Items times layers times sweeps, about, that a search may take."""


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
            ranked = which[::-1][np.argsort(means[::-1], kind="stable")] if flip else which[np.argsort(means, kind="stable")]
            order[joined] = ranked

    def sift(self, k: int, *, level: bool) -> int:
        """Move each item of a layer to its best place once; the crossings that went. `level` moves also at no gain."""
        order = self.orders[k]
        if len(order) < 2:
            return 0
        cost = np.zeros((len(order), len(order)))
        for side in self._sides(k, True, True):
            cost += side @ (np.cumsum(side, axis=1) - side).T
        gain = cost - cost.T
        if not gain.any():
            return 0
        found, saved = order.tolist(), 0.0
        for item in order.tolist():
            place = found.index(item)
            steps = gain[item, found]
            after = np.concatenate([np.cumsum(steps[:place][::-1])[::-1], [0.0], -np.cumsum(steps[place + 1 :])])
            best = int(np.argmin(after))
            if after[best] < 0 or (level and best != place and after[best] == 0):
                saved -= after[best]
                found.insert(best, found.pop(place))
        self.orders[k] = np.array(found)
        return round(saved)

    def settle(self, *, level: bool = False, most: int = 8) -> None:
        """Sift all layers until nothing is gained."""
        for _ in range(most):
            if not sum(self.sift(k, level=level) for k in range(len(self.orders))):
                return


def ordered(joins: Sequence[Floats], starts: Sequence[Sequence[Ints]]) -> list[Ints]:
    """The orders of the layers, from the best of several starts.

    >>> cross = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> [order.tolist() for order in ordered([cross], [[np.arange(2), np.arange(2)]])]
    [[1, 0], [0, 1]]
    """
    size = sum(len(order) for order in starts[0])
    sweeps = max(2, min(16, WORK // (len(starts) * max(1, size) * 60)))
    best, fewest = [np.array(order) for order in starts[0]], -1
    for start in starts:
        state = Orders(joins, start)
        for sweep in range(sweeps):
            _sweep(state, down=sweep % 2 == 0, flip=sweep % 4 >= 2)
            state.settle(level=sweep % 3 == 2)
            count = state.crossings()
            if fewest < 0 or count < fewest:
                best, fewest = state.copy(), count
            if not fewest:
                return best
    return best


def _sweep(state: Orders, *, down: bool, flip: bool) -> None:
    places = range(len(state.orders))
    for k in places if down else reversed(places):
        state.barycenter(k, above=down, flip=flip)
