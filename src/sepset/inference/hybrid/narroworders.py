"""Orders in which many hidden numbers are eliminated, if their cliques are small; from the graph alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.errors import TooLarge
from sepset.graphs.ordering import MinFill
from sepset.graphs.symbolic import symbolic_elimination
from sepset.inference import costs

STATES = 2.0**0.125
"""The states that numbers are counted with while an order is sought: sizes of wide cliques stay in the range."""


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
    if rows is None or float(np.square(np.diff(rows[0]).astype(np.float64)).sum()) > costs.NEIGHBORS_REVERSED:
        return None
    names: Any = range(len(hidden))  # no other names are needed
    states: Any = STATES ** sizes[hidden]
    try:
        found = symbolic_elimination(
            names, rows, states, last[hidden].astype(np.int64), MinFill(), costs.BITS_REVERSED, patience=0
        )
    except TooLarge:
        return None
    own = sizes[hidden[found.order]].astype(np.float64)
    if float((own * np.square(_sums(found.start, own[found.scopes]) + own)).sum()) > costs.PAIRS_REVERSED:
        return None
    return NarrowOrder(needed, np.asarray(hidden[found.order]), found.start, found.scopes)


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
