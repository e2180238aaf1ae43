"""Protocols: which items are hidden."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.recommendation.baskets import Baskets
from sepset.learning.recommendation.protocols import AllButOne, GivenK

ROWS = np.random.default_rng(0).integers(0, 2, (40, 6))


def test_all_but_one() -> None:
    seen, hidden = AllButOne().hide(Baskets(ROWS), np.random.default_rng(1))
    kept = ROWS[ROWS.sum(1) >= 2]
    assert seen.users == hidden.users == tuple(np.flatnonzero(ROWS.sum(1) >= 2))
    assert ((seen.matrix + hidden.matrix).toarray() == kept).all()
    assert (hidden.sizes == 1).all()


@pytest.mark.parametrize("k", [0, 2, 4])
def test_given_k(k: int) -> None:
    seen, hidden = GivenK(k).hide(Baskets(ROWS), np.random.default_rng(1))
    assert ((seen.matrix + hidden.matrix).toarray() == ROWS[ROWS.sum(1) > k]).all()
    assert (seen.sizes == k).all()
    assert (hidden.sizes >= 1).all()


def test_every_item_is_hidden_as_often() -> None:
    baskets, counts = Baskets(np.ones((300, 3), int)), np.zeros(3)
    for seed in range(5):
        counts += AllButOne().hide(baskets, np.random.default_rng(seed)).hidden.popularity
    assert np.abs(counts / 1500 - 1 / 3).max() < 0.06


def test_settings_are_checked() -> None:
    with pytest.raises(ss.SepsetError, match="GivenK"):
        GivenK(-1)
