"""The sizes of the messages of an elimination order, without the messages: in nearly linear time.

The receivers of messages form a forest. A node is in the messages along the paths of the forest that lead to it from
its earlier neighbors; where two of these paths meet they are one. So it is enough to count, at each node, the paths
that begin there and to take away those that meet, and to add up along the forest.

Reference: Gilbert, Ng & Peyton (1994), An efficient algorithm to compute row and column counts for sparse Cholesky
factorization; Liu (1986).
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["message_sizes"]


def message_sizes(earlier: Sequence[Sequence[int]], later: Sequence[Sequence[int]]) -> list[int]:
    """The number of members of each message.

    Args:
        earlier, later: for each position of the order, those of its neighbors before and after it.

    Reference: Gilbert, Ng & Peyton (1994).
    Guarantee: exact.
    Tested by: graphs/test_columncounts.py::test_sizes_are_those_of_the_messages

    >>> message_sizes([[], [0], [1], [0, 2]], [[1, 3], [2], [3], []])
    [2, 2, 1, 0]
    """
    parents = receivers(earlier)
    order = _postorder(parents)
    first = [-1] * len(parents)
    counts = [0] * len(parents)
    for k, i in enumerate(order):
        counts[i] = int(first[i] < 0)
        while i >= 0 and first[i] < 0:
            first[i], i = k, parents[i]
    _count_paths(order, later, parents, first, counts)
    for i, parent in enumerate(parents):
        if parent >= 0:
            counts[parent] += counts[i]
    return [count - 1 for count in counts]


def receivers(earlier: Sequence[Sequence[int]]) -> list[int]:
    """The position that receives each message, or -1: the first of its members.

    >>> receivers([[], [0], [1], [0, 2]])
    [1, 2, 3, -1]
    """
    parents, ancestors = [-1] * len(earlier), [-1] * len(earlier)
    for i, neighbors in enumerate(earlier):
        for k in neighbors:
            while k >= 0 and k != i:
                above, ancestors[k] = ancestors[k], i
                if above < 0:
                    parents[k] = i
                k = above
    return parents


def _postorder(parents: Sequence[int]) -> list[int]:
    """All positions, each after those below it."""
    below: list[list[int]] = [[] for _ in parents]
    roots: list[int] = []
    for i, parent in enumerate(parents):
        (below[parent] if parent >= 0 else roots).append(i)
    found, stack = [], roots
    while stack:
        i = stack.pop()
        found.append(i)
        stack += below[i]
    return found[::-1]


def _count_paths(
    order: Sequence[int], later: Sequence[Sequence[int]], parents: Sequence[int], first: list[int], counts: list[int]
) -> None:
    """Add to each position the paths that begin there, less those that meet there."""
    latest, before, joined = [-1] * len(parents), [-1] * len(parents), list(range(len(parents)))
    for i in order:
        if parents[i] >= 0:
            counts[parents[i]] -= 1
        for u in later[i]:
            if first[i] > latest[u]:
                counts[i] += 1
                latest[u], last, before[u] = first[i], before[u], i
                if last >= 0:
                    counts[_meeting(last, joined)] -= 1
        if parents[i] >= 0:
            joined[i] = parents[i]


def _meeting(i: int, joined: list[int]) -> int:
    """The position at which a path from here meets those before, with a shorter way to it for the next time."""
    root = i
    while joined[root] != root:
        root = joined[root]
    while joined[i] != root and i != root:
        joined[i], i = root, joined[i]
    return root
