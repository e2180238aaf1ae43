r"""The edge reversal move: an edge turns round, and both of its columns draw new parents.

From a DAG with the edge $a \to b$, both columns lose their parents; $a$ draws parents among which is $b$, then $b$
draws any parents, each in proportion to the scores of the sets that make no cycle. With $Z$ the sums over those sets,
the move is accepted with the probability

$$\min\left(1, \frac{N(\mathcal G)}{N(\mathcal G')} \cdot
  \frac{Z_a(b) \, Z_b}{Z_b(a) \, Z_a}\right)$$

where $N$ is the number of edges. Reference: Grzegorczyk & Husmeier (2008).
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.structure.candidatesums import draw_parents, sum_touching

REVERSED = 0.1
"""The share of steps, at temperature one, that reverse an edge."""


@kernel
def mark_open(graph: Bytes, v: int, inside: Bytes) -> None:
    """Flag the columns that can be reached from one by no directed path: those that may be its parents."""
    n = graph.shape[0]
    waiting = np.empty(n, dtype=np.int64)
    inside[:] = 1
    inside[v] = 0
    waiting[0] = v
    count = 1
    while count:
        count -= 1
        u = waiting[count]
        for w in range(n):
            if graph[u, w] and inside[w]:
                inside[w] = 0
                waiting[count] = w
                count += 1


@kernel
def _chosen_edge(graph: Bytes, uniform: float) -> tuple[int, int, int]:
    """An edge drawn uniformly, and their number; -1 if there is none."""
    n = graph.shape[0]
    count = 0
    for a in range(n):
        for b in range(n):
            count += int(graph[a, b])
    left = int(uniform * count)
    for a in range(n):
        for b in range(n):
            if graph[a, b]:
                if left == 0:
                    return a, b, count
                left -= 1
    return -1, -1, 0


@kernel
def _log_sum(
    graph: Bytes, v: int, other: int, cands: Ints, outs: Ints, sums: Floats, starts: Ints, inside: Bytes, level: Bytes
) -> float:
    """The log sum over parent sets of a column that make no cycle; with the other among them unless that is -1."""
    mark_open(graph, v, inside)
    level[:] = 0
    if other >= 0:
        level[other] = 1
    return sum_touching(v, inside, level, other >= 0, cands, outs, sums, starts[v])


@kernel
def reverse_edge(
    graph: Bytes, cands: Ints, outs: Ints, scores: Floats, sums: Floats, starts: Ints, ranked: Int32s, uniforms: Floats
) -> bool:
    """One move on a DAG, in place, and whether it was accepted.

    Args:
        uniforms: from the second on, they choose the edge, the parents of its source, acceptance, and the parents of
            its target.
    """
    n = graph.shape[0]
    a, b, count = _chosen_edge(graph, uniforms[1])
    if count == 0:
        return False
    inside, level = np.zeros(n, dtype=np.uint8), np.zeros(n, dtype=np.uint8)
    old_a, old_b = graph[:, a].copy(), graph[:, b].copy()
    graph[:, a] = 0
    graph[:, b] = 0
    back = _log_sum(graph, b, a, cands, outs, sums, starts, inside, level)
    _set_column(graph, b, old_b)
    back += _log_sum(graph, a, -1, cands, outs, sums, starts, inside, level)
    graph[:, b] = 0
    total = _log_sum(graph, a, b, cands, outs, sums, starts, inside, level)
    there = total
    if there > -np.inf:
        first, last = starts[a], starts[a + 1]
        draw_parents(a, inside, level, True, cands, outs, scores, ranked, first, last, total, uniforms[2], graph)
        total = _log_sum(graph, b, -1, cands, outs, sums, starts, inside, level)
        there += total
    if there > -np.inf:
        first, last = starts[b], starts[b + 1]
        draw_parents(b, inside, level, False, cands, outs, scores, ranked, first, last, total, uniforms[4], graph)
        edges = count - _size(old_a) - _size(old_b) + _size(graph[:, a]) + _size(graph[:, b])
        if math.log(uniforms[3]) < there - back + math.log(count / edges):
            return True
    _set_column(graph, a, old_a)
    _set_column(graph, b, old_b)
    return False


@kernel(borrows=True)
def _set_column(graph: Bytes, v: int, flags: Bytes) -> None:
    for u in range(flags.size):
        graph[u, v] = flags[u]


@kernel
def _size(flags: Bytes) -> int:
    total = 0
    for i in range(flags.size):
        total += int(flags[i])
    return total
