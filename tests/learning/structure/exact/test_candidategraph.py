"""The best DAG inside a sparse graph, against enumeration and dynamic programming."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.errors import ArgumentError, NotApplicable, ScopeError, TooLarge
from sepset.graphs.graph import UndirectedGraph
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.exact import candidategraph
from sepset.learning.structure.exact.candidategraph import CandidateGraph, best_inside
from sepset.learning.structure.exact.dynamic import best_dag, dense_scores
from sepset.learning.structure.exact.scoretable import ScoreTable
from sepset.learning.structure.exact.search import ExactSearch
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.scores.likelihood import BIC, LogLikelihood
from support.score_tables import dependent_rows, random_table


def random_candidates(rng, size, share):
    near = np.triu(rng.random((size, size)) < share, 1)
    near |= near.T
    names = [f"x{i}" for i in range(size)]
    return near, UndirectedGraph(names, [(names[i], names[j]) for i, j in np.argwhere(np.triu(near))])


def test_against_enumeration():
    rng = np.random.default_rng(0)
    for size, share in [(1, 0.5), (2, 0.9), (3, 0.8), (4, 0.6), (5, 0.4), (6, 0.25)] * 2:
        near, graph = random_candidates(rng, size, share)
        table = random_table(rng, size, density=1.0)
        inside = [sum(1 << int(p) for p in np.flatnonzero(near[v])) for v in range(size)]
        kept = []
        for v in range(size):
            masks, scores = table.of(v)
            chosen = masks & ~inside[v] == 0
            kept.append((masks[chosen], scores[chosen]))
        table = ScoreTable.of_children(table.names, kept)
        parents, score = best_inside(table, graph)
        assert score == pytest.approx(best_dag(dense_scores(table)).score, abs=1e-9)
        assert table.score_of(parents) == pytest.approx(score)


def test_rows_and_constraints():
    graph = UndirectedGraph.parse("x0 - x1 - x2 - x3 - x0; x4")
    for constraints in (Constraints(), Constraints(required=[("x3", "x2")], max_parents=1)):
        task = StructureTask(Columns.of(dependent_rows(1, 5, 40)), LogLikelihood(), constraints=constraints)
        found = CandidateGraph(graph).learn(task)
        near = {frozenset(e) for e in graph.edges}
        pairs = [(a, b) for a in task.columns.names for b in task.columns.names if a != b]
        outside = [e for e in pairs if frozenset(e) not in near]
        same = Constraints(required=constraints.required, forbidden=outside, max_parents=constraints.max_parents)
        expected = ExactSearch().learn(StructureTask(task.columns, LogLikelihood(), constraints=same))
        assert found.score == pytest.approx(expected.score, abs=1e-9)
        assert {frozenset(e) for e in found.graph.edges} <= near


def test_a_long_chain_of_columns():
    rows = dependent_rows(2, 30, 30)
    graph = UndirectedGraph(rows, [(f"x{i}", f"x{i + 1}") for i in range(29)])
    found = CandidateGraph(graph).learn(StructureTask(Columns.of(rows), BIC()))
    assert found.gap == 0.0


def test_refused(monkeypatch):
    data = Columns.of(dependent_rows(0, 3, 10))
    with pytest.raises(ArgumentError, match=r"CandidateGraph takes an undirected graph.*; found \[\('x0', 'x1'\)\]"):
        CandidateGraph([("x0", "x1")])
    with pytest.raises(ScopeError, match="not columns"):
        CandidateGraph(UndirectedGraph.parse("x0 - y")).learn(StructureTask(data, BIC()))
    required = Constraints(required=[("x0", "x2")])
    with pytest.raises(NotApplicable, match="x0 -> x2 is required and not in"):
        CandidateGraph(UndirectedGraph.parse("x0 - x1")).learn(StructureTask(data, BIC(), constraints=required))
    monkeypatch.setattr(candidategraph, "MOST_STATES", 3)
    graph = UndirectedGraph.parse("x0 - x1 - x2 - x0")
    with pytest.raises(TooLarge, match="more than 3 states"):
        CandidateGraph(graph).learn(StructureTask(data, LogLikelihood()))
