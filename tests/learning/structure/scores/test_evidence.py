"""Sparse evidence, and rows left out one at a time, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.scores.evidence import BDs, LeaveOneOut

COINS = {"x": ["h", "h", "t", "t"], "y": ["h", "t", "h", "t"]}
COUNTS = [27, 22, 25, 26]


def test_leaving_out_each_row() -> None:
    scorer = Scorer(Columns.of(COINS, weights=COUNTS), LeaveOneOut(ss.BDeu(4.0)))
    assert scorer.total([(), ()]) == pytest.approx(-140.480687, abs=1e-6)
    assert scorer.total([(), (0,)]) == pytest.approx(-141.299964, abs=1e-6)
    assert scorer.total([(1,), ()]) == pytest.approx(-141.299964, abs=1e-6)


def test_leaving_out_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (12, 2))
    found = 0.0
    for m in range(12):
        rest = np.delete(rows, m, 0)
        same = rest[rest[:, 0] == rows[m, 0]]
        found += np.log(((same[:, 1] == rows[m, 1]).sum() + 1) / (len(same) + 2))
    columns = Columns.of({"x": rows[:, 0], "y": rows[:, 1]})
    for score in (LeaveOneOut(ss.K2()).family(1, (0,), columns), Scorer(columns, LeaveOneOut(ss.K2())).family(1, (0,))):
        assert score == pytest.approx(found)


def test_sparse_contexts() -> None:
    columns = Columns.of({"u": [0, 1, 3, 3, 1], "x": [0, 1, 1, 0, 1]}, variables=[ss.Discrete("u", 4)])
    three = Columns.of({"u": [0, 1, 2, 2, 1], "x": [0, 1, 1, 0, 1]})
    expected = ss.BDeu(2.0).family(1, (0,), three)
    assert BDs(2.0).family(1, (0,), columns) == pytest.approx(expected)
    assert Scorer(columns, BDs(2.0)).family(1, (0,)) == pytest.approx(expected)
    assert not BDs(2.0).is_equivalent


@pytest.mark.parametrize("size", [0, -1.0, float("nan")])
def test_bad_sizes(size: float) -> None:
    with pytest.raises(ss.SepsetError, match="sample_size"):
        BDs(size)
