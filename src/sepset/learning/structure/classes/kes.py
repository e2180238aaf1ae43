r"""Greedy equivalence search that draws among the operators that improve."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sepset.base.checks import fraction, whole
from sepset.graphs.graph import MixedGraph
from sepset.inference.iterate import Info
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.classes.essential import EssentialGraph
from sepset.learning.structure.classes.ges import ClassSearch, kept_search
from sepset.learning.structure.classes.knowledge import constrained_graph
from sepset.learning.structure.familyscores import TOLERANCE
from sepset.learning.structure.learned import Learned, StructureTask, iterated


@dataclass(frozen=True, slots=True)
class RunsState:
    """The state of several runs.

    Attributes:
        parents: of each column in a member of the class.
        score: of the class.
        best: the parents in a member of the best class where no operator improved.
        best_score: its score.
        run: how many runs have ended.
        step: the number of operators so far.
    """

    parents: list[list[int]]
    score: float
    best: list[list[int]]
    best_score: float
    run: int = 0
    step: int = 0
    search: ClassSearch | None = field(default=None, repr=False, compare=False)


class RunsStateCodec:
    """States as plain values; the operators are scored again."""

    def pack(self, state: RunsState) -> Any:
        """The plain values."""
        scores = (state.score, state.best_score)
        return {"parents": state.parents, "best": state.best, "scores": scores, "counters": (state.run, state.step)}

    def unpack(self, packed: Any) -> RunsState:
        """The state from its plain values."""
        parents, best = ([list(map(int, given)) for given in packed[name]] for name in ("parents", "best"))
        score, best_score = map(float, packed["scores"])
        runs, step = map(int, packed["counters"])
        return RunsState(parents, score, best, best_score, runs, step)


@dataclass(frozen=True, slots=True)
class KES:
    r"""Randomized greedy search over classes: each step takes the best of a random share of the improving operators.

    All insertions and deletions that improve the score compete; of $b$ of them $\max(1, \lceil k b \rceil)$ are drawn.
    With $k = 1$ every run is the same; with $k = 0$ each step is any improvement. The best of several runs is kept.

    Args:
        share: $k$, between 0 and 1.
        runs: how many.

    Reference: Nielsen, Kocka & Pena (2003), "On local optima in learning Bayesian networks".
    Guarantee: a local optimum: no insertion or deletion improves the class.
    Tested by: learning/structure/classes/test_kes.py::test_runs_end_at_local_optima

    >>> KES(0.4)
    KES(share=0.4, runs=10)
    """

    share: float = 0.5
    runs: int = 10

    def __post_init__(self) -> None:
        fraction("KES(share=)", self.share, ends=True)
        whole("KES(runs=)", self.runs, least=1)

    def learn(self, task: StructureTask) -> Learned[MixedGraph]:
        """The best class of all runs."""
        task.require_equivalent("KES")
        return iterated(self, task, RunsStateCodec()).result(self, task)

    def init(self, task: StructureTask, rng: np.random.Generator) -> RunsState:
        """The class to begin with."""
        parents = task.start_parents()
        score = task.scorer.total(parents)
        return RunsState(parents, score, parents, score)

    def step(self, task: StructureTask, state: RunsState, rng: np.random.Generator) -> tuple[RunsState, Info]:
        """One operator, or the end of a run."""
        search = kept_search(state.search, state.parents) or ClassSearch(task, state.parents, None)
        operators = search.improving("forward") + search.improving("backward")
        if not operators:
            return self._ended(task, state)
        size = max(1, math.ceil(self.share * len(operators)))
        chosen = rng.choice(len(operators), size, replace=False)
        operator = max((operators[k] for k in sorted(chosen.tolist())), key=lambda op: op.gain)
        search.make(operator)
        score = state.score + operator.gain
        made = replace(state, parents=search.graph.parents_of, score=score, step=state.step + 1, search=search)
        return made, Info(max(score, state.best_score), math.inf)

    def _ended(self, task: StructureTask, state: RunsState) -> tuple[RunsState, Info]:
        if state.score > state.best_score + TOLERANCE or not state.run:
            state = replace(state, best=state.parents, best_score=state.score)
        ended = replace(state, run=state.run + 1)
        if ended.run >= self.runs:
            return ended, Info(ended.best_score, 0.0, is_done=True)
        parents = task.start_parents()
        again = replace(ended, parents=parents, score=task.scorer.total(parents), search=None)
        return again, Info(ended.best_score, math.inf)

    def read(self, task: StructureTask, state: RunsState) -> Learned[MixedGraph]:
        """The best class so far."""
        parents = state.parents if state.score > state.best_score else state.best
        graph = EssentialGraph(parents)
        return Learned(
            constrained_graph(graph.arcs, task.allowed, task.columns.names),
            columns=task.columns,
            score=task.scorer.total(parents),
            num_scores=task.scorer.num_scores,
            method=self,
            status=Status.CONVERGED,
            guarantees={"structure": Guarantee.LOCAL_OPTIMUM},
            info={"operators": state.step, "runs": state.run},
        )
