"""Moves over DAGs: gains as differences of whole scores, and legality as networkx sees it."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from sepset.kernels.structure.climbing import ADD, DELETE, REVERSE
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.scores.likelihood import BIC
from sepset.learning.structure.search.moves import Move, SearchedGraph


def columns_of(seed: int, n: int = 5, num_rows: int = 80) -> Columns:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (num_rows, n))
    rows[:, 1:] = np.where(rng.random((num_rows, n - 1)) < 0.6, rows[:, :-1], rows[:, 1:])
    return Columns.of({f"v{k}": rows[:, k] for k in range(n)})


def changed(edges: set[tuple[int, int]], move: Move) -> set[tuple[int, int]]:
    edge = (move.source, move.target)
    if move.kind == ADD:
        return edges | {edge}
    return edges - {edge} | ({edge[::-1]} if move.kind == REVERSE else set())


def legal_moves(graph: SearchedGraph) -> dict[tuple[int, int, int], float]:
    """All legal moves and their gains, by rebuilding and rescoring the graph."""
    edges = {(int(x), int(y)) for x, y in np.argwhere(graph.edges)}
    found = {}
    for kind, x, y in itertools.product((ADD, DELETE, REVERSE), range(graph.n), range(graph.n)):
        if x == y or ((x, y) in edges) == (kind == ADD) or (kind == ADD and (y, x) in edges):
            continue
        after = changed(edges, Move(kind, x, y, 0.0))
        parents = [sorted(a for a, b in after if b == child) for child in range(graph.n)]
        if nx.is_directed_acyclic_graph(nx.DiGraph(after)) and graph.allowed.permits(parents):
            found[kind, x, y] = graph.scorer.total(parents) - graph.score
    return found


CONSTRAINTS = [Constraints(), Constraints(max_parents=2), Constraints(required=["v0 -> v1"], forbidden=["v3 -> v2"])]


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_gains_and_legality(constraints: Constraints, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = columns_of(seed)
    allowed = constraints.bind(columns.names)
    start = [np.flatnonzero(allowed.required[:, k]).tolist() for k in range(5)]
    graph = SearchedGraph(Scorer(columns, BIC()), allowed, start)
    for _ in range(12):
        expected = legal_moves(graph)
        for kind, x, y in itertools.product((ADD, DELETE, REVERSE), range(5), range(5)):
            if x != y:
                assert graph.is_legal(Move(kind, x, y, 0.0)) == ((kind, x, y) in expected)
        best = graph.best()
        assert best is not None
        assert best.gain == pytest.approx(max(expected.values()), abs=1e-7)
        chosen = list(expected)[int(rng.integers(len(expected)))]
        before = graph.score
        graph.make(Move(*chosen, 0.0))
        assert graph.score - before == pytest.approx(expected[chosen], abs=1e-7)


def test_a_step_scores_a_number_of_families_linear_in_the_columns() -> None:
    columns = columns_of(0, n=20, num_rows=300)
    scorer = Scorer(columns, BIC())
    graph = SearchedGraph(scorer, Constraints().bind(columns.names), [[] for _ in range(20)])
    for _ in range(10):
        before, move = scorer.num_scores, graph.best()
        assert move is not None
        graph.make(move)
        assert scorer.num_scores - before <= 2 * (20 + 5)
