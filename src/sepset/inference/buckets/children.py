r"""Best assignments under functions of many variables whose children are not observed, by states of these children.

$$\max_{\mathbf u, \mathbf y} f(\mathbf u, \mathbf y) \prod_j P(y_j \mid \mathbf u) \;\le\;
\max_{\mathbf u, \mathbf y} f(\mathbf u, \mathbf y) \prod_{j \in D} P(y_j \mid \mathbf u)$$

With all children known, the functions are concave, and a search finds the best assignments. With those in $D$ known,
the others are left out, which is a bound, since no probability exceeds one. Few joint states are looked at one by one;
of many, those with the largest bounds.

Reference: Land & Doig (1960).
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.threads import OutOfWork, require_work, spend, work_left
from sepset.errors import TooLarge
from sepset.inference.buckets.bounded import SLACK, Maximum
from sepset.inference.buckets.tangents import branches
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete

ENTRY_NANOSECONDS = 800.0
"""Time to fill, plan and maximize one entry of the tables besides the functions, in each part of the search."""

VARIABLE_NANOSECONDS = 60_000.0
"""Time for each variable in a part of the search."""

FEW_BRANCHES = 8
"""The most joint states of children that are looked at one by one."""

Known = dict[int, int]
"""The codes of some children."""


@dataclass(order=True)
class Node:
    """The joint states with some children known, ordered by their bound.

    Attributes:
        rank: minus the bound, then the number of the node.
        known: the children that are known.
        values: the best assignment without the functions of the others.
    """

    rank: tuple[float, int]
    known: Known = field(compare=False)
    values: Mapping[int, int] = field(compare=False)


class ChildSearch:
    """The search for the best assignments over the states of children, best bound first.

    Args:
        children: by position.
        evidence: the findings.
        found: up to k assignments with all children known, above a value, and a bound of those that are not proved.
        relaxed: the best assignment with some children known, without the functions of the others.
        chances: the probabilities of a child's states given an assignment.
        entries: of the tables besides the functions, which each part of the search fills again.
        size: the number of variables in an assignment.

    Guarantee: exact; `bound` is that of what was not proved.
    Tested by: inference/buckets/test_children.py::test_best_assignments_are_those_of_enumeration
    """

    def __init__(
        self,
        children: Mapping[int, Discrete],
        evidence: Evidence,
        found: Callable[[Evidence, Known, float], tuple[Sequence[tuple[Mapping[int, Any], float]], float]],
        relaxed: Callable[[Evidence, Known], tuple[Mapping[int, Any], float]],
        chances: Callable[[int, Mapping[int, int]], Floats],
        entries: int = 0,
        size: int = 0,
    ) -> None:
        self._children, self._evidence = children, evidence
        self._least = (ENTRY_NANOSECONDS * entries + VARIABLE_NANOSECONDS * size) * len(children) / 2
        self._found, self._relaxed, self._chances = found, relaxed, chances
        self._price = ENTRY_NANOSECONDS * entries
        self._numbers, self._done = itertools.count(), set[tuple[tuple[int, int], ...]]()
        self.best, self.bound = list[Maximum](), -math.inf

    def each(self, k: int) -> None:
        """Look at all joint states; a bound of `inf` ends the search."""
        for _, known, _ in branches(self._evidence, self._children):
            self._leaf(k, known)
            if self.bound == math.inf:
                return

    def run(self, k: int) -> None:
        """Find up to k assignments, best first; a bound of `inf` ends the search.

        Raises `OutOfWork` if parts for each child would take too long: at once, or after the first ones.
        """
        require_work(self._least)
        before = work_left()
        heap = [root] if (root := self._node(k, {}, math.inf, {})) else []
        if heap:
            self._leaf(k, self._completed(heap[0]))
            if (before - work_left()) * len(self._children) / 2 > work_left():
                raise OutOfWork
        while heap and self.bound < math.inf and self._is_open(k, -heap[0].rank[0]):
            node = heapq.heappop(heap)
            for known in self._divided(node):
                if len(known) == len(self._children):
                    self._leaf(k, known)
                elif (made := self._node(k, known, -node.rank[0], node.values)) is not None:
                    heapq.heappush(heap, made)

    def _is_open(self, k: int, bound: float) -> bool:
        """Whether assignments up to a bound may be among the best."""
        return bound > -math.inf and (
            len(self.best) < k or bound > self.best[k - 1].log_value + SLACK * max(1.0, abs(bound))
        )

    def _node(self, k: int, known: Known, bound: float, values: Mapping[int, int]) -> Node | None:
        """The node of some known children, at most the bound above it; None if it holds nothing better."""
        spend(self._price)
        told, log_weight = self._evidence.with_codes(known)
        if log_weight > -math.inf:
            try:
                best, log_value = self._relaxed(told, known)
                bound, values = min(bound, log_value + log_weight), {**values, **best}
            except TooLarge:  # this one has no bound of its own
                if work_left() <= 0.0:
                    raise OutOfWork from None
        is_open = log_weight > -math.inf and self._is_open(k, bound)
        return Node((-bound, next(self._numbers)), known, {**values, **known}) if is_open else None

    def _leaf(self, k: int, known: Known) -> None:
        """Look at one joint state of all children."""
        key = tuple(sorted(known.items()))
        told, log_weight = self._evidence.with_codes(known)
        if key in self._done or log_weight == -math.inf:
            return
        self._done.add(key)
        above = self.best[k - 1].log_value - log_weight if len(self.best) >= k else -math.inf
        found, bound = self._found(told, known, above)
        self.bound = max(self.bound, bound + log_weight)
        more = [Maximum({**best, **known}, log_value + log_weight) for best, log_value in found]
        self.best = sorted([*self.best, *more], key=lambda best: -best.log_value)[:k]

    def _completed(self, node: Node) -> Known:
        """Known children, and the others in their most probable states."""
        rest = [v for v in self._children if v not in node.known]
        return {**node.known, **{v: int(np.argmax(self._chances(v, node.values))) for v in rest}}

    def _divided(self, node: Node) -> list[Known]:
        """One more child known: the one that is least certain, in each of its states."""
        rest = [v for v in self._children if v not in node.known]
        chances = {v: self._chances(v, node.values) for v in rest}
        child = min(rest, key=lambda v: float(chances[v].max()))
        return [{**node.known, child: code} for code in np.argsort(-chances[child], kind="stable").tolist()]
