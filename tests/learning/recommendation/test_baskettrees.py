"""Trees of items against the same greedy search written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sepset as ss
from learning.recommendation.test_cooccurrence import random_matrix
from sepset.learning.recommendation.baskets import Baskets
from sepset.learning.recommendation.baskettrees import TreeSettings, chunks, flat, grown_trees, item_bits


def evidence(child: np.ndarray, a: float) -> float:
    n1, n = int(child.sum()), len(child)
    value = math.lgamma(2 * a) - math.lgamma(2 * a + n)
    return value + math.lgamma(a + n - n1) + math.lgamma(a + n1) - 2 * math.lgamma(a)


def written_out(rows: np.ndarray, item: int, candidates: list[int], a: float, log_leaf: float) -> object:
    """The probability of a leaf, or an item with the trees without and with it."""
    child, best, gain = rows[:, item], None, 1e-9
    if 0 < child.sum() < len(child):
        for other in candidates:
            inside = rows[:, other] == 1
            if 0 < inside.sum() < len(rows):
                after = evidence(child[inside], a) + evidence(child[~inside], a) + log_leaf - evidence(child, a)
                if after > gain:
                    best, gain = other, after
    if best is None:
        return pytest.approx((child.sum() + a) / (len(child) + 2 * a))
    inside = rows[:, best] == 1
    return (best, *(written_out(rows[part], item, candidates, a, log_leaf) for part in (~inside, inside)))


def as_nested(tree, node: int = 0) -> object:
    item, absent, present = tree.nodes[node].tolist()
    return float(tree.probability[node]) if item < 0 else (item, as_nested(tree, absent), as_nested(tree, present))


@pytest.mark.parametrize("seed", range(4))
def test_trees_are_those_of_the_search(seed: int) -> None:
    rows = np.concatenate([random_matrix(seed), random_matrix(seed + 10), random_matrix(seed)])
    near = [[j for j in range(7) if j != i] for i in range(7)]
    settings = TreeSettings(0.5, 0.8, 64)
    found = grown_trees(Baskets(rows), [np.array(c) for c in near], settings)
    for item, tree in enumerate(found):
        assert as_nested(tree) == written_out(rows, item, near[item], 0.5, math.log(0.8))
    assert any(len(tree.nodes) > 3 for tree in found)


def test_the_most_leaves() -> None:
    rows = random_matrix()
    near = [np.delete(np.arange(7), i) for i in range(7)]
    assert all(len(t.nodes) <= 5 for t in grown_trees(Baskets(rows), near, TreeSettings(0.1, 10.0, 3)))
    assert all(len(t.nodes) == 1 for t in grown_trees(Baskets(rows), near, TreeSettings(1.0, 1.0, 1)))


def test_bits() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (130, 3))
    bits = item_bits(Baskets(rows))
    for item in range(3):
        found = [(int(bits[item, k >> 6]) >> (k & 63)) & 1 for k in range(130)]
        assert found == rows[:, item].tolist()


def test_flat_trees_and_cpds_agree() -> None:
    rows = random_matrix(3)
    baskets = Baskets(rows)
    trees = grown_trees(baskets, [np.delete(np.arange(7), i) for i in range(7)], TreeSettings(0.5, 1.0, 64))
    arrays = flat(trees)
    for item, tree in enumerate(trees):
        cpd = tree.cpd(baskets.variables[item], baskets.variables)
        columns = {v: rows[:, k] for k, v in enumerate(baskets.variables)}
        expected = cpd.probabilities(columns, len(rows))[:, 1]
        for user in range(0, 60, 7):
            node = int(arrays.roots[item])
            while arrays.tested[node] >= 0:
                node = int(arrays.branches[arrays.starts[node] + rows[user, arrays.tested[node]]])
            assert arrays.values[arrays.starts[node] + 1] == pytest.approx(expected[user])


def test_chunks_are_all_rows() -> None:
    rows = random_matrix()
    parts = [part for _, part in chunks(Baskets(rows), size=50)]
    assert len(parts) > 1
    assert np.concatenate(parts).tolist() == rows.tolist()
    assert ss.recommend.Baskets is Baskets
