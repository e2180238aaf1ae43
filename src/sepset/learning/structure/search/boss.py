r"""Best order score search: columns move to their best places in an order, one after another."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sepset.base.checks import whole
from sepset.learning.structure.familyscores import TOLERANCE
from sepset.learning.structure.search.ordersearch import OrderSearch, OrderState, positions


@dataclass(frozen=True, slots=True)
class BOSS(OrderSearch):
    r"""Search over orders of the columns: each in turn moves to the place where the order scores best.

    An order scores $\sum_i S(X_i \mid \text{those before})$, with the parents that growing and shrinking find. It
    begins with the graph given, or with the better of greedy equivalence search and hill climbing. Where no column
    moves, the graph is improved edge by edge, and the search continues from it while that helps. Later starts are
    random orders.

    Args:
        starts: from how many orders to search; 0 for the greedy searches alone.

    Reference: Andrews, Ramsey, Sanchez-Romero, Camchong & Kummerfeld (2023).
    Guarantee: a local optimum: no single edge improves the result, nor does another place of one column in its order.
    Tested by: learning/structure/search/test_boss.py::test_no_place_and_no_move_improves

    >>> BOSS(3)
    BOSS(starts=3)
    """

    starts: int = 1

    def __post_init__(self) -> None:
        whole("BOSS(starts=)", self.starts, least=0)

    @property
    def num_starts(self) -> int:
        """From how many orders to search."""
        return self.starts

    def moved(self, state: OrderState, rng: np.random.Generator) -> OrderState | None:
        """The next column at its best place; None once no column moves."""
        assert state.families is not None
        n = len(state.order)
        if state.idle >= n:
            return None
        column = state.turn
        rest, scores = positions(state.families, state.order, column)
        place = int(scores.argmax())
        turned = replace(state, turn=(column + 1) % n)
        if not scores[place] > state.score + TOLERANCE:
            return replace(turned, idle=state.idle + 1)
        return replace(turned, order=[*rest[:place], column, *rest[place:]], score=float(scores[place]), idle=0)
