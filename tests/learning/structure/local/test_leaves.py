"""Scores of single leaves against sums written out, and the rows that count."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.local.leaves import LeafRows, LeafScore, counted_rows
from support.local_trees import bdeu_leaf, k2_leaf, penalized_leaf

COLUMNS = Columns.of({"u": [0, 1, 2, 0, 1, 2], "x": [0, 1, 1, 0, 0, 2]}, weights=[1.5, 2.0, 0.0, 1.0, 3.0, 0.5])


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_values_are_sums_over_states(share: float) -> None:
    counts = np.array([2.5, 0.0, 4.0])
    cases = {
        ss.BDeu(6.0): bdeu_leaf(6.0),
        ss.K2(): k2_leaf,
        ss.BIC(): penalized_leaf(0.5 * np.log(8.0)),
        ss.BIC(penalty=0.0): penalized_leaf(0.0),
        ss.structure.AIC(): penalized_leaf(1.0),
    }
    for score, leaf in cases.items():
        own = LeafScore.of(score, 1, COLUMNS)  # type: ignore[arg-type]
        assert float(own.values(counts, share)) == pytest.approx(leaf(counts, share)), score
        prior = LeafScore.of(score, 1, COLUMNS, 0.25)  # type: ignore[arg-type]
        assert float(prior.values(counts, share)) == pytest.approx(leaf(counts, share) + np.log(0.25)), score


def test_rows_are_those_of_positive_weight() -> None:
    assert counted_rows(1, COLUMNS).tolist() == [0, 1, 3, 4, 5]
    rows = LeafRows.of(1, (0,), COLUMNS)
    table = np.zeros((3, 3))
    np.add.at(table, (rows.codes[0], rows.child), rows.weights)
    assert table.tolist() == COLUMNS.family_table(1, (0,)).tolist()


def test_few_joint_states_become_one_row_each() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (3, 500))
    columns = Columns.of(dict(zip("abc", codes, strict=True)) | {"d": np.arange(500)})
    rows = LeafRows.of(2, (0, 1), columns)
    assert len(rows.weights) == 8
    assert rows.weights.sum() == 500
    table = np.zeros((2, 2, 2))
    np.add.at(table, (rows.codes[0], rows.codes[1], rows.child), rows.weights)
    assert table.tolist() == columns.family_table(2, (0, 1)).tolist()
    assert len(LeafRows.of(2, (0, 3), columns).weights) == 500
