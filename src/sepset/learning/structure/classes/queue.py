r"""The operators of one kind on a class by their gains; after a change only those at changed nodes are scored again.

An operator that a semi-directed path makes invalid is set aside with the path: as long as no mark at its nodes changes,
the path is there.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence

from sepset.learning.structure.classes.essential import EssentialGraph
from sepset.learning.structure.classes.operators import KINDS, TURN, Operator, Possible, obstacle
from sepset.learning.structure.familyscores import TOLERANCE, Scorer

Entry = tuple[float, int, int, tuple[int, ...], int, Operator]
DIGITS = 7
"""Gains that agree to so many decimals are ties."""


class OperatorQueue:
    """The operators of one kind that improve the score, the best first; ties go to the first pair in column order.

    Args:
        graph: the class, which others change; `mark` says where.
        scorer: of families.
        possible: what may change.
        kind: of the operators.

    Attributes:
        num_refreshed: how many times the operators at a node were scored.

    >>> from sepset.learning.structure.columns import Columns
    >>> from sepset.learning.structure.constraints import Constraints
    >>> from sepset.learning.structure.scores.likelihood import BIC
    >>> scorer = Scorer(Columns.of({"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 1] * 5}), BIC())
    >>> queue = OperatorQueue(EssentialGraph([[], []]), scorer, Possible.of(Constraints().bind(["a", "b"])), 0)
    >>> best = queue.best()
    >>> best.source, best.target, round(best.gain, 4)
    (0, 1, 12.3651)
    """

    def __init__(self, graph: EssentialGraph, scorer: Scorer, possible: Possible, kind: int) -> None:
        self.graph, self.scorer, self.possible, self.kind = graph, scorer, possible, kind
        self.num_refreshed = 0
        self._stale = set(range(graph.n))
        self._version = [0] * graph.n
        self._heap: list[Entry] = []
        self._aside: dict[Entry, list[int]] = {}
        self._aside_at: list[set[Entry]] = [set() for _ in range(graph.n)]
        self._refused: list[Entry] = []

    def mark(self, changed: Sequence[int]) -> None:
        """Note the nodes whose marks changed."""
        graph = self.graph
        self._stale.update(changed)
        for x in changed:
            self._stale.update(graph.adjacent[x] if self.kind == TURN else graph.neighbors[x])
            for entry in list(self._aside_at[x]):
                self._return(entry)
        for entry in self._refused:
            heapq.heappush(self._heap, entry)
        self._refused = []

    def best(self, accepts: Callable[[Operator], bool] | None = None) -> Operator | None:
        """The valid operator with the largest gain, if one improves; those not accepted wait until a change."""
        return next(self.valid(accepts), None)

    def valid(self, accepts: Callable[[Operator], bool] | None = None) -> Iterator[Operator]:
        """The valid operators that improve, the best first; the first of them stays in the queue."""
        self._refresh()
        heap, passed = self._heap, list[Entry]()
        try:
            while heap:
                entry = heap[0]
                if entry[4] != self._version[entry[2]]:
                    heapq.heappop(heap)
                elif path := obstacle(self.graph, entry[5]):
                    heapq.heappop(heap)
                    self._set_aside(entry, path)
                elif accepts is not None and not accepts(entry[5]):
                    self._refused.append(heapq.heappop(heap))
                else:
                    yield entry[5]
                    passed.append(heapq.heappop(heap))
        finally:
            for entry in passed:
                heapq.heappush(heap, entry)

    def _refresh(self) -> None:
        for y in sorted(self._stale):
            self.num_refreshed += 1
            self._version[y] += 1
            for operator in KINDS[self.kind](self.graph, self.scorer, self.possible, y):
                if operator.gain > TOLERANCE:
                    _, x, _, given, gain = operator
                    heapq.heappush(self._heap, (-round(gain, DIGITS), x, y, given, self._version[y], operator))
        self._stale.clear()

    def _set_aside(self, entry: Entry, path: list[int]) -> None:
        self._aside[entry] = path
        for x in path:
            self._aside_at[x].add(entry)

    def _return(self, entry: Entry) -> None:
        for x in self._aside.pop(entry):
            self._aside_at[x].discard(entry)
        if entry[4] == self._version[entry[2]]:
            heapq.heappush(self._heap, entry)
