"""Horizontal places in given orders: edges are straight where they can be, and long edges are vertical between layers.

Four placements align each item with a median neighbor above or below, from the left or the right, and pack the aligned
blocks; an item is placed at the mean of its two middle places of these four.

Reference: Brandes & Köpf (2001).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

Conflicts = set[tuple[int, int]]
Rows = Sequence[Sequence[int]]
Joined = Sequence[Sequence[int]]


def places(
    rows: Rows, above: Joined, below: Joined, *, bends: Sequence[bool], separation: Callable[[int, int], float]
) -> list[float]:
    """The horizontal place of the center of each item.

    Args:
        rows: the items of each layer, from left to right.
        above, below: the items joined to each item in the layers above and below.
        bends: which items are points of long edges.
        separation: the least distance of the centers of two neighbors in a layer.

    >>> places([[0, 1], [2]], [[], [], [0, 1]], [[2], [2], []], bends=[False] * 3, separation=lambda a, b: 1.0)
    [0.0, 1.0, 0.5]
    """
    conflicts = _conflicts(rows, above, bends)
    found = []
    for upward in (False, True):
        turned = list(reversed(rows)) if upward else list(rows)
        for leftward in (False, True):
            lines = [list(reversed(row)) for row in turned] if leftward else turned
            blocks = _aligned(lines, below if upward else above, conflicts)
            packed = _packed(lines, blocks, separation)
            found.append([-x for x in packed] if leftward else packed)
    return _balanced(found)


def _position(rows: Rows, count: int) -> list[int]:
    place = [0] * count
    for row in rows:
        for k, item in enumerate(row):
            place[item] = k
    return place


def _conflicts(rows: Rows, above: Joined, bends: Sequence[bool]) -> Conflicts:
    """The pieces of edges that cross a piece of a long edge, and are therefore not made straight."""
    place = _position(rows, len(bends))
    found: Conflicts = set()
    for upper, lower in itertools.pairwise(rows):
        left, start = -1, 0
        for k, item in enumerate(lower):
            inner = next((u for u in above[item] if bends[u]), None) if bends[item] else None
            if inner is None and k < len(lower) - 1:
                continue
            right = len(upper) if inner is None else place[inner]
            for other in lower[start : k + 1]:
                for u in above[other]:
                    if not left <= place[u] <= right and not (bends[u] and bends[other]):
                        found.add((u, other))
            left, start = (left if inner is None else right), k + 1
    return found


def _aligned(rows: Rows, toward: Joined, conflicts: Conflicts) -> list[int]:
    """The block of each item: the first item that it is aligned with, layer by layer."""
    place = _position(rows, len(toward))
    root = list(range(len(toward)))
    for row in rows:
        last, taken = -1, set[int]()
        for item in row:
            near = sorted(toward[item], key=place.__getitem__)
            for u in near[(len(near) - 1) // 2 : len(near) // 2 + 1]:
                free = root[item] == item and (u, item) not in conflicts and (item, u) not in conflicts
                if free and place[u] > last and u not in taken:
                    root[item], last = root[u], place[u]
                    taken.add(u)
    return root


def _packed(rows: Rows, root: Sequence[int], separation: Callable[[int, int], float]) -> list[float]:
    """Each block as far left as it goes, then those with room as near to the next block as they go."""
    after: dict[int, dict[int, float]] = {block: {} for block in set(root)}
    waiting = dict.fromkeys(after, 0)
    for row in rows:
        for a, b in itertools.pairwise(row):
            one, two, wide = root[a], root[b], separation(a, b)
            if two not in after[one]:
                waiting[two] += 1
            after[one][two] = max(after[one].get(two, 0.0), wide)
    at = dict.fromkeys(after, 0.0)
    order = [block for block in sorted(after) if not waiting[block]]
    first = set(order)
    for block in order:
        for other, wide in after[block].items():
            at[other] = max(at[other], at[block] + wide)
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    for block in reversed(order):
        if block in first and after[block]:
            at[block] = max(at[block], min(at[other] - wide for other, wide in after[block].items()))
    return [at[root[item]] for item in range(len(root))]


def _balanced(found: Sequence[Sequence[float]]) -> list[float]:
    """The mean of the middle two of four placements, moved to the left or right border of the narrowest."""
    spans = [(min(xs, default=0.0), max(xs, default=0.0)) for xs in found]
    low, high = min(spans, key=lambda span: span[1] - span[0])
    moved = []
    for number, (xs, span) in enumerate(zip(found, spans, strict=True)):
        shift = high - span[1] if number % 2 else low - span[0]
        moved.append([x + shift for x in xs])
    middle = [sorted(four) for four in zip(*moved, strict=True)]
    least = min(((a + b) / 2.0 for _, a, b, _ in middle), default=0.0)
    return [(a + b) / 2.0 - least for _, a, b, _ in middle]
