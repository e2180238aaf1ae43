"""Treewidth: exact for small graphs, bounds for large ones.

The treewidth is the smallest induced width of an elimination order; finding it is NP-hard.
"""

from __future__ import annotations

import numpy as np

from sepset.base.threads import NEVER
from sepset.errors import TooLarge
from sepset.graphs.graph import Graph, UndirectedGraph, connected_components
from sepset.graphs.kinds import undirected
from sepset.graphs.ordering import MinFill, MinNeighbors, Portfolio, elimination_order

__all__ = ["treewidth", "treewidth_bounds"]

_LARGEST = 24


def treewidth(graph: Graph) -> int:
    r"""The exact treewidth.

    $$\min_\prec \max_i |\mathbf C_i^\prec| - 1$$

    Nodes that are safe to eliminate go first: those whose neighbors form a clique (including islets and twigs), and
    those of degree at most a lower bound whose neighbors form a clique except for one (including series). The remaining
    graph is searched over sets of eliminated nodes; more than 24 in one connected component raise an error that gives
    the bounds.

    Cost: exponential in the nodes left; seconds at 24.
    Reference: Koller & Friedman, section 9.4.3.1; Bodlaender, Koster & van den Eijkhof (2005) for the reductions.
    Guarantee: exact, or refused.
    Tested by: graphs/test_width.py::test_seven_nodes_against_every_order

    >>> treewidth(UndirectedGraph.parse("A - B - C - D - A"))
    2
    """
    graph = undirected(graph)
    lower, upper = treewidth_bounds(graph)
    if lower == upper:
        return lower
    lower, core = _reduced(_rows(graph), lower)
    for part in _parts(core):
        if len(part) > _LARGEST and lower < upper:
            raise TooLarge(
                f"Exact treewidth is searched for up to {_LARGEST} nodes after safe reductions; here {len(part)} are "
                f"left. The treewidth is between {lower} and {upper} (treewidth_bounds)."
            )
        while lower < upper and not _has_width(part, lower):
            lower += 1
    return lower


def treewidth_bounds(graph: Graph) -> tuple[int, int]:
    """A lower and an upper bound of the treewidth.

    The lower bound repeatedly contracts a node of smallest degree into its neighbor of smallest degree, and keeps the
    largest such degree: minors never have a larger treewidth. The upper bound is the width of the best order found.

    Reference: Gogate & Dechter (2004), minor-min-width; Bodlaender & Koster (2011).
    Guarantee: lower and upper bound.
    Tested by: graphs/test_width.py::test_bounds_and_exact_agree

    >>> treewidth_bounds(UndirectedGraph.parse("A - B - C - D - A"))
    (2, 2)
    """
    graph = undirected(graph)
    methods = (MinFill(), MinNeighbors(), Portfolio())
    lower = _minor_min_width(_rows(graph))
    upper = min(elimination_order(graph, method=method).width for method in methods)
    return lower, upper


def _rows(graph: UndirectedGraph) -> dict[int, set[int]]:
    indptr, indices = (array.tolist() for array in graph.neighbor_csr)
    return {v: set(indices[indptr[v] : indptr[v + 1]]) for v in range(len(graph))}


def _minor_min_width(rows: dict[int, set[int]]) -> int:
    best = 0
    while rows:
        v = min(rows, key=lambda u: (len(rows[u]), u))
        neighbors = rows.pop(v)
        best = max(best, len(neighbors))
        for u in neighbors:
            rows[u].discard(v)
        if neighbors:
            into = min(neighbors, key=lambda u: (len(rows[u]), u))
            for u in neighbors - rows[into] - {into}:
                rows[into].add(u)
                rows[u].add(into)
    return best


def _reduced(rows: dict[int, set[int]], lower: int) -> tuple[int, dict[int, set[int]]]:
    """The lower bound after safe eliminations, and the rows that are left."""
    waiting = sorted(rows, reverse=True)
    while waiting:
        v = waiting.pop()
        if v not in rows:
            continue
        neighbors = rows[v]
        special = _special(rows, neighbors)
        if special is None or (special >= 0 and len(neighbors) > lower):
            continue
        lower = max(lower, len(neighbors)) if special < 0 else lower
        del rows[v]
        for u in neighbors:
            rows[u] = (rows[u] | neighbors) - {u, v}
        around = set(neighbors).union(*(rows[u] for u in neighbors))
        waiting += sorted(around, reverse=True)
    return lower, rows


def _special(rows: dict[int, set[int]], members: set[int]) -> int | None:
    """-1 if the members form a clique; the member without which they would form one, if there is one; else None."""
    missing = {u: members - rows[u] - {u} for u in sorted(members)}
    lacking = [u for u in missing if missing[u]]
    if not lacking:
        return -1
    for special in (lacking[0], *missing[lacking[0]]):
        if all(missing[u] <= {special} for u in lacking if u != special):
            return special
    return None


def _parts(rows: dict[int, set[int]]) -> list[dict[int, set[int]]]:
    names = {v: str(v) for v in rows}
    pairs = [(names[v], names[u]) for v in rows for u in sorted(rows[v]) if v < u]
    graph = UndirectedGraph(names.values(), pairs)
    return [{int(name): rows[int(name)] for name in part} for part in connected_components(graph)]


def _has_width(rows: dict[int, set[int]], k: int) -> bool:
    from sepset.kernels.graphs.treewidth import has_width

    number = {v: i for i, v in enumerate(rows)}
    masks = np.array([sum(1 << number[u] for u in rows[v]) for v in rows], dtype=np.int64)
    seen = np.zeros((1 << len(rows)) // 8 + 1, np.uint8)
    return bool(has_width(masks, k, seen, NEVER) == 1)
