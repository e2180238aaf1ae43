"""Markov chains over ordered partitions of the columns, on a table of candidate parents.

A state has the level of each column. See `kernels.structure.chains`.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.structure.candidatesums import sum_touching, take_best_parents
from sepset.kernels.structure.chains import draw_graph, mark_before, step_work
from sepset.kernels.structure.reversals import REVERSED, reverse_edge


@kernel
def _level_scores(
    levels: Ints, cands: Ints, outs: Ints, sums: Floats, starts: Ints, inside: Bytes, level: Bytes, local: Floats
) -> None:
    """For each column the log sum over its parent sets on lower levels, with one on the level just below."""
    for v in range(levels.size):
        mark_before(levels, v, inside, level)
        local[v] = sum_touching(v, inside, level, levels[v] > 0, cands, outs, sums, starts[v])


@kernel
def _set_levels(graph: Bytes, levels: Ints) -> None:
    """The level of each column of a DAG: one more than the highest of its parents, in place."""
    n = levels.size
    levels[:] = 0
    is_done = False
    while not is_done:
        is_done = True
        for a in range(n):
            for b in range(n):
                if graph[a, b] and levels[b] <= levels[a]:
                    levels[b] = levels[a] + 1
                    is_done = False


@kernel
def _settle(
    levels: Ints, cands: Ints, outs: Ints, scores: Floats, sums: Floats, starts: Ints, ranked: Int32s, inside: Bytes,
    level: Bytes, graph: Bytes, local: Floats, cancel: Bytes,
) -> None:  # fmt: skip
    """The log sums of all columns, at levels changed in place until none is minus infinity.

    Sums are differences: where all sets that touch the level below are far worse than others, few digits are left.
    Such levels are as good as impossible, but a chain can start there. Then those columns take their best parents on
    any lower level, and the others their best that touch the level below; the levels of this DAG are next. Its score
    rises every time.
    """
    _level_scores(levels, cands, outs, sums, starts, inside, level, local)
    while local.min() == -np.inf and not cancel[0]:
        for v in range(levels.size):
            mark_before(levels, v, inside, level)
            bound = levels[v] > 0 and local[v] > -np.inf
            first, last = starts[v], starts[v + 1]
            take_best_parents(v, inside, level, bound, cands, outs, scores, ranked, first, last, graph)
        _set_levels(graph, levels)
        _level_scores(levels, cands, outs, sums, starts, inside, level, local)


@kernel
def _changed_scores(
    levels: Ints, new: Ints, cands: Ints, outs: Ints, sums: Floats, starts: Ints, inside: Bytes, level: Bytes,
    local: Floats, other: Floats,
) -> float:  # fmt: skip
    """The same for new levels, where only columns are summed again that have others before them; the gain."""
    gain = 0.0
    for v in range(levels.size):
        mark_before(new, v, inside, level)
        is_same = (levels[v] > 0) == (new[v] > 0)
        for u in range(levels.size):
            if inside[u] != (levels[u] < levels[v]) or level[u] != (levels[u] == levels[v] - 1):
                is_same = False
                break
        other[v] = local[v]
        if not is_same:
            other[v] = sum_touching(v, inside, level, new[v] > 0, cands, outs, sums, starts[v])
            gain += other[v] - local[v]
            if gain == -np.inf:
                break
    return gain


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


@kernel(borrows=True)
def _copy(source: Ints | Floats, target: Ints | Floats) -> None:
    for i in range(source.size):
        target[i] = source[i]


@kernel
def _split_or_join(levels: Ints, new: Ints, uniforms: Floats) -> float:
    """Two neighboring levels become one, or one becomes two; the log ratio of the numbers of such moves."""
    sizes = _sizes(levels)
    ways = _splits(sizes)
    _copy(levels, new)
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
            _copy(levels, new)
            return 0.0
        kept = _log_kept(sizes[split])
    return math.log(ways) - math.log(_splits(_sizes(new))) - kept


@kernel(work=step_work)
def run_partitions(
    levels: Ints, cands: Ints, outs: Ints, scores: Floats, sums: Floats, starts: Ints, ranked: Int32s, uniforms: Floats,
    heat: float, cancel: Bytes,
) -> tuple[float, int]:  # fmt: skip
    """Steps over ordered partitions; the log score of the last, and how many were accepted.

    A tenth of the steps at temperature one draw a DAG of the partition, and reverse one of its edges.
    """
    n = levels.size
    new = np.empty(n, dtype=np.int64)
    inside, level = np.zeros(n, dtype=np.uint8), np.zeros(n, dtype=np.uint8)
    graph = np.zeros((n, n), dtype=np.uint8)
    local, other = np.empty(n), np.empty(n)
    _settle(levels, cands, outs, scores, sums, starts, ranked, inside, level, graph, local, cancel)
    accepted = 0
    for t in range(len(uniforms)):
        if cancel[0]:
            break
        kind = uniforms[t, 0]
        if heat == 1.0 and kind < REVERSED:
            draw_graph(levels, True, cands, outs, scores, sums, starts, ranked, uniforms[t, 5:], graph)
            if reverse_edge(graph, cands, outs, scores, sums, starts, ranked, uniforms[t]):
                _set_levels(graph, levels)
                _settle(levels, cands, outs, scores, sums, starts, ranked, inside, level, graph, local, cancel)
                accepted += 1
            continue
        ratio = _propose(levels, new, kind, uniforms[t])
        gain = _changed_scores(levels, new, cands, outs, sums, starts, inside, level, local, other)
        if math.log(uniforms[t, 3]) < gain * heat + ratio:
            _copy(new, levels)
            _copy(other, local)
            accepted += 1
    return local.sum(), accepted


@kernel
def _propose(levels: Ints, new: Ints, kind: float, uniforms: Floats) -> float:
    """New levels; the log ratio of the probabilities of proposing them and the way back."""
    if kind < 0.5:
        _move_one(levels, new, uniforms)
    elif kind < 0.75:
        _copy(levels, new)
        a = int(uniforms[1] * levels.size)
        b = int(uniforms[2] * levels.size)
        new[a], new[b] = levels[b], levels[a]
    else:
        return _split_or_join(levels, new, uniforms)
    return 0.0
