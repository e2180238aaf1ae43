"""Places made better one block at a time: boxes and vertical pieces of edges move toward what they are joined to.

A block moves within the room between its neighbors, first toward the mean of the blocks it is joined to, which
brings distant parts together, then toward their median, which makes edges straight.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

Rows = Sequence[Sequence[int]]
Near = Sequence[tuple[int, float]]
MEAN_SWEEPS, MEDIAN_SWEEPS = 12, 6


class Blocks:
    """Items that move together: a box alone, or the points of a long edge that are above each other.

    Attributes:
        at: the place of each block.
        members: the items of each block.
    """

    def __init__(
        self, rows: Rows, edges: Sequence[tuple[int, int]], xs: Sequence[float], *, bends: Sequence[bool]
    ) -> None:
        self.block = list(range(len(xs)))
        for a, b in edges:
            if bends[a] and bends[b] and abs(xs[a] - xs[b]) < 1e-6:
                self.block[b] = self.block[a]
        self.at = list(xs)
        self.near: dict[int, list[tuple[int, float]]] = {block: [] for block in sorted(set(self.block))}
        for a, b in edges:
            one, two = self.block[a], self.block[b]
            if one != two:
                weight = 1.0 + bends[a] + 2.0 * (bends[a] and bends[b])
                self.near[one].append((two, weight))
                self.near[two].append((one, weight))
        self.left: dict[int, list[tuple[int, float]]] = {block: [] for block in self.near}
        self.right: dict[int, list[tuple[int, float]]] = {block: [] for block in self.near}

    def keep_apart(self, rows: Rows, separation: Callable[[int, int], float]) -> None:
        """Note the blocks next to each block, and the least distance to them."""
        for row in rows:
            for a, b in itertools.pairwise(row):
                wide = separation(a, b)
                self.left[self.block[b]].append((self.block[a], wide))
                self.right[self.block[a]].append((self.block[b], wide))

    def sweep(self, *, median: bool) -> None:
        """Move each block once to the right and once to the left, as far as it is drawn and has room."""
        goal, at, near = nearest_median if median else _mean, self.at, self.near
        moving = [block for block, others in near.items() if others]
        for rightward in (True, False):
            moving.sort(reverse=rightward)  # so that ties are in this order, too
            for block in sorted(moving, key=at.__getitem__, reverse=rightward):
                low = max([at[other] + wide for other, wide in self.left[block]], default=-math.inf)
                high = min([at[other] - wide for other, wide in self.right[block]], default=math.inf)
                if low < high:
                    to = goal(at, near[block], at[block])
                    at[block] = low if to < low else min(to, high)
                elif low == high:
                    at[block] = low


def _mean(at: Sequence[float], near: Near, here: float) -> float:
    total = weights = 0.0
    for other, weight in near:
        total += at[other] * weight
        weights += weight
    return total / weights


def nearest_median(at: Sequence[float], near: Near, here: float) -> float:
    """The nearest weighted median to where the block is."""
    if len(near) == 1:
        return at[near[0][0]]
    points = sorted([(at[other], weight) for other, weight in near])
    half = sum([weight for _, weight in points]) / 2.0
    total, low = 0.0, None
    for x, weight in points:
        total += weight
        if low is not None or total > half + 1e-9:
            return x if low is None else min(max(here, low), x)
        if abs(total - half) <= 1e-9:
            low = x
    return here


def straightened(
    rows: Rows,
    edges: Sequence[tuple[int, int]],
    xs: Sequence[float],
    *,
    bends: Sequence[bool],
    separation: Callable[[int, int], float],
) -> list[float]:
    """The places after some sweeps of moves; orders within layers and least distances stay.

    Args:
        rows: the items of each layer, from left to right.
        edges: pairs of items in neighboring layers.
        xs: places that keep the least distances.
        bends: which items are points of long edges.
        separation: the least distance of the centers of two neighbors in a layer.

    >>> rows, edges = [[0], [1, 2]], [(0, 1)]
    >>> straightened(rows, edges, [0.0, 4.0, 5.0], bends=[False] * 3, separation=lambda a, b: 1.0)
    [0.0, 0.0, 5.0]
    """
    blocks = Blocks(rows, edges, xs, bends=bends)
    blocks.keep_apart(rows, separation)
    for _ in range(MEAN_SWEEPS):
        blocks.sweep(median=False)
    for _ in range(MEDIAN_SWEEPS):
        blocks.sweep(median=True)
    return [blocks.at[block] for block in blocks.block]
