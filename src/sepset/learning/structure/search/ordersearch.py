r"""Searches over orders of the columns, whose graphs have the best parents found among the columns before each.

The driver of such searches: a state is an order, a step moves along it, and at the end the graph of the best order is
improved edge by edge; where that helps, the search goes on from an order of the improved graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.threads import require_time
from sepset.graphs.graph import DAG
from sepset.inference.iterate import CutShort, Info, Interrupted, keeping
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.classes.ges import GES, ClassSearch
from sepset.learning.structure.familyscores import TOLERANCE
from sepset.learning.structure.learned import Learned, StructureTask, dag_of, iterated
from sepset.learning.structure.search.growshrink import GrowShrink
from sepset.learning.structure.search.rounds import climbed


@dataclass(frozen=True, slots=True)
class OrderState:
    """The state of a search over orders.

    Attributes:
        order: of the columns now.
        score: of its graph.
        best: the parents of each column in the best graph so far.
        best_score: its score.
        turn: which column is next.
        idle: how many in a row did not move.
        starts: how many searches have ended.
        stage: 0 and 1 are the greedy searches that come first, 2 is the search over orders.
        step: the number of steps so far.
        barred: pairs that a tabu list keeps from being swapped, with the step until which it does.
        peak: the best order of the present search and its score, where the search goes on from worse ones.
    """

    order: list[int]
    score: float
    best: list[list[int]]
    best_score: float
    turn: int = 0
    idle: int = 0
    starts: int = 0
    stage: int = 0
    step: int = 0
    barred: tuple[tuple[int, int, int], ...] = ()
    peak: tuple[list[int], float] | None = None
    families: GrowShrink | None = field(default=None, repr=False, compare=False)


class OrderStateCodec:
    """States as plain values; the trees of parents grow again."""

    def pack(self, state: OrderState) -> Any:
        """The plain values."""
        return {
            "order": state.order,
            "best": state.best,
            "scores": (state.score, state.best_score),
            "counters": (state.turn, state.idle, state.starts, state.stage, state.step),
            "barred": state.barred,
            "peak": state.peak,
        }

    def unpack(self, packed: Any) -> OrderState:
        """The state from its plain values."""
        best = [list(map(int, given)) for given in packed["best"]]
        score, best_score = map(float, packed["scores"])
        turn, idle, starts, stage, step = map(int, packed["counters"])
        order = [int(x) for x in packed["order"]]
        barred = tuple((int(x), int(y), int(until)) for x, y, until in packed["barred"])
        peak = None if packed["peak"] is None else (list(map(int, packed["peak"][0])), float(packed["peak"][1]))
        return OrderState(order, score, best, best_score, turn, idle, starts, stage, step, barred, peak)


class OrderSearch:
    """The base of searches over orders: where they begin, and how they end."""

    __slots__ = ()

    @property
    def num_starts(self) -> int:
        """From how many orders to search."""
        raise NotImplementedError

    def learn(self, task: StructureTask) -> Learned[DAG]:
        """The best graph of all starts."""
        task.scorer  # noqa: B018  # a score that does not fit is refused before anything else
        return iterated(self, task, OrderStateCodec()).result(self, task)

    def init(self, task: StructureTask, rng: np.random.Generator) -> OrderState:
        """The graph to begin with."""
        parents = task.start_parents()
        order = order_of(parents)
        score = task.scorer.total(parents)
        return OrderState(order, -math.inf, parents, score, stage=0 if task.start is None else 2)

    def step(self, task: StructureTask, state: OrderState, rng: np.random.Generator) -> tuple[OrderState, Info]:
        """A greedy search, one move along the order, or the end of a search; if cut short, a better graph is kept."""
        try:
            return self._stepped(task, state, rng)
        except (Interrupted, CutShort) as cut:
            score = task.scorer.total(cut.state)
            is_better = score > at_peak(state).score and score > state.best_score + TOLERANCE
            raise type(cut)(replace(state, best=cut.state, best_score=score) if is_better else state) from None

    def _stepped(self, task: StructureTask, state: OrderState, rng: np.random.Generator) -> tuple[OrderState, Info]:
        state = replace(state, step=state.step + 1)
        if state.stage < 2:
            parents, score = (climb, improved)[state.stage](task, task.start_parents())
            is_better = state.stage == 0 or score > state.best_score + TOLERANCE
            state = replace(state, best=parents, best_score=score) if is_better else state
            return replace(state, stage=state.stage + 1), Info(state.best_score, math.inf)
        families = state.families or GrowShrink(task.scorer, task.allowed)
        if state.score == -math.inf and self.num_starts:
            order = order_of(state.best)
            state = replace(state, order=order, score=order_score(families, order))
        state = replace(state, families=families)
        moved = self.moved(state, rng) if self.num_starts else None
        if moved is not None:
            return moved, Info(max(moved.score, moved.best_score), math.inf, rest=self._rest(state))
        return self._ended(task, at_peak(state), families, rng)

    def moved(self, state: OrderState, rng: np.random.Generator) -> OrderState | None:
        """The state after one move, or None if the search of the present start has ended."""
        raise NotImplementedError

    def _ended(
        self, task: StructureTask, state: OrderState, families: GrowShrink, rng: np.random.Generator
    ) -> tuple[OrderState, Info]:
        """The end of a search: its graph improved edge by edge; then again from there, or from another order."""
        parents, score = state.best, -math.inf
        if self.num_starts:
            parents, score = improved(task, [list(family.parents) for family in families.order(state.order)])
        if score > state.best_score + TOLERANCE:
            order = order_of(parents)
            again = replace(state, order=order, score=order_score(families, order), best=parents, best_score=score)
            return replace(again, turn=0, idle=0), Info(score, math.inf)
        ended = replace(state, starts=state.starts + 1)
        if ended.starts >= self.num_starts:
            return ended, Info(state.best_score, 0.0, is_done=True)
        order = random_order(task, rng)
        again = replace(ended, order=order, score=order_score(families, order), turn=0, idle=0)
        return again, Info(state.best_score, math.inf, rest=self._rest(again))

    def _rest(self, state: OrderState) -> float | None:
        """The share of the starts that are left."""
        return 1.0 - state.starts / self.num_starts if self.num_starts > 1 else None

    def read(self, task: StructureTask, state: OrderState) -> Learned[DAG]:
        """The best graph so far."""
        state = at_peak(state)
        parents, score = state.best, state.best_score
        if state.families is not None and state.score > score:
            parents, score = [list(family.parents) for family in state.families.order(state.order)], state.score
        return Learned(
            dag_of(task.columns, parents),
            columns=task.columns,
            score=task.scorer.total(parents),
            num_scores=task.scorer.num_scores,
            method=self,
            status=Status.CONVERGED,
            guarantees={"structure": Guarantee.LOCAL_OPTIMUM},
            info={"moves": state.step, "starts": state.starts},
        )


def at_peak(state: OrderState) -> OrderState:
    """The state at the best order of the present search, with nothing barred."""
    if state.peak is None:
        return state
    return replace(state, order=state.peak[0], score=state.peak[1], barred=(), peak=None, idle=0)


def improved(task: StructureTask, parents: list[list[int]]) -> tuple[list[list[int]], float]:
    """A graph that no single move improves, and its score: over classes if the score is equivalent, then over DAGs."""
    if task.scorer.is_equivalent:
        search, phases, idle = ClassSearch(task, parents, None), GES().phases, 0
        with keeping(lambda: parents):
            while idle < len(phases):
                for phase in phases:
                    idle += 1
                    while (operator := search.best(phase)) is not None:
                        require_time()
                        search.make(operator)
                        parents, idle = search.graph.parents_of, 0
        parents = search.graph.parents_of
    return climb(task, parents)


def climb(task: StructureTask, parents: list[list[int]]) -> tuple[list[list[int]], float]:
    """The graph that plain hill climbing ends with, and its score."""
    graph = climbed(task, parents)
    return graph.parents_of(), graph.score


def order_score(families: GrowShrink, order: Sequence[int]) -> float:
    """The score of the graph of an order; minus infinity if a required edge points backward in it."""
    scores, before = [], 0
    for y in order:
        scores.append(_score(families, y, before))
        before |= 1 << y
    return math.fsum(scores)


def order_of(parents: Sequence[Sequence[int]]) -> list[int]:
    """An order of the columns, parents before children; among those that can be next, the first column."""
    left = [len(given) for given in parents]
    ready, order = [y for y, count in enumerate(left) if not count], []
    children: list[list[int]] = [[] for _ in parents]
    for y, given in enumerate(parents):
        for x in given:
            children[x].append(y)
    while ready:
        x = ready.pop(0)
        order.append(x)
        for y in children[x]:
            left[y] -= 1
            if not left[y]:
                ready.append(y)
    return order


def random_order(task: StructureTask, rng: np.random.Generator) -> list[int]:
    """A random order in which required edges point forward; tiers need not follow each other."""
    rank = rng.permutation(len(task.columns))
    parents = [np.flatnonzero(task.allowed.required[:, y]).tolist() for y in range(len(rank))]
    left, order = set(range(len(rank))), list[int]()
    while left:
        free = [y for y in left if not left.intersection(parents[y])]
        order.append(min(free, key=lambda y: int(rank[y])))
        left.remove(order[-1])
    return order


def positions(families: GrowShrink, order: Sequence[int], column: int) -> tuple[list[int], Floats]:
    r"""The order without a column, and the score of putting it at each place; minus infinity where it cannot be.

    $$\sum_{i \le j} S(o_i \mid P_{i-1}) + S(v \mid P_j) + \sum_{i > j} S(o_i \mid P_{i-1} \cup v)$$
    """
    rest = [y for y in order if y != column]
    n, bit, before = len(rest), 1 << column, 0
    without, given, own = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1)
    without[0] = given[n] = 0.0
    for i, y in enumerate(rest):
        own[i] = _score(families, column, before)
        without[i + 1] = _score(families, y, before)
        given[i] = families.best(y, before | bit).score
        before |= 1 << y
    own[n] = families.best(column, before).score
    return rest, np.asarray(np.cumsum(without) + own + np.cumsum(given[::-1])[::-1])


def _score(families: GrowShrink, column: int, before: int) -> float:
    required = families.required[column]
    return families.best(column, before).score if required & before == required else -math.inf
