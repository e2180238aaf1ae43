"""Maximum spanning trees and forests of undirected gains, and maximum branchings of directed ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.membership import without
from sepset.base.threads import require_time

TIE = 1e-12
"""The relative difference below which gains count as equal."""


def spanning_tree(gains: Floats, first: Sequence[bool], *, above: float = -np.inf) -> list[int]:
    """The parent of each node in a maximum spanning tree, -1 for its root; nodes marked `first` have only such parents.

    Prim's algorithm, the marked nodes before the others: their tree is best among themselves, and what follows is best
    with them taken as one node. Ties go to the node, then to the parent, that comes first.

    Cost: quadratic in the number of nodes.

    Args:
        gains: a symmetric matrix.
        first: which nodes come before the others.
        above: edges are used only if they gain more than this; otherwise the result is a forest.

    >>> spanning_tree(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]), [True, True, False])
    [-1, 0, 1]
    """
    parents, marked = [-1] * len(gains), np.asarray(first, bool)
    inside, most = np.zeros(len(gains), bool), np.full(len(gains), -np.inf)
    for group in (marked, ~marked):
        waiting = group.copy()
        for _ in range(int(group.sum())):
            require_time()
            node, parent = _next(gains, inside, waiting, most, above)
            parents[node] = parent
            inside[node], waiting[node] = True, False
            most = np.maximum(most, gains[node])
    return parents


def _next(gains: Floats, inside: Bools, waiting: Bools, most: Floats, above: float) -> tuple[int, int]:
    """The next node and its parent, -1 for none.

    Args:
        most: the largest gain of each node by an edge to those inside.
    """
    best = float(most[waiting].max())
    if best <= above or not inside.any():
        return int(waiting.argmax()), -1
    least = best - TIE * abs(best) if np.isfinite(best) else best
    node = int((waiting & (most >= least)).argmax())
    return node, int((inside & (gains[node] >= least)).argmax())


def maximum_branching(gains: Floats) -> list[int]:
    """The parent of each node in a branching of largest total gain, -1 for roots: every node has at most one parent.

    Args:
        gains: of the edge from row to column, relative to no parent; -inf where there is none. An edge with a gain of
            at most zero is not used; an infinite one always is.

    Reference: Edmonds (1967); Koller & Friedman, section 18.4.1.
    Guarantee: optimal.
    Tested by: learning/structure/exact/test_spanning.py::test_branchings_against_enumeration

    >>> maximum_branching(np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    [1, -1, 0]
    """
    n = len(gains)
    finite = gains[np.isfinite(gains)]
    most = 1.0 + n * float(np.abs(finite).max(initial=0.0))
    weights = np.full((n + 1, n + 1), -np.inf)
    weights[:n, :n] = np.where(gains == np.inf, most, gains)
    weights[n, :n] = 0.0
    np.fill_diagonal(weights, -np.inf)
    parents = _arborescence(weights, n)
    return [-1 if p == n else p for p in parents.tolist()[:n]]


def _arborescence(weights: Floats, root: int) -> Ints:
    """The parents in a spanning tree of largest weight directed away from the root, which is its own parent.

    Every node takes its best edge; a cycle becomes one node, and is opened where the best edge from outside enters.
    """
    n = len(weights)
    parents = np.empty(n, np.int64)
    for v in range(n):
        parents[v] = v if v == root else _best(weights[:, v], root)
    cycle = _cycle(parents, root)
    if not cycle:
        return parents
    kept = without(range(n), cycle)
    inner = weights[parents[cycle], cycle]
    small = np.full((len(kept) + 1, len(kept) + 1), -np.inf)
    small[:-1, :-1] = weights[np.ix_(kept, kept)]
    entering = weights[np.ix_(kept, cycle)] - inner
    leaving = weights[np.ix_(cycle, kept)]
    small[:-1, -1], small[-1, :-1] = entering.max(1), leaving.max(0)
    above = _arborescence(small, kept.index(root))
    for i, v in enumerate(kept):
        if v != root:
            parents[v] = cycle[int(leaving[:, i].argmax())] if above[i] == len(kept) else kept[above[i]]
    entry = int(above[-1])
    parents[cycle[int(entering[entry].argmax())]] = kept[entry]
    return parents


def _best(weights: Floats, root: int) -> int:
    """The best edge; the root, which means none, where it is as good as any."""
    best = int(weights.argmax())
    return root if weights[root] >= weights[best] else best


def _cycle(parents: Ints, root: int) -> list[int]:
    """A cycle of the chosen edges, or nothing."""
    state = np.zeros(len(parents), np.int64)
    state[root] = -1
    for start in range(len(parents)):
        path, v = [], start
        while state[v] == 0:
            state[v] = start + 1
            path.append(v)
            v = int(parents[v])
        if state[v] == start + 1:
            return path[path.index(v) :]
        state[path] = -1
    return []
