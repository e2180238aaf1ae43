r"""Maximum flow between two terminals by growing two search trees, and the minimum cut it proves.

Trees of paths with residual capacity grow from both terminals; where they touch, flow is pushed along the path. Arcs
that it saturates leave orphans, which find new parents or become free. Trees are kept from one path to the next.

Arcs come in pairs: `mates[a]` is the arc back. Terminal arcs are one number per node: positive for residual capacity
from the source, negative for residual capacity to the sink.

Reference: Boykov & Kolmogorov (2004), An experimental comparison of min-cut/max-flow algorithms for energy
minimization in vision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.kernels.kernel import kernel, sizes

FREE, TERMINAL, ORPHAN = -1, -2, -3
"""The parents of nodes that are in no tree, are joined to a terminal, or have lost theirs."""


class Residual(NamedTuple):
    """A flow network with what is left of its capacities.

    Attributes:
        first: where the arcs of each node start.
        heads: the node that each arc leads to.
        mates: the arc back.
        caps: the residual capacity of each arc.
        ends: the residual capacity of each node from the source, or minus that to the sink.
    """

    first: Ints
    heads: Int32s
    mates: Int32s
    caps: Floats
    ends: Floats


class Forest(NamedTuple):
    """The two search trees.

    Attributes:
        parents: the arc from each node to its parent, or one of the marks.
        sinks: one in the tree of the sink.
        stamps: when the distance of a node was last known to be right.
        depths: the distance to the terminal.
        queue: the node after each active one; itself for the last, -1 for those not in the queue.
        ends: the first and the last node of the queue; the first and the last orphan; the time.
        orphans: the orphan after each one.
    """

    parents: Int32s
    sinks: Bytes
    stamps: Ints
    depths: Ints
    queue: Int32s
    ends: Ints
    orphans: Int32s


HEAD, TAIL, TIME, FIRST, LAST = range(5)
"""The places of `Forest.ends`."""


@kernel(work=sizes, borrows=True)
def wire_arcs(
    sources: Int32s, targets: Int32s, forward: Floats, backward: Floats, first: Ints, heads: Int32s, mates: Int32s,
    caps: Floats,
) -> None:  # fmt: skip
    """Sort edges by node into arcs; `first` has one entry per node and one more, all zero."""
    for e in range(len(sources)):
        first[sources[e]] += 1
        first[targets[e]] += 1
    total = 0
    for i in range(len(first)):
        total += first[i]
        first[i] = total
    for e in range(len(sources) - 1, -1, -1):
        i, j = sources[e], targets[e]
        first[i] -= 1
        first[j] -= 1
        a, b = first[i], first[j]
        heads[a], heads[b] = j, i
        mates[a], mates[b] = b, a
        caps[a], caps[b] = forward[e], backward[e]


@kernel(work=sizes, borrows=True)
def edge_flows(sources: Int32s, targets: Int32s, forward: Floats, caps: Floats, after: Ints, flows: Floats) -> None:
    """Write the flow of each edge from its first node to its second.

    Args:
        forward: the capacities of the edges, before any flow.
        caps: the residual capacities of the arcs.
        after: where the arcs of each node start, which is changed.
    """
    for e in range(len(sources)):
        i, j = sources[e], targets[e]
        flows[e] = forward[e] - caps[after[i]]
        after[i] += 1
        after[j] += 1


@kernel(borrows=True)
def activate(forest: Forest, i: int) -> None:
    """Put a node at the end of the queue, unless it is in it."""
    if forest.queue[i] >= 0:
        return
    tail = forest.ends[TAIL]
    if tail >= 0:
        forest.queue[tail] = i
    else:
        forest.ends[HEAD] = i
    forest.ends[TAIL] = i
    forest.queue[i] = i


@kernel(borrows=True)
def next_active(forest: Forest) -> int:
    """Take the first node of the queue that is still in a tree; -1 if there is none."""
    while forest.ends[HEAD] >= 0:
        i = forest.ends[HEAD]
        after = forest.queue[i]
        forest.queue[i] = -1
        if after == i:
            forest.ends[HEAD] = -1
            forest.ends[TAIL] = -1
        else:
            forest.ends[HEAD] = after
        if forest.parents[i] != FREE:
            return int(i)
    return -1


@kernel(borrows=True)
def abandon(forest: Forest, i: int) -> None:
    """Make a node an orphan, at the end of their list."""
    forest.parents[i] = ORPHAN
    forest.orphans[i] = -1
    last = forest.ends[LAST]
    if last >= 0:
        forest.orphans[last] = i
    else:
        forest.ends[FIRST] = i
    forest.ends[LAST] = i


@kernel(borrows=True)
def plant(graph: Residual, forest: Forest) -> None:
    """Begin both trees with the nodes that have residual capacity to a terminal."""
    for i in range(len(graph.ends)):
        forest.queue[i] = -1
        forest.stamps[i] = 0
        if graph.ends[i] != 0.0:
            forest.sinks[i] = graph.ends[i] < 0.0
            forest.parents[i] = TERMINAL
            forest.depths[i] = 1
            activate(forest, i)
        else:
            forest.parents[i] = FREE


@kernel(borrows=True)
def grow(graph: Residual, forest: Forest, i: int) -> int:
    """Let an active node adopt free neighbors; the arc from the source's tree to the sink's if they touch, else -1."""
    own = forest.sinks[i]
    for a in range(graph.first[i], graph.first[i + 1]):
        if (graph.caps[graph.mates[a]] if own else graph.caps[a]) > 0.0:
            j = graph.heads[a]
            if forest.parents[j] == FREE:
                forest.sinks[j] = own
                forest.parents[j] = graph.mates[a]
                forest.stamps[j] = forest.stamps[i]
                forest.depths[j] = forest.depths[i] + 1
                activate(forest, j)
            elif forest.sinks[j] != own:
                return int(graph.mates[a]) if own else a
            elif forest.stamps[j] <= forest.stamps[i] and forest.depths[j] > forest.depths[i]:
                forest.parents[j] = graph.mates[a]
                forest.stamps[j] = forest.stamps[i]
                forest.depths[j] = forest.depths[i] + 1
    return -1


@kernel(borrows=True)
def bottleneck(graph: Residual, forest: Forest, middle: int) -> float:
    """The smallest residual capacity of the path through an arc between the trees."""
    least = graph.caps[middle]
    i = graph.heads[graph.mates[middle]]
    while forest.parents[i] != TERMINAL:
        a = forest.parents[i]
        least = min(least, graph.caps[graph.mates[a]])
        i = graph.heads[a]
    least = min(least, graph.ends[i])
    i = graph.heads[middle]
    while forest.parents[i] != TERMINAL:
        a = forest.parents[i]
        least = min(least, graph.caps[a])
        i = graph.heads[a]
    return float(min(least, -graph.ends[i]))


@kernel(borrows=True)
def augment(graph: Residual, forest: Forest, middle: int, flow: float) -> None:
    """Push flow along the path through an arc between the trees; saturated arcs leave orphans."""
    graph.caps[middle] -= flow
    graph.caps[graph.mates[middle]] += flow
    i = graph.heads[graph.mates[middle]]
    while forest.parents[i] != TERMINAL:
        a = forest.parents[i]
        up = graph.heads[a]
        graph.caps[a] += flow
        graph.caps[graph.mates[a]] -= flow
        if graph.caps[graph.mates[a]] == 0.0:
            abandon(forest, i)
        i = up
    graph.ends[i] -= flow
    if graph.ends[i] == 0.0:
        abandon(forest, i)
    i = graph.heads[middle]
    while forest.parents[i] != TERMINAL:
        a = forest.parents[i]
        up = graph.heads[a]
        graph.caps[graph.mates[a]] += flow
        graph.caps[a] -= flow
        if graph.caps[a] == 0.0:
            abandon(forest, i)
        i = up
    graph.ends[i] += flow
    if graph.ends[i] == 0.0:
        abandon(forest, i)


@kernel(borrows=True)
def depth_of(graph: Residual, forest: Forest, j: int) -> int:
    """The distance of a node to its terminal; -1 if its way there leads to an orphan."""
    time, depth = forest.ends[TIME], 0
    while True:
        if forest.stamps[j] == time:
            return int(depth + forest.depths[j])
        a = forest.parents[j]
        depth += 1
        if a == TERMINAL:
            forest.stamps[j] = time
            forest.depths[j] = 1
            return depth
        if a < 0:
            return -1
        j = graph.heads[a]


@kernel(borrows=True)
def settle(graph: Residual, forest: Forest, j: int, depth: int) -> None:
    """Note the distances of a node and of those between it and its terminal."""
    time = forest.ends[TIME]
    while forest.stamps[j] != time:
        forest.stamps[j] = time
        forest.depths[j] = depth
        depth -= 1
        j = graph.heads[forest.parents[j]]


@kernel(borrows=True)
def adopt(graph: Residual, forest: Forest, i: int) -> None:
    """Find the nearest new parent of an orphan; without one it becomes free, and its children orphans."""
    own, best, least = forest.sinks[i], -1, 1 << 60
    for a in range(graph.first[i], graph.first[i + 1]):
        if (graph.caps[a] if own else graph.caps[graph.mates[a]]) > 0.0:
            j = graph.heads[a]
            if forest.sinks[j] == own and forest.parents[j] != FREE:
                depth = depth_of(graph, forest, j)
                if depth > 0:
                    if depth < least:
                        best, least = a, depth
                    settle(graph, forest, j, depth)
    forest.parents[i] = best
    if best >= 0:
        forest.stamps[i] = forest.ends[TIME]
        forest.depths[i] = least + 1
        return
    forest.parents[i] = FREE
    for a in range(graph.first[i], graph.first[i + 1]):
        j = graph.heads[a]
        if forest.sinks[j] == own and forest.parents[j] != FREE:
            if (graph.caps[a] if own else graph.caps[graph.mates[a]]) > 0.0:
                activate(forest, j)
            if forest.parents[j] >= 0 and graph.heads[forest.parents[j]] == i:
                abandon(forest, j)


@kernel(borrows=True)
def adopt_all(graph: Residual, forest: Forest) -> None:
    """Find parents for all orphans."""
    while forest.ends[FIRST] >= 0:
        i = forest.ends[FIRST]
        forest.ends[FIRST] = forest.orphans[i]
        if forest.orphans[i] < 0:
            forest.ends[LAST] = -1
        adopt(graph, forest, i)


def _flow_work(graph: Residual, *_: object) -> float:
    return 20.0 * (graph.caps.size + graph.ends.size)


@kernel(work=_flow_work, borrows=True)
def max_flow(graph: Residual, forest: Forest, cancel: Bytes) -> float:
    """Push the largest flow; residual capacities and trees are left behind. Infinite if no finite cut exists.

    Nodes in the source's tree are exactly those that residual arcs reach from it: the smallest source side of a
    minimum cut.
    """
    forest.ends[:] = -1
    forest.ends[TIME] = 0
    plant(graph, forest)
    total, i = 0.0, -1
    while not cancel[0]:
        if i < 0 or forest.parents[i] == FREE:
            i = next_active(forest)
            if i < 0:
                break
        middle = grow(graph, forest, i)
        forest.ends[TIME] += 1
        if middle < 0:
            i = -1
            continue
        flow = bottleneck(graph, forest, middle)
        if flow == np.inf:
            return np.inf
        augment(graph, forest, middle, flow)
        total += flow
        adopt_all(graph, forest)
    return total
