r"""Groups of targets whose separate trees are cheaper than a single tree.

Without evidence below them, the marginals of a directed model need only ancestors: a single tree joins variables that
no one target needs together. Sinks with similar ancestors are grouped as long as their common tree costs no more than
two,

$$c(A_i \cup A_j) \le c(A_i) + c(A_j),$$

and all marginals come from the groups or from the single tree, whichever is cheaper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.membership import without
from sepset.base.threads import NEVER
from sepset.graphs import costs as bits
from sepset.inference import costs
from sepset.problem import ConditionalGroup, Problem


@dataclass(frozen=True, slots=True)
class Ancestry:
    """Ancestor sets as bit masks, the variable itself included.

    Attributes:
        masks: for each position its ancestors.
        children: for each position the positions that have it as a parent.
    """

    masks: tuple[int, ...]
    children: tuple[int, ...]

    @classmethod
    def of(cls, problem: Problem) -> Ancestry:
        """The ancestry of a directed model; auxiliary variables belong to their child."""
        num = len(problem.variables)
        masks = [1 << v for v in range(num)]
        children = [0] * num
        for group in _parents_first(problem):
            own = _mask((group.child, *group.auxiliaries))
            for p in group.parents:
                own |= masks[p]
                children[p] |= 1 << group.child
            for v in (group.child, *group.auxiliaries):
                masks[v] |= own
        return cls(tuple(masks), tuple(children))

    def closure(self, positions: Iterable[int]) -> int:
        """The union of the ancestors of several variables."""
        mask = 0
        for v in positions:
            mask |= self.masks[v]
        return mask


def _mask(positions: Iterable[int]) -> int:
    mask = 0
    for v in positions:
        mask |= 1 << v
    return mask


def _parents_first(problem: Problem) -> list[ConditionalGroup]:
    """The conditionals, parents before children."""
    of = {group.child: group for group in problem.conditionals}
    ordered: dict[int, ConditionalGroup] = {}
    for last in of:
        waiting = [last]
        while waiting:
            v = waiting[-1]
            missing = [] if v in ordered else [p for p in of[v].parents if p not in ordered and p in of]
            if missing:
                waiting += missing
            else:
                ordered.setdefault(waiting.pop(), of[v])
    return list(ordered.values())


def members(mask: int) -> list[int]:
    """The positions in a bit mask, ascending.

    >>> members(0b1011)
    [0, 1, 3]
    """
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def target_groups(
    problem: Problem,
    ancestry: Ancestry,
    observed: Sequence[int],
    touched: Sequence[int],
    *,
    whole: float,
    cards: Ints | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Groups of unobserved positions of least total cost; one group if that is cheapest.

    Args:
        ancestry: the ancestry of the problem.
        whole: entries of the single tree, which the groups together must undercut.
        cards: the number of states of each variable in tables; all by default.

    Reference: Shachter (1986).
    Guarantee: answers unchanged; never more expensive than one tree, by its own count.
    Tested by: inference/compiled/test_targetgroups.py::test_groups_never_cost_more_than_one_tree
    """
    hidden = tuple(without(range(len(problem.variables)), observed))
    if not problem.is_normalized or not hidden:
        return (hidden,) if hidden else ()
    below = ancestry.closure([*observed, *touched])
    sinks = [v for v in hidden if not ancestry.children[v] and not below >> v & 1]
    sets = SetCosts(problem, observed, cards, whole)
    masks = merged_groups(
        [ancestry.masks[s] | below for s in sinks], sets, whole + costs.ENTRIES_PER_PLANNED_VARIABLE * len(hidden)
    )
    if masks is None:
        return (hidden,)
    return tuple(_assigned(masks, hidden, below))


class SetCosts:
    """The cost of a tree over an ancestral set of variables, by one greedy order (least fill); cached by set.

    Args:
        most: the entries from which a set is too expensive, and its order not completed.

    Attributes:
        work: the variables looked at and the array reads so far.
    """

    def __init__(
        self, problem: Problem, observed: Sequence[int], cards: Ints | None = None, most: float = np.inf
    ) -> None:
        self.work = 0
        self._limit = math.log2(min(max(most, 1.0), 2.0**bits.BITS_OF_ANY_MEMORY))
        num = len(problem.variables)
        self._scopes = problem.scopes
        self._open = np.ones(num, bool)
        self._open[list(observed)] = False
        self._child = np.zeros(problem.num_factors, np.int64)
        for group in problem.conditionals:
            self._child[list(group.factors)] = group.child
        self._logs = np.log2(problem.variables.cards if cards is None else cards)
        self._known: dict[int, int] = {}

    def of(self, mask: int) -> int:
        """The entries of all cliques plus the overhead of the variables."""
        if mask not in self._known:
            self._known[mask] = self._cost(mask)
        return self._known[mask]

    def _cost(self, mask: int) -> int:
        from sepset.kernels.compiled.planning import scope_graph
        from sepset.kernels.graphs.ordering import greedy_order

        num = len(self._open)
        packed = np.frombuffer(mask.to_bytes((num + 7) // 8, "little"), np.uint8)
        inside = np.unpackbits(packed, count=num, bitorder="little").view(bool)
        kept = np.flatnonzero(inside & self._open)
        if not len(kept):
            return 0
        place = np.full(num, -1, np.int64)
        place[kept] = np.arange(len(kept))
        numbers = np.flatnonzero(inside[self._child])
        _, _, start, near = scope_graph(*self._scopes, numbers, place, place[:0], len(kept))
        blank, rest = np.zeros(len(kept)), np.arange(len(kept), dtype=np.float64)
        weights = blank + 1.0, self._logs[kept], np.zeros(len(kept), np.int64), np.array([1.0, 0.0])
        _, total, work = greedy_order(
            start, near.astype(np.int32), *weights, blank, rest, self._limit, bits.READS_BEFORE_REFUSAL, NEVER
        )
        self.work += num + work
        return int(np.rint(2.0 ** min(total, 1000.0))) + costs.ENTRIES_PER_PLANNED_VARIABLE * len(kept)


def merged_groups(masks: Sequence[int], sets: SetCosts, limit: float) -> list[int] | None:
    """Neighboring ancestor sets, merged while that costs no more; None as soon as the groups cost more than `limit`, or
    the search takes too long."""
    groups: list[int] = []
    total = 0
    for mask in sorted(masks):
        both = groups[-1] | mask if groups else mask
        apart = (sets.of(groups[-1]) if groups else 0) + sets.of(mask)
        if groups and sets.of(both) <= apart:
            total += sets.of(both) - sets.of(groups[-1])
            groups[-1] = both
        else:
            total += sets.of(mask)
            groups.append(mask)
        if total >= limit or sets.work > costs.READS_FOR_GROUPS:
            return None
    return groups if len(groups) > 1 else None


def _assigned(masks: Sequence[int], hidden: Sequence[int], below: int) -> Iterable[tuple[int, ...]]:
    """Each hidden variable in the first group that contains it; those only above the evidence, in the first."""
    left = _mask(hidden)
    for mask in masks:
        mine = members(left & (mask | below))
        left &= ~(mask | below)
        if mine:
            yield tuple(mine)
    if left:
        yield tuple(members(left))
