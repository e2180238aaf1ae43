r"""Hill climbing over DAGs, with a tabu list and restarts."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools
from sepset.base.checks import one_of, whole
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Info
from sepset.inference.result import Guarantee, Status
from sepset.kernels.structure.climbing import ADD, DELETE, REVERSE
from sepset.learning.structure.familyscores import TOLERANCE
from sepset.learning.structure.learned import Learned, StructureTask, dag_of, iterated
from sepset.learning.structure.search.moves import Move, SearchedGraph, parents_in


@dataclass(frozen=True, slots=True)
class State:
    """The state of a search: plain values, and the graph with its gains, which is rebuilt where it is absent.

    Attributes:
        edges: from row to column, whether there is an edge now.
        best: the edges of the best graph so far.
        best_score: its score.
        recent: the pairs changed last, each with the step until which it is barred.
        since: steps since the best graph was found.
        restarts: how many were made.
        step: the number of moves so far.
        is_checked: whether no move improves the best graph.
    """

    edges: Bools
    best: Bools
    best_score: float
    recent: tuple[tuple[int, int, int], ...] = ()
    since: int = 0
    restarts: int = 0
    step: int = 0
    is_checked: bool = False
    graph: SearchedGraph | None = field(default=None, repr=False, compare=False)


class StateCodec:
    """States as plain values; the gains are computed again."""

    def pack(self, state: State) -> Any:
        """The plain values."""
        return {
            "size": len(state.edges),
            "edges": np.argwhere(state.edges),
            "best": np.argwhere(state.best),
            "best_score": state.best_score,
            "recent": state.recent,
            "counters": (state.since, state.restarts, state.step, state.is_checked),
        }

    def unpack(self, packed: Any) -> State:
        """The state from its plain values."""
        since, restarts, step, is_checked = packed["counters"]
        edges, best = (_filled(packed[name], int(packed["size"])) for name in ("edges", "best"))
        recent = tuple((int(x), int(y), int(until)) for x, y, until in packed["recent"])
        return State(
            edges, best, float(packed["best_score"]), recent, int(since), int(restarts), int(step), bool(is_checked)
        )


@dataclass(frozen=True, slots=True)
class HillClimb:
    r"""Greedy search over DAGs: apply the addition, deletion or reversal of an edge that gains most, until none does.

    $$\delta(X \to Y) = \text{FamScore}(Y \mid \text{Pa}_Y \cup X) - \text{FamScore}(Y \mid \text{Pa}_Y)$$

    With a tabu list the search continues downhill by the best move that does not undo a recent one; a move to a new
    best graph is always allowed. With restarts it continues from the best graph after some random moves. Equal gains
    go to the first pair in column order.

    Args:
        tabu: how many moves a changed pair is barred for; 0 for plain hill climbing.
        patience: with a tabu list, how many moves without a new best graph end the search, or lead to a restart.
        restarts: how many times to continue from a perturbed best graph.
        perturb: the number of random moves of a restart; a quarter of the number of columns by default.
        ties: "first" in column order, or "random".

    Reference: Koller & Friedman, section 18.4.3; Glover (1986).
    Guarantee: a local optimum: no single move improves the result.
    Tested by: learning/structure/search/test_hillclimb.py::test_no_move_improves

    >>> HillClimb(tabu=20, restarts=5)
    HillClimb(tabu=20, patience=20, restarts=5, perturb=None, ties='first')
    """

    tabu: int = 0
    _: KW_ONLY
    patience: int = 20
    restarts: int = 0
    perturb: int | None = None
    ties: str = "first"

    def __post_init__(self) -> None:
        one_of("HillClimb(ties=)", self.ties, ("first", "random"))
        whole("HillClimb(tabu=)", self.tabu, least=0)
        whole("HillClimb(patience=)", self.patience, least=1)
        whole("HillClimb(restarts=)", self.restarts, least=0)
        if self.perturb is not None:
            whole("HillClimb(perturb=)", self.perturb, least=1, otherwise="None")

    def learn(self, task: StructureTask) -> Learned[DAG]:
        """The best graph of the search."""
        task.scorer  # noqa: B018  # a score that does not fit is refused before anything else
        return iterated(self, task, StateCodec()).result(self, task)

    def init(self, task: StructureTask, rng: np.random.Generator) -> State:
        """The graph to begin with."""
        parents = task.start_parents()
        graph = SearchedGraph(task.scorer, task.allowed, parents)
        return State(graph.edges.copy(), graph.edges.copy(), graph.score, graph=graph)

    def step(self, task: StructureTask, state: State, rng: np.random.Generator) -> tuple[State, Info]:
        """One move, or the end of the search."""
        graph = _graph(task, state)
        aspiration = state.best_score - graph.score + TOLERANCE
        move = graph.best(state.recent, state.step, aspiration)
        if move is not None and self.ties == "random":
            move = _drawn(graph, move, rng)
        is_uphill = move is not None and move.gain > TOLERANCE
        goes_on = move is not None and (is_uphill or (self.tabu > 0 and state.since < self.patience))
        if not goes_on or move is None:
            return self._ended(task, state, rng)
        graph.make(move)
        change = (move.source, move.target, state.step + 1 + self.tabu)
        recent = (*state.recent, change)[-self.tabu :] if self.tabu else ()
        moved = replace(state, edges=graph.edges.copy(), graph=graph, recent=recent, step=state.step + 1)
        found = graph.score
        if found > state.best_score + TOLERANCE:
            moved = replace(moved, best=moved.edges, best_score=found, since=0)
        else:
            moved = replace(moved, since=state.since + 1)
        return moved, Info(moved.best_score, math.inf, rest=self._rest(state))

    def _rest(self, state: State) -> float | None:
        """The share of the restarts that are left."""
        return 1.0 - state.restarts / (self.restarts + 1) if self.restarts else None

    def _ended(self, task: StructureTask, state: State, rng: np.random.Generator) -> tuple[State, Info]:
        """The end of the search, or a restart from the perturbed best graph."""
        if state.restarts >= self.restarts:
            return replace(state, is_checked=True), Info(state.best_score, 0.0, is_done=True)
        graph = SearchedGraph(task.scorer, task.allowed, parents_in(state.best))
        for _ in range(self.perturb or max(4, graph.n // 4)):
            move = random_move(graph, rng)
            if move is not None:
                graph.make(move)
        again = replace(state, edges=graph.edges.copy(), graph=graph, recent=(), since=0, restarts=state.restarts + 1)
        return again, Info(state.best_score, math.inf, rest=self._rest(again))

    def read(self, task: StructureTask, state: State) -> Learned[DAG]:
        """The best graph so far."""
        return Learned(
            dag_of(task.columns, parents_in(state.best)),
            columns=task.columns,
            score=state.best_score,
            num_scores=task.scorer.num_scores,
            method=self,
            status=Status.CONVERGED,
            guarantees={"structure": Guarantee.LOCAL_OPTIMUM},
            info={"moves": state.step, "restarts": state.restarts},
        )


def _drawn(graph: SearchedGraph, move: Move, rng: np.random.Generator) -> Move:
    """One of the moves of the same kind whose gain is the same, at random."""
    pairs = graph.edges if move.kind != ADD else ~graph.edges
    gains = graph.gains if move.kind != REVERSE else graph.gains + graph.gains.T
    tied = np.argwhere(pairs & (np.abs(gains - move.gain) <= TOLERANCE)).tolist()
    found = [move, *(Move(move.kind, x, y, move.gain) for x, y in tied if (x, y) != (move.source, move.target))]
    legal = [one for one in found if one == move or graph.is_legal(one)]
    return legal[int(rng.integers(len(legal)))]


def random_move(graph: SearchedGraph, rng: np.random.Generator) -> Move | None:
    """A legal move drawn by a random pair: its edge is deleted or reversed, or one is added; None if none was met."""
    n = graph.n
    for _ in range(20 * n if n > 1 else 0):
        x, y = rng.choice(n, 2, replace=False).tolist()
        kind = (DELETE, REVERSE)[int(rng.integers(2))] if graph.edges[x, y] else ADD
        move = Move(kind, x, y, graph.gains[x, y])
        if graph.is_legal(move):
            return move
    return None


def _graph(task: StructureTask, state: State) -> SearchedGraph:
    """The graph with its gains; a state that was stored, or interrupted amid a move, has it built again."""
    kept = state.graph
    if kept is not None and np.array_equal(kept.edges, state.edges):
        return kept
    return SearchedGraph(task.scorer, task.allowed, parents_in(state.edges))


def _filled(pairs: Any, n: int) -> Bools:
    edges = np.zeros((n, n), np.bool_)
    listed = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    edges[listed[:, 0], listed[:, 1]] = True
    return edges
