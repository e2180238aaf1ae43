"""Baselines: popular items, and cosines."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from learning.recommendation.test_cooccurrence import random_matrix
from sepset.learning.recommendation.baselines import Popularity, Similarity
from sepset.learning.recommendation.baskets import Baskets


def test_popular_items() -> None:
    found = Popularity().fit(Baskets([["a", "b"], ["b"], []]))
    np.testing.assert_allclose(found.scores(Baskets([[], ["a"]], ["a", "b"])), [[1 / 3, 2 / 3]] * 2)


def test_similar_items() -> None:
    rows = random_matrix()
    found = Similarity().fit(Baskets(rows)).scores(Baskets(rows[:5]))
    counts = rows.sum(0)
    cosines = (rows.T @ rows) / np.sqrt(np.outer(counts, counts))
    np.fill_diagonal(cosines, 0.0)
    np.testing.assert_allclose(found, rows[:5] @ cosines)


def test_few_neighbors() -> None:
    rows = random_matrix()
    found = Similarity(2).fit(Baskets(rows)).cosines
    assert (np.diff(found.indptr) == 2).all()


def test_items_never_viewed() -> None:
    found = Similarity().fit(Baskets([["a"]], ["a", "b"]))
    assert found.recommend(["a"]).items == (("b",),)
    with pytest.raises(ss.SepsetError, match="neighbors"):
        Similarity(0)
