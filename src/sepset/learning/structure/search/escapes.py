r"""Searches over DAGs that leave local optima: basin flooding, plateau walks, reinsertion, sparse candidates."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import KW_ONLY, dataclass

import numpy as np

from sepset.base.checks import whole
from sepset.inference.iterate import keeping
from sepset.kernels.structure.climbing import REVERSE, is_ancestor
from sepset.learning.structure.familyscores import TOLERANCE
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.search.moves import Move, SearchedGraph
from sepset.learning.structure.search.rounds import (
    Parents,
    Round,
    RoundState,
    SearchInRounds,
    ascend,
    climbed,
    improving,
)
from sepset.learning.structure.search.stochastic import moves


@dataclass(frozen=True, slots=True)
class BasinFlooding(SearchInRounds):
    """From a local optimum, expand the best graph seen but not expanded, until one is better than the optimum.

    Each round ascends, then floods around the optimum.

    Args:
        most: how many graphs are expanded around an optimum before the search ends.

    Reference: Koller & Friedman, section 18.4.3.2 and appendix A.4.2.
    Guarantee: a local optimum: no single move improves the result.
    Tested by: learning/structure/search/test_rounds.py::test_no_move_improves

    >>> BasinFlooding(50)
    BasinFlooding(most=50)
    """

    most: int = 100

    def __post_init__(self) -> None:
        whole("BasinFlooding(most=)", self.most, least=1)

    def round(self, task: StructureTask, state: RoundState, rng: np.random.Generator) -> Round:
        """A local optimum, and a better graph near it if one is found."""
        graph = climbed(task, state.parents)
        optimum, level = graph.parents_of(), graph.score
        with keeping(lambda: optimum):
            better = self._flooded(task, optimum, level)
        return Round(optimum, False) if better is None else Round(better, True)

    def _flooded(self, task: StructureTask, optimum: Parents, level: float) -> Parents | None:
        """A graph that is better than the optimum; None if none is met."""
        seen, heap = {_key(optimum)}, [(-level, _key(optimum))]
        for _ in range(self.most):
            if not heap:
                break
            graph = SearchedGraph(task.scorer, task.allowed, _parents(heapq.heappop(heap)[1]))
            for move in moves(graph):
                score, key = graph.score + move.gain, _key(_after(graph, move))
                if score > level + TOLERANCE:
                    return _parents(key)
                if key not in seen:
                    seen.add(key)
                    heapq.heappush(heap, (-score, key))
        return None


Key = tuple[tuple[int, ...], ...]


def _key(parents: Parents) -> Key:
    return tuple(tuple(sorted(given)) for given in parents)


def _parents(key: Key) -> Parents:
    return [list(given) for given in key]


def _after(graph: SearchedGraph, move: Move) -> Parents:
    """The parents of each column after a move."""
    parents = graph.parents_of()
    x, y = move.source, move.target
    if x in parents[y]:
        parents[y].remove(x)
        if move.kind == REVERSE:
            parents[x].append(y)
    else:
        parents[y].append(x)
    return parents


@dataclass(frozen=True, slots=True)
class PlateauWalk(SearchInRounds):
    """From a local optimum, visit equivalent DAGs by reversals of covered edges, until one has an improving move.

    Args:
        most: how many members of a class are visited at most.

    Reference: Koller & Friedman, section 18.4.3.2; Chickering (1995).
    Guarantee: a local optimum: no single move improves the result, nor any visited member of its class.
    Tested by: learning/structure/search/test_rounds.py::test_no_move_improves

    >>> PlateauWalk(50)
    PlateauWalk(most=50)
    """

    most: int = 200

    def __post_init__(self) -> None:
        whole("PlateauWalk(most=)", self.most, least=1)

    def round(self, task: StructureTask, state: RoundState, rng: np.random.Generator) -> Round:
        """A local optimum, and an improved member of its class, if one is found."""
        task.require_equivalent("PlateauWalk")
        optimum = climbed(task, state.parents).parents_of()
        with keeping(lambda: optimum):
            better = self._walked(task, optimum)
        return Round(optimum, False) if better is None else Round(better, True)

    def _walked(self, task: StructureTask, optimum: Parents) -> Parents | None:
        """A graph that is better than all visited members of the class of the optimum; None if none is met."""
        seen, pending = {_key(optimum)}, [_key(optimum)]
        while pending and len(seen) <= self.most:
            graph = SearchedGraph(task.scorer, task.allowed, _parents(pending.pop(0)))
            best = graph.best()
            if best is not None and best.gain > TOLERANCE:
                return _after(graph, best)
            for move in moves(graph):
                others = graph.edges[:, move.target].copy()
                others[move.source] = False
                if move.kind == REVERSE and np.array_equal(others, graph.edges[:, move.source]):
                    key = _key(_after(graph, move))
                    if key not in seen:
                        seen.add(key)
                        pending.append(key)
        return None


@dataclass(frozen=True, slots=True)
class OptimalReinsertion(SearchInRounds):
    r"""Take a column out of the graph and put it back with the best parents and children.

    For parents $U$, the children are independent of each other: those with a positive gain
    $F(Y \mid \text{Pa}_Y \cup X) - F(Y \mid \text{Pa}_Y)$ that are not ancestors of $U$. The sets $U$ are subsets of
    the candidates that gain most alone. A round takes every column once.

    Args:
        max_parents: the largest size of $U$.
        candidates: how many columns compete for it.

    Reference: Moore & Wong (2003); Koller & Friedman, exercise 18.23.
    Guarantee: a local optimum: no single move improves the result.
    Tested by: learning/structure/search/test_rounds.py::test_no_move_improves

    >>> OptimalReinsertion(2)
    OptimalReinsertion(max_parents=2, candidates=8)
    """

    max_parents: int = 3
    _: KW_ONLY
    candidates: int = 8

    def __post_init__(self) -> None:
        whole("OptimalReinsertion(max_parents=)", self.max_parents, least=0)
        whole("OptimalReinsertion(candidates=)", self.candidates, least=1)

    def round(self, task: StructureTask, state: RoundState, rng: np.random.Generator) -> Round:
        """Hill climbing, then every column reinserted once in a random order, then hill climbing."""
        parents = climbed(task, state.parents).parents_of()
        before = task.scorer.total(parents)
        with keeping(lambda: parents):
            for x in rng.permutation(task.scorer.n).tolist():
                parents = self._reinserted(task, parents, x)
        graph = climbed(task, parents)
        return Round(graph.parents_of(), graph.score > before + TOLERANCE)

    def _reinserted(self, task: StructureTask, parents: Parents, x: int) -> Parents:
        """The graph with one column at its best parents and children, if that is better."""
        allowed, scorer = task.allowed, task.scorer
        if allowed.required[x].any() or allowed.required[:, x].any():
            return parents
        severed = [[] if y == x else [p for p in given if p != x] for y, given in enumerate(parents)]
        graph = SearchedGraph(scorer, allowed, severed)
        gains = graph.gains[:, x]
        ranked = [int(p) for p in np.argsort(-gains, kind="stable")[: self.candidates] if gains[p] > -np.inf]
        full = graph.indegree >= allowed.max_parents
        best, chosen = scorer.total(parents), parents
        for size in range(min(self.max_parents, allowed.max_parents) + 1):
            for given in itertools.combinations(ranked, size):
                children = [y for y in np.flatnonzero((graph.gains[x] > TOLERANCE) & ~full).tolist()
                            if y not in given and not any(is_ancestor(graph.above, y, p) for p in given)]  # fmt: skip
                score = graph.score - graph.families[x] + scorer.family(x, given) + graph.gains[x, children].sum()
                if score > best + TOLERANCE:
                    best = float(score)
                    chosen = [list(p) for p in severed]
                    chosen[x] = list(given)
                    for y in children:
                        chosen[y].append(x)
        return chosen


@dataclass(frozen=True, slots=True)
class SparseCandidate(SearchInRounds):
    """Hill climbing in which each column has few possible parents, which are chosen again given each result.

    Candidates are the present parents, and the columns that gain most when added to them.

    Args:
        candidates: how many possible parents each column has.

    Reference: Friedman, Nachman & Pe'er (1999).
    Guarantee: a local optimum: no single move improves the result, since unrestricted hill climbing ends it.
    Tested by: learning/structure/search/test_rounds.py::test_no_move_improves

    >>> SparseCandidate(5)
    SparseCandidate(candidates=5)
    """

    candidates: int = 10

    def __post_init__(self) -> None:
        whole("SparseCandidate(candidates=)", self.candidates, least=1)

    def round(self, task: StructureTask, state: RoundState, rng: np.random.Generator) -> Round:
        """Hill climbing among the candidates."""
        allowed, scorer = task.allowed, task.scorer
        forbidden = np.ones_like(allowed.forbidden)
        for y, given in enumerate(state.parents):
            gains = np.where(allowed.forbidden[:, y], -np.inf, np.nan_to_num(scorer.additions(y, given), nan=-np.inf))
            ranked = np.argsort(-gains, kind="stable")[: max(self.candidates - len(given), 0)]
            forbidden[ranked[gains[ranked] > -np.inf], y] = False
            forbidden[given, y] = False
        graph = SearchedGraph(scorer, allowed._replace(forbidden=forbidden), state.parents)
        ascend(graph, improving)
        return Round(graph.parents_of(), graph.score > scorer.total(state.parents) + TOLERANCE)
