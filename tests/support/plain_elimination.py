"""Graph elimination by the definition: sets of names, every pair of neighbors joined, nothing clever."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

Edges = Iterable[tuple[str, str]]


def eliminate(nodes: Iterable[str], edges: Edges, order: Sequence[str]) -> tuple[list[set[str]], set[frozenset[str]]]:
    """The elimination clique of each name of the order, and the fill edges."""
    near: dict[str, set[str]] = {node: set() for node in nodes}
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    cliques, fill = [], set()
    for node in order:
        around = near.pop(node)
        cliques.append({node} | around)
        for a, b in itertools.combinations(sorted(around), 2):
            if b not in near[a]:
                fill.add(frozenset((a, b)))
                near[a].add(b)
                near[b].add(a)
        for a in around:
            near[a].discard(node)
    return cliques, fill


def width(nodes: Iterable[str], edges: Edges, order: Sequence[str]) -> int:
    return max((len(clique) - 1 for clique in eliminate(nodes, edges, order)[0]), default=0)


def treewidth(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> int:
    """Over every order."""
    return min(width(nodes, edges, order) for order in itertools.permutations(nodes))


def maximal(sets: Iterable[Iterable[str]]) -> set[frozenset[str]]:
    found = {frozenset(s) for s in sets}
    return {s for s in found if not any(s < other for other in found)}
