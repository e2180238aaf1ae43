"""Orders from one side of a graph to the other, as a grid is eliminated row by row or by its diagonals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats, Int32s, Ints
from sepset.graphs.csr import csr, topological

__all__ = ["beside", "lined_up", "side_by_side", "side_to_side"]


def side_to_side(indptr: Ints, indices: Int32s) -> Ints:
    """The nodes of a graph, given as compressed rows, from one side to the other, so that few are open at a time.

    Open nodes are those reached whose turn is still to come. Next is the open node with the fewest neighbors that are
    not reached yet, among these the one reached first; each connected component begins at a node far from others.
    All is counted in whole numbers and ties go by position, so that the order is the same on every machine.

    Cost: nodes and edges, times the logarithm of the number of nodes.
    Reference: King (1970); George & Liu (1979) for the first node.
    Guarantee: heuristic, deterministic.
    Tested by: graphs/test_sweeps.py::test_grids_are_swept_with_no_more_open_nodes_than_their_shorter_side
    """
    from sepset.kernels.graphs.sweeps import sweep

    return sweep(indptr, indices, np.argsort(np.diff(indptr), kind="stable"))


def lined_up(scopes: Iterable[AnyInts], num_variables: int) -> Ints:
    """The place of each variable in a line from side to side, with variables that share a scope near each other.

    A chain that runs along this line keeps few variables open, in whatever order a constraint lists them; without
    scopes it is the variables' own order, so that all chains run side by side.

    Args:
        scopes: the variables of factors, one factor per row.

    >>> lined_up([np.array([[0, 2], [2, 1]])], 3).tolist()
    [0, 2, 1]
    """
    pairs = [rows[:, [i, i + 1]] for rows in scopes for i in range(rows.shape[1] - 1)]
    if not any(map(len, pairs)):
        return np.arange(num_variables)
    one, other = np.unique(np.sort(np.concatenate(pairs).astype(np.int64), axis=1), axis=0).T
    order = side_to_side(*csr(np.append(one, other), np.append(other, one), num_variables))
    places = np.empty(num_variables, np.int64)
    places[order if order[0] <= order[-1] else order[::-1]] = np.arange(num_variables)
    return places


def side_by_side(start: Ints, members: Ints, num_own: int, num_variables: int) -> Floats:
    """The rank of each variable in an order along all chains of factors; nan for those in no chain.

    A chain is a list of factors, each with the auxiliary of the one before, some of the model's own variables, and last
    its own auxiliary. Each auxiliary comes right before the next variable that its chain runs through, so that one of
    each chain is open at a time, however long they are. Chains in contrary directions have no such order: all are nan.

    Args:
        start, members: the scopes of all factors as compressed rows.
        num_own: the number of the model's own variables, which come first.
        num_variables: the number of all variables.

    Cost: variables and factors, times the logarithm of the number of variables.
    Reference: Koller & Friedman, section 5.4.4, for the chain of one child.
    Guarantee: heuristic, deterministic.
    Tested by: graphs/test_sweeps.py::test_one_auxiliary_of_each_chain_is_open

    >>> scopes = [(0, 3), (3, 1, 4), (4, 2), (0, 5), (5, 2)]  # through 0, 1, 2, and through 0, 2
    >>> side_by_side(np.array([0, 2, 5, 7, 9, 11]), np.concatenate(scopes), 3, 6).tolist()
    [0.0, 1.0, 2.0, 0.5, 1.5, 1.5]
    """
    is_inner = np.add.reduceat(members >= num_own, start[:-1]) > 0 if len(start) > 1 else np.zeros(0, bool)
    scopes = [members[start[i] : start[i + 1]].tolist() for i in np.flatnonzero(is_inner).tolist()]
    own = [[v for v in scope if v < num_own] for scope in scopes]
    before = {scope[-1]: found for scope, found in zip(scopes, own, strict=True) if scope[-1] >= num_own}
    after: dict[int, list[int]] = {a: [] for a in before}
    pairs: set[tuple[int, int]] = set()
    for scope, found in zip(scopes, own, strict=True):
        inner = [a for a in scope[:-1] if a in before]
        for a in inner:
            after[a] += found
        ends = [v for a in inner for v in before[a]] + (found[:-1] if scope[-1] < num_own else [])
        pairs.update((v, u) for v in ends for u in found if v != u and (u == scope[-1] or v not in found))
    return _ranked(pairs, own, after, (num_own, num_variables))


def _ranked(
    pairs: set[tuple[int, int]], own: list[list[int]], after: dict[int, list[int]], numbers: tuple[int, int]
) -> Floats:
    """Ranks by which the first of each pair comes first, and auxiliaries come before what follows them."""
    num_own, num_variables = numbers
    ends = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    order = topological(csr(ends[:, 1], ends[:, 0], num_own), csr(ends[:, 0], ends[:, 1], num_own))
    ranks = np.full(num_variables, np.nan)
    if len(order) < num_own:
        return ranks
    rank = dict(zip(order, range(num_own), strict=True))
    for v in {v for found in own for v in found}:
        ranks[v] = rank[v]
    for a, found in after.items():
        if found:
            ranks[a] = min(rank[v] for v in found) - 0.5
    return ranks


def beside(indptr: Ints, indices: Int32s, ranks: Floats) -> Floats:
    """The ranks of all nodes of a graph, given as compressed rows, if some have one and the others are nan.

    Each of the others comes after the last of its neighbors that are nearer to the nodes with ranks.

    >>> beside(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([np.nan, np.nan, 5.0])).tolist()
    [5.0, 5.0, 5.0]
    """
    found, reached = ranks.copy(), np.flatnonzero(~np.isnan(ranks))
    while len(reached):
        sources, near = _edges(indptr, indices, reached)
        is_new = np.isnan(ranks[near]) & np.isnan(found[near])
        near, levels = near[is_new], found[sources[is_new]]
        reached = np.unique(near)
        found[reached] = -np.inf
        np.maximum.at(found, near, levels)
    return np.nan_to_num(found, nan=np.nanmax(found, initial=0.0) + 1.0)


def _edges(indptr: Ints, indices: Int32s, nodes: Ints) -> tuple[Ints, Int32s]:
    """The edges of some nodes: from which, and to which."""
    count = indptr[nodes + 1] - indptr[nodes]
    first = np.cumsum(count) - count
    return np.repeat(nodes, count), indices[np.arange(count.sum()) + np.repeat(indptr[nodes] - first, count)]
