"""Orders from one side of a graph to the other, as a grid is eliminated row by row or by its diagonals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats, Int32s, Ints
from sepset.graphs.csr import csr, sorted_pairs, topological

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
    links = _Links.of(start, members, num_own, num_variables)
    ends = links.pairs()
    order = topological(csr(ends[:, 1], ends[:, 0], num_own), csr(ends[:, 0], ends[:, 1], num_own))
    ranks = np.full(num_variables, np.nan)
    if len(order) < num_own:
        return ranks
    rank = np.empty(num_own)
    rank[np.array(order, np.int64)] = np.arange(num_own)
    ranks[links.own] = rank[links.own]
    _, factor, inner = links.followed
    after = np.full(num_variables, np.inf)
    place, count = _joined(links.first, links.number, factor)
    np.minimum.at(after, np.repeat(inner, count), rank[links.own[place]])
    ranks[num_own:] = np.where(after[num_own:] < np.inf, after[num_own:] - 0.5, np.nan)
    return ranks


class _Links(NamedTuple):
    """The factors with auxiliaries.

    Attributes:
        first, number: where the own variables of each factor begin, and their number; zero for other factors.
        own: these variables, one factor after the other.
        last: the last variable of each factor.
        followed: the factor that made an auxiliary, the one that reads it, and the auxiliary itself.
    """

    first: Ints
    number: Ints
    own: Ints
    last: Ints
    followed: tuple[Ints, Ints, Ints]
    num_own: int

    @classmethod
    def of(cls, start: Ints, members: Ints, num_own: int, num_variables: int) -> _Links:
        """Those among factors with these scopes."""
        sizes, num = np.diff(start), len(start) - 1
        factor, is_hidden = np.repeat(np.arange(num), sizes), members >= num_own
        is_inner = np.bincount(factor[is_hidden], minlength=num) > 0
        is_own, filled = is_inner[factor] & ~is_hidden, np.flatnonzero(sizes)
        last = np.full(num, -1)
        last[filled] = members[start[1:][filled] - 1]
        home, ends = np.full(num_variables, -1), np.flatnonzero(last >= num_own)
        home[last[ends]] = ends
        is_last = np.zeros(len(members), bool)
        is_last[start[1:][filled] - 1] = True
        read = np.flatnonzero(is_hidden & ~is_last & (home[members] >= 0))
        number = np.bincount(factor[is_own], minlength=num)
        followed = home[members[read]], factor[read], members[read]
        return cls(np.cumsum(number) - number, number, members[is_own], last, followed, num_own)

    def pairs(self) -> Ints:
        """The pairs of own variables of which the first comes first, sorted."""
        made, factor, _ = self.followed
        place, count = _joined(self.first, self.number, made)
        at, v = np.repeat(factor, count), self.own[place]
        place, count = _joined(self.first, self.number, at)
        at, v, u = np.repeat(at, count), np.repeat(v, count), self.own[place]
        home = np.repeat(np.arange(len(self.number)), self.number)
        known, asked = np.sort(home * self.num_own + self.own), at * self.num_own + v
        is_shared = np.append(known, -1)[np.searchsorted(known, asked)] == asked
        is_kept = (v != u) & ((u == self.last[at]) | ~is_shared)
        is_end = (self.last[home] < self.num_own) & (self.own != self.last[home])
        one, other = np.append(v[is_kept], self.own[is_end]), np.append(u[is_kept], self.last[home[is_end]])
        return sorted_pairs(np.column_stack([one, other]), self.num_own)


def _joined(first: Ints, number: Ints, which: Ints) -> tuple[Ints, Ints]:
    """The places of the members of some rows, one row after the other, and how many each has."""
    count = number[which]
    return np.arange(count.sum()) + np.repeat(first[which] - (np.cumsum(count) - count), count), count


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
    place, count = _joined(indptr[:-1], np.diff(indptr), nodes)
    return np.repeat(nodes, count), indices[place]
