r"""Local search for the best score: from one assignment to the best that differs from it in one state.

States that were left lately are tabu, so that the search goes on beyond local optima; the best assignment of all is
kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.inference.assignment import AssignmentTask
from sepset.inference.iterate import Info
from sepset.inference.map.marginal.scores import Scores

RISES = 1e-12
"""The least rise of a score, relative to its size, that counts."""


@dataclass(frozen=True)
class Searched:
    """An assignment with its score, the best one so far with its, and the steps at which states stop being tabu."""

    codes: Ints
    value: float
    best: Ints
    best_value: float
    free_at: Ints
    steps: int = 0
    idle: int = 0


@dataclass(frozen=True, eq=False)
class LocalSearch:
    """The iteration of a tabu search over neighbors.

    Args:
        scores: of assignments.
        first: the assignment to begin with.
        patience: the number of steps without a better assignment after which it ends.

    Reference: Koller & Friedman, section 13.7; Park & Darwiche (2004).
    Guarantee: local optimum: no change of one state is better.
    Tested by: inference/map/marginal/test_localsearch.py::test_no_change_of_one_state_is_better
    """

    scores: Scores
    first: Ints
    patience: int

    def __repr__(self) -> str:
        return f"LocalSearch(patience={self.patience}, from {self.first.tolist()})"

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Searched:
        """The first assignment."""
        value = self.scores.value(self.first)
        free_at = np.zeros(int(self.scores.cards.sum()), np.int64)
        return Searched(self.first, value, self.first, value, free_at)

    def step(self, task: AssignmentTask, state: Searched, rng: np.random.Generator) -> tuple[Searched, Info]:
        """The best neighbor that is not tabu, or better than all before."""
        scores = np.concatenate([*self.scores.neighbors(state.codes, state.value), np.zeros(0)])
        starts = np.concatenate([[0], np.cumsum(self.scores.cards)])[:-1]
        here, threshold = starts + state.codes, state.best_value + RISES * max(1.0, abs(state.best_value))
        allowed = (state.free_at <= state.steps) | (scores > threshold)
        allowed[here] = False
        scores = np.where(allowed, scores, -np.inf)
        if not len(scores) or scores.max() == -np.inf:
            return state, Info(state.best_value, np.inf, is_done=True)
        chosen = int(np.argmax(scores))
        i = int(np.searchsorted(starts, chosen, side="right")) - 1
        return self._moved(state, i, chosen - int(starts[i]), int(here[i]))

    def _moved(self, state: Searched, i: int, code: int, left: int) -> tuple[Searched, Info]:
        """After changing one state; the state that was left is tabu for some steps."""
        codes, free_at = state.codes.copy(), state.free_at.copy()
        codes[i] = code
        value, steps = self.scores.value(codes), state.steps + 1
        free_at[left] = steps + 1 + len(codes) // 4
        rises = value > state.best_value + RISES * max(1.0, abs(state.best_value))
        best = (codes, value) if rises else (state.best, state.best_value)
        idle = 0 if rises else state.idle + 1
        found = Searched(codes, value, *best, free_at, steps, idle)
        return found, Info(found.best_value, np.inf, is_done=idle >= self.patience)


class SearchedCodec:
    """Stores a local search in a checkpoint."""

    def pack(self, state: Searched) -> object:
        """The state as plain values."""
        return dict(vars(state))

    def unpack(self, content: dict[str, Any]) -> Searched:
        """The state of plain values."""
        codes, best, free_at = (np.array(content[name], np.int64) for name in ("codes", "best", "free_at"))
        value, best_value = float(content["value"]), float(content["best_value"])
        return Searched(codes, value, best, best_value, free_at, int(content["steps"]), int(content["idle"]))


def first_codes(scores: Scores) -> Ints:
    r"""One variable after the other in its most probable state given the earlier ones; possible if the evidence is.

    Cost: one query per variable.
    """
    codes: list[int] = []
    for i in range(len(scores.over)):
        part = Scores(scores.prepared, scores.evidence, scores.over[: i + 1])
        codes.append(int(np.argmax(part.by_query(i, np.array([*codes, 0])))))
    return np.array(codes, np.int64)
