r"""Pseudo trees: an elimination order as a tree whose branches are independent given the nodes above them.

Every function has its variables on one path from the root. The context of a node are the nodes above it that share a
function with it or with a node below: given their states, nothing else above matters. In a tree for elimination order
$o$, it is what eliminating the node would connect, and the parent is its last member.

Reference: Dechter & Mateescu (2007), AND/OR search spaces for graphical models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.base.threads import require_time


@dataclass(frozen=True, eq=False)
class PseudoTree:
    """A pseudo tree. Node 0 is above all components; node $d$ is variable `order[d - 1]`, its subtree has no gaps.

    Attributes:
        order: the variables, a parent before its children and a subtree before the next one.
        cards: the number of states of each node, one for node 0.
        parents: the node above each node, -1 for node 0.
        contexts: the nodes that the best value below each node depends on, in increasing order.

    Guarantee: exact.
    Tested by: inference/map/search/test_pseudotree.py::test_branches_are_independent_given_contexts

    >>> tree = PseudoTree.of([(0, 1), (1, 2)], [2, 2, 3, 2], [1, 0, 2, 3])
    >>> tree.order.tolist(), tree.parents, tree.contexts
    ([3, 1, 2, 0], (-1, 0, 0, 2, 2), ((), (), (), (2,), (2,)))
    """

    order: Ints
    cards: tuple[int, ...]
    parents: tuple[int, ...]
    contexts: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, scopes: Iterable[Sequence[int]], cards: Sequence[int], order: Sequence[int]) -> PseudoTree:
        """The pseudo tree of functions with these scopes.

        Args:
            cards: the number of states of each variable.
            order: the variables in the order of a search: the last one to be eliminated first.
        """
        place, n = {v: at for at, v in enumerate(order)}, len(order)
        near: list[set[int]] = [set() for _ in range(n)]
        for scope in scopes:
            places = sorted(place[v] for v in scope)
            for at, d in enumerate(places):
                near[d].update(places[:at])
        below: list[list[int]] = [[] for _ in range(n + 1)]
        for d in range(n - 1, -1, -1):
            require_time()
            parent = max(near[d], default=-1)
            below[parent].append(d)
            if parent >= 0:
                near[parent] |= near[d] - {parent}
        walk = _walked(below)
        number = {d: node + 1 for node, d in enumerate(walk)}
        parents = [number[max(near[d])] if near[d] else 0 for d in walk]
        contexts = [tuple(sorted(number[e] for e in near[d])) for d in walk]
        chosen = np.array([order[d] for d in walk], np.int64)
        sizes = [int(cards[v]) for v in chosen]
        return cls(chosen, (1, *sizes), (-1, *parents), ((), *contexts))

    @property
    def children(self) -> list[list[int]]:
        """The nodes below each node, in increasing order."""
        found: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(node)
        return found

    def context_size(self, d: int) -> int:
        """The number of joint states of a node's context."""
        return math.prod(self.cards[e] for e in self.contexts[d])

    def is_dead(self, d: int) -> bool:
        """Whether no two visits of a node have the same context, since it has its parent's and the parent."""
        parent = self.parents[d]
        return parent < 0 or len(self.contexts[d]) > len(self.contexts[parent])

    def path(self, d: int) -> list[int]:
        """The nodes from the root to a node."""
        found = [d]
        while found[-1] > 0:
            found.append(self.parents[found[-1]])
        return found[::-1]

    def between(self, d: int, above: int) -> list[int]:
        """The nodes from a node upward, as long as they are below another one."""
        found = [d]
        while self.parents[found[-1]] != above:
            found.append(self.parents[found[-1]])
        return found

    @property
    def depth(self) -> int:
        """The largest number of variables on a path from the root."""
        found = [0] * len(self.parents)
        for d in range(1, len(found)):
            found[d] = found[self.parents[d]] + 1
        return max(found)

    def last_below(self, d: int) -> int:
        """One more than the last node of a subtree."""
        after = d + 1
        while after < len(self.parents) and self.parents[after] >= d:
            after += 1
        return after

    def cached(self, numbers: int) -> tuple[Bools, tuple[tuple[int, ...], ...]]:
        """The nodes with a cache, and the nodes whose best states each node keeps, within a number of numbers.

        A node keeps its own state and those of the nodes below it down to the next ones with caches. Node 0 has a
        cache always, and those of small contexts come first.
        """
        sizes = [self.context_size(d) for d in range(len(self.parents))]
        ranked = sorted((s, d) for d, s in enumerate(sizes) if not self.is_dead(d))
        most = numbers
        while True:
            chosen, total = np.zeros(len(sizes), bool), 0
            chosen[0] = True
            for size, d in ranked:
                total += 3 * size
                if total > most:
                    break
                chosen[d] = True
            regions = self._regions(chosen)
            if most == 0 or sum(sizes[d] * (2 + len(regions[d])) for d in np.flatnonzero(chosen)[1:]) <= numbers:
                return chosen, regions
            most //= 2

    def _regions(self, chosen: Bools) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[d] for d in range(len(self.parents))]
        for d in range(len(self.parents) - 1, 0, -1):
            require_time()
            if not chosen[d]:
                found[self.parents[d]][1:1] = found[d]
        return tuple(tuple(nodes) for nodes in found)


def _walked(below: list[list[int]]) -> list[int]:
    """The places from the root on, small subtrees first; the last list has the roots."""
    n = len(below) - 1
    sizes = [1] * (n + 1)
    for d in range(n - 1, -1, -1):
        sizes[d] += sum(sizes[e] for e in below[d])
    found: list[int] = []
    open_ = sorted(below[n], key=lambda e: (-sizes[e], e))
    while open_:
        d = open_.pop()
        found.append(d)
        open_ += sorted(below[d], key=lambda e: (-sizes[e], e))
    return found
