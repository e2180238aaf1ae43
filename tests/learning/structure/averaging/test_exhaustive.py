"""Posteriors over listed DAGs: worked numbers, constraints, the k best."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.errors import ArgumentError, TooLarge
from sepset.graphs.equivalence import cpdag
from sepset.graphs.separation import d_separated
from sepset.learning.structure.averaging.exhaustive import BestStructures, Exhaustive
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.learned import StructureTask
from support.score_tables import COUNTS_22, ROW_22, dependent_rows

THREE = Columns.of(ROW_22, weights=COUNTS_22)


@pytest.mark.parametrize(
    ("score", "best", "total", "edges"),
    [
        (BDeu(1.0), -86.688648, -85.132252, (0.030366, 0.304855, 0.032160, 0.326083, 0.492703, 0.512137)),
        (K2(), -83.131517, -81.393996, (0.157421, 0.398893, 0.165130, 0.411132, 0.525417, 0.526678)),
    ],
)
def test_worked_numbers(score, best, total, edges):
    task = StructureTask(THREE, score)
    found = Exhaustive().average(task)
    pairs = ["a -> b", "a -> c", "b -> a", "b -> c", "c -> a", "c -> b"]
    assert [found.probability(p) for p in pairs] == pytest.approx(edges, abs=1e-6)
    assert found.log_evidence == pytest.approx(total, abs=1e-6)
    assert len(found.graphs) == 25
    top = found.graphs[0]
    assert np.log(top.weight) + found.log_evidence == pytest.approx(best, abs=1e-6)


def test_k2_scores_equivalent_structures_differently():
    """The largest difference inside a class is 0.344313 nats; with BDeu there is none."""
    for score, spread in ((K2(), 0.344313), (BDeu(1.0), 0.0)):
        by_class = {}
        for one in Exhaustive().average(StructureTask(THREE, score)).graphs:
            by_class.setdefault(cpdag(one.graph), []).append(np.log(one.weight))
        assert len(by_class) == 11
        assert max(max(logs) - min(logs) for logs in by_class.values()) == pytest.approx(spread, abs=1e-6)


def test_features_of_graphs():
    found = Exhaustive().average(StructureTask(THREE, BDeu(1.0)))
    assert found.probability(lambda g: ("a", "c") in g.edges) == pytest.approx(0.304855, abs=1e-6)
    assert found.probability(("a", "c")) == pytest.approx(0.304855, abs=1e-6)
    assert 0.9 < found.probability(lambda g: d_separated(g, "a", "b", given="c")) < 1.0
    assert found.probability("a ~> c") >= found.probability("a -> c")


@pytest.mark.parametrize(("size", "expected"), [(2, 1 / 3), (3, 0.32), (4, 0.309392)])
def test_no_data_gives_the_prior(size, expected):
    data = Columns.of({f"x{i}": [0] for i in range(size)})  # columns with one state: every score is zero
    found = Exhaustive().average(StructureTask(data, BDeu(1.0)))
    off = ~np.eye(size, dtype=bool)
    assert found.edges[off] == pytest.approx(expected, abs=1e-6)


def test_constraints():
    constraints = Constraints(required=[("a", "b")], forbidden=[("b", "c")], max_parents=1)
    found = Exhaustive().average(StructureTask(THREE, BDeu(1.0), constraints=constraints))
    assert found.probability("a -> b") == pytest.approx(1.0)
    assert found.probability("b -> c") == 0.0
    assert found.edges.sum(0).max() <= 1.0 + 1e-12


def test_the_best_ones_are_a_part_of_all():
    task = StructureTask(Columns.of(dependent_rows(0, 4, 30)), BDeu(1.0))
    every = Exhaustive().average(task)
    ten = BestStructures(10).average(task)
    top = [g.weight for g in every.graphs[:10]]
    assert sorted(g.weight for g in ten.graphs)[::-1] == pytest.approx((np.array(top) / sum(top)).tolist(), abs=1e-9)
    assert BestStructures(543).average(task).edges == pytest.approx(every.edges, abs=1e-9)
    near = BestStructures(543, window=3.0).average(task)
    assert len(near.graphs) == sum(g.weight * 3.0 >= every.graphs[0].weight - 1e-12 for g in every.graphs)


def test_refused():
    with pytest.raises(TooLarge, match="DAGs over 6 columns"):
        Exhaustive().average(StructureTask(Columns.of(dependent_rows(0, 6, 5)), BDeu(1.0)))
    with pytest.raises(ArgumentError, match="k="):
        BestStructures(0)
    with pytest.raises(ArgumentError, match="window="):
        BestStructures(window=0.5)
