"""The k best assignments from the buckets of one max-elimination.

Every bucket at a state of its sepset ranks its own assignments lazily: a candidate is a state of the variable with a
rank in each bucket below, and its value is the sum of their values. The best candidate has the first rank everywhere;
after a candidate is taken, the next rank of one bucket below makes a new one. Each assignment is made once: a candidate
raises only ranks at or after the last one that was raised. Sums of logarithms fall with every rank, so the order is
exact.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence

from sepset.inference.map.buckets import Bucket
from sepset.variables.variable import Discrete


class Candidate:
    """A state of a bucket's variable with a rank in each bucket below.

    Attributes:
        value: the sum of the log values.
        code: the state.
        ranks: one for each bucket below, counted from 0.
        first: the first bucket below whose rank its successors may raise.
    """

    __slots__ = ("code", "first", "ranks", "value")

    def __init__(self, value: float, code: int, ranks: tuple[int, ...], first: int) -> None:
        self.value = value
        self.code = code
        self.ranks = ranks
        self.first = first

    def __lt__(self, other: Candidate) -> bool:
        return self.value > other.value or (self.value == other.value and self.code < other.code)


class Levels:
    """A bucket with places in flat arrays: of its own log factors, and of the messages it received."""

    def __init__(self, bucket: Bucket) -> None:
        self.variable = bucket.variable
        self.below = tuple(message.bucket for message in bucket.below)
        self._messages = [message.logs for message in bucket.below]
        self._logs = bucket.factors.logs
        self._cards = [v.num_states for v in bucket.sepset]
        self._own = bucket.factors.strides(bucket.scope)
        self._strides = [message.strides(bucket.scope) for message in bucket.below]

    @property
    def num_states(self) -> int:
        """The number of states of the variable; one in the root."""
        return 1 if self.variable is None else self.variable.num_states

    def codes(self, place: int) -> list[int]:
        """The states of the sepset at a flat place, followed by one more for the variable."""
        found = [0] * len(self._cards)
        for axis in range(len(self._cards) - 1, -1, -1):
            place, found[axis] = divmod(place, self._cards[axis])
        return [*found, 0]

    def own(self, codes: list[int]) -> float:
        """The log value of the bucket's own factors."""
        return float(self._logs.item(_flat(codes, self._own)))

    def places(self, codes: list[int]) -> tuple[int, ...]:
        """The place in the message of each bucket below."""
        return tuple(_flat(codes, strides) for strides in self._strides)

    def maxima(self, places: Sequence[int]) -> list[float]:
        """The largest value of each bucket below at these places."""
        return [float(logs.item(place)) for logs, place in zip(self._messages, places, strict=True)]


def _flat(codes: list[int], strides: tuple[tuple[int, int], ...]) -> int:
    place = 0
    for axis, step in strides:
        place += codes[axis] * step
    return place


class Ranked:
    """The assignments of a bucket and of all below it at one state of the sepset, best first.

    Attributes:
        variable: the variable of the bucket.
        found: the assignments ranked so far.
        is_complete: whether there are no more.
    """

    __slots__ = ("_below", "_heap", "_home", "_levels", "_own", "_places", "_taken", "found", "is_complete", "variable")

    def __init__(self, home: Ranking, levels: Levels, place: int) -> None:
        self.variable = levels.variable
        self.found: list[Candidate] = []
        self.is_complete = False
        self._home = home
        self._levels = levels
        self._taken: Candidate | None = None
        self._own: list[float] = []
        self._places: list[tuple[int, ...]] = []
        self._below: dict[int, list[Ranked]] = {}
        self._heap: list[Candidate] = []
        self._fill(levels.codes(place))

    def _fill(self, codes: list[int]) -> None:
        """The best candidate of each state."""
        levels = self._levels
        first = (0,) * len(levels.below)
        for code in range(levels.num_states):
            codes[-1] = code
            own, places = levels.own(codes), levels.places(codes)
            self._own.append(own)
            self._places.append(places)
            value = _sum(own, levels.maxima(places))
            if value > -math.inf:
                self._heap.append(Candidate(value, code, first, 0))
        heapq.heapify(self._heap)

    def below(self, code: int) -> list[Ranked]:
        """The ranked assignments of each bucket below."""
        known = self._below.get(code)
        if known is None:
            known = self._below[code] = list(map(self._home.at, self._levels.below, self._places[code]))
        return known

    def advance(self) -> Iterator[Ranked]:
        """Rank one more assignment; yields each bucket below that has to rank one more before that."""
        if self._taken is not None:
            yield from self._succeed(self._taken)
        if self._heap:
            self._taken = heapq.heappop(self._heap)
            self.found.append(self._taken)
        else:
            self._taken = None
            self.is_complete = True

    def _succeed(self, last: Candidate) -> Iterator[Ranked]:
        """Add the successors of a candidate."""
        below = self.below(last.code)
        for number in range(last.first, len(last.ranks)):
            child, rank = below[number], last.ranks[number] + 1
            while len(child.found) <= rank and not child.is_complete:
                yield child
            if len(child.found) > rank:
                ranks = (*last.ranks[:number], rank, *last.ranks[number + 1 :])
                heapq.heappush(self._heap, Candidate(self._value(last.code, ranks), last.code, ranks, number))

    def _value(self, code: int, ranks: tuple[int, ...]) -> float:
        """The log value of a candidate, added in the order in which the maxima were."""
        values = self._levels.maxima(self._places[code])
        below = self.below(code)
        for number, rank in enumerate(ranks):
            if rank:
                values[number] = below[number].found[rank].value
        return _sum(self._own[code], values)


def _sum(own: float, values: Sequence[float]) -> float:
    total = own
    for value in values:
        total += value
    return total


class Ranking:
    """The assignments of all variables of a max-elimination, best first.

    Args:
        buckets: one per variable in elimination order, then the root.

    Reference: Huang & Chiang (2005), Better k-best parsing, algorithm 3; Yanover & Weiss (2004).
    Guarantee: exact.
    Tested by: inference/map/test_ranking.py::test_the_order_is_that_of_all_assignments

    >>> from sepset.factors.table import Table
    >>> from sepset.inference.map.buckets import log_factor, max_buckets
    >>> a, b = Discrete("a"), Discrete("b")
    >>> ranking = Ranking(max_buckets([log_factor(Table((a, b), [[1, 2], [0, 4]]))], [a, b]))
    >>> [(round(math.exp(value), 6), codes[a], codes[b]) for value, codes in ranking.best(10)]
    [(4.0, 1, 1), (2.0, 0, 1), (1.0, 0, 0)]
    """

    def __init__(self, buckets: Sequence[Bucket]) -> None:
        self._levels = [Levels(bucket) for bucket in buckets]
        self._ranked: list[dict[int, Ranked]] = [{} for _ in buckets]

    def at(self, bucket: int, place: int) -> Ranked:
        """The ranked assignments of a bucket at a state of its sepset."""
        known = self._ranked[bucket].get(place)
        if known is None:
            known = self._ranked[bucket][place] = Ranked(self, self._levels[bucket], place)
        return known

    def best(self, k: int) -> list[tuple[float, dict[Discrete, int]]]:
        """Up to k assignments with their log values, best first; fewer where fewer are possible.

        Cost: for each, at most one step per bucket; less where little changes.
        """
        root = self.at(len(self._levels) - 1, 0)
        while len(root.found) < k and not root.is_complete:
            _advance(root)
        return [(one.value, _codes(root, one)) for one in root.found[:k]]


def _advance(root: Ranked) -> None:
    """Rank one more assignment, with a stack of its own: trees may be deeper than Python's."""
    stack = [root.advance()]
    while stack:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
        else:
            stack.append(child.advance())


def _codes(root: Ranked, chosen: Candidate) -> dict[Discrete, int]:
    """The states of all variables, read from the root downward."""
    codes: dict[Discrete, int] = {}
    stack = [(root, chosen)]
    while stack:
        ranked, candidate = stack.pop()
        if ranked.variable is not None:
            codes[ranked.variable] = candidate.code
        for child, rank in zip(ranked.below(candidate.code), candidate.ranks, strict=True):
            if not child.found:
                _advance(child)
            stack.append((child, child.found[rank]))
    return codes
