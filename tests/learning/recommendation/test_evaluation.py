"""Tests of recommenders: a known ranking, and what networks gain over popularity."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.recommendation.baselines import Popularity
from sepset.learning.recommendation.baskets import Baskets
from sepset.learning.recommendation.evaluation import evaluate_ranking
from sepset.learning.recommendation.itemnetworks import BayesRecommender, DependencyRecommender
from sepset.learning.recommendation.protocols import GivenK
from sepset.learning.recommendation.recommender import Recommender


class InOrder(Recommender):
    """The items in their order."""

    items, settings = tuple("abcdef"), "in order"

    def _scores(self, baskets):
        return np.tile(-np.arange(6.0), (len(baskets), 1))


def test_scores_of_a_known_ranking() -> None:
    """Nothing is seen, so that a and d are at positions 1 and 4, and b at 2."""
    found = evaluate_ranking(InOrder(), Baskets([["a", "d"], ["b"], []]), protocol=GivenK(0), k=2, half_life=2)
    assert found.num_users == 2
    assert found["accuracy"] == pytest.approx(100 * (1 + 1 / 8 + 1 / 2) / (1.5 + 1))
    assert found["precision"] == 0.5
    assert found["recall"] == 0.75
    assert found["mean_rank"] == pytest.approx((2.5 + 2) / 2)
    assert found["roc_area"] == pytest.approx((6 / 8 + 4 / 5) / 2)
    assert found["ndcg"] == pytest.approx((1 / (1 + 1 / np.log2(3)) + 1 / np.log2(3)) / 2)
    assert found.errors["recall"] == pytest.approx(0.25)
    assert list(found) == ["accuracy", "precision", "recall", "ndcg", "mean_rank", "roc_area"]
    assert f"{found['accuracy']:.4g}" in repr(found)
    assert f"{found['accuracy']:.4f}" in str(found)


def test_items_at_hand_leave_the_list() -> None:
    found = evaluate_ranking(InOrder(), Baskets([["a", "b"]]), k=1, seed=0)
    assert found["mean_rank"] == 1.0
    assert found["accuracy"] == 100.0


def topics(num_users: int, seed: int) -> Baskets:
    """Users of one of four tastes, with ten items each that they like."""
    rng = np.random.default_rng(seed)
    taste = rng.integers(0, 4, num_users)
    likes = np.where(np.arange(40)[None, :] // 10 == taste[:, None], 0.4, 0.04) * np.linspace(1.0, 0.3, 40)
    return Baskets((rng.random((num_users, 40)) < likes).astype(int))


def test_networks_beat_popularity() -> None:
    """Both kinds of networks are about as accurate, and more accurate than popular items."""
    train, test = topics(1_000, 0), topics(400, 1)
    methods = (Popularity(), DependencyRecommender(), BayesRecommender())
    base, first, second = (evaluate_ranking(one.fit(train), test, k=5) for one in methods)
    assert min(first["accuracy"], second["accuracy"]) > base["accuracy"] + 3 * base.errors["accuracy"]
    assert first["accuracy"] == pytest.approx(second["accuracy"], abs=3 * first.errors["accuracy"] + 1)
    assert first["roc_area"] > base["roc_area"]


def test_random_rankings_have_half_the_area() -> None:
    found = evaluate_ranking(Popularity().fit(np.ones((3, 8), int)), topics(50, 2).take(range(50)).matrix[:, :8])
    assert found["roc_area"] == pytest.approx(0.5)


def test_refusals() -> None:
    with pytest.raises(ss.SepsetError, match="No user has enough items"):
        evaluate_ranking(InOrder(), Baskets([["a"]]))
    with pytest.raises(ss.SepsetError, match="half_life"):
        evaluate_ranking(InOrder(), Baskets([["a", "b"]]), half_life=0.5)
    with pytest.raises(ss.SepsetError, match="no score 'acuracy'"):
        evaluate_ranking(InOrder(), Baskets([["a", "b"]]))["acuracy"]
    with pytest.raises(ss.SepsetError, match="A fitted recommender"):
        evaluate_ranking(Popularity(), Baskets([["a", "b"]]))  # type: ignore[arg-type]
    for protocol in (GivenK, "all but one"):
        with pytest.raises(ss.SepsetError, match="protocol= is a value"):
            evaluate_ranking(InOrder(), Baskets([["a", "b"]]), protocol=protocol)  # type: ignore[arg-type]
