"""Symbolic elimination: from the scopes of factors to the cliques of an order.

Lists of lists are compressed rows: row i is `members[start[i] : start[i + 1]]`. Nodes are numbered locally until an
order is known, and by *rank*, their place in it, from then on.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.kernels.kernel import kernel, pairs, sizes, times


@kernel(inline=True)
def _local_scopes(start: Ints, members: Ints, rows: Ints, place: Ints, together: Ints) -> tuple[Ints, Ints]:
    """The chosen rows with each member replaced by its place, ascending, without members that have none (-1); and one
    more row of places."""
    total = len(together)
    for row in rows:
        total += start[row + 1] - start[row]
    found_start = np.empty(len(rows) + 2, np.int64)
    found = np.empty(total, np.int64)
    found_start[0] = 0
    top = 0
    for i in range(len(rows)):
        first = top
        for k in range(start[rows[i]], start[rows[i] + 1]):
            p = place[members[k]]
            if p >= 0:
                j = top
                while j > first and found[j - 1] > p:
                    found[j] = found[j - 1]
                    j -= 1
                found[j] = p
                top += 1
        found_start[i + 1] = top
    for k in range(len(together)):
        found[top + k] = together[k]
    found_start[len(rows) + 1] = top + len(together)
    return found_start, found[: top + len(together)].copy()


@kernel(work=sizes)
def transposed(start: Ints, members: Ints, num: int) -> tuple[Ints, Ints]:
    """For each of `num` members the rows that contain it, ascending."""
    back_start = np.zeros(num + 1, np.int64)
    for k in range(start[-1]):
        back_start[members[k] + 1] += 1
    for i in range(num):
        back_start[i + 1] += back_start[i]
    top = back_start.copy()
    back = np.empty(start[-1], np.int64)
    for row in range(len(start) - 1):
        for k in range(start[row], start[row + 1]):
            back[top[members[k]]] = row
            top[members[k]] += 1
    return back_start, back


@kernel(inline=True)
def _adjacency(start: Ints, members: Ints, num: int) -> tuple[Ints, Ints]:
    """The graph that joins the members of every row: for each node its neighbors, ascending."""
    row_start, rows = transposed(start, members, num)
    total = 0
    for i in range(len(start) - 1):
        size = start[i + 1] - start[i]
        total += size * (size - 1)
    near_start = np.zeros(num + 1, np.int64)
    near = np.empty(total, np.int64)
    mark = np.full(num, -1, np.int64)
    top = 0
    for v in range(num):
        mark[v] = v
        for i in range(row_start[v], row_start[v + 1]):
            for k in range(start[rows[i]], start[rows[i] + 1]):
                if mark[members[k]] != v:
                    mark[members[k]] = v
                    near[top] = members[k]
                    top += 1
        near_start[v + 1] = top
    return transposed(near_start, near[:top].copy(), num)


@kernel(work=lambda start, members, *rest: sizes(*rest) + pairs(start, members))
def scope_graph(
    start: Ints, members: Ints, rows: Ints, place: Ints, together: Ints, num: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """The chosen rows by place, as compressed rows, and the graph over `num` places that joins the members of each.

    Args:
        place: the place of each member, or -1 for one that is left out.
        together: places that are also joined, in ascending order; they are the last row.
    """
    found_start, found = _local_scopes(start, members, rows, place, together)
    near_start, near = _adjacency(found_start, found, num)
    return found_start, found, near_start, near


@kernel(inline=True)
def _ranks(order: Ints, n: int) -> Ints:
    """The rank of each node in an order; nothing if the order does not have each node once."""
    rank = np.full(n, -1, np.int64)
    for i in range(len(order)):
        if 0 <= order[i] < n:
            rank[order[i]] = i
    is_whole = len(order) == n
    for i in range(n):
        is_whole = is_whole and rank[i] >= 0
    return rank if is_whole else rank[:0]


@kernel(inline=True)
def _grown(pool: Ints, used: int, more: int) -> Ints:
    """A pool with space for more entries; the one given if it has it."""
    if used + more <= len(pool):
        return pool
    grown = np.empty(2 * len(pool) + more, np.int64)
    for k in range(used):
        grown[k] = pool[k]
    return grown


@kernel(inline=True)
def _message(
    i: int, begin: int, end: int, near: Ints, rank: Ints, start: Ints, tree: tuple[Ints, Ints], pool: Ints, mark: Ints
) -> int:
    """Write the scope of the message of rank i: later neighbors, and scopes of incoming messages. Returns its end."""
    top = int(start[i])
    mark[i] = i
    for k in range(begin, end):
        r = rank[near[k]]
        if r > i and mark[r] != i:
            mark[r] = i
            pool[top] = r
            top += 1
    child, sibling = tree
    c = child[i]
    while c >= 0:
        for k in range(start[c], start[c + 1]):
            r = pool[k]
            if mark[r] != i:
                mark[r] = i
                pool[top] = r
                top += 1
        c = sibling[c]
    return top


@kernel(inline=True)
def _clique_entries(start: Ints, scopes: Ints, ranked: Floats) -> Floats:
    """The entries of the clique of each rank: its own states times those of its message."""
    sizes = ranked.copy()
    for i in range(len(ranked)):
        for k in range(start[i], start[i + 1]):
            sizes[i] *= ranked[scopes[k]]
    return sizes


@kernel(work=times(4))
def eliminate(
    start: Ints, neighbors: Ints, order: Ints, cards: Floats, limit: float, patience: int
) -> tuple[Ints, Ints, Ints, Ints, Floats, Floats, float]:
    """Message scopes as ranks (compressed rows), the rank each message goes to, the clique that absorbs each; the
    entries of each clique, the states by rank, and the entries of all maximal cliques.

    A message's scope is the later neighbors and the scopes of incoming messages, without the variable itself; it goes
    to the first of them, -1 if there is none. A clique is contained in another if and only if it equals an incoming
    message. If the order does not have each node once, everything is empty; so it is, with an infinite total, if a
    clique has more than 2^`limit` entries and the scopes together more than `patience` variables.
    """
    n = len(start) - 1
    rank = _ranks(order, n)
    if len(rank) < n:
        return start[:0], start[:0], start[:0], start[:0], cards, cards, 0.0
    scope_start = np.zeros(n + 1, np.int64)
    pool = np.empty(4 * len(neighbors) + 16, np.int64)
    parents = np.full(n, -1, np.int64)
    child = np.full(n, -1, np.int64)
    sibling = np.full(n, -1, np.int64)
    mark = np.full(n, -1, np.int64)
    is_large = False
    for i in range(n):
        first, v = scope_start[i], order[i]
        if is_large and first > patience:
            return start[:0], start[:0], start[:0], start[:0], cards, cards, np.inf
        pool = _grown(pool, first, n)
        top = _message(i, start[v], start[v + 1], neighbors, rank, scope_start, (child, sibling), pool, mark)
        scope_start[i + 1] = top
        size = cards[v]
        for k in range(first, top):
            size *= cards[order[pool[k]]]
            if parents[i] < 0 or pool[k] < parents[i]:
                parents[i] = pool[k]
        is_large = is_large or size > 2.0**limit
        if parents[i] >= 0:
            sibling[i] = child[parents[i]]
            child[parents[i]] = i
    back_start, back = transposed(scope_start, pool, n)
    scope_start, scopes = transposed(back_start, back, n)
    ranked = cards[order]
    sizes = _clique_entries(scope_start, scopes, ranked)
    absorbed = _absorbers(scope_start, parents)
    total = 0.0
    for i in range(n):
        total += sizes[i] if absorbed[i] == i else 0.0
    return scope_start, scopes, parents, absorbed, sizes, ranked, total


@kernel(inline=True)
def _absorbers(start: Ints, parents: Ints) -> Ints:
    """For each rank that of the maximal clique which contains its clique; itself where it is maximal."""
    n = len(parents)
    keeper = np.arange(n)
    for i in range(n):
        p = parents[i]
        if p >= 0 and keeper[p] == p and start[i + 1] - start[i] == start[p + 1] - start[p] + 1:
            keeper[p] = keeper[i]
    return keeper


@kernel(work=sizes)
def maximal_cliques(start: Ints, scopes: Ints, absorbed: Ints, num: int) -> tuple[Ints, Ints, Ints]:
    """For each rank its clique, -1 from rank `num` on; and the sepset of each clique (compressed rows).

    The variables eliminated by a clique are consecutive in its scope; its sepset is the message of the last of them.
    Cliques are numbered by that last rank, so that children come before parents.
    """
    n = len(absorbed)
    last = np.full(n, -1, np.int64)
    for i in range(num):
        last[absorbed[i]] = i
    group = np.full(n, -1, np.int64)
    number = np.full(n, -1, np.int64)
    sep_start = np.zeros(n + 1, np.int64)
    count, top = 0, 0
    for i in range(num):
        if last[absorbed[i]] == i:
            number[absorbed[i]] = count
            count += 1
            top += start[i + 1] - start[i]
            sep_start[count] = top
    sepsets = np.empty(top, np.int64)
    for i in range(num):
        group[i] = number[absorbed[i]]
        if last[absorbed[i]] == i:
            for k in range(start[i + 1] - start[i]):
                sepsets[sep_start[group[i]] + k] = scopes[start[i] + k]
    return group, sep_start[: count + 1].copy(), sepsets
