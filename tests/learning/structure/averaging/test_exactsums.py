"""Sums over orders and over DAGs against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.api.structure import structure_posterior
from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.errors import NotApplicable, TooLarge
from sepset.learning.structure.averaging.alongorder import AlongOrder
from sepset.learning.structure.averaging.exactsums import KoivistoSood, TianHe
from sepset.learning.structure.averaging.exhaustive import BestStructures, Exhaustive
from sepset.learning.structure.averaging.posterior import reachability
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.structureprior import EdgePenalty
from support.score_tables import COUNTS_22, ROW_22, dependent_rows

CONSTRAINTS = [
    Constraints(),
    Constraints(required=[("x0", "x1")], forbidden=[("x2", "x3")], max_parents=2),
    Constraints(required=[("x3", "x2"), ("x2", "x0")]),
]


def num_orders(graph):
    """The topological orders of a DAG, one by one."""
    return sum(
        all(place[a] < place[b] for a, b in np.argwhere(graph)) for place in itertools.permutations(range(len(graph)))
    )


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=repr)
@pytest.mark.parametrize("score", [BDeu(1.0), K2()], ids=repr)
def test_dags_against_enumeration(score, constraints):
    task = StructureTask(Columns.of(dependent_rows(1, 4, 25)), score, EdgePenalty(0.5), constraints)
    every, found = Exhaustive().average(task), TianHe(num_graphs=0).average(task)
    assert found.edges == pytest.approx(every.edges, abs=1e-10)
    assert found.paths == pytest.approx(every.paths, abs=1e-10)
    assert found.log_evidence == pytest.approx(every.log_evidence, abs=1e-9)


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=repr)
def test_orders_against_enumeration(constraints):
    task = StructureTask(Columns.of(dependent_rows(2, 4, 25)), BDeu(1.0), constraints=constraints)
    every = Exhaustive().average(task)
    weights = every.weights * [num_orders(g) for g in every.parents]
    found = KoivistoSood(num_graphs=0).average(task)
    assert found.log_evidence == pytest.approx(every.log_evidence + np.log(weights.sum() / 24), abs=1e-9)
    weights /= weights.sum()
    assert found.edges == pytest.approx(np.tensordot(weights, every.parents, 1), abs=1e-10)
    paths = np.tensordot(weights, [reachability(g) for g in every.parents], 1)
    assert found.paths == pytest.approx(paths, abs=1e-10)


def test_required_edges_of_strong_dependences():
    """Sets of columns without their required parents have no DAG, beside scores of e^1000."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 3000)
    rows = {f"x{k}": np.where(rng.random(3000) < 0.02, 1 - first, first) for k in range(5)}
    limits = Constraints(required=[("x3", "x4"), ("x4", "x0")])
    task = StructureTask(Columns.of(rows), BDeu(1.0), constraints=limits)
    every, found = Exhaustive().average(task), TianHe(num_graphs=0).average(task)
    assert found.edges == pytest.approx(every.edges, abs=1e-9)
    assert found.paths == pytest.approx(every.paths, abs=1e-9)
    assert found.log_evidence == pytest.approx(every.log_evidence, abs=1e-8)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_no_data_gives_a_quarter_by_orders(size):
    task = StructureTask(Columns.of({f"x{i}": [0] for i in range(size)}), BDeu(1.0))
    off = ~np.eye(size, dtype=bool)
    assert KoivistoSood(num_graphs=0).average(task).edges[off] == pytest.approx(0.25, abs=1e-12)
    uniform = {2: 1 / 3, 3: 0.32, 4: 0.309392}[size]
    assert TianHe(num_graphs=0).average(task).edges[off] == pytest.approx(uniform, abs=1e-6)


def test_scores_far_apart():
    """Copies of one column: the best DAGs are e to the thousands above the others."""
    copied = np.arange(4000) % 2
    task = StructureTask(Columns.of({"a": copied, "b": copied, "c": copied}), BDeu(1.0))
    assert TianHe(num_graphs=0).average(task).edges == pytest.approx(Exhaustive().average(task).edges, abs=1e-9)
    assert KoivistoSood(num_graphs=0).average(task).edges.sum() <= 3.0 + 1e-9


def test_draws_have_the_same_posterior():
    task = StructureTask(Columns.of(ROW_22, weights=COUNTS_22), BDeu(1.0))
    for method in (TianHe(1500), KoivistoSood(1500)):
        found = method.average(task)
        drawn = sum(
            g.weight * np.array([(a, b) in g.graph.edges for a, b in [("a", "c"), ("c", "b")]]) for g in found.graphs
        )
        assert drawn == pytest.approx([found.edges[0, 2], found.edges[2, 1]], abs=0.06)


def test_one_column_and_refusals():
    one = StructureTask(Columns.of({"a": [0, 1]}), BDeu(1.0))
    for method in (TianHe(), KoivistoSood()):
        assert method.average(one).edges.tolist() == [[0.0]]
    wide = Columns.of({f"x{i:02d}": [0, 1] for i in range(20)})
    with pytest.raises(TooLarge, match="20 columns, which takes about"):
        TianHe().average(StructureTask(wide, BDeu(1.0)))
    with pytest.raises(NotApplicable, match="keeps no structures"):
        _ = TianHe(num_graphs=0).average(one).graphs


@pytest.mark.parametrize(
    "method", [TianHe(), KoivistoSood(), Exhaustive(), BestStructures(), AlongOrder(["x0"])], ids=repr
)
def test_very_many_columns_are_refused_before_rows_are_read(method):
    with pytest.raises(TooLarge, match=r"1,?500"):
        method.check_columns(1500)
    with pytest.raises(TooLarge, match=r"1,?500"):
        structure_posterior({f"x{i}": [[]] for i in range(1500)}, method=method)
