"""Orders from one side of a graph to the other, as a grid is eliminated row by row or by its diagonals."""

from __future__ import annotations

import itertools
from heapq import heappop, heappush

from sepset.base.arraytypes import Int32s, Ints

__all__ = ["side_to_side"]


def side_to_side(indptr: Ints, indices: Int32s) -> list[int]:
    """The nodes of a graph, given as compressed rows, from one side to the other, so that few are open at a time.

    Open nodes are those reached whose turn is still to come. Next is the open node with the fewest neighbors that are
    not reached yet, among these the one reached first; each connected component begins at a node far from others.
    All is counted in whole numbers and ties go by position, so that the order is the same on every machine.

    Reference: King (1970); George & Liu (1979) for the first node.
    Guarantee: heuristic, deterministic.
    Tested by: graphs/test_sweeps.py::test_grids_are_swept_with_no_more_open_nodes_than_their_shorter_side
    """
    start, flat = indptr.tolist(), indices.tolist()
    rows = [flat[i:j] for i, j in itertools.pairwise(start)]
    n, left, place, found = len(rows), [len(row) for row in rows], [-1] * len(rows), list[int]()
    reached, is_done = list[int](), [False] * n
    for first in sorted(range(n), key=left.__getitem__):
        if place[first] >= 0:
            continue
        waiting, new = list[int](), [_far(rows, first)]
        while new or waiting:
            for u in new:
                place[u] = len(reached)
                reached.append(u)
                for w in rows[u]:
                    left[w] -= 1
                    if place[w] >= 0 and not is_done[w]:
                        heappush(waiting, left[w] * n + place[w])
                heappush(waiting, left[u] * n + place[u])
            key = heappop(waiting)
            v, new = reached[key % n], []
            if not is_done[v] and left[v] == key // n:
                is_done[v] = True
                found.append(v)
                new = [u for u in rows[v] if place[u] < 0]
    return found


def _far(rows: list[list[int]], first: int) -> int:
    """A node far from another: one of least degree in the last level around the node before, while levels get more."""
    depth, last = _levels(rows, first)
    while True:
        further = min(last, key=lambda v: (len(rows[v]), v))
        beyond, opposite = _levels(rows, further)
        if beyond <= depth:
            return further
        depth, last = beyond, opposite


def _levels(rows: list[list[int]], first: int) -> tuple[int, list[int]]:
    """The number of levels of a breadth-first search, and the last level."""
    seen, level, depth = {first}, [first], 0
    while True:
        new = list(dict.fromkeys(u for v in level for u in rows[v] if u not in seen))
        if not new:
            return depth, level
        seen.update(new)
        level, depth = new, depth + 1
