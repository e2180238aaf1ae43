"""Searches over DAGs in rounds: each round starts from a graph, may find a better one, and says whether to go on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sepset.graphs.graph import DAG
from sepset.inference.iterate import Info, Interrupted, keeping
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.familyscores import TOLERANCE
from sepset.learning.structure.learned import Learned, StructureTask, dag_of, iterated
from sepset.learning.structure.search.moves import Move, SearchedGraph

Parents = list[list[int]]


class Round(NamedTuple):
    """The outcome of a round.

    Attributes:
        parents: of each column, where the next round starts.
        goes_on: whether there is one.
    """

    parents: Parents
    goes_on: bool


@dataclass(frozen=True, slots=True)
class RoundState:
    """The state of a search in rounds.

    Attributes:
        parents: of each column now.
        best: the parents in the best graph so far.
        best_score: its score.
        rounds: how many were made.
        idle: how many of the last found nothing better.
        has_ended: whether no round follows; hill climbing from the best graph is left.
    """

    parents: Parents
    best: Parents
    best_score: float
    rounds: int = 0
    idle: int = 0
    has_ended: bool = False


class RoundStateCodec:
    """States as plain values."""

    def pack(self, state: RoundState) -> Any:
        """The plain values."""
        counters = (state.rounds, state.idle, state.has_ended)
        return {"parents": state.parents, "best": state.best, "score": state.best_score, "counters": counters}

    def unpack(self, packed: Any) -> RoundState:
        """The state from its plain values."""
        parents, best = ([list(map(int, given)) for given in packed[name]] for name in ("parents", "best"))
        rounds, idle, has_ended = packed["counters"]
        return RoundState(parents, best, float(packed["score"]), int(rounds), int(idle), bool(has_ended))


class SearchInRounds:
    """The base of searches in rounds; they end with hill climbing, so that no single move improves the result."""

    __slots__ = ()

    def learn(self, task: StructureTask) -> Learned[DAG]:
        """The best graph of all rounds."""
        task.scorer  # noqa: B018  # a score that does not fit is refused before anything else
        return iterated(self, task, RoundStateCodec()).result(self, task)

    def init(self, task: StructureTask, rng: np.random.Generator) -> RoundState:
        """The graph to begin with."""
        parents = task.start_parents()
        return RoundState(parents, parents, task.scorer.total(parents))

    def step(self, task: StructureTask, state: RoundState, rng: np.random.Generator) -> tuple[RoundState, Info]:
        """One round, or the hill climbing at the end; Ctrl-C keeps a better graph that it has met."""
        try:
            return self._stepped(task, state, rng)
        except Interrupted as cut:
            score = task.scorer.total(cut.state)
            is_better = score > state.best_score + TOLERANCE
            raise Interrupted(replace(state, best=cut.state, best_score=score) if is_better else state) from None

    def _stepped(self, task: StructureTask, state: RoundState, rng: np.random.Generator) -> tuple[RoundState, Info]:
        if state.has_ended:
            graph = climbed(task, state.best)
            ended = replace(state, best=graph.parents_of(), best_score=graph.score)
            return ended, Info(graph.score, 0.0, is_done=True)
        found = self.round(task, state, rng)
        score = task.scorer.total(found.parents)
        is_better = score > state.best_score + TOLERANCE
        after = replace(state, parents=found.parents, rounds=state.rounds + 1, has_ended=not found.goes_on)
        after = replace(after, best=found.parents, best_score=score) if is_better else after
        return replace(after, idle=0 if is_better else state.idle + 1), Info(after.best_score, math.inf)

    def round(self, task: StructureTask, state: RoundState, rng: np.random.Generator) -> Round:
        """The next graph, and whether to go on."""
        raise NotImplementedError

    def read(self, task: StructureTask, state: RoundState) -> Learned[DAG]:
        """The best graph so far."""
        return Learned(
            dag_of(task.columns, state.best),
            columns=task.columns,
            score=task.scorer.total(state.best),
            num_scores=task.scorer.num_scores,
            method=self,
            status=Status.CONVERGED,
            guarantees={"structure": Guarantee.LOCAL_OPTIMUM},
            info={"rounds": state.rounds},
        )


def climbed(task: StructureTask, parents: Parents) -> SearchedGraph:
    """The graph that plain hill climbing ends with."""
    graph = SearchedGraph(task.scorer, task.allowed, parents)
    ascend(graph, improving)
    return graph


def improving(graph: SearchedGraph) -> Move | None:
    """The move that gains most, if it gains anything."""
    move = graph.best()
    return move if move is not None and move.gain > TOLERANCE else None


def ascend(graph: SearchedGraph, choose: Callable[[SearchedGraph], Move | None]) -> None:
    """Make chosen moves until there are none; between any two of them the graph is a DAG that is allowed."""
    with keeping(graph.parents_of):
        while (move := choose(graph)) is not None:
            graph.make(move)
