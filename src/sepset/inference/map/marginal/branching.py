r"""Branch and bound over the variables to maximize, with bounds that exchange sums and maxima.

Variables are assigned in a fixed order. One elimination bounds all states of the next variable; with all of them
assigned only sums are left, and the bound is the score. Parts of the search whose bound is not above the best score
are left out; the largest bound of the open parts holds for what is not searched yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import OutOfTime
from sepset.inference.assignment import AssignmentTask, is_proved
from sepset.inference.iterate import Info
from sepset.inference.map.marginal.bounds import MixedElimination

NODES = 20
"""The number of parts of the search per step."""


@dataclass(frozen=True)
class Open:
    """Open parts as codes of the first variables with bounds, the last one next; the best assignment and its score."""

    parts: tuple[tuple[tuple[int, ...], float], ...]
    best: tuple[int, ...]
    value: float
    nodes: int = 0

    @property
    def bound(self) -> float:
        """The largest score that is still possible."""
        return max([self.value, *(bound for _, bound in self.parts)])


@dataclass(frozen=True, eq=False)
class BranchedSums:
    """The iteration of branch and bound.

    Args:
        elimination: of the bounds.
        over: the variables to maximize.
        first: an assignment of them, with its score.

    Reference: Park & Darwiche (2003); Koller & Friedman, exercise 13.20.
    Guarantee: exact when it ends; a valid bound whenever it is stopped.
    Tested by: inference/map/marginal/test_branching.py::test_the_best_score_by_enumeration
    """

    elimination: MixedElimination
    over: tuple[int, ...]
    first: tuple[Ints, float]
    _orders: dict[int, list[int]] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"BranchedSums({len(self.over)} variables, from {self.first[0].tolist()})"

    @property
    def sequence(self) -> tuple[int, ...]:
        """The order in which variables are assigned: those eliminated last first."""
        if -1 not in self._orders:
            free = [v for v in self.elimination.order(()) if v in self.elimination.over]
            rest = [v for v in self.over if v not in free]
            self._orders[-1] = [*reversed(free), *rest]
        return tuple(self._orders[-1])

    def bounds(self, codes: Sequence[int]) -> Floats:
        """The bound for each state of the next variable."""
        depth, sequence = len(codes), self.sequence
        if depth not in self._orders:
            self._orders[depth] = self.elimination.order(sequence[:depth], last=sequence[depth])
        known = dict(zip(sequence, codes, strict=False))
        return self.elimination.bound(known, self._orders[depth], sequence[depth])

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Open:
        """The whole search, with the first assignment."""
        codes = dict(zip(self.over, self.first[0].tolist(), strict=True))
        parts = (((), np.inf),) if self.over else ()
        return Open(parts, tuple(codes[v] for v in self.sequence), self.first[1])

    def step(self, task: AssignmentTask, state: Open, rng: np.random.Generator) -> tuple[Open, Info]:
        """Some parts of the search."""
        for _ in range(NODES):
            if not state.parts:
                break
            try:
                state = self._expanded(state)
            except OutOfTime:
                break
        return state, Info(-state.bound, np.inf, is_done=not state.parts, gap=float(state.bound) - float(state.value))

    def _expanded(self, state: Open) -> Open:
        """The search after dividing its last part by the states of one more variable."""
        *rest, (codes, bound) = state.parts
        if bound <= state.value or is_proved(state.value, bound):
            return replace(state, parts=tuple(rest))
        bounds = np.minimum(self.bounds(codes), bound)
        order = np.argsort(bounds, kind="stable")
        if len(codes) + 1 == len(self.over):
            top = int(order[-1])
            better = bounds[top] > state.value
            best, value = ((*codes, top), float(bounds[top])) if better else (state.best, state.value)
            return Open(tuple(rest), best, value, state.nodes + 1)
        inner = [((*codes, int(x)), float(bounds[x])) for x in order if bounds[x] > state.value]
        return Open((*rest, *inner), state.best, state.value, state.nodes + 1)

    def codes(self, state: Open) -> Ints:
        """The best assignment, in the order of `over`."""
        found = dict(zip(self.sequence, state.best, strict=True))
        return np.array([found[v] for v in self.over], np.int64)


class OpenCodec:
    """Stores a search in a checkpoint."""

    def pack(self, state: Open) -> object:
        """The state as plain values."""
        parts = [{"codes": list(codes), "bound": bound} for codes, bound in state.parts]
        return {"parts": parts, "best": list(state.best), "value": state.value, "nodes": state.nodes}

    def unpack(self, content: dict[str, Any]) -> Open:
        """The state of plain values."""
        parts = tuple((tuple(map(int, p["codes"])), float(p["bound"])) for p in content["parts"])
        return Open(parts, tuple(map(int, content["best"])), float(content["value"]), int(content["nodes"]))
