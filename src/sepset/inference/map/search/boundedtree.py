r"""A pseudo tree with the functions of a model and the mini-bucket messages that bound its subtrees.

The messages that leave the subtree of a node bound its best value: those sent by its nodes to nodes above it.

$$h_c(\mathbf x) = \sum_{m \text{ from below } c \text{ to above } c} m(\mathbf x) \ge v_c$$
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import require_time
from sepset.errors import TooLarge
from sepset.inference.map.minibuckets import (
    MAX_TABLES,
    Function,
    functions_of,
    maximum_of,
    partition,
    search_order,
    steps_of,
)
from sepset.inference.map.search.pseudotree import PseudoTree
from sepset.inference.wiring import Wiring
from sepset.kernels.map.andor import AT, Frames, Tree, enter

MOST_KEPT, MOST_SUMMED = 2**26, 2**22
"""The most states that all nodes together keep while they are open, and the most messages in all of their bounds."""


@dataclass(frozen=True, eq=False)
class BoundedTree:
    """The tree that an AND/OR search of a model goes over.

    Attributes:
        pseudo: the pseudo tree.
        tree: its functions and bounds, as kernels take them.
        regions: the nodes whose best states each node keeps.
        constant: the log value of nothing.
        stored: the number of cached values, and of their states.

    Guarantee: upper bounds.
    Tested by: inference/map/search/test_boundedtree.py::test_bounds_of_subtrees_by_enumeration
    """

    pseudo: PseudoTree
    tree: Tree
    regions: tuple[tuple[int, ...], ...]
    constant: float
    stored: tuple[int, int]

    @classmethod
    def of(cls, wiring: Wiring, messages: Floats, *, entries: int, cache: int) -> BoundedTree:
        """The tree of the model after its factors and variables exchanged messages.

        Args:
            messages: one number per state of every slot; any leave the values as they are, good ones give good bounds.
            entries: the most entries of a mini-bucket's table, unless one function has more.
            cache: the most numbers that caches store.
        """
        scopes = [wiring.scope(f).tolist() for f in range(wiring.num_factors)]
        pseudo = PseudoTree.of(scopes, wiring.plugs.cards.tolist(), search_order(wiring).tolist())
        functions = [
            Function(tuple(v + 1 for v in scope), values)
            for scope, values in functions_of(wiring, messages, pseudo.order)
        ]
        chosen, regions = pseudo.cached(cache)
        if sum(map(len, regions)) > MOST_KEPT:
            raise TooLarge(
                f"The subtrees of an AND/OR search of {wiring.num_variables} variables have over {MOST_KEPT:,} nodes "
                "in all. Use HybridBestFirst()."
            )
        sizes = [pseudo.context_size(d) if chosen[d] else 0 for d in range(len(chosen))]
        stored = sum(sizes), sum(s * len(r) for s, r in zip(sizes, regions, strict=True))
        groups = _groups(pseudo, functions, entries)
        return cls(pseudo, _tree(pseudo, groups, sizes, regions), regions, wiring.constant, stored)

    def frames(self) -> Frames:
        """The search before its first node, which needs to exceed nothing."""
        tree, n = self.tree, len(self.tree.cards)
        numbers = {name: np.full(n, -np.inf) for name in ("needed", "best", "upper", "solved", "solved_upper")}
        frames = Frames(
            codes=np.zeros(n, np.int64),
            kid=np.full(n, -1, np.int64),
            own=np.zeros(tree.states[-1]),
            bounds=np.zeros(tree.bounds[-1]),
            open=np.full(tree.states[-1], -np.inf),
            kept=np.zeros(tree.kept[-1], np.int32),
            values=np.full(self.stored[0], -np.inf),
            uppers=np.full(self.stored[0], np.inf),
            stored=np.zeros(self.stored[1], np.int32),
            counters=np.zeros(4, np.int64),
            **numbers,
        )
        enter(tree, frames, 0, -np.inf)
        return frames

    def bound(self, frames: Frames) -> float:
        """The most that an assignment can have, from the nodes that are open."""
        tree, at = self.tree, int(frames.counters[AT])
        if at < 0:
            return self.constant + float(frames.upper[0])
        found = -np.inf
        for d in reversed(self.pseudo.path(at)):
            first, kid = int(tree.states[d]), int(frames.kid[d])
            bounds = [float(frames.upper[d]), float(frames.open[first : tree.states[d + 1]].max())]
            if kid >= 0:
                rest = [self._bound_of(frames, k, d) for k in range(kid, int(tree.firsts[d + 1]))]
                rest[:1] = [found] if d != at else rest[:1]
                bounds.append(float(frames.solved_upper[d]) + math.fsum(rest))
            found = max(bounds)
        return self.constant + found

    def _bound_of(self, frames: Frames, k: int, d: int) -> float:
        return float(frames.bounds[self.tree.bounds[self.tree.kids[k]] + frames.codes[d]])

    def solution(self, frames: Frames, start: Ints) -> Ints:
        """The best assignment so far: of the branches that are done, with the open states above them.

        Args:
            start: the assignment of everything else.
        """
        codes = np.concatenate([[0], start[self.pseudo.order]])
        at = int(frames.counters[AT])
        if at < 0:
            self._fill(frames, codes, 0)
        for d in self.pseudo.path(at) if at >= 0 else []:
            if frames.kid[d] >= 0:
                codes[d] = frames.codes[d]
                for k in range(int(self.tree.firsts[d]), int(frames.kid[d])):
                    self._fill(frames, codes, int(self.tree.kids[k]))
        found = np.empty(len(start), np.int64)
        found[self.pseudo.order] = codes[1:]
        return found

    def _fill(self, frames: Frames, codes: Ints, node: int) -> None:
        """Set the codes of a subtree that is done, from what its nodes keep and what caches store."""
        tree = self.tree
        for d in range(node, self.pseudo.last_below(node)):
            if tree.caches[d] >= 0:
                steps = slice(tree.context_starts[d], tree.context_starts[d + 1])
                at = int((tree.context_steps[steps] * codes[tree.contexts[steps]]).sum())
                if frames.values[tree.caches[d] + at] == -np.inf:
                    continue
                start = int(tree.cached_states[d]) + at * int(tree.sizes[d])
                codes[list(self.regions[d])] = frames.stored[start : start + tree.sizes[d]]
            elif d == node:
                codes[list(self.regions[d])] = frames.kept[tree.kept[d] : tree.kept[d] + tree.sizes[d]]


def _groups(pseudo: PseudoTree, functions: Sequence[Function], entries: int) -> list[list[Function]]:
    """The functions of each node, then the messages that bound each node, by mini-buckets from the last node to one."""
    n, cards = len(pseudo.parents), np.array(pseudo.cards)
    groups: list[list[Function]] = [[] for _ in range(2 * n)]
    for function in functions:
        groups[function.scope[-1]].append(function)
    waiting, size, summed = [list(group) for group in groups[:n]], sum(f.values.size for f in functions), 0
    constants = np.zeros(n)  # of messages without variables, which go all the way to the root
    for d in range(n - 1, 0, -1):
        require_time()
        for part in partition(waiting[d], cards, entries):
            message = maximum_of(part)
            if not message.scope:
                constants[d] += float(message.values)
                continue
            waiting[message.scope[-1]].append(message)
            path = pseudo.between(d, message.scope[-1])
            for node in path:
                groups[n + node].append(message)
            size, summed = size + message.values.size, summed + len(path)
        if size > MAX_TABLES or summed > MOST_SUMMED:
            raise TooLarge(
                f"The bounds of {n - 1} variables have {size:.3g} entries and {summed:.3g} messages, more than "
                f"{MAX_TABLES:.3g} or {MOST_SUMMED:.3g}. Use fewer entries=, or HybridBestFirst()."
            )
    for d in range(n - 1, 0, -1):
        constants[pseudo.parents[d]] += constants[d]
        groups[n + d].append(Function((), np.array(constants[d])))
    return groups


def _tree(
    pseudo: PseudoTree, groups: list[list[Function]], sizes: list[int], regions: tuple[tuple[int, ...], ...]
) -> Tree:
    n, kids, cards = len(pseudo.parents), pseudo.children, np.array(pseudo.cards, np.int64)
    last = [*range(n), *(max(0, parent) for parent in pseudo.parents)]  # the variable that each group varies
    listed = [(d, f) for d, group in zip(last, groups, strict=True) for f in group]
    earlier = [[(v, s) for v, s in steps_of(f) if v != d] for d, f in listed]
    tables, places = _shared([f for _, f in listed])
    lengths = np.array([len(region) for region in regions], np.int64)
    return Tree(
        cards=cards,
        states=_starts(cards),
        parents=np.array(pseudo.parents, np.int64),
        firsts=_starts([len(k) for k in kids]),
        kids=np.array([c for k in kids for c in k], np.int64),
        bounds=_starts([int(cards[max(0, parent)]) for parent in pseudo.parents]),
        groups=_starts([len(group) for group in groups]),
        terms=_starts([len(steps) for steps in earlier]),
        depths=np.array([v for steps in earlier for v, _ in steps], np.int64),
        steps=np.array([s for steps in earlier for _, s in steps], np.int64),
        own=np.array([dict(steps_of(f)).get(d, 0) for d, f in listed], np.int64),
        places=places,
        tables=tables,
        context_starts=_starts([len(c) for c in pseudo.contexts]),
        contexts=np.array([e for c in pseudo.contexts for e in c], np.int64),
        context_steps=np.array([s for c in pseudo.contexts for s in _steps([pseudo.cards[e] for e in c])], np.int64),
        caches=np.where(np.array(sizes) > 0, _starts(sizes)[:-1], -1),
        cached_states=_starts(np.array(sizes) * lengths)[:-1],
        kept=_starts(lengths),
        sizes=lengths,
    )


def _shared(functions: Sequence[Function]) -> tuple[Floats, Ints]:
    """All tables one after the other, each once, and where that of each function starts."""
    start: dict[int, int] = {}
    tables, places, size = [np.zeros(0)], [], 0
    for function in functions:
        if id(function.values) not in start:
            start[id(function.values)] = size
            tables.append(function.values.reshape(-1))
            size += function.values.size
        places.append(start[id(function.values)])
    return np.concatenate(tables), np.array(places, np.int64)


def _steps(shape: Sequence[int]) -> list[int]:
    """The step of each axis in a table, the last axis fastest; too large ones are not used."""
    return [min(math.prod(shape[at + 1 :]), 2**62) for at in range(len(shape))]


def _starts(sizes: Any) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
