r"""Essential graphs of DAGs: which edges every member of a class directs alike, members with given parents, paths.

An essential graph is a matrix of marks: `arcs[x, y]` alone is $x \to y$, with `arcs[y, x]` it is $x - y$.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.kernels.kernel import kernel, sizes


@kernel(work=sizes)
def adjacency(n: int, sources: Ints, targets: Ints) -> tuple[Ints, Ints]:
    """The nodes adjacent to each of `n` nodes, as compressed rows."""
    start = np.zeros(n + 1, np.int64)
    for k in range(len(sources)):
        start[sources[k] + 1] += 1
        start[targets[k] + 1] += 1
    start = np.cumsum(start)
    place = start[:-1].copy()
    near = np.empty(start[n], np.int64)
    for k in range(len(sources)):
        x, y = sources[k], targets[k]
        near[place[x]], near[place[y]] = y, x
        place[x] += 1
        place[y] += 1
    return start, near


@kernel
def topological(edges: Bools, start: Ints, near: Ints) -> Ints:
    """The nodes, parents before children; fewer than all if the edges contain a cycle."""
    n = len(edges)
    left = np.zeros(n, np.int64)
    order = np.empty(n, np.int64)
    count = 0
    for y in range(n):
        for k in range(start[y], start[y + 1]):
            left[y] += edges[near[k], y]
        if left[y] == 0:
            order[count] = y
            count += 1
    done = 0
    while done < count:
        x = order[done]
        done += 1
        for k in range(start[x], start[x + 1]):
            y = near[k]
            if edges[x, y]:
                left[y] -= 1
                if left[y] == 0:
                    order[count] = y
                    count += 1
    return order[:count]


@kernel(borrows=True)
def is_compelled(edges: Bools, fixed: Bools, start: Ints, near: Ints, x: int, y: int) -> bool:
    """Whether edges that are fixed already, or an immorality, fix $x \\to y$ in all members of the class."""
    for k in range(start[x], start[x + 1]):
        w = near[k]
        if fixed[w, x] and not (edges[w, y] or edges[y, w]):
            return True
    for k in range(start[y], start[y + 1]):
        w = near[k]
        if w == x or not edges[w, y]:
            continue
        if not (edges[w, x] or edges[x, w]) or (fixed[x, w] and fixed[w, y]):
            return True
        for j in range(start[y], k):
            v = near[j]
            if v == x or not (fixed[w, y] and fixed[v, y]) or edges[v, w] or edges[w, v]:
                continue
            if (edges[x, v] or edges[v, x]) and not (edges[w, x] and edges[v, x]):
                return True
    return False


@kernel(work=sizes)
def essential(edges: Bools, cut: Bools, start: Ints, near: Ints, arcs: Bools) -> bool:
    """The essential graph of a DAG; False if the edges contain a cycle.

    What fixes an edge into a node are edges into it and into nodes before it, so that one pass over the nodes, parents
    first, finds all.

    Args:
        edges: from sources to targets.
        cut: pairs that interventions tell apart: their edges are fixed.
        start: of the rows of adjacent nodes.
        near: the adjacent nodes.
        arcs: the edges; those that are not fixed become undirected.
    """
    n = len(edges)
    order = topological(edges, start, near)
    if len(order) < n:
        return False
    fixed = np.zeros((n, n), np.bool_)
    for y in order:
        changed = True
        while changed:
            changed = False
            for k in range(start[y], start[y + 1]):
                x = near[k]
                if edges[x, y] and not fixed[x, y]:
                    if cut[x, y] or is_compelled(edges, fixed, start, near, x, y):
                        fixed[x, y] = changed = True
    for x in range(n):
        for k in range(start[x], start[x + 1]):
            y = near[k]
            if edges[x, y] and not fixed[x, y]:
                arcs[y, x] = True
    return True


@kernel(work=sizes)
def direct_component(arcs: Bools, first: Ints, edges: Bools) -> None:
    """Direct the undirected edges of a chain component: in the order of a maximum cardinality search from `first`."""
    n = len(arcs)
    weight = np.full(n, -1, np.int64)
    members = np.empty(n, np.int64)
    members[0] = first[0]
    weight[first[0]] = 0
    count, done = 1, 0
    while done < count:
        x = members[done]
        done += 1
        for y in range(n):
            if weight[y] < 0 and arcs[x, y] and arcs[y, x]:
                weight[y] = 0
                members[count] = y
                count += 1
    for step in range(count):
        if step < len(first):
            x = first[step]
        else:
            x = -1
            for k in range(count):
                y = members[k]
                if weight[y] >= 0 and (x < 0 or weight[y] > weight[x]):
                    x = y
        weight[x] = -1
        for k in range(count):
            y = members[k]
            if weight[y] >= 0 and arcs[x, y] and arcs[y, x]:
                weight[y] += 1
                edges[x, y], edges[y, x] = True, False


@kernel(work=sizes)
def semi_directed_path(
    arcs: Bools, start: Ints, near: Ints, source: int, target: int, blocked: Bools, through_edge: bool, before: Ints
) -> bool:
    """Whether a path along arrows and undirected edges leads from source to target and meets no blocked node.

    Args:
        arcs: the graph.
        start: of the rows of adjacent nodes.
        near: the adjacent nodes.
        source: where paths begin.
        target: where they end.
        blocked: nodes that they avoid.
        through_edge: whether the edge from source to target itself counts.
        before: receives for each node reached the one before it on its path; -1 for others.
    """
    before[:] = -1
    queue = np.empty(len(arcs), np.int64)
    queue[0] = source
    before[source] = source
    count, done = 1, 0
    while done < count:
        x = queue[done]
        done += 1
        for k in range(start[x], start[x + 1]):
            y = near[k]
            if before[y] >= 0 or not arcs[x, y] or blocked[y] or (x == source and y == target and not through_edge):
                continue
            before[y] = x
            if y == target:
                return True
            queue[count] = y
            count += 1
    return False
