"""Numbers of a ranking, computed by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import sepset as ss
from sepset.learning.recommendation.rankings import (
    half_life_utility,
    mean_rank,
    ndcg_at,
    precision_at,
    recall_at,
    roc_area,
)

RANKED = [False, True, False, True, True]


def test_by_hand() -> None:
    assert half_life_utility(RANKED, half_life=5) == pytest.approx(2**-0.25 + 2**-0.75 + 0.5)
    assert half_life_utility(RANKED, half_life=2) == pytest.approx(1 / 2 + 1 / 8 + 1 / 16)
    assert precision_at(RANKED, 4) == 0.5
    assert precision_at(RANKED, 10) == pytest.approx(0.3)
    assert recall_at(RANKED, 4) == pytest.approx(2 / 3)
    assert mean_rank(RANKED) == pytest.approx(11 / 3)
    ideal = 1 + 1 / math.log2(3) + 0.5
    assert ndcg_at(RANKED, 4) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert ndcg_at(RANKED, 2) == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))
    assert roc_area([5, 4, 3, 2, 1], RANKED) == pytest.approx((1 + 0 + 0 + 0 + 1 + 0) / 6 - 1 / 6)


def test_area_counts_pairs() -> None:
    rng = np.random.default_rng(0)
    scores, relevant = rng.integers(0, 5, 30), rng.random(30) < 0.4
    pairs = [(a > b) + 0.5 * (a == b) for a in scores[relevant] for b in scores[~relevant]]
    assert roc_area(scores, relevant) == pytest.approx(np.mean(pairs))


def test_perfect_and_worst() -> None:
    assert ndcg_at([True, True, False], 3) == 1.0
    assert roc_area([3, 2, 1], [True, True, False]) == 1.0
    assert roc_area([3, 2, 1], [False, False, True]) == 0.0


def test_nothing_relevant() -> None:
    assert half_life_utility([False]) == 0.0
    assert half_life_utility([]) == 0.0
    for value in (recall_at([False], 1), ndcg_at([False], 1), mean_rank([]), roc_area([1], [True]), roc_area([], [])):
        assert math.isnan(value)


def test_refusals() -> None:
    with pytest.raises(ss.SepsetError, match="half_life"):
        half_life_utility([True], half_life=1.0)
    with pytest.raises(ss.SepsetError, match="k= is a whole"):
        precision_at([True], 0)
    with pytest.raises(ss.SepsetError, match="one truth value per score"):
        roc_area([1, 2], [True])
    with pytest.raises(ss.SepsetError, match="1 are NaN"):
        roc_area([math.nan, 2], [True, False])


@pytest.mark.parametrize("relevant", ["yes", ["yes"], [math.nan], [2], None])
def test_truth_values_are_needed(relevant: Any) -> None:
    with pytest.raises(ss.SepsetError, match="relevant= is a sequence of truth values"):
        mean_rank(relevant)
