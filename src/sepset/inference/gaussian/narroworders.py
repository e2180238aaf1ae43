"""Orders in which many hidden numbers are eliminated, if their cliques are small; from the graph alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.threads import interruptible
from sepset.errors import TooLarge
from sepset.graphs.ordering import OrderingTask
from sepset.graphs.symbolic import symbolic_elimination
from sepset.inference import costs


class _WithinReads:
    """Least fill, as long as few neighbors are read."""

    def arrange(self, task: OrderingTask) -> Ints:
        """The node numbers, first eliminated first."""
        from sepset.kernels.graphs.ordering import greedy_order

        ones, zeros, tie = np.ones(len(task)), np.zeros(len(task)), np.arange(len(task), dtype=np.float64)
        rule = ones, ones, task.group, np.array([1.0, 0.0]), zeros, tie
        order = interruptible(
            lambda cancel: greedy_order(task.indptr, task.indices, *rule, -1.0, costs.NEIGHBORS_REVERSED, cancel)
        )[0]
        if len(order) < len(task):
            raise TooLarge(f"An order of {len(task):,} real variables has large cliques.")
        return order


@dataclass(frozen=True, eq=False)
class NarrowOrder:
    """An order of the hidden real variables of a question.

    Attributes:
        needed: which variables of the problem the question needs.
        order: the positions of hidden ones, first eliminated first.
        start, scopes: the rest of the clique of each, as ranks in the order, ascending, in compressed rows.
    """

    needed: Bools
    order: Ints
    start: Ints
    scopes: Ints


def narrow_order(
    edges: tuple[Ints, Ints], sizes: Ints, needed: Bools, is_found: Bools, last: Bools
) -> NarrowOrder | None:
    """An order by least fill; None if its cliques are too large for an elimination in seconds.

    Args:
        edges: the child of each regression, and the child itself or one of its real parents.
        sizes: the number of coordinates of each variable; none of a discrete one.
        needed: the real variables that a question needs.
        is_found: those observed.
        last: those that are eliminated last.

    >>> chain = np.array([0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 2])
    >>> every, none = np.ones(3, np.bool_), np.zeros(3, np.bool_)
    >>> narrow_order(chain, np.ones(3, np.int64), every, none, np.array([True, False, False])).order.tolist()
    [2, 1, 0]
    """
    hidden = np.flatnonzero(needed & ~is_found)
    if not len(hidden):
        return NarrowOrder(needed, hidden, np.zeros(1, np.int64), hidden)
    rows = _neighbors(edges, needed, needed & ~is_found)
    if rows is None or _triangles(*rows) > costs.TRIANGLES_REVERSED:
        return None
    names: Any = range(len(hidden))  # no other names are needed
    states: Any = np.ones(len(hidden))  # what counts is how many numbers there are
    try:
        found = symbolic_elimination(names, rows, states, last[hidden].astype(np.int64), _WithinReads())
    except TooLarge:
        return None
    own = sizes[hidden[found.order]].astype(np.float64)
    if float((own * np.square(_sums(found.start, own[found.scopes]) + own)).sum()) > costs.PAIRS_REVERSED:
        return None
    return NarrowOrder(needed, np.asarray(hidden[found.order]), found.start, found.scopes)


def _triangles(start: Ints, neighbors: Ints) -> float:
    """The most common neighbors that the two ends of all edges may have."""
    degree = np.diff(start).astype(np.float64)
    return float(np.minimum(np.repeat(degree, np.diff(start)), degree[neighbors]).sum())


def _sums(start: Ints, numbers: Floats) -> Floats:
    """The sums of the compressed rows of numbers."""
    ends = np.concatenate([[0.0], np.cumsum(numbers)])
    return np.asarray(ends[start[1:]] - ends[start[:-1]])


def _neighbors(edges: tuple[Ints, Ints], needed: Bools, is_hidden: Bools) -> tuple[Ints, Ints] | None:
    """The hidden variables that share a regression with each, in compressed rows; None if they are too many."""
    from scipy import sparse

    child, member = edges
    kept = needed[child] & is_hidden[member]
    child, member = child[kept], (np.cumsum(is_hidden) - 1)[member[kept]]
    if float(np.square(np.bincount(child).astype(np.float64)).sum()) > costs.PAIRS_REVERSED:
        return None
    shape = len(needed), int(np.count_nonzero(is_hidden))
    families = sparse.csr_array((np.ones(len(child), np.int32), (child, member)), shape=shape)
    graph = sparse.csr_array(families.T @ families)
    graph.setdiag(0)
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
