"""Recommendations: order, ties, single users and many, display."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sepset as ss
from sepset.learning.recommendation.baselines import Popularity, Similarity
from sepset.learning.recommendation.baskets import Baskets
from sepset.learning.recommendation.recommender import Recommender, top

TRAIN = [["milk", "bread"], ["milk"], ["milk", "beer"], ["bread"]]


def test_items_at_hand_are_not_recommended() -> None:
    found = Popularity().fit(TRAIN).recommend([["milk"], [], ["milk", "bread", "beer"]], k=2)
    assert found.items == (("bread", "beer"), ("milk", "bread"), ())
    assert found.scores == ((0.5, 0.25), (0.75, 0.5), ())
    assert found[1] == ("milk", "bread")
    assert list(found) == list(found.items)


@pytest.mark.parametrize(
    "one", [{"milk"}, ["milk"], ("milk",), Baskets([["milk"]]), [["milk"]], pd.DataFrame({"milk": [1], "beer": [0]})]
)
def test_one_user(one: object) -> None:
    found = Popularity().fit(TRAIN).recommend(one)
    assert found.items == (("bread", "beer"),)


def test_named_users_and_frames() -> None:
    found = Popularity().fit(TRAIN).recommend({"ann": ["beer"], "bob": []}, k=1)
    assert found["ann"] == ("milk",)
    with pytest.raises(ss.SepsetError, match="no recommendations for the user 'cid'"):
        found["cid"]
    frame = found.to_frame()
    assert frame.columns.tolist() == ["user", "rank", "item", "score"]
    assert frame.item.tolist() == ["milk", "milk"]
    assert "ann" in str(found)
    assert "0.75" in found._repr_html_()
    assert len(Popularity().fit(TRAIN).recommend(Baskets([]), k=1).to_frame()) == 0


def test_matrices_have_the_columns_of_the_recommender() -> None:
    found = Popularity().fit(TRAIN).recommend(np.array([[1, 0, 0]]), k=1)
    assert found.items == (("bread",),)


def test_ties_go_to_the_first_item() -> None:
    assert top(np.array([0.2, 0.5, 0.5, -np.inf, 0.5]), 2).tolist() == [1, 2]
    assert top(np.array([-np.inf]), 2).tolist() == []


def test_your_own() -> None:
    class Last(Recommender):
        items, settings = ("a", "b", "c"), "last"

        def _scores(self, baskets):
            return np.tile(np.arange(3.0), (len(baskets), 1))

    assert Last().recommend(["c"], k=1).items == (("b",),)
    assert repr(Last()) == "Recommender(3 items; 'last')"


def test_scores_of_baskets_whose_items_are_in_another_order() -> None:
    """Two users have milk, one of them bread and one beer: each cosine is 1 divided by the root of 2 times 1."""
    fitted = Similarity().fit(Baskets([["milk", "bread"], ["milk", "beer"], []], ["milk", "bread", "beer"]))
    expected = {"milk": 0.0, "bread": 1 / np.sqrt(2), "beer": 1 / np.sqrt(2)}
    for items in (["milk", "bread", "beer"], ["beer", "milk", "bread"]):
        asked = Baskets([["milk"]], items)
        assert dict(zip(fitted.items, fitted.scores(asked)[0], strict=True)) == pytest.approx(expected)
        ((_, ranked),) = fitted.ranked_parts(asked)
        assert dict(zip(fitted.items, ranked[0], strict=True)) == pytest.approx({**expected, "milk": -np.inf})


def test_refusals() -> None:
    fitted = Popularity().fit(TRAIN)
    with pytest.raises(ss.SepsetError, match="k= is a whole"):
        fitted.recommend([], k=0)
    with pytest.raises(ss.SepsetError, match=r"'milc' were not among the items.*milk"):
        fitted.recommend(["milc"])


def test_columns_of_matrices_are_the_items_in_order() -> None:
    fitted = Popularity().fit(TRAIN)
    dense = np.array([[1, 0, 0], [0, 1, 1]])
    for matrix in (dense, sparse.csr_matrix(dense), sparse.csr_array(dense)):
        assert fitted.recommend(matrix, k=1).items == (("bread",), ("milk",))
