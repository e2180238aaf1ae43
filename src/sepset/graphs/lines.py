"""Lines through graphs: orders in which few nodes are open at a time, for chains that run through some of the nodes.

A node is open from the first turn of a node next to it, until its own turn. What follows from all nodes that had their
turn is a function of the open ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.threads import NEVER
from sepset.graphs.columncounts import receivers
from sepset.graphs.csr import CSR, csr, sorted_pairs
from sepset.graphs.sweeps import side_to_side

__all__ = ["line_of", "num_open"]

MOST_BITS = 6.0
"""log2 of the mean number of entries of tables from which a graph is not like a tree."""


def line_of(pairs: Ints, chains: Sequence[Ints], num_nodes: int) -> Ints:
    """The place of each node in a line with few open nodes, along which chains can run.

    A graph like a grid is swept from side to side, one like a tree branch by branch, the largest branch first. Parts
    that only chains connect come one after the other, unless a sweep of all is better. All is counted in whole numbers
    and ties go by position, so that the line is the same on every machine.

    Args:
        pairs: the ends of edges.
        chains: the nodes of each chain, in any order but for the last, whose place is after the others; a chain comes
            after those that end at one of its nodes.

    Cost: nodes and edges, times the logarithm of the number of nodes.
    Reference: King (1970) for sweeps; Liu (1986) for trees.
    Guarantee: heuristic, deterministic.
    Tested by: graphs/test_lines.py::test_trees_and_grids_have_few_open_nodes

    >>> line_of(np.array([[2, 0], [1, 2]]), [np.arange(4)], 4).tolist()
    [2, 0, 1, 3]
    """
    joined = np.concatenate([pairs, _stars(chains)])
    if len(chains) == 1:  # it has no order of its own
        return _with_ends(_part_by_part(pairs, np.arange(num_nodes)), chains)
    swept = _turns(side_to_side(*_rows(joined, num_nodes)))
    lines = [_with_ends(one, chains) for one in (swept, _part_by_part(pairs, swept))]
    return min(lines, key=lambda one: _sizes(num_open(joined, one)))


def num_open(pairs: Ints, places: Ints) -> Ints:
    """The number of open nodes after each turn.

    >>> num_open(np.array([[0, 1], [0, 2]]), np.array([0, 1, 2])).tolist()
    [2, 1, 0]
    """
    first = places.copy()
    np.minimum.at(first, pairs[:, 0], places[pairs[:, 1]])
    np.minimum.at(first, pairs[:, 1], places[pairs[:, 0]])
    num = len(places)
    return np.cumsum(np.bincount(first, minlength=num) - np.bincount(places, minlength=num))


def _sizes(num: Ints) -> tuple[int, ...]:
    """A key that compares tables over so many nodes: the number of largest ones first."""
    counts = np.bincount(num)[::-1]
    return len(counts), *counts.tolist()


def _rows(pairs: Ints, num_nodes: int) -> CSR:
    one, other = sorted_pairs(np.sort(pairs, axis=1), num_nodes).T
    return csr(np.append(one, other), np.append(other, one), num_nodes)


def _turns(order: Ints) -> Ints:
    """The place of each node in an order."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


def _stars(chains: Sequence[Ints]) -> Ints:
    """The edges between the end of each chain and its other nodes."""
    flat, sizes = _flat(chains)
    ends = flat[np.cumsum(sizes) - 1]
    pairs = np.stack([flat, np.repeat(ends, sizes)], axis=1)
    return np.delete(pairs, np.cumsum(sizes) - 1, axis=0)


def _flat(chains: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The nodes of all chains, one after the other, and their numbers."""
    sizes = np.fromiter(map(len, chains), np.int64, len(chains))
    return np.concatenate([np.zeros(0, np.int64), *chains]), sizes


def _with_ends(places: Ints, chains: Sequence[Ints]) -> Ints:
    """The places with the end of each chain after its other nodes."""
    last, (flat, sizes) = 2 * places, _flat(chains)
    stops = np.cumsum(sizes)
    is_end = np.zeros(len(places), bool)
    is_end[flat[stops - 1]] = True
    if is_end[np.delete(flat, stops - 1)].any():  # of a chain that another one goes through
        for chain in chains:
            last[chain[-1]] = max(last[chain[-1]], last[chain[:-1]].max(initial=-1) + 1)
    elif len(chains):
        most, ends = np.maximum.reduceat(last[flat], stops - sizes), flat[stops - 1]
        np.maximum.at(last, ends, most + (most > last[ends]))
    return _turns(np.lexsort((places, last)))


def _part_by_part(pairs: Ints, swept: Ints) -> Ints:
    """The places of nodes part by part, in the order of their first places in a sweep of all."""
    rows = _rows(pairs, len(swept))
    across = _turns(side_to_side(*rows))
    is_end = num_open(pairs, across) == 0
    part = (np.cumsum(is_end) - is_end)[across]
    first = np.full(len(swept), len(swept))
    np.minimum.at(first, part, swept)
    ways = [_turns(np.lexsort((one, first[part]))) for one in (across, *_branches(rows, num_open(pairs, across)))]
    return ways[0] if len(ways) == 1 else _better(pairs, first[part], *ways)


def _better(pairs: Ints, parts: Ints, one: Ints, other: Ints) -> Ints:
    """Each part as in the better of two lines, both of which have the parts in the same order."""
    starts = np.flatnonzero(np.diff(np.sort(parts), prepend=-1))
    num = np.stack([num_open(pairs, one), num_open(pairs, other)])
    most, total = np.maximum.reduceat(num, starts, axis=1), np.add.reduceat(num, starts, axis=1)
    is_other = (most[1] < most[0]) | ((most[1] == most[0]) & (total[1] < total[0]))
    at = np.repeat(is_other, np.diff(starts, append=len(one)))
    return np.where(at[one], other, one)


def _branches(rows: CSR, num: Ints) -> Iterator[Ints]:
    """The places of nodes branch by branch of an elimination, if cliques are small and the sweep has branches."""
    from sepset.kernels.graphs.ordering import greedy_order

    n = len(num)
    if num.max(initial=0) < 2:
        return
    ones, zeros, mix = np.ones(n), np.zeros(n), np.array([0.0, 1.0])
    group, tie, limit = np.zeros(n, np.int64), np.arange(n, dtype=np.float64), MOST_BITS + math.log2(n)
    order, *_ = greedy_order(*rows, ones, ones, group, mix, zeros, tie, limit, 0, NEVER)
    if len(order) == n:
        yield _turns(order[_largest_first(receivers(_earlier(rows, order)))])


def _earlier(rows: CSR, order: Ints) -> list[list[int]]:
    """For each position of an order, those of its neighbors before it."""
    indptr, indices = rows
    places = _turns(order)
    one, other = np.repeat(places, np.diff(indptr)), places[indices]
    start, members = csr(one[other < one], other[other < one], len(order))
    ends, flat = start.tolist(), members.tolist()
    return [flat[i:j] for i, j in itertools.pairwise(ends)]


def _largest_first(parents: Sequence[int]) -> list[int]:
    """The nodes of a forest, each after those below it, the largest branch first; -1 is the parent of roots.

    >>> _largest_first([3, 2, 3, -1])
    [1, 2, 0, 3]
    """
    sizes = [1] * len(parents)
    for i, parent in enumerate(parents):  # parents come later
        if parent >= 0:
            sizes[parent] += sizes[i]
    below: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for i in sorted(range(len(parents)), key=sizes.__getitem__, reverse=True):
        below[parents[i]].append(i)
    found, stack = [], below[-1]
    while stack:
        i = stack.pop()
        found.append(i)
        stack += below[i]
    return found[::-1]
