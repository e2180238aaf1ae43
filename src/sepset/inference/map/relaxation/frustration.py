r"""Cycles whose cluster would lower a dual bound.

$$d(c) = \sum_{i \in c} \max b_i + \sum_{e \in c} \max \bar\theta_e
- \max_{\mathbf x_c} \Bigl[\sum_{i \in c} b_i(x_i) + \sum_{e \in c} \bar\theta_e(\mathbf x_e)\Bigr]$$

with the values $b_i$ of variables and $\bar\theta_e$ of pairs after exchanging messages: the bound with one table for
the cycle is lower by at least that.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.threads import require_time
from sepset.inference.map.relaxation.cycles import triangles
from sepset.inference.wiring import Wiring

Pair = tuple[int, int]

MAX_CANDIDATES = 20_000
"""The most short cycles whose gain is computed."""


CHUNK = 2**17
"""The most sums of entries that are looked at together."""


@dataclass(frozen=True, eq=False)
class Dual:
    """The values of single variables and pairs after exchanging messages.

    Attributes:
        beliefs: of each variable.
        pairs: tables, by the variables in increasing order.
    """

    beliefs: Sequence[Floats]
    pairs: Mapping[Pair, Floats]

    @classmethod
    def of(cls, wiring: Wiring, messages: Floats) -> Dual:
        """The values of a model whose pairs have their variables in increasing order."""
        wires, beliefs, pairs = wiring.wires, wiring.unary.copy(), dict[Pair, Floats]()
        places = np.repeat(wires.states[wires.scope] - wires.messages[:-1], np.diff(wires.messages))
        places = places + np.arange(len(messages))
        np.add.at(beliefs, places, np.where(wiring.unary[places] > -np.inf, messages, 0.0))
        ends, starts = wires.messages.tolist(), wires.starts.tolist()
        sent = np.where(messages > -np.inf, messages, np.inf)  # what a message rules out is impossible in the pair too
        for f in np.flatnonzero(np.diff(wires.starts) == 2).tolist():
            require_time()
            s, (i, j) = starts[f], wiring.scope(f).tolist()
            one, two = sent[ends[s] : ends[s + 1]], sent[ends[s + 1] : ends[s + 2]]
            pairs[i, j] = wiring.table(f) - one[:, None] - two[None]
        split = wires.states.tolist()
        return cls([beliefs[a:b] for a, b in itertools.pairwise(split)], pairs)

    @property
    def margins(self) -> Floats:
        """How far the second state of each variable is below its best one; infinite for those of one state."""
        ordered = [np.sort(values) for values in self.beliefs]
        return np.array([v[-1] - v[-2] if len(v) > 1 and v[-2] > -np.inf else np.inf for v in ordered])

    def gains(self, cycles: Sequence[tuple[int, ...]]) -> list[float]:
        """By how much a cluster of each cycle lowers the bound at least; infinite if it has no possible states."""
        alike: dict[tuple[int, ...], list[int]] = {}
        for number, cycle in enumerate(cycles):
            alike.setdefault(tuple(len(self.beliefs[i]) for i in cycle), []).append(number)
        found = np.empty(len(cycles))
        for shape, numbers in alike.items():
            size = max(1, CHUNK // max(shape) ** 3)
            for first in range(0, len(numbers), size):
                require_time()
                some = numbers[first : first + size]
                found[some] = self._gains([cycles[k] for k in some])
        return [float(gain) for gain in found]

    def _gains(self, cycles: Sequence[tuple[int, ...]]) -> Floats:
        """The gains of cycles of the same shape: products of their tables, with maxima for sums."""
        same = np.eye(len(self.beliefs[cycles[0][0]]), dtype=bool)
        total, joint = np.zeros(len(cycles)), np.where(same, 0.0, -np.inf)[None]
        for at in range(len(cycles[0])):
            ends = [(cycle[at], cycle[(at + 1) % len(cycle)]) for cycle in cycles]
            tables = np.stack([self.pairs[i, j] if i < j else self.pairs[j, i].T for i, j in ends])
            values = np.stack([self.beliefs[j] for _, j in ends])
            total += tables.max(axis=(1, 2)) + values.max(axis=1)
            step = tables + values[:, None]
            joint = (joint[:, :, :, None] + step[:, None]).max(axis=2)
        best = np.diagonal(joint, axis1=1, axis2=2).max(axis=1)
        return np.asarray(np.where(best > -np.inf, total - best, np.inf))


def frustrated_cycles(
    dual: Dual, *, most: int, least: float, candidates: int = MAX_CANDIDATES
) -> list[tuple[int, ...]]:
    """The cycles with the largest gains, among short ones and those of a spanning tree of the strongest pairs.

    Short cycles without a gain follow, the least decided ones first: what one of them gains may show when its neighbors
    have been added.

    Args:
        most: the largest number of cycles.
        least: the least gain that counts.
        candidates: the most short cycles whose gain is computed.

    Reference: Sontag, Choe & Li (2012), Efficiently searching for frustrated cycles in MAP inference.
    """
    margins = dual.margins.tolist()
    short = sorted(short_cycles(dual.pairs), key=lambda cycle: sum(margins[i] for i in cycle))[:candidates]
    listed = list(dict.fromkeys([*short, *tree_cycles(dual)]))
    gains = {c: gain for c, gain in zip(listed, dual.gains(listed), strict=True) if gain > least}
    found = sorted(gains, key=lambda cycle: -gains[cycle])
    return [*found, *(cycle for cycle in short if cycle not in gains)][:most]


def short_cycles(pairs: Iterable[Pair]) -> list[tuple[int, ...]]:
    """The triangles of a graph, and the cycles of four around edges that are in none.

    >>> short_cycles([(0, 1), (1, 2), (2, 3), (0, 3)])
    [(0, 1, 2, 3)]
    """
    listed = list(pairs)
    near: dict[int, set[int]] = {}
    for a, b in listed:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    found: dict[tuple[int, ...], None] = dict.fromkeys(triangles(listed))
    for a, b in listed:
        require_time()
        if near[a] & near[b]:
            continue
        for c in sorted(near[b] - {a}):
            for d in sorted(near[c] & near[a] - {b}):
                found[turned((a, b, c, d))] = None
    return list(found)


def turned(cycle: Sequence[int]) -> tuple[int, ...]:
    """A cycle from its smallest variable on, toward the smaller of its neighbors.

    >>> turned((3, 1, 2, 0))
    (0, 2, 1, 3)
    """
    first = cycle.index(min(cycle))
    made = [*cycle[first:], *cycle[:first]]
    return tuple(made) if made[1] < made[-1] else (made[0], *made[:0:-1])


def tree_cycles(dual: Dual) -> list[tuple[int, ...]]:
    """The frustrated cycles of a spanning tree of the pairs that tell equal from different most clearly, and one more.

    A variable is up in its best state, and a pair has the sign and strength of
    $\\max_{\\text{equal}} - \\max_{\\text{different}}$; a pair that contradicts the signs on the tree closes a cycle.
    """
    up = [int(values.argmax()) for values in dual.beliefs]
    signed = []
    for (i, j), table in dual.pairs.items():
        require_time()
        values = table + dual.beliefs[i][:, None] + dual.beliefs[j]
        same = (np.arange(table.shape[0]) == up[i])[:, None] == (np.arange(table.shape[1]) == up[j])
        equal, apart = values[same].max(initial=-np.inf), values[~same].max(initial=-np.inf)
        if equal != apart:
            signed.append((abs(float(equal - apart)), i, j, int(apart > equal)))
    forest, found = _Forest(len(up)), list[tuple[int, ...]]()
    for _, i, j, sign in sorted(signed, reverse=True):
        require_time()
        if (path := forest.closed(i, j, sign)) is not None and len(path) > 2:
            found.append(turned(path))
    return found


class _Forest:
    """A spanning forest with signs on its edges, as it grows.

    Args:
        size: the number of nodes.
    """

    def __init__(self, size: int) -> None:
        self.root, self.sign = list(range(size)), [0] * size
        self.members = [[i] for i in range(size)]
        self.near: list[list[int]] = [[] for _ in range(size)]

    def closed(self, i: int, j: int, sign: int) -> list[int] | None:
        """Add an edge, or return the path between its ends if the forest has one of the other sign."""
        one, two = self.root[i], self.root[j]
        if one == two:
            return self._path(i, j) if self.sign[i] ^ self.sign[j] != sign else None
        if len(self.members[one]) < len(self.members[two]):
            one, two = two, one
        change = self.sign[i] ^ self.sign[j] ^ sign
        for v in self.members[two]:
            self.root[v] = one
            self.sign[v] ^= change
        self.members[one] += self.members[two]
        self.near[i].append(j)
        self.near[j].append(i)
        return None

    def _path(self, start: int, end: int) -> list[int]:
        """The path in the forest, by breadth first search."""
        before, layer = {start: start}, [start]
        while end not in before:
            following = []
            for v in layer:
                for w in self.near[v]:
                    if w not in before:
                        before[w] = v
                        following.append(w)
            layer = following
        path = [end]
        while path[-1] != start:
            path.append(before[path[-1]])
        return path
