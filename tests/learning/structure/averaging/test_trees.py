"""The posterior over trees against all trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.errors import NotApplicable
from sepset.learning.structure.averaging.trees import TreePosterior, tree_probabilities
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.learned import StructureTask
from support.score_tables import dependent_rows


def all_trees(size):
    """Every spanning tree, as sets of pairs."""
    pairs = list(itertools.combinations(range(size), 2))
    for chosen in itertools.combinations(pairs, size - 1):
        label = list(range(size))
        for a, b in chosen:
            label = [label[a] if x == label[b] else x for x in label]
        if len(set(label)) == 1:
            yield chosen


@pytest.mark.parametrize("spread", [1.0, 300.0])
def test_against_all_trees(spread):
    rng = np.random.default_rng(0)
    for size in (2, 3, 4, 5):
        logs = spread * rng.normal(size=(size, size))
        logs = logs + logs.T
        trees = list(all_trees(size))
        assert len(trees) == size ** (size - 2)
        weights = np.array([sum(logs[a, b] for a, b in tree) for tree in trees])
        total, found = tree_probabilities(logs)
        assert total == pytest.approx(np.logaddexp.reduce(weights), abs=1e-9)
        shares = np.exp(weights - np.logaddexp.reduce(weights))
        for a, b in itertools.combinations(range(size), 2):
            expected = sum(s for s, tree in zip(shares, trees, strict=True) if (a, b) in tree)
            assert found[a, b] == found[b, a] == pytest.approx(expected, abs=1e-9)


def test_rows():
    data = Columns.of(dependent_rows(0, 6, 60))
    found = TreePosterior().average(StructureTask(data, BDeu(1.0)))
    assert found.edges.sum() == pytest.approx(5.0)  # every tree has five edges
    with pytest.raises(NotApplicable, match="not"):
        TreePosterior().average(StructureTask(data, K2()))


def test_no_tree():
    total, found = tree_probabilities(np.full((3, 3), -np.inf))
    assert total == -np.inf
    assert not found.any()
    assert tree_probabilities(np.zeros((1, 1)))[0] == 0.0


def test_constraints():
    """Forbidden pairs are in no tree, by enumeration of the others; directions, and no tree at all, are refused."""
    data = Columns.of(dependent_rows(1, 4, 60))
    pairs = [("x0", "x1"), ("x1", "x0"), ("x2", "x3"), ("x3", "x2")]
    task = StructureTask(data, BDeu(1.0), constraints=Constraints(forbidden=pairs, max_parents=1))
    found, scorer = TreePosterior().average(task), task.scorer
    trees = [tree for tree in all_trees(4) if (0, 1) not in tree and (2, 3) not in tree]
    alone = sum(scorer.family(v, []) for v in range(4))
    logs = np.array([alone + sum(scorer.family(b, [a]) - scorer.family(b, []) for a, b in tree) for tree in trees])
    assert found.log_evidence == pytest.approx(np.logaddexp.reduce(logs))
    shares = np.exp(logs - np.logaddexp.reduce(logs))
    for a, b in itertools.combinations(range(4), 2):
        expected = sum(s for s, tree in zip(shares, trees, strict=True) if (a, b) in tree)
        assert 2 * found.edges[a, b] == pytest.approx(expected, abs=1e-9)
    for wrong in (
        Constraints(required=["x0 -> x1"]),
        Constraints(forbidden=["x0 -> x1"]),
        Constraints(tiers=[["x0"], ["x1"]]),
        Constraints(max_parents=0),
    ):
        with pytest.raises(NotApplicable, match="both directions of each"):
            TreePosterior().average(StructureTask(data, BDeu(1.0), constraints=wrong))
    apart = [(f"x{k}", "x3") for k in range(3)] + [("x3", f"x{k}") for k in range(3)]
    with pytest.raises(NotApplicable, match="no tree"):
        TreePosterior().average(StructureTask(data, BDeu(1.0), constraints=Constraints(forbidden=apart)))
    one = TreePosterior().average(StructureTask(Columns.of({"a": [0, 1]}), BDeu(1.0)))
    assert one.edges.tolist() == [[0.0]]
