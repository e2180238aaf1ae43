"""Markov chains over orders, ordered partitions and DAGs, on a table of candidate parents.

Each step takes one row of uniform numbers. A state is a vector of integers: the columns in their order; the level of
each column; or the edges of a DAG, row by row.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.structure.candidatesums import add_edges, draw_parents, score_family, sum_before
from sepset.kernels.structure.subsets import log_subtract


def _steps(state: Ints, cands: Ints, outs: Ints, *args: object) -> float:
    return float(len(args[3]) * len(cands) * (cands.shape[1] + outs.shape[1] + 5))  # type: ignore[arg-type]  # uniforms


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


@kernel(work=_steps)
def run_orders(
    order: Ints, cands: Ints, outs: Ints, scores: Floats, sums: Floats, starts: Ints, uniforms: Floats, heat: float,
    cancel: Bytes,
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


@kernel
def _level_score(
    v: int, levels: Ints, cands: Ints, outs: Ints, sums: Floats, starts: Ints, inside: Bytes, apart: Bytes
) -> float:
    """The log sum over the parent sets of a column on lower levels, with one on the level just below."""
    for u in range(levels.size):
        inside[u] = levels[u] < levels[v]
        apart[u] = levels[u] < levels[v] - 1
    total = sum_before(v, inside, cands, outs, sums, starts[v])
    if levels[v] == 0:
        return total
    return log_subtract(total, sum_before(v, apart, cands, outs, sums, starts[v]))


@kernel
def _partition_score(
    levels: Ints, cands: Ints, outs: Ints, sums: Floats, starts: Ints, inside: Bytes, apart: Bytes
) -> float:
    total = 0.0
    for v in range(levels.size):
        total += _level_score(v, levels, cands, outs, sums, starts, inside, apart)
        if total == -np.inf:
            break
    return total


@kernel
def _sizes(levels: Ints) -> Ints:
    found = np.zeros(levels.max() + 1, dtype=np.int64)
    for v in range(levels.size):
        found[levels[v]] += 1
    return found


@kernel
def _splits(sizes: Ints) -> float:
    """How many ways there are to join two neighboring levels, or to split one."""
    total = sizes.size - 1.0
    for k in range(sizes.size):
        total += 2.0 ** sizes[k] - 2.0
    return total


@kernel
def _log_kept(size: int) -> float:
    """The log probability that drawing a side for each of so many columns leaves neither side empty."""
    return math.log1p(-(2.0 ** (1 - size)))


@kernel
def _move_one(levels: Ints, new: Ints, uniforms: Floats) -> None:
    """One column goes to another level, or to one of its own; the present place is among the choices."""
    n = levels.size
    v = int(uniforms[1] * n)
    alone = True
    for u in range(n):
        if u != v and levels[u] == levels[v]:
            alone = False
    count = levels.max() + 1
    for u in range(n):
        new[u] = levels[u] - 1 if alone and levels[u] > levels[v] else levels[u]
    if alone:
        count -= 1
    choice = int(uniforms[2] * (2 * count + 1))
    if choice < count:
        new[v] = choice
    else:
        place = choice - count
        for u in range(n):
            if u != v and new[u] >= place:
                new[u] += 1
        new[v] = place


@kernel
def _split_or_join(levels: Ints, new: Ints, uniforms: Floats) -> float:
    """Two neighboring levels become one, or one becomes two; the log ratio of the numbers of such moves."""
    sizes = _sizes(levels)
    ways = _splits(sizes)
    new[:] = levels
    if ways <= 0.0:
        return 0.0
    choice = uniforms[1] * ways
    if choice < sizes.size - 1:
        joined = int(choice)
        for v in range(levels.size):
            if levels[v] > joined:
                new[v] -= 1
        kept = -_log_kept(sizes[joined] + sizes[joined + 1])
    else:
        choice -= sizes.size - 1
        split = 0
        while split < sizes.size - 1 and choice >= 2.0 ** sizes[split] - 2.0:
            choice -= 2.0 ** sizes[split] - 2.0
            split += 1
        upper = 0
        for v in range(levels.size):
            if levels[v] > split or (levels[v] == split and uniforms[5 + v] < 0.5):
                new[v] += 1
                upper += levels[v] == split
        if upper == 0 or upper == sizes[split]:  # not a split: the state stays
            new[:] = levels
            return 0.0
        kept = _log_kept(sizes[split])
    return math.log(ways) - math.log(_splits(_sizes(new))) - kept


@kernel(work=_steps)
def run_partitions(
    levels: Ints, cands: Ints, outs: Ints, scores: Floats, sums: Floats, starts: Ints, uniforms: Floats, heat: float,
    cancel: Bytes,
) -> tuple[float, int]:  # fmt: skip
    """Steps over ordered partitions; the log score of the last, and how many were accepted."""
    n = levels.size
    new = np.empty(n, dtype=np.int64)
    inside = np.zeros(n, dtype=np.uint8)
    apart = np.zeros(n, dtype=np.uint8)
    score = _partition_score(levels, cands, outs, sums, starts, inside, apart)
    accepted = 0
    for t in range(len(uniforms)):
        if cancel[0]:
            break
        ratio = 0.0
        if uniforms[t, 0] < 0.5:
            _move_one(levels, new, uniforms[t])
        elif uniforms[t, 0] < 0.75:
            new[:] = levels
            a = int(uniforms[t, 1] * n)
            b = int(uniforms[t, 2] * n)
            new[a], new[b] = levels[b], levels[a]
        else:
            ratio = _split_or_join(levels, new, uniforms[t])
        found = _partition_score(new, cands, outs, sums, starts, inside, apart)
        if math.log(uniforms[t, 3]) < (found - score) * heat + ratio:
            levels[:] = new
            score = found
            accepted += 1
    return score, accepted


@kernel
def _reach(graph: Bytes) -> Bytes:
    """Whether there is a directed path from row to column; each column reaches itself."""
    n = graph.shape[0]
    reach = graph.copy()
    for v in range(n):
        reach[v, v] = 1
    for k in range(n):
        for i in range(n):
            if reach[i, k]:
                for j in range(n):
                    reach[i, j] |= reach[k, j]
    return reach


@kernel
def _neighbors(
    graph: Bytes, cands: Ints, outs: Ints, scores: Floats, starts: Ints, local: Floats, gains: Floats, moves: Ints
) -> int:
    """The legal additions, deletions and reversals: gains, kinds and edges; returns their number."""
    n = graph.shape[0]
    reach = _reach(graph)
    count = 0
    for b in range(n):
        parents = graph[:, b].copy()
        for a in range(n):
            if a == b or graph[b, a]:
                continue
            if graph[a, b] == 0 and reach[b, a]:
                continue
            parents[a] ^= 1
            change = score_family(b, parents, cands, outs, scores, starts[b]) - local[b]
            parents[a] ^= 1
            if change == -np.inf:
                continue
            gains[count] = change
            moves[count, 0], moves[count, 1], moves[count, 2] = graph[a, b], a, b
            count += 1
            if graph[a, b] and not _has_other_path(graph, reach, a, b):
                above = graph[:, a].copy()
                above[b] = 1
                found = score_family(a, above, cands, outs, scores, starts[a]) - local[a]
                if found > -np.inf:
                    gains[count] = change + found
                    moves[count, 0], moves[count, 1], moves[count, 2] = 2, a, b
                    count += 1
    return count


@kernel
def _has_other_path(graph: Bytes, reach: Bytes, a: int, b: int) -> bool:
    for p in range(graph.shape[0]):
        if p != a and graph[p, b] and reach[a, p]:
            return True
    return False


@kernel
def _family_scores(graph: Bytes, cands: Ints, outs: Ints, scores: Floats, starts: Ints, local: Floats) -> None:
    for v in range(graph.shape[0]):
        local[v] = score_family(v, graph[:, v].copy(), cands, outs, scores, starts[v])


def _structure_steps(state: Ints, cands: Ints, *args: object) -> float:
    return float(len(args[4]) * len(cands) ** 3)  # type: ignore[arg-type]  # uniforms


@kernel(work=_structure_steps)
def run_structures(
    edges: Ints, cands: Ints, outs: Ints, scores: Floats, sums: Floats, starts: Ints, uniforms: Floats, heat: float,
    cancel: Bytes,
) -> tuple[float, int]:  # fmt: skip
    """Steps over DAGs, one legal move at a time; the score of the last, and how many were accepted.

    The proposal is uniform over the N(G) legal moves: accept with probability min(1, P(G') N(G) / (P(G) N(G'))).
    """
    n = cands.shape[0]
    graph = edges.reshape(n, n).astype(np.uint8)
    local = np.empty(n)
    most = 2 * n * n + 1
    gains, moves = np.empty(most), np.empty((most, 3), dtype=np.int64)
    new_gains, new_moves = np.empty(most), np.empty((most, 3), dtype=np.int64)
    _family_scores(graph, cands, outs, scores, starts, local)
    count = _neighbors(graph, cands, outs, scores, starts, local, gains, moves)
    accepted = 0
    for t in range(len(uniforms)):
        if cancel[0] or count == 0:
            break
        chosen = int(uniforms[t, 0] * count)
        kind, a, b = moves[chosen, 0], moves[chosen, 1], moves[chosen, 2]
        _apply(graph, kind, a, b)
        old_a, old_b = local[a], local[b]
        local[b] = score_family(b, graph[:, b].copy(), cands, outs, scores, starts[b])
        local[a] = score_family(a, graph[:, a].copy(), cands, outs, scores, starts[a])
        found = _neighbors(graph, cands, outs, scores, starts, local, new_gains, new_moves)
        if math.log(uniforms[t, 3]) < gains[chosen] * heat + math.log(count / found):
            accepted += 1
            count = found
            gains, new_gains = new_gains, gains
            moves, new_moves = new_moves, moves
        else:
            if kind == 2:
                _apply(graph, 2, b, a)
            else:
                _apply(graph, 1 - kind, a, b)
            local[a], local[b] = old_a, old_b
    edges[:] = graph.reshape(n * n)
    return local.sum(), accepted


@kernel
def _apply(graph: Bytes, kind: int, a: int, b: int) -> None:
    """Add the edge (kind 0), delete it (1), or reverse it (2)."""
    graph[a, b] = 1 if kind == 0 else 0
    if kind == 2:
        graph[b, a] = 1


def _reads(state: Ints, is_level: bool, cands: Ints, *args: object) -> float:
    return float(len(cands) * 4 * 2 ** min(cands.shape[1], 40))


@kernel(work=_reads)
def read_state(
    ranks: Ints, is_level: bool, cands: Ints, outs: Ints, scores: Floats, sums: Floats, starts: Ints, uniforms: Floats,
    edges: Floats, graph: Bytes,
) -> None:  # fmt: skip
    """Add the edge probabilities given the ranks of columns, and draw a DAG.

    Args:
        ranks: the place of each column in an order, or its level.
        is_level: whether one parent must be on the level just below.
    """
    n = ranks.size
    inside = np.zeros(n, dtype=np.uint8)
    level = np.zeros(n, dtype=np.uint8)
    for v in range(n):
        for u in range(n):
            inside[u] = ranks[u] < ranks[v]
            level[u] = ranks[u] == ranks[v] - 1
        bound = is_level and ranks[v] > 0
        add_edges(v, inside, level, bound, cands, outs, sums, starts[v], edges)
        draw_parents(v, inside, level, bound, cands, outs, scores, starts[v], uniforms[v], graph)


def _downsets(parents: Ints) -> float:
    return float(parents.size * 2.0**parents.size)


@kernel(work=_downsets)
def log_extensions(parents: Ints) -> float:
    """The logarithm of the number of orders in which every column comes after its parents (masks)."""
    n = parents.size
    ways = np.zeros(1 << n)
    ways[0] = 1.0
    for s in range(1 << n):
        if ways[s] > 0.0:
            for v in range(n):
                if not s >> v & 1 and parents[v] & ~s == 0:
                    ways[s | 1 << v] += ways[s]
    return math.log(ways[(1 << n) - 1])
