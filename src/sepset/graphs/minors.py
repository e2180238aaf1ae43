"""Minors of graphs given as sorted pairs of node ids: lower bounds of the treewidth, in NumPy and before any kernel.

Neither leaving out nodes nor contracting edges makes the treewidth larger.

Reference: Gogate & Dechter (2004); Koster, Wolle & Bodlaender (2005).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.base.memory import uncollected
from sepset.graphs.csr import csr, near_hub, sorted_pairs
from sepset.graphs.width import minor_min_width

NODES_OF_MINORS = (2**12, 2**13, 2**14)
"""The nodes of the parts of a graph whose edges are contracted: that takes some hundredths, or tenths, of a second. In
larger ones the work that contractions are given ends sooner, and may leave a smaller bound."""

NODES_LEFT = 2**11
"""The same for a graph in which nodes of few neighbors are contracted before, so that those left have many."""


def wide_minor(pairs: Ints, targets: Sequence[int], least: int) -> Ints:
    """The nodes of a connected part, with the targets if there are any, whose treewidth is at least so large."""
    side, num = grid_side(pairs), int(pairs.max(initial=-1)) + 1
    if side >= least and not len(targets):
        return np.unique(pairs)
    near = near_hub(csr(pairs.reshape(-1), pairs[:, ::-1].reshape(-1), num), num) if len(pairs) else pairs[:0, 0]
    if len(targets) and not np.isin(targets, near).any():
        return near[:0]
    if side >= least:
        return near
    if len(part := _wide_part(pairs, near, min(len(near), NODES_OF_MINORS[0]), least)):
        return part
    fewer, into = contracted(pairs, num)
    kept = near[into[near] == near]
    if len(part := _wide_part(fewer, kept, min(len(kept), NODES_LEFT), least)):
        return near[np.isin(into[near], part)]
    larger = (_wide_part(pairs, near, size, least) for size in NODES_OF_MINORS[1:] if len(near) > size // 2)
    return next(filter(len, larger), near[:0])


def _wide_part(pairs: Ints, nodes: Ints, size: int, least: int) -> Ints:
    """The first nodes, as many as a size, if contractions show a treewidth of at least so much; else none."""
    number = np.full(int(max(pairs.max(initial=-1), nodes.max(initial=-1))) + 1, size)
    number[nodes[:size]] = np.arange(len(nodes[:size]))
    own = number[pairs]
    return nodes[: size if contracted_width(own[(own < size).all(axis=1)], size, least) >= least else 0]


def contracted(pairs: Ints, num_nodes: int) -> tuple[Ints, Ints]:
    """The sorted pairs after every node with fewer neighbors than any of these is contracted into the smallest of them.

    No two such nodes are neighbors. Of equal ones, the first is the smaller.

    Returns:
        The pairs, and for each node the one that it is now part of.

    >>> contracted(np.array([[0, 3], [0, 4], [1, 3], [1, 4], [1, 5], [2, 3], [2, 4], [2, 5], [3, 5]]), 6)[0].tolist()
    [[3, 4], [3, 5], [4, 5]]
    """
    order = np.argsort(np.bincount(pairs.reshape(-1), minlength=num_nodes), kind="stable")
    rank, smallest = np.empty(num_nodes, np.int64), np.full(num_nodes, num_nodes)
    rank[order] = np.arange(num_nodes)
    np.minimum.at(smallest, pairs.reshape(-1), rank[pairs[:, ::-1]].reshape(-1))
    is_low, into = (rank < smallest) & (smallest < num_nodes), np.arange(num_nodes)
    into[is_low] = order[smallest[is_low]]
    made = into[pairs]
    return sorted_pairs(np.sort(made[made[:, 0] != made[:, 1]], axis=1), num_nodes), into


def contracted_width(pairs: Ints, num_nodes: int, enough: int) -> int:
    """A lower bound of the treewidth: the most neighbors that all nodes have after some contractions, up to a bound."""
    start, members = csr(pairs.reshape(-1), pairs[:, ::-1].reshape(-1), num_nodes)
    ends, flat = start.tolist(), members.tolist()
    rows = {v: set(flat[i:j]) for v, (i, j) in enumerate(itertools.pairwise(ends))}
    with uncollected():
        return minor_min_width(rows, enough=enough)


def grid_side(pairs: Ints) -> int:
    """The shorter side of a grid whose nodes are numbered row by row, if the sorted pairs contain one; else zero.

    >>> grid_side(np.array([(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5)]))
    2
    """
    steps = pairs[:, 1] - pairs[:, 0]
    counts = np.bincount(steps[steps > 1]) if len(pairs) else steps
    if not len(counts) or not (steps == 1).any():
        return 0
    width, first = int(counts.argmax()), int(pairs.min())
    height = (int(pairs.max()) + 1 - first) // width
    right, below = (np.zeros((height, width), bool) for _ in range(2))
    for found, step in ((right, 1), (below, width)):
        place = pairs[steps == step, 0] - first
        found.reshape(-1)[place[place < height * width]] = True
    is_whole = right[:, :-1].all(axis=1) & np.append(below[:-1].all(axis=1), True)
    return min(width, height) if is_whole.all() else 0


def core(pairs: Ints, least: int) -> Ints:
    """The pairs among nodes that have at least so many neighbors among them.

    >>> core(np.array([[0, 1], [0, 2], [1, 2], [2, 3]]), 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    while len(pairs):
        is_kept: Bools = np.asarray((np.bincount(pairs.reshape(-1)) >= least)[pairs].all(axis=1))
        if is_kept.all():
            break
        pairs = pairs[is_kept]
    return pairs
