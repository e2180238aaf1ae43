"""The k most probable assignments, by partitioning the remaining ones after each best one."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.errors import NotApplicable
from sepset.inference.method import Best, Prepared
from sepset.variables.evidence import Evidence


def k_best(prepared: Prepared, evidence: Evidence, over: Sequence[int], k: int) -> list[Best]:
    """Up to k assignments of `over`, best first; fewer where fewer have positive value.

    After each solution the rest of its cell is split by the first variable that differs, so that the best of each cell
    is found by one constrained maximization, and no assignment twice.

    Cost: at most k times the number of variables, in maximizations.
    Reference: Lawler (1972); Nilsson (1998).
    Guarantee: exact.
    Tested by: inference/map/test_kbest.py::test_asking_for_all_ranks_the_whole_support
    """
    first = prepared.best(evidence, over)
    if k == 1 or first.log_value == -np.inf:
        return [first]
    cards = prepared.problem.variables.cards
    if any(cards[v] == 0 for v in over):
        raise NotApplicable("The k best need discrete variables; continuous ones have no second best. Use k=1.")
    counter = itertools.count()
    heap: list[tuple[float, int, Best, dict[int, Floats]]] = [(-first.log_value, next(counter), first, {})]
    found: list[Best] = []
    while heap and len(found) < k:
        _, _, best, cell = heapq.heappop(heap)
        found.append(best)
        for smaller in _split(best.values, cell, over, cards.tolist()):
            # Every variable has a mask, so that a method that compiles questions needs only one.
            masks = {v: smaller.get(v, np.ones(cards[v])) for v in over}
            candidate = prepared.best(_masked(evidence, masks), over)
            if candidate.log_value > -np.inf:
                heapq.heappush(heap, (-candidate.log_value, next(counter), candidate, smaller))
    return found


def _split(
    values: Mapping[int, Any], cell: dict[int, Floats], over: Sequence[int], cards: list[int]
) -> list[dict[int, Floats]]:
    """The cell without one assignment, as disjoint smaller cells."""
    cells = []
    prefix = dict(cell)
    for variable in over:
        here = np.zeros(cards[variable])
        here[values[variable]] = 1.0
        other = prefix.get(variable, np.ones(cards[variable])) * (1.0 - here)
        if other.any():
            cells.append({**prefix, variable: other})
        prefix[variable] = here
    return cells


def _masked(evidence: Evidence, cell: dict[int, Floats]) -> Evidence:
    weights = {v: np.asarray(evidence.weights.get(v, 1.0) * mask) for v, mask in cell.items()}
    return Evidence(evidence.codes, {**evidence.weights, **weights}, evidence.soft, evidence.reals)
