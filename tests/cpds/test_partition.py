"""Contexts of one part share one distribution."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.partition import PartitionCPD
from sepset.errors import DataError, ModelError, ScopeError
from sepset.variables.variable import Discrete
from support.blocks import in_blocks
from support.cpd_contract import check_contract

A, B, X = Discrete("a"), Discrete("b", 3), Discrete("x", 3)


@in_blocks("seed", range(6))
def test_contract(seed):
    rng = np.random.default_rng(seed)
    parts = rng.integers(4, size=(2, 3))
    rows = rng.dirichlet(np.ones(3), size=4)
    if seed == 0:
        rows[0] = [0, 1, 0]
    cpd = PartitionCPD(X, parts, distributions=rows, given=(A, B))
    table = np.empty((2, 3, 3))
    for a, b in np.ndindex(2, 3):
        table[a, b] = rows[parts[a, b]]
    check_contract(cpd, table, seed=seed)


def test_no_parents():
    check_contract(PartitionCPD(X, 0, distributions=[[0.2, 0.3, 0.5]]), [0.2, 0.3, 0.5])


def test_each_context_alone_is_a_table():
    rng = np.random.default_rng(3)
    rows = {A: rng.integers(2, size=60), B: rng.integers(3, size=60), X: rng.integers(3, size=60)}
    cpd = PartitionCPD(X, np.arange(6), distributions=np.full((6, 3), 1 / 3), given=(A, B))
    table = cpd.to_table()
    stats = cpd.statistics(rows)
    np.testing.assert_allclose(
        cpd.from_statistics(stats).to_table().values, table.from_statistics(table.statistics(rows)).values
    )


def test_parts_by_states():
    cpd = PartitionCPD(
        X, {(0, b): 0 for b in range(3)} | {(1, b): 1 for b in range(3)}, distributions=np.eye(3)[:2], given=(A, B)
    )
    assert cpd.parts.tolist() == [0, 0, 0, 1, 1, 1]
    assert cpd.parameters.sizes.tolist() == [3] * 6
    assert PartitionCPD(X, {0: 1, 1: 0}, distributions=np.eye(3)[:2], given=A).parts.tolist() == [1, 0]
    assert cpd.parameters.describe_context(1) == "(part 1: (a=1, b=0))"


@pytest.mark.parametrize(
    ("parts", "rows", "error", "message"),
    [
        ([0, 0], np.eye(3), ModelError, "one integer per context"),
        ([0.0] * 6, np.eye(3), ModelError, "one integer per context"),
        ([0, 1, 2, 3, 0, 0], np.eye(3), ModelError, "parts 0 to 2; found 3"),
        ([-1, 1, 2, 2, 0, 0], np.eye(3), ModelError, "parts 0 to 2"),
        ({(0, 0): 0}, np.eye(3), ModelError, r"context \(a=0, b=1\) is in no part"),
        ({0: 0}, np.eye(3), ScopeError, "has 2 parents; found 1"),
        ([0] * 6, np.eye(2), ModelError, "rows of 3 probabilities"),
        ([0] * 6, [[0.5, 0.5, 0.5]], ModelError, "sums to 1.5"),
    ],
)
def test_bad_parts_are_refused(parts, rows, error, message):
    with pytest.raises(error, match=message):
        PartitionCPD(X, parts, distributions=rows, given=(A, B))


def test_parts_without_data():
    cpd = PartitionCPD(X, [0, 1], distributions=np.full((3, 3), 1 / 3), given=A)
    stats = cpd.statistics({A: np.zeros(2, int), X: np.array([0, 2])})
    np.testing.assert_allclose(cpd.from_statistics(stats).distributions[0], [0.5, 0, 0.5])
    with pytest.raises(DataError, match=r"2 of 3 contexts never occur .*data: \(part 1"):
        cpd.from_statistics(stats, unseen="raise")
