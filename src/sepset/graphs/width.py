"""Treewidth: exact for small graphs, bounds for large ones.

The treewidth is the smallest induced width of an elimination order; finding it is NP-hard. All work is counted: bounds
are those found when the budget is spent, and an exact search that does not fit into it is refused.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from sepset.base.arraytypes import Bytes
from sepset.base.foreign import translated
from sepset.base.memory import uncollected
from sepset.base.threads import interruptible
from sepset.errors import TooLarge
from sepset.graphs.graph import Graph, UndirectedGraph
from sepset.graphs.kinds import undirected
from sepset.graphs.ordering import MinFill, MinNeighbors, Portfolio, elimination_order
from sepset.graphs.sweeps import side_to_side

Rows: TypeAlias = dict[int, set[int]]
"""The neighbors of each node."""

__all__ = ["treewidth", "treewidth_bounds"]

BUDGET = 300_000
"""The neighbors that a bound, or the reductions before an exact search, may look at beyond what is linear."""

FREE = 8
"""Nodes of at most so many neighbors are not charged: together they take time linear in their number."""

_LARGEST = 24
_HOPELESS = 10 * _LARGEST  # between the bounds: where so few nodes are left, the greedy order of all is not so bad
_MOST_READS = 20_000_000  # of a greedy pass, estimated from the width that is known


@translated
def treewidth(graph: Graph) -> int:
    r"""The exact treewidth.

    $$\min_\prec \max_i |\mathbf C_i^\prec| - 1$$

    Nodes that are safe to eliminate go first: those whose neighbors form a clique (including islets and twigs), and
    those of degree at most a lower bound whose neighbors form a clique except for one (including series). The remaining
    graph is searched over sets of eliminated nodes; more than 24 in one connected component raise an error that gives
    the bounds, as do bounds that are far apart.

    Cost: exponential in the nodes left; seconds at 24. On 100,000 nodes a refusal takes about two seconds at most; it
    listens to Ctrl-C.
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
    core = None
    if upper - lower <= _HOPELESS:
        lower, core = _reduced(neighbor_rows(graph), lower)
    if core is None:
        raise TooLarge(
            f"The reductions of {len(graph)} nodes for an exact search go beyond its budget. The treewidth is between "
            f"{lower} and {upper} (treewidth_bounds)."
        )
    for part in _parts(core):
        if len(part) > _LARGEST and lower < upper:
            raise TooLarge(
                f"Exact treewidth is searched for up to {_LARGEST} nodes after safe reductions; here {len(part)} are "
                f"left. The treewidth is between {lower} and {upper} (treewidth_bounds)."
            )
        while lower < upper and not _has_width(part, lower):
            lower += 1
    return lower


@translated
def treewidth_bounds(graph: Graph) -> tuple[int, int]:
    """A lower and an upper bound of the treewidth.

    The lower bound repeatedly contracts a node of smallest degree into its neighbor of smallest degree, and keeps the
    largest such degree: minors never have a larger treewidth. The upper bound is the width of the best order found:
    greedy, and from one side of the graph to the other (King).

    Cost: about linear in nodes and edges where the width is small; about two seconds for 100,000 nodes at most, since
    contractions and eliminations stop when their budget is spent, and the bounds so far are returned.

    Reference: Gogate & Dechter (2004), minor-min-width; Bodlaender & Koster (2011).
    Guarantee: lower and upper bound.
    Tested by: graphs/test_width.py::test_bounds_and_exact_agree

    >>> treewidth_bounds(UndirectedGraph.parse("A - B - C - D - A"))
    (2, 2)
    """
    graph = undirected(graph)
    with uncollected():  # sets of neighbors, by the hundred thousand, of which none is garbage
        rows = neighbor_rows(graph)
        lower = minor_min_width({v: row.copy() for v, row in rows.items()})
        upper = min(min_degree_width(rows), swept_width(graph))
    if lower < upper and len(graph) * upper**2 <= _MOST_READS:
        methods = (MinFill(), MinNeighbors(), Portfolio())
        upper = min(upper, *(elimination_order(graph, method=method).width for method in methods))
    return lower, upper


def neighbor_rows(graph: UndirectedGraph) -> Rows:
    indptr, indices = (array.tolist() for array in graph.neighbor_csr)
    return {v: set(indices[indptr[v] : indptr[v + 1]]) for v in range(len(graph))}


def _by_degree(rows: Rows) -> list[list[int]]:
    """The nodes of each degree, the first one last. A node is listed again when its degree changes."""
    found: list[list[int]] = [[] for _ in range(len(rows) + 1)]
    for v in sorted(rows, reverse=True):
        found[len(rows[v])].append(v)
    return found


def minor_min_width(rows: Rows, budget: int = BUDGET, enough: float = math.inf) -> int:
    """The largest of the smallest degrees while nodes are contracted; the largest so far when the budget is spent.

    Args:
        rows: the neighbors of the nodes 0, 1, ..., which are used up.
        enough: it ends where the bound is as large.
    """
    listed, best, degree, base = _by_degree(rows), 0, 0, len(rows)
    while len(rows) > best + 1 and budget > 0 and best < enough:
        while not listed[degree]:
            degree += 1
        v = listed[degree].pop()
        if v not in rows or len(rows[v]) != degree:
            continue  # its degree has changed since
        neighbors = rows.pop(v)
        best = max(best, degree)
        budget -= 4 * degree if degree > FREE else 0
        if neighbors:
            into = min([len(rows[u]) * base + u for u in neighbors]) % base
            for u in _contract(rows, v, neighbors, into):
                listed[len(rows[u])].append(u)
            degree -= 1  # no degree decreases by more
    return best


def _contract(rows: Rows, v: int, neighbors: set[int], into: int) -> set[int]:
    """Give the neighbors of v to one of them; return the nodes whose degrees have changed."""
    target = rows[into]
    common = neighbors & target
    for u in common:
        rows[u].discard(v)
    for u in neighbors - common:  # the others have a new neighbor in place of the old one
        rows[u].discard(v)
        rows[u].add(into)
    target |= neighbors
    target -= {into, v}
    common.add(into)
    return common


def min_degree_width(rows: Rows, budget: int = BUDGET) -> int:
    """The width of eliminating a node of smallest degree each time; without budget, what is left goes as one clique."""
    listed, best, degree = _by_degree(rows), 0, 0
    while len(rows) > best + 1 and budget > 0:
        while not listed[degree]:
            degree += 1
        v = listed[degree].pop()
        if v not in rows or len(rows[v]) != degree:
            continue
        neighbors = rows.pop(v)
        best = max(best, degree)
        budget -= degree**2 if degree > FREE else 0
        for u in neighbors:
            row = rows[u]
            before = len(row)
            row |= neighbors
            row -= {u, v}
            if len(row) != before:
                listed[len(row)].append(u)
        degree = max(degree - 1, 0)  # no degree decreases by more
    return max(best, len(rows) - 1)


def swept_width(graph: UndirectedGraph) -> int:
    r"""The width of eliminating from one side of the graph to the other, which is the vertex separation of that order.

    $$\max_i |\{j \le i : \text{a neighbor of } j \text{ comes after } i\}|$$

    Reference: King (1970); Kinnersley (1992).
    """
    n, (indptr, indices) = len(graph), graph.neighbor_csr
    if not len(indices):
        return 0
    place = np.empty(n, np.int64)
    place[side_to_side(indptr, indices)] = np.arange(n)
    last = place.copy()
    np.maximum.at(last, np.repeat(np.arange(n), np.diff(indptr)), place[indices])
    # A node is held from its own place until just before its last neighbor's.
    steps = np.bincount(place, minlength=n + 1) - np.bincount(last, minlength=n + 1)
    return int(np.cumsum(steps).max())


def _reduced(rows: Rows, lower: int, budget: int = BUDGET) -> tuple[int, Rows | None]:
    """The lower bound after safe eliminations, and the rows that are left; None if the budget was spent before."""
    waiting = sorted(rows, reverse=True)
    while waiting:
        v = waiting.pop()
        if v not in rows:
            continue
        neighbors = rows[v]
        budget -= len(neighbors) ** 2 if len(neighbors) > FREE else 0
        if budget <= 0:
            return lower, None
        special = _special(rows, neighbors)
        if special is None or (special >= 0 and len(neighbors) > lower):
            continue
        lower = max(lower, len(neighbors)) if special < 0 else lower
        del rows[v]
        for u in neighbors:
            rows[u] = (rows[u] | neighbors) - {u, v}
        around = set(neighbors)
        if special >= 0:  # a new edge changes what is missing around its ends
            around.update(*(rows[u] & rows[special] for u in neighbors if u != special))
        waiting += sorted(around, reverse=True)
    return lower, rows


def _special(rows: Rows, members: set[int]) -> int | None:
    """-1 if the members form a clique; the member without which they would form one, if there is one; else None."""
    if len(members) < 3:
        return -1 if all(members - rows[u] == {u} for u in members) else min(members)
    missing = {u: members - rows[u] - {u} for u in sorted(members)}
    lacking = [u for u in missing if missing[u]]
    if not lacking:
        return -1
    for special in (lacking[0], *missing[lacking[0]]):
        if all(missing[u] <= {special} for u in lacking if u != special):
            return special
    return None


def _parts(rows: Rows) -> list[Rows]:
    """The rows of each connected component."""
    found, waiting = [], set(rows)
    while waiting:
        part, ends = set[int](), {next(iter(waiting))}
        while ends:
            part |= ends
            ends = set[int]().union(*(rows[v] for v in ends)) - part
        waiting -= part
        found.append({v: rows[v] for v in sorted(part)})
    return found


def _has_width(rows: Rows, k: int) -> bool:
    from sepset.kernels.graphs.treewidth import has_width

    number = {v: i for i, v in enumerate(rows)}
    masks = np.array([sum(1 << number[u] for u in rows[v]) for v in rows], dtype=np.int64)
    seen = np.zeros((1 << len(rows)) // 8 + 1, np.uint8)

    def search(cancel: Bytes) -> int:
        return int(has_width(masks, k, seen, cancel))

    return interruptible(search) == 1
