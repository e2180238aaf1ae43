"""Forests against enumeration, with and without constraints."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.errors import NotApplicable, ScopeError
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.exact.enumeration import all_parents, all_scores
from sepset.learning.structure.exact.families import score_table
from sepset.learning.structure.exact.trees import Branching, ChowLiu
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.scores.likelihood import BIC, LogLikelihood
from support.score_tables import dependent_rows

CONSTRAINTS = [
    Constraints(),
    Constraints(required=[("x2", "x0")], forbidden=[("x0", "x1")]),
    Constraints(tiers=[["x1"], ["x0", "x2"]]),
    Constraints(max_parents=0),
]


def best_forest(task):
    """The largest score of a DAG with at most one parent of each column."""
    parents = all_parents(len(task.columns))
    scores = all_scores(score_table(task.scorer, task.allowed))
    return scores[(np.bitwise_count(parents) <= 1).all(1)].max()


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=repr)
@pytest.mark.parametrize("score", [BIC(), LogLikelihood(), BDeu(2.0)], ids=repr)
def test_forests_against_enumeration(score, constraints):
    for seed in range(4):
        task = StructureTask(Columns.of(dependent_rows(seed, 3 + seed % 2, 25)), score, constraints=constraints)
        found = ChowLiu().learn(task)
        assert found.score == pytest.approx(best_forest(task), abs=1e-9)
        assert found.score == found.bound == pytest.approx(task.scorer.total(parents_of(found)))


def parents_of(found):
    names = found.columns.names
    return [[names.index(p) for p in found.graph.parents(name)] for name in names]


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=repr)
def test_branchings_for_scores_that_are_not_equivalent(constraints):
    for seed in range(4):
        task = StructureTask(Columns.of(dependent_rows(seed, 4, 15, states=3)), K2(), constraints=constraints)
        assert Branching().learn(task).score == pytest.approx(best_forest(task), abs=1e-9)


def test_the_root_does_not_change_the_score():
    task = StructureTask(Columns.of(dependent_rows(3, 4, 60)), LogLikelihood())
    found = [ChowLiu(root=name).learn(task) for name in task.columns.names]
    assert len({round(f.score, 8) for f in found}) == 1
    assert all(f.graph.parents(name) == () for f, name in zip(found, task.columns.names, strict=True))
    assert len({frozenset(map(frozenset, f.graph.edges)) for f in found}) == 1


def test_a_wide_frame_is_no_problem():
    rows = dependent_rows(5, 80, 40)
    found = ChowLiu().learn(StructureTask(Columns.of(rows), BIC()))
    assert max(len(found.graph.parents(name)) for name in rows) == 1


def test_refused():
    data = Columns.of(dependent_rows(0, 3, 10))
    with pytest.raises(NotApplicable, match="not"):
        ChowLiu().learn(StructureTask(data, K2()))
    with pytest.raises(ScopeError, match="names 'x9'"):
        ChowLiu(root="x9").learn(StructureTask(data, BIC()))
    two = Constraints(required=[("x0", "x2"), ("x1", "x2")])
    with pytest.raises(NotApplicable, match="'x0', 'x1' are required of 'x2'"):
        Branching().learn(StructureTask(data, BIC(), constraints=two))
