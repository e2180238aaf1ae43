r"""Searches over DAGs that draw: first ascent, simulated annealing, and perturbations of the data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import fraction, number, whole
from sepset.inference.iterate import keeping
from sepset.kernels.structure.climbing import ADD, DELETE, REVERSE
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import TOLERANCE
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.search.hillclimb import random_move
from sepset.learning.structure.search.moves import Move, SearchedGraph
from sepset.learning.structure.search.rounds import Round, RoundState, SearchInRounds, ascend, climbed


@dataclass(frozen=True, slots=True)
class FirstAscent(SearchInRounds):
    """Hill climbing by the first improving move that is met in a random order, not the best one.

    Args:
        restarts: how many more ascents from the same graph, with other draws.

    Reference: Koller & Friedman, section 18.4.3.
    Guarantee: a local optimum: no single move improves the result.
    Tested by: learning/structure/search/test_rounds.py::test_no_move_improves

    >>> FirstAscent(3)
    FirstAscent(restarts=3)
    """

    restarts: int = 0

    def __post_init__(self) -> None:
        whole("FirstAscent(restarts=)", self.restarts, least=0)

    def round(self, task: StructureTask, state: RoundState, rng: np.random.Generator) -> Round:
        """One ascent."""
        graph = SearchedGraph(task.scorer, task.allowed, task.start_parents())
        ascend(graph, lambda at: first_improving(at, rng))
        return Round(graph.parents_of(), state.rounds < self.restarts)


def moves(graph: SearchedGraph, above: float = -math.inf) -> Iterator[Move]:
    """All legal moves that gain more than a number, additions first, by source and then target."""
    for kind in (ADD, DELETE, REVERSE):
        for x in range(graph.n):
            gains = _reversed_gains(graph, x) if kind == REVERSE else graph.gains[x]
            for y in np.flatnonzero((graph.edges[x] == (kind != ADD)) & (gains > above)).tolist():
                move = Move(kind, x, y, float(gains[y]))
                if graph.is_legal(move):
                    yield move


def _reversed_gains(graph: SearchedGraph, x: int) -> Floats:
    with np.errstate(invalid="ignore"):  # a move that is forbidden from a family that is impossible
        return np.asarray(graph.gains[x] + graph.gains[:, x])


def first_improving(graph: SearchedGraph, rng: np.random.Generator) -> Move | None:
    """The first legal move that improves, in a random order; None if none does."""
    improving = list(moves(graph, TOLERANCE))
    return improving[int(rng.integers(len(improving)))] if improving else None


@dataclass(frozen=True, slots=True)
class Annealing(SearchInRounds):
    r"""Simulated annealing: random moves, accepted with probability $\min(1, e^{\Delta / T})$ as $T$ falls.

    Args:
        temperature: $T$ at first, in nats.
        rounds: how many temperatures; each is `decay` times the one before.
        decay: between 0 and 1.
        moves: the number of proposals at each temperature; ten per column by default.

    Reference: Kirkpatrick, Gelatt & Vecchi (1983); Koller & Friedman, appendix A.4.2.
    Guarantee: a local optimum: no single move improves the result, since hill climbing ends it.
    Tested by: learning/structure/search/test_rounds.py::test_no_move_improves

    >>> Annealing(rounds=50)
    Annealing(temperature=10.0, rounds=50, decay=0.9, moves=None)
    """

    temperature: float = 10.0
    _: KW_ONLY
    rounds: int = 60
    decay: float = 0.9
    moves: int | None = None

    def __post_init__(self) -> None:
        number("Annealing(temperature=)", self.temperature, above=0)
        whole("Annealing(rounds=)", self.rounds, least=1)
        fraction("Annealing(decay=)", self.decay)
        if self.moves is not None:
            whole("Annealing(moves=)", self.moves, least=1, otherwise="None")

    def round(self, task: StructureTask, state: RoundState, rng: np.random.Generator) -> Round:
        """The proposals at one temperature; the first round starts from a local optimum."""
        graph = climbed(task, state.parents) if not state.rounds else None
        graph = graph or SearchedGraph(task.scorer, task.allowed, state.parents)
        heat = self.temperature * self.decay**state.rounds
        first = graph.parents_of()
        with keeping(lambda: first):
            for _ in range(self.moves or 10 * graph.n):
                move = random_move(graph, rng)
                if move is None:
                    break
                gain = move.gain + (graph.gains[move.target, move.source] if move.kind == REVERSE else 0.0)
                if gain >= 0 or rng.random() < math.exp(gain / heat):
                    graph.make(move)
        return Round(graph.parents_of(), state.rounds + 1 < self.rounds)


@dataclass(frozen=True, slots=True)
class DataPerturbation(SearchInRounds):
    r"""Hill climbing on perturbed data: rows get Gamma weights of mean 1 and variance $t$, which decays.

    Each round ascends on the perturbed data from the present graph, then on the data itself; the best graph on the data
    is kept.

    Args:
        rounds: how many.
        variance: $t$ at first.
        decay: the factor of $t$ after each round.

    Reference: Koller & Friedman, algorithm 18.1; Elidan, Ninio, Friedman & Schuurmans (2002).
    Guarantee: a local optimum: no single move improves the result.
    Tested by: learning/structure/search/test_rounds.py::test_no_move_improves

    >>> DataPerturbation(5)
    DataPerturbation(rounds=5, variance=1.0, decay=0.9)
    """

    rounds: int = 20
    _: KW_ONLY
    variance: float = 1.0
    decay: float = 0.9

    def __post_init__(self) -> None:
        whole("DataPerturbation(rounds=)", self.rounds, least=1)
        number("DataPerturbation(variance=)", self.variance, above=0)
        fraction("DataPerturbation(decay=)", self.decay, ends=True)

    def round(self, task: StructureTask, state: RoundState, rng: np.random.Generator) -> Round:
        """Hill climbing on the data in the first round; on perturbed data and then on the data in others."""
        parents = state.parents
        if state.rounds:
            variance = self.variance * self.decay ** (state.rounds - 1)
            perturbed = replace(task, columns=reweighted(task.columns, variance, rng))
            parents = climbed(perturbed, parents).parents_of()
        return Round(climbed(task, parents).parents_of(), state.rounds < self.rounds)


def reweighted(columns: Columns, variance: float, rng: np.random.Generator) -> Columns:
    """The columns with Gamma variables of mean one and this variance as weights of rows, summed for equal rows."""
    weights = rng.gamma(columns.cases.weights / variance, variance)
    return columns.redrawn(weights) if weights.sum() > 0 else columns
