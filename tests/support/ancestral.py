"""Ancestral graphs by definition: all of few nodes, their separations, and what an equivalence class shares."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import numpy as np

CIRCLE, ARROW, TAIL = 1, 2, 3
EDGES = ((TAIL, ARROW), (ARROW, TAIL), (ARROW, ARROW), (TAIL, TAIL))
"""The marks at both ends of an edge."""

Marks = tuple[tuple[int, ...], ...]


def ancestors_of(marks: Marks) -> list[int]:
    """For each node its ancestors, itself included, as bits."""
    n = len(marks)
    found = [1 << i for i in range(n)]
    for _ in range(n):
        for x in range(n):
            for y in range(n):
                if marks[x][y] == ARROW and marks[y][x] == TAIL:
                    found[y] |= found[x]
    return found


def is_ancestral(marks: Marks) -> bool:
    """Whether no node is an ancestor of one that it has an arrowhead from, and no line meets an arrowhead."""
    n, above = len(marks), ancestors_of(marks)
    for x in range(n):
        heads = [y for y in range(n) if marks[y][x] == ARROW]
        if any(above[y] >> x & 1 for y in heads):
            return False
        if heads and any(marks[x][y] == TAIL and marks[y][x] == TAIL for y in range(n)):
            return False
    return True


def separations(marks: Marks) -> frozenset[tuple[int, int, int]]:
    """The triples (x, y, bits of given) that are m-separated: no path is active."""
    n, above = len(marks), ancestors_of(marks)
    found = set()
    for given in range(1 << n):
        opened = 0
        for z in range(n):
            if given >> z & 1:
                opened |= above[z]
        for x in range(n):
            if not given >> x & 1:
                reached = _reached(marks, x, given, opened)
                found |= {(x, y, given) for y in range(x + 1, n) if not (reached | given) >> y & 1}
    return frozenset(found)


def _reached(marks: Marks, x: int, given: int, opened: int) -> int:
    """The nodes that an active path from x reaches, as bits."""
    n, reached = len(marks), 0
    waiting = [(y, marks[x][y]) for y in range(n) if marks[x][y]]
    seen = set(waiting)
    while waiting:
        y, arrived = waiting.pop()
        reached |= 1 << y
        for z in range(n):
            if marks[y][z]:
                is_collider = arrived == ARROW and marks[z][y] == ARROW
                is_open = opened >> y & 1 if is_collider else not given >> y & 1
                if is_open and (z, marks[y][z]) not in seen:
                    seen.add((z, marks[y][z]))
                    waiting.append((z, marks[y][z]))
    return reached


def is_maximal(marks: Marks, stated: frozenset[tuple[int, int, int]]) -> bool:
    """Whether every pair that is not joined is separated by some set."""
    n = len(marks)
    apart = {(x, y) for x, y, _ in stated}
    return all(marks[x][y] or (x, y) in apart for x, y in itertools.combinations(range(n), 2))


def skeletons(n: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """One skeleton of each shape: the first among those that a renaming of nodes makes of it."""
    pairs = list(itertools.combinations(range(n), 2))
    seen: set[frozenset[tuple[int, int]]] = set()
    for kept in itertools.product((False, True), repeat=len(pairs)):
        edges = tuple(itertools.compress(pairs, kept))
        if frozenset(edges) not in seen:
            yield edges
            for order in itertools.permutations(range(n)):
                seen.add(frozenset(tuple(sorted((order[x], order[y]))) for x, y in edges))  # type: ignore[misc]


@cache
def classes(n: int) -> dict[frozenset[tuple[int, int, int]], list[Marks]]:
    """All maximal ancestral graphs with one skeleton of each shape, by the separations that they state."""
    found: dict[frozenset[tuple[int, int, int]], list[Marks]] = defaultdict(list)
    for edges in skeletons(n):
        for kinds in itertools.product(EDGES, repeat=len(edges)):
            made = [[0] * n for _ in range(n)]
            for (x, y), (at_x, at_y) in zip(edges, kinds, strict=True):
                made[y][x], made[x][y] = at_x, at_y
            marks = tuple(map(tuple, made))
            if is_ancestral(marks):
                stated = separations(marks)
                if is_maximal(marks, stated):
                    found[stated].append(marks)
    return dict(found)


def shared_marks(members: list[Marks]) -> np.ndarray:
    """The marks that all members of a class have; circles elsewhere."""
    stacked = np.array(members, dtype=np.uint8)
    return np.where((stacked == stacked[0]).all(axis=0), stacked[0], CIRCLE)
