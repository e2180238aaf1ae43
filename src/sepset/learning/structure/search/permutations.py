r"""Searches over orders by swaps of neighbors, and by tucking a column before one of its parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from sepset.base.checks import whole
from sepset.learning.structure.familyscores import TOLERANCE
from sepset.learning.structure.search.growshrink import Family, GrowShrink
from sepset.learning.structure.search.ordersearch import OrderSearch, OrderState, order_score


@dataclass(frozen=True, slots=True)
class OBS(OrderSearch):
    r"""Order-based search: two neighbors in the order are swapped while that improves it, the best pair first.

    A swap changes the families of the two columns alone. Parents come from growing and shrinking; it begins with the
    graph given or with the better of greedy equivalence search and hill climbing, then with random orders.

    With a tabu list the search continues by the best swap that does not undo a recent one, even if the score falls; a
    swap that leads to a new best order is always allowed.

    Args:
        starts: from how many orders to search.
        tabu: how many swaps a swapped pair is barred for; 0 for no tabu list.
        patience: with a tabu list, how many swaps without a new best order end the search.

    Reference: Teyssier & Koller (2005); Koller & Friedman, exercise 18.26.
    Guarantee: a local optimum: no single edge improves the result.
    Tested by: learning/structure/search/test_permutations.py::test_no_move_improves

    >>> OBS()
    OBS(starts=5, tabu=0, patience=20)
    """

    starts: int = 5
    tabu: int = 0
    _: KW_ONLY
    patience: int = 20

    def __post_init__(self) -> None:
        whole("OBS(starts=)", self.starts, least=1)
        whole("OBS(tabu=)", self.tabu, least=0)
        whole("OBS(patience=)", self.patience, least=1)

    @property
    def num_starts(self) -> int:
        """From how many orders to search."""
        return self.starts

    def moved(self, state: OrderState, rng: np.random.Generator) -> OrderState | None:
        """The order after the best swap; None if none improves, or none has for long."""
        assert state.families is not None
        peak = state.peak or (state.order, state.score)
        barred = {(x, y): peak[1] - state.score for x, y, until in state.barred if until > state.step}
        place, gain = best_swap(state.families, state.order, barred)
        goes_on = gain > TOLERANCE or (self.tabu > 0 and state.idle < self.patience and gain > -np.inf)
        if not goes_on:
            return None
        order = state.order.copy()
        order[place], order[place + 1] = order[place + 1], order[place]
        moved = replace(state, order=order, score=state.score + gain)
        return moved if not self.tabu else self._noted(moved, peak, (order[place + 1], order[place]))

    def _noted(self, state: OrderState, peak: tuple[list[int], float], pair: tuple[int, int]) -> OrderState:
        """The state with the swapped pair barred, and the best order until now."""
        barred = (*state.barred, (min(pair), max(pair), state.step + 1 + self.tabu))[-self.tabu :]
        if state.score > peak[1] + TOLERANCE:
            return replace(state, barred=barred, peak=(state.order, state.score), idle=0)
        return replace(state, barred=barred, peak=peak, idle=state.idle + 1)


def best_swap(
    families: GrowShrink, order: Sequence[int], barred: Mapping[tuple[int, int], float] | None = None
) -> tuple[int, float]:
    """The first place of two neighbors whose swap gains most, and the gain; minus infinity if no swap is possible.

    Pairs that are `barred` need to gain more than the number given.
    """
    needs = {} if barred is None else barred
    best, gain, before = 0, -np.inf, 0
    for place in range(len(order) - 1):
        x, y = order[place], order[place + 1]
        if not families.required[y] >> x & 1:
            now = families.best(x, before).score + families.best(y, before | 1 << x).score
            then = families.best(y, before).score + families.best(x, before | 1 << y).score
            is_free = then - now > needs.get((min(x, y), max(x, y)), -np.inf) + TOLERANCE
            if is_free and then - now > gain + TOLERANCE:
                best, gain = place, then - now
        before |= 1 << x
    return best, gain


@dataclass(frozen=True, slots=True)
class GRaSP(OrderSearch):
    r"""Greedy relaxations of the sparsest permutation: for an edge $X \to Y$, move $Y$ and its ancestors before $X$.

    Covered edges are tucked first, through orders of equal score to a depth; where none improves, any edge is.

    Args:
        depth: how many tucks of equal score may precede one that improves.
        starts: from how many orders to search.

    Reference: Lam, Andrews & Ramsey (2022), "Greedy relaxations of the sparsest permutation algorithm".
    Guarantee: a local optimum: no single edge improves the result.
    Tested by: learning/structure/search/test_permutations.py::test_no_move_improves

    >>> GRaSP()
    GRaSP(depth=3, starts=1)
    """

    depth: int = 3
    starts: int = 1

    def __post_init__(self) -> None:
        whole("GRaSP(depth=)", self.depth, least=1)
        whole("GRaSP(starts=)", self.starts, least=1)

    @property
    def num_starts(self) -> int:
        """From how many orders to search."""
        return self.starts

    def moved(self, state: OrderState, rng: np.random.Generator) -> OrderState | None:
        """The order after tucks that improve it; None if there are none."""
        assert state.families is not None
        found = _tucks(state.families, state.order, state.score, self.depth, True, set())
        found = found or _tucks(state.families, state.order, state.score, 1, False, set())
        return None if found is None else replace(state, order=found[0], score=found[1])


def _tucks(
    families: GrowShrink,
    order: list[int],
    score: float,
    depth: int,
    is_covered: bool,
    seen: set[tuple[int, ...]],
) -> tuple[list[int], float] | None:
    """The first order found by up to so many tucks that scores more, and its score."""
    found = families.order(order)
    for y in order:
        for x in found[y].parents:
            if is_covered and set(found[y].parents) - {x} != set(found[x].parents):
                continue
            tucked = tuck(order, x, y, found)
            if tuple(tucked) in seen:
                continue
            seen.add(tuple(tucked))
            value = order_score(families, tucked)
            if value > score + TOLERANCE:
                return tucked, value
            if depth > 1 and value >= score - TOLERANCE:
                deeper = _tucks(families, tucked, score, depth - 1, is_covered, seen)
                if deeper is not None:
                    return deeper
    return None


def tuck(order: Sequence[int], x: int, y: int, families: Sequence[Family]) -> list[int]:
    """The order with `y`, and its ancestors between the two, moved before `x`.

    >>> tuck([0, 1, 2], 0, 2, [Family((), 0.0), Family((), 0.0), Family((0, 1), 0.0)])
    [1, 2, 0]
    """
    first, last = order.index(x), order.index(y)
    above = {y}
    for z in reversed(order[first + 1 : last + 1]):
        if z in above:
            above.update(families[z].parents)
    between = order[first : last + 1]
    moved = [z for z in between if z in above and z != x]
    return [*order[:first], *moved, *(z for z in between if z not in moved), *order[last + 1 :]]
