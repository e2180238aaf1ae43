r"""Reductions of cost functions that keep a best assignment: elimination, dominated states, and absorbed functions.

$$c(\mathbf s) = \min_x \sum_{f \ni X} c_f(x, \mathbf s)$$

takes the place of the functions of $X$ where it has few entries; the best state of $X$ is found from its neighbors'
afterward. A state is dominated, and removed, if another one is never worse:

$$\sum_{f \ni X} \min_{\mathbf s_f} \bigl[ c_f(a, \mathbf s_f) - c_f(b, \mathbf s_f) \bigr] \ge 0.$$

Reference: Bertele & Brioschi (1972), Nonserial dynamic programming; Desmet, De Maeyer, Hazes & Lasters (1992), The
dead-end elimination theorem; Larrosa (2000), Boosting search with variable elimination; de Givry, Prestwich &
O'Sullivan (2013), Dead-end elimination for weighted CSP.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.base.threads import require_time
from sepset.inference.map.consistency.functions import CostFunctions, Scope, spread

MAX_DIFFERENCES = 2**22
"""The most differences of costs between two states that are compared; larger functions are left as they are."""


class Step(NamedTuple):
    """A variable that was eliminated: its neighbors, and its best state for each of their joint states."""

    variable: int
    neighbors: Scope
    best: Ints


@dataclass(frozen=True, eq=False)
class Reduction:
    """Smaller cost functions with the same optimum.

    Attributes:
        functions: what is left.
        steps: the variables that were eliminated, in order.

    Guarantee: exact for one best assignment.
    Tested by: inference/map/consistency/test_reduction.py::test_an_optimum_is_kept
    """

    functions: CostFunctions
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, functions: CostFunctions, *, entries: int) -> Reduction:
        """The functions after eliminations and removals, which change them.

        Args:
            entries: the most entries of a function that an elimination leaves.
        """
        steps: list[Step] = []
        waiting = set(range(len(functions.cards)))
        for i in waiting:
            require_time()
            forbid(functions, i, np.zeros(functions.cards[i], bool))
        while waiting:
            touched = _eliminate(functions, waiting, steps, entries)
            gone = {step.variable for step in steps}
            waiting = _dominate(functions, touched - gone) - gone
        absorb(functions)
        return cls(functions, tuple(steps))

    def completed(self, codes: Ints) -> Ints:
        """The assignment with the best states of the variables that were eliminated, from those of the others."""
        found = np.array(codes, np.int64)
        for step in reversed(self.steps):
            found[step.variable] = step.best[tuple(found[list(step.neighbors)])]
        return found


def _eliminate(functions: CostFunctions, waiting: set[int], steps: list[Step], entries: int) -> set[int]:
    """Eliminate variables with few neighbors, those with the fewest first; returns all variables that were touched."""
    done, touched = {step.variable for step in steps}, set(waiting)
    heap = [(functions.size(functions.neighbors(i)), i) for i in waiting]
    heapq.heapify(heap)
    while heap:
        require_time()
        size, i = heapq.heappop(heap)
        near = functions.neighbors(i)
        if i in done or size != functions.size(near) or size > max(entries, _widest(functions, i)):
            continue
        done.add(i)
        steps.append(eliminate(functions, i, near))
        for j in near:
            heapq.heappush(heap, (functions.size(functions.neighbors(j)), j))
        touched.update(near)
    return touched


def _widest(functions: CostFunctions, i: int) -> int:
    """The number of joint states of the others in the largest function of a variable."""
    return max((functions.size(scope) for scope in functions.of_variable(i)), default=1) // functions.cards[i]


def eliminate(functions: CostFunctions, i: int, near: Scope) -> Step:
    """Replace the functions of a variable by their minimum over it."""
    wide, scopes = (*near, i), functions.of_variable(i)
    costs = np.zeros([functions.cards[j] for j in wide])
    for scope in scopes:
        at = scope.index(i)
        moved = np.moveaxis(functions.take(scope), at, -1)
        costs += spread((*scope[:at], *scope[at + 1 :], i), moved, wide)
    functions.add(near, np.asarray(costs.min(axis=-1)))
    return Step(i, near, costs.argmin(axis=-1))


def _dominate(functions: CostFunctions, candidates: set[int]) -> set[int]:
    """Remove dominated states; returns the variables whose functions changed."""
    touched: set[int] = set()
    for i in sorted(candidates):
        require_time()
        gone = dominated(functions, i)
        if gone.any():
            touched.add(i)
            touched.update(functions.neighbors(i))
            forbid(functions, i, gone)
    return touched


def dominated(functions: CostFunctions, i: int) -> Bools:
    """The states of a variable to which a state that stays is preferable at every assignment of the others."""
    card = functions.cards[i]
    live = np.isfinite(functions.tables.get((i,), np.zeros(card)))
    if live.sum() < 2 or card * max(functions.size(scope) for scope in functions.of_variable(i)) > MAX_DIFFERENCES:
        return np.zeros(card, bool)
    better, gone = np.zeros((card, card)), ~live
    with np.errstate(invalid="ignore"):
        for scope in functions.of_variable(i):
            rows = np.moveaxis(functions.tables[scope], scope.index(i), 0).reshape(card, -1)
            less = rows[:, None] - rows[None]
            less[np.isnan(less)] = np.inf
            better = better + less.min(axis=-1)
            better[np.isnan(better)] = -np.inf
    for a in np.flatnonzero(live):
        gone[a] = any(b != a and not gone[b] and better[a, b] >= 0.0 for b in range(card))
    return gone & live


def forbid(functions: CostFunctions, i: int, states: Bools) -> None:
    """Give states of a variable an infinite cost; a variable with one state left is taken out of its functions."""
    near = functions.of_variable(i)
    functions.add((i,), np.where(states, np.inf, 0.0))
    left = np.flatnonzero(np.isfinite(functions.tables[(i,)]))
    if len(left) == 1 and len(near) > 0:
        for scope in near:
            if scope != (i,):
                at = scope.index(i)
                rest = (*scope[:at], *scope[at + 1 :])
                functions.add(rest, np.asarray(functions.take(scope).take(int(left[0]), axis=at)))


def absorb(functions: CostFunctions) -> None:
    """Add functions over parts of other functions' scopes to those; single variables keep theirs."""
    for scope in sorted(functions.tables, key=len):
        if len(scope) < 2:
            continue
        wider = [w for w in functions.of_variable(scope[0]) if len(w) > len(scope) and set(scope) <= set(w)]
        if wider:
            chosen = min(wider, key=lambda w: (functions.size(w), w))
            functions.tables[chosen] = functions.tables[chosen] + spread(scope, functions.take(scope), chosen)
