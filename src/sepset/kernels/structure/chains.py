"""Markov chains over orders on a table of candidate parents, and what is read from the states of any chain.

Each step of a chain takes one row of uniform numbers. A state is a vector of integers: the columns in their order; the
level of each column; or the edges of a DAG, row by row.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.structure.candidatesums import add_edges, draw_parents, sum_before, sum_touching


def step_work(state: Ints, cands: Ints, outs: Ints, *args: object) -> float:
    """The passes of a chain's steps: one row of uniform numbers each."""
    return float(len(args[4]) * len(cands) * (cands.shape[1] + outs.shape[1] + 5))  # type: ignore[arg-type]  # uniforms


@kernel
def _order_scores(
    order: Ints, first: int, last: int, cands: Ints, outs: Ints, sums: Floats, starts: Ints, local: Floats
) -> None:
    """The log sums of the columns at some places of an order, by column."""
    inside = np.zeros(order.size, dtype=np.uint8)
    for i in range(first):
        inside[order[i]] = 1
    for i in range(first, last + 1):
        v = order[i]
        local[v] = sum_before(v, inside, cands, outs, sums, starts[v])
        inside[v] = 1


@kernel(work=step_work)
def run_orders(
    order: Ints, cands: Ints, outs: Ints, scores: Floats, sums: Floats, starts: Ints, ranked: Int32s, uniforms: Floats,
    heat: float, cancel: Bytes,
) -> tuple[float, int]:  # fmt: skip
    """Steps over orders, two places exchanged at a time; the log score of the last, and how many were accepted."""
    n = order.size
    local = np.empty(n)
    other = np.empty(n)
    _order_scores(order, 0, n - 1, cands, outs, sums, starts, local)
    accepted = 0
    for t in range(len(uniforms)):
        if cancel[0] or n < 2:
            break
        if uniforms[t, 0] < 0.5:
            a = int(uniforms[t, 1] * (n - 1))
            b = a + 1
        else:
            a = int(uniforms[t, 1] * n)
            b = int(uniforms[t, 2] * (n - 1))
            if b >= a:
                b += 1
            a, b = min(a, b), max(a, b)
        order[a], order[b] = order[b], order[a]
        _order_scores(order, a, b, cands, outs, sums, starts, other)
        change = 0.0
        for i in range(a, b + 1):
            change += other[order[i]] - local[order[i]]
        if math.log(uniforms[t, 3]) < change * heat:
            accepted += 1
            for i in range(a, b + 1):
                local[order[i]] = other[order[i]]
        else:
            order[a], order[b] = order[b], order[a]
    return local.sum(), accepted


def _reads(state: Ints, is_level: bool, cands: Ints, *args: object) -> float:
    return float(len(cands) ** 2 * (cands.shape[1] + 20))


@kernel(work=_reads)
def add_state(
    ranks: Ints, is_level: bool, cands: Ints, outs: Ints, scores: Floats, sums: Floats, starts: Ints, ranked: Int32s,
    edges: Floats,
) -> None:  # fmt: skip
    """Add the edge probabilities given the ranks of columns.

    Args:
        ranks: the place of each column in an order, or its level.
        is_level: whether one parent must be on the level just below.
    """
    n = ranks.size
    inside = np.zeros(n, dtype=np.uint8)
    level = np.zeros(n, dtype=np.uint8)
    for v in range(n):
        mark_before(ranks, v, inside, level)
        add_edges(v, inside, level, is_level and ranks[v] > 0, cands, outs, sums, starts[v], edges)


@kernel
def mark_before(ranks: Ints, v: int, inside: Bytes, level: Bytes) -> None:
    """Flag the columns of lower rank than one, and those of the rank just below."""
    for u in range(ranks.size):
        inside[u] = ranks[u] < ranks[v]
        level[u] = ranks[u] == ranks[v] - 1


@kernel(work=_reads)
def draw_graph(
    ranks: Ints, is_level: bool, cands: Ints, outs: Ints, scores: Floats, sums: Floats, starts: Ints, ranked: Int32s,
    uniforms: Floats, graph: Bytes,
) -> None:  # fmt: skip
    """Draw a DAG given the ranks of columns, with one uniform number for each; see `add_state`."""
    n = ranks.size
    inside = np.zeros(n, dtype=np.uint8)
    level = np.zeros(n, dtype=np.uint8)
    for v in range(n):
        mark_before(ranks, v, inside, level)
        bound = is_level and ranks[v] > 0
        total = sum_touching(v, inside, level, bound, cands, outs, sums, starts[v])
        draw_parents(
            v, inside, level, bound, cands, outs, scores, ranked, starts[v], starts[v + 1], total, uniforms[v], graph
        )


def _downsets(parents: Ints) -> float:
    return float(parents.size * 2.0**parents.size)


@kernel(work=_downsets)
def log_extensions(parents: Ints) -> float:
    r"""The logarithm of the number of orders in which every column comes after its parents (masks).

    Connected parts of sizes $n_i$ with $e_i$ orders each are merged in any way: $n! \prod_i e_i / n_i!$.
    """
    n = parents.size
    total = math.lgamma(n + 1.0)
    left = (1 << n) - 1
    members = np.empty(n, dtype=np.int64)
    while left:
        part = left & -left
        size = 0
        while size < n:  # grow the connected part until nothing joins it
            grown = part
            for v in range(n):
                if part >> v & 1:
                    grown |= parents[v]
                elif parents[v] & part:
                    grown |= 1 << v
            size = n if grown == part else size
            part = grown
        left &= ~part
        size = 0
        for v in range(n):
            if part >> v & 1:
                members[size] = v
                size += 1
        total += _log_extensions(parents, members[:size]) - math.lgamma(size + 1.0)
    return total


@kernel
def _log_extensions(parents: Ints, members: Ints) -> float:
    """The same for some columns that have their parents among them: a sum over the sets that are closed upward."""
    size = members.size
    above = np.zeros(size, dtype=np.int64)
    for i in range(size):
        for j in range(size):
            if parents[members[i]] >> members[j] & 1:
                above[i] |= 1 << j
    place = np.zeros(1 << size, dtype=np.int32)  # where a set stands in the list, from one on
    sets, ways = np.empty(1 << size, dtype=np.int64), np.empty(1 << size)
    sets[0], ways[0] = 0, 1.0
    count = 1
    done = 0
    while done < count:  # smaller sets come first
        s = sets[done]
        for i in range(size):
            if not s >> i & 1 and above[i] & ~s == 0:
                larger = s | 1 << i
                if place[larger] == 0:
                    sets[count], ways[count] = larger, 0.0
                    count += 1
                    place[larger] = count
                ways[place[larger] - 1] += ways[done]
        done += 1
    return math.log(ways[count - 1])
