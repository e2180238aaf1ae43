"""Scores by held-out rows, against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.scores.heldout import CrossValidated, Holdout


def columns_of(*, copies: bool) -> Columns:
    rng = np.random.default_rng(4)
    a = rng.integers(0, 2, 60)
    rows = {"a": a, "b": np.where(rng.random(60) < 0.8, a, 1 - a)}
    return Columns.of(rows, weights=None if copies else rng.random(60))


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("score", [Holdout(0.25, ss.K2()), CrossValidated(5, ss.K2())], ids=repr)
def test_held_out_rows_by_hand(score: Holdout | CrossValidated, copies: bool) -> None:
    columns = columns_of(copies=copies)
    parts = score.held_out(columns)
    assert (parts >= 0).all()
    assert (parts.sum(0) <= columns.weights + 1e-12).all()
    if isinstance(score, CrossValidated):
        assert parts.sum(0) == pytest.approx(columns.weights)
    expected = 0.0
    for part in parts:
        rest = columns.weights - part
        for row, weight in enumerate(part):
            same = columns.codes[0] == columns.codes[0, row]
            hit = same & (columns.codes[1] == columns.codes[1, row])
            expected += weight * np.log((rest[hit].sum() + 1) / (rest[same].sum() + 2))
    assert score.family(1, (0,), columns) == pytest.approx(expected)
    assert Scorer(columns, score).family(1, (0,)) == pytest.approx(expected)


def test_the_same_seed_holds_out_the_same_rows() -> None:
    one, other = columns_of(copies=True), columns_of(copies=True)
    assert Holdout(0.5).family(1, (0,), one) == Holdout(0.5).family(1, (0,), other)
    assert Holdout(0.5).family(1, (0,), one) != Holdout(0.5, seed=1).family(1, (0,), one)


def test_bad_settings() -> None:
    with pytest.raises(ss.SepsetError, match="share"):
        Holdout(1.0)
    with pytest.raises(ss.SepsetError, match="parts"):
        CrossValidated(1)
