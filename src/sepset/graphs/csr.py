"""Graphs as integer arrays: sorted pairs of node ids, compressed rows, and traversals of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyInts, Floats, Int32s, Ints
from sepset.base.frozen import read_only
from sepset.errors import ScopeError

CSR: TypeAlias = tuple[Ints, Int32s]


ROUNDS_OF_CORE = 20
"""The rounds in which nodes of small tables are left out of a core, as long as there are such."""

NO_PAIRS: Ints = read_only(np.empty((0, 2), dtype=np.int64))


def id_pairs(sources: ArrayLike, targets: ArrayLike, num_nodes: int) -> Ints:
    """The pairs `[m, 2]` from two columns of node ids; raises unless all are in range."""
    try:
        pairs = np.stack([np.asarray(sources, dtype=np.int64), np.asarray(targets, dtype=np.int64)], axis=1)
    except (TypeError, ValueError, OverflowError) as error:
        raise ScopeError(f"The ends of edges are two lists of node numbers of the same length: {error}.") from error
    if pairs.ndim != 2:
        raise ScopeError(f"The ends of edges are two lists of node numbers; found arrays of {pairs.ndim - 1} axes.")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= num_nodes):
        raise ScopeError(f"Node numbers run from 0 to {num_nodes - 1}; found {pairs.min()} to {pairs.max()}.")
    return pairs


def sorted_pairs(pairs: Ints, num_nodes: int) -> Ints:
    """The pairs sorted by first, then second id, each once."""
    keys = np.sort(pairs[:, 0] * num_nodes + pairs[:, 1])
    first = np.diff(keys, prepend=-1) > 0
    return read_only(np.stack(np.divmod(keys[first], max(num_nodes, 1)), axis=1))


def csr(rows: Ints, columns: Ints, num_nodes: int) -> CSR:
    """The columns of each row as `(indptr, indices)`, each row sorted."""
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=num_nodes), out=indptr[1:])
    indices = (np.sort(rows * num_nodes + columns) % max(num_nodes, 1)).astype(np.int32)
    return read_only(indptr), read_only(indices)


def row(csr: CSR, i: int) -> list[int]:
    """Row `i` as a list."""
    indptr, indices = csr
    found: list[int] = indices[indptr[i] : indptr[i + 1]].tolist()
    return found


def pairs_within_rows(rows: CSR) -> Ints:
    """Every pair of members of one row, for all rows: each entry is paired with those that follow it."""
    indptr, indices = rows
    entries = np.arange(len(indices))
    following = np.repeat(indptr[1:], np.diff(indptr)) - 1 - entries
    first = np.repeat(entries, following)
    ends = np.cumsum(following)
    step = np.arange(len(first)) - np.repeat(ends - following, following)
    return np.stack([indices[first], indices[first + 1 + step]], axis=1).astype(np.int64)


PAIRS_AT_ONCE = 2**22
"""About the number of pairs that are listed at a time."""


def parts_of_pairs(rows: CSR) -> Iterator[tuple[int, CSR]]:
    """The rows in parts of few pairs, a row at least: the number of the first, and the rows.

    >>> [first for first, _ in parts_of_pairs((np.array([0, 2, 4]), np.array([0, 1, 0, 2], np.int32)))]
    [0]
    """
    indptr, indices = rows
    count = np.diff(indptr)
    part = np.cumsum(count * (count - 1) // 2) // PAIRS_AT_ONCE
    ends = [*(np.flatnonzero(np.diff(part)) + 1).tolist(), len(count)]
    for first, last in itertools.pairwise([0, *ends]):
        yield first, (indptr[first : last + 1] - indptr[first], indices[indptr[first] : indptr[last]])


def topological(parent_csr: CSR, child_csr: CSR) -> list[int]:
    """Kahn's order, smallest id first; it has fewer nodes than the graph if there is a cycle."""
    missing = np.diff(parent_csr[0]).tolist()
    indptr, indices = (a.tolist() for a in child_csr)
    ready = [i for i, count in enumerate(missing) if count == 0]
    heapify(ready)
    order = []
    while ready:
        i = heappop(ready)
        order.append(i)
        for j in indices[indptr[i] : indptr[i + 1]]:
            missing[j] -= 1
            if missing[j] == 0:
                heappush(ready, j)
    return order


def cycle(parent_csr: CSR, ordered: set[int]) -> list[int]:
    """A directed cycle among the nodes missing from Kahn's order: each of them has a parent that is missing too."""
    node = next(i for i in range(len(parent_csr[0]) - 1) if i not in ordered)
    seen: dict[int, int] = {}
    walk: list[int] = []
    while node not in seen:
        seen[node] = len(walk)
        walk.append(node)
        node = next(p for p in row(parent_csr, node) if p not in ordered)
    found = walk[seen[node] :][::-1]
    first = found.index(min(found))
    return [*found[first:], *found[:first], found[first]]


def reached(csrs: Iterable[CSR], starts: Iterable[int], num_nodes: int, blocked: Iterable[int] = ()) -> list[bool]:
    """Whether each node can be reached from `starts` along the given rows without entering `blocked`."""
    rows = [(indptr.tolist(), indices.tolist()) for indptr, indices in csrs]
    found, closed = [False] * num_nodes, [False] * num_nodes
    for i in blocked:
        closed[i] = True
    stack = list(starts)
    while stack:
        i = stack.pop()
        if not (found[i] or closed[i]):
            found[i] = True
            for indptr, indices in rows:
                stack.extend(indices[indptr[i] : indptr[i + 1]])
    return found


def components(csr: CSR) -> list[list[int]]:
    """The node ids of each connected component; `csr` must be symmetric."""
    indptr, indices = (a.tolist() for a in csr)
    owner = [-1] * (len(indptr) - 1)
    groups: list[list[int]] = []
    for start in range(len(owner)):
        if owner[start] < 0:
            owner[start] = len(groups)
            group = [start]
            for i in group:
                for j in indices[indptr[i] : indptr[i + 1]]:
                    if owner[j] < 0:
                        owner[j] = len(groups)
                        group.append(j)
            groups.append(sorted(group))
    return groups


def owners(groups: list[list[int]]) -> Ints:
    """For each node id, the number of its group."""
    owner = np.zeros(sum(map(len, groups)), dtype=np.int64)
    for number, group in enumerate(groups):
        owner[group] = number
    return owner


def near_hub(rows: CSR, size: int, *, is_symmetric: bool = True) -> Ints:
    """So many nodes nearest to one with the most entries in its row.

    Args:
        is_symmetric: whether each neighbor has its own entry; edges are followed in both directions anyway.

    >>> near_hub((np.array([0, 2, 2, 2, 2]), np.array([1, 3], np.int32)), 2, is_symmetric=False).tolist()
    [0, 1]
    """
    from scipy import sparse
    from scipy.sparse.csgraph import breadth_first_order

    indptr, indices = rows
    n = len(indptr) - 1
    graph = sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(n, n))
    hub = int(np.diff(indptr).argmax())
    return np.asarray(breadth_first_order(graph, hub, is_symmetric, False)[:size], np.int64)


def by_cardinality(rows: tuple[list[int], list[int]], members: list[int], seen: list[int]) -> list[int]:
    """The members, always next one with the most numbered neighbors; `seen` counts these and is updated."""
    indptr, indices = rows
    waiting = bytearray(len(seen))
    buckets: list[list[int]] = [[] for _ in range(max(map(seen.__getitem__, members), default=0) + 1)]
    for v in members:
        waiting[v] = 1
        buckets[seen[v]].append(v)  # ascending, and so a heap
    found: list[int] = []
    while buckets:
        if not buckets[-1]:
            buckets.pop()
            continue
        v = heappop(buckets[-1])
        if not waiting[v] or seen[v] != len(buckets) - 1:
            continue
        waiting[v] = 0
        found.append(v)
        for u in indices[indptr[v] : indptr[v + 1]]:
            seen[u] += 1
            if waiting[u]:
                if seen[u] == len(buckets):
                    buckets.append([])
                heappush(buckets[seen[u]], u)
    return found


def has_large_core(indptr: Ints, indices: AnyInts, logs: Floats, most: float) -> bool:
    """Whether some nodes each make, with their neighbors among them, a table of more than two to the power `most`
    entries: then so does the first of them in any elimination order. A few rounds look for them.

    Args:
        indptr, indices: the neighbors of each node as compressed rows.
        logs: log2 of the number of states of each node.

    >>> cycle = np.arange(0, 9, 2), np.array([1, 3, 0, 2, 1, 3, 0, 2])
    >>> [has_large_core(*cycle, np.ones(4), most) for most in (2.0, 3.0)]
    [True, False]
    """
    is_kept = np.ones(len(logs), np.bool_)
    rows = np.repeat(np.arange(len(logs)), np.diff(indptr))
    for _ in range(ROUNDS_OF_CORE):
        is_both = is_kept[rows] & is_kept[indices]
        sizes = logs + np.bincount(rows[is_both], logs[indices[is_both]], minlength=len(logs))
        is_small = is_kept & (sizes <= most)
        if not is_small.any():
            return bool(is_kept.any())
        is_kept &= ~is_small
    return False
