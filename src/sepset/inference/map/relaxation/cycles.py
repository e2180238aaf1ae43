r"""Cycles around which pseudo-marginals contradict each other, and their triplets.

Call a variable up if it has a certain state. Around a cycle, ups and downs change an even number of times, so that for
every odd set $F$ of its edges

$$\sum_{e \in F} q_e(\text{equal}) + \sum_{e \notin F} q_e(\text{different}) \ge 1.$$

A violated one is a short path from a node to its opposite in a graph with two nodes per state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.inference.map.relaxation.polytope import Polytope
from sepset.inference.map.relaxation.rounding import CERTAIN, fractional

VIOLATED = 1e-4
"""The least violation of an inequality that is worth its columns."""

LEAST = 1e-12
"""The length of edges of length zero: sparse graphs have no such edges."""

MAX_CYCLES = 200
"""The most cycles of one round."""


def violated_triplets(polytope: Polytope, columns: Floats) -> Ints:
    """The triplets of cycles whose inequalities a solution violates, those violated most first.

    Reference: Barahona & Mahjoub (1986); Sontag & Jaakkola (2007), New outer bounds on the marginal polytope.
    Guarantee: none are found for binary pairs only if no cycle inequality is violated.
    Tested by: inference/map/relaxation/test_cycles.py::test_violated_cycles_are_found
    """
    found = [triplet for cycle in violated_cycles(polytope, columns) for triplet in triangulated(cycle)]
    return as_clusters(found)


def as_clusters(triplets: Iterable[Sequence[int]]) -> Ints:
    """Distinct triplets, their variables in increasing order, as an array."""
    distinct = dict.fromkeys(tuple(sorted(t)) for t in triplets)
    return np.array(list(distinct), np.int64).reshape(-1, 3)


def triangulated(cycle: Sequence[int]) -> list[tuple[int, int, int]]:
    """The triplets of a cycle, which all have its first variable.

    >>> triangulated([4, 7, 9, 8])
    [(4, 7, 9), (4, 9, 8)]
    """
    return [(cycle[0], a, b) for a, b in itertools.pairwise(cycle[1:])]


def violated_cycles(polytope: Polytope, columns: Floats) -> list[tuple[int, ...]]:
    """The cycles whose inequalities a solution violates, those violated most first."""
    from scipy.sparse.csgraph import dijkstra

    nodes, graph = _signed_graph(polytope, columns)
    if not len(nodes):
        return []
    num, found = len(nodes), dict[tuple[int, ...], float]()
    for start in range(num):
        lengths, before = dijkstra(  # type: ignore[call-overload]
            graph, indices=start, limit=1.0 - VIOLATED, return_predecessors=True
        )
        if lengths[num + start] < 1.0 - VIOLATED:
            cycle = _cycle(before, start, num, nodes)
            if len(cycle) > 2:
                found[cycle] = min(found.get(cycle, 1.0), float(lengths[num + start]))
    return sorted(found, key=lambda cycle: found[cycle])[:MAX_CYCLES]


def _cycle(before: Ints, start: int, num: int, nodes: Ints) -> tuple[int, ...]:
    """The variables on a path from a node to its opposite, without detours that return to a variable."""
    at, path = num + start, list[int]()
    while at != start and at >= 0:
        v = int(nodes[at % num])
        path = path[: path.index(v) + 1] if v in path else [*path, v]
        at = int(before[at])
    first = path.index(min(path)) if path else 0
    turned = [*path[first:], *path[:first]]
    return tuple(turned) if len(turned) < 2 or turned[1] < turned[-1] else (turned[0], *turned[:0:-1])


def _signed_graph(polytope: Polytope, columns: Floats) -> tuple[Ints, Any]:
    """The variable of each node and the graph: a node and its opposite for each uncertain state, of binary ones one."""
    from scipy import sparse

    regions, q = polytope.regions, polytope.marginals(columns)
    plugs, open_ones = regions.wiring.plugs, set(fractional(polytope, q).tolist())
    numbers: dict[tuple[int, int], int] = {}
    for i in sorted(open_ones):
        own = q[plugs.states[i] : plugs.states[i + 1]]
        uncertain = np.flatnonzero((own > CERTAIN) & (own < 1.0 - CERTAIN)).tolist()
        for x in uncertain[:1] if len(uncertain) == 2 else uncertain:
            numbers[i, x] = len(numbers)
    num, edges = len(numbers), list[tuple[int, int, float]]()
    for r in np.flatnonzero(np.diff(plugs.starts) == 2).tolist():
        i, j = regions.wiring.scope(r).tolist()
        if i not in open_ones or j not in open_ones:
            continue
        table = polytope.table(r, columns)
        for x, y in itertools.product(range(table.shape[0]), range(table.shape[1])):
            if (i, x) in numbers and (j, y) in numbers:
                a, b = numbers[i, x], numbers[j, y]
                apart = float(table[x].sum() + table[:, y].sum() - 2.0 * table[x, y])
                edges += [(a, b, apart), (a + num, b + num, apart), (a, b + num, 1 - apart), (a + num, b, 1 - apart)]
    nodes = np.array([i for i, _ in numbers], np.int64)
    rows, ends, lengths = (np.array(part) for part in zip(*edges, strict=True)) if edges else (np.zeros(0, int),) * 3
    made = sparse.coo_matrix((np.maximum(lengths, LEAST), (rows, ends)), shape=(2 * num, 2 * num)).tocsr()
    return nodes, made.maximum(made.T)


def triangles(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """The triplets of variables of which every two are a pair.

    >>> triangles([(0, 1), (1, 2), (0, 2), (2, 3)])
    [(0, 1, 2)]
    """
    later: dict[int, set[int]] = {}
    for a, b in pairs:
        later.setdefault(min(a, b), set()).add(max(a, b))
    return sorted((a, b, c) for a, others in later.items() for b in others for c in others & later.get(b, set()))
