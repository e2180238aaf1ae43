"""Trees over columns: the two ways to grow one agree, limits on the columns used, and CPDs."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.contexts import Node
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.local.leaves import LeafScore
from sepset.learning.structure.local.trees import best_tree, columns_of, grown_tree, num_leaves, tree_cpd


def columns(seed: int, n: int = 5, num_rows: int = 150) -> Columns:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n, num_rows))
    codes[-1] = np.where(rng.random(num_rows) < 0.8, (codes[0] * codes[1] + (codes[2] > 0)) % 3, codes[-1])
    return Columns.of({f"v{k}": code for k, code in enumerate(codes)})


@pytest.mark.parametrize("score", [ss.BDeu(2.0), ss.K2(), ss.BIC()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_rows_and_tables_grow_the_same_tree(score: ss.structure.FamilyScore, seed: int) -> None:
    data = columns(seed)
    leaf = LeafScore.of(score, 4, data)
    one, two = grown_tree(4, range(4), data, leaf), best_tree(4, range(4), data, leaf, is_greedy=True)
    assert one.tree == two.tree
    assert one.score == pytest.approx(two.score)
    assert best_tree(4, range(4), data, leaf).score >= one.score - 1e-9


def test_limits_on_the_columns_used() -> None:
    data = columns(1, 8, 400)
    leaf = LeafScore.of(ss.BDeu(2.0), 7, data)
    free = grown_tree(7, range(7), data, leaf)
    for most in range(4):
        found = grown_tree(7, range(7), data, leaf, most=most)
        assert len(columns_of(found.tree)) <= most
        assert found.score <= free.score + 1e-9 or len(columns_of(free.tree)) > most
        with_one = grown_tree(7, range(7), data, leaf, most=most, required=[6])
        assert len(columns_of(with_one.tree) | {6}) <= max(most, 1)


def test_the_cpd_has_the_leaves_of_the_tree() -> None:
    data = columns(2)
    tree = Node(1, (0, 1, 0), (Node(0, (0, 1, 2), (0, 1, 2)), 3))
    cpd = tree_cpd(tree, 4, (0, 1, 3), data)
    assert [v.name for v in cpd.parents] == ["v0", "v1", "v3"]
    assert cpd.partition.num_leaves == num_leaves(tree) == 4
    assert cpd.partition.context(3) == {"v1": data.variables["v1"].states[1]}
    assert [v.name for v in cpd.irrelevant({})] == ["v0", "v1", "v3"]  # all leaves are uniform yet
    assert columns_of(tree) == {0, 1}


def test_the_deepest_trees() -> None:
    """Under BDeu every further test of a column that never varies makes a pure leaf more probable."""
    columns = Columns.of(
        {f"v{k}": np.zeros(4, int) for k in range(260)}, variables=[ss.Discrete(f"v{k}", 2) for k in range(260)]
    )
    found = grown_tree(0, range(1, 260), columns, LeafScore.of(ss.BDeu(1.0), 0, columns))
    assert num_leaves(found.tree) <= 201
    assert found.score > LeafScore.of(ss.BDeu(1.0), 0, columns).values(np.array([4.0, 0.0]), 1.0)


def test_values_of_one_column_tested_twice() -> None:
    """The second test of a column leaves out the value that the first one has split off."""
    columns = Columns.of({"a": np.arange(4).repeat(10), "x": np.array([0, 1, 2, 2]).repeat(10)})
    tree = Node(0, (0, 1, 1, 1), (0, Node(0, (1, 0, 1, 1), (1, 2))))
    cpd = tree_cpd(tree, 1, (0,), columns)
    assert cpd.partition.num_leaves == 3
    assert [cpd.partition.context(leaf)["a"] for leaf in range(3)] == [0, 1, (2, 3)]
