"""Mutual information of items against tables written out, and candidates."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.learning.recommendation.baskets import Baskets
from sepset.learning.recommendation.cooccurrence import candidates, information


def written_out(x: np.ndarray, y: np.ndarray) -> float:
    total = 0.0
    for a in (0, 1):
        for b in (0, 1):
            p, q, r = ((x == a) & (y == b)).mean(), (x == a).mean(), (y == b).mean()
            total += p * np.log(p / (q * r)) if p > 0 else 0.0
    return float(total)


def random_matrix(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    base = rng.random((60, 1))
    return (rng.random((60, 7)) < 0.3 + 0.4 * (base > 0.5) * (np.arange(7) < 4)).astype(int)


def test_information_is_that_of_the_table() -> None:
    rows = random_matrix()
    both, counts = (rows.T @ rows).astype(float), rows.sum(0).astype(float)
    found = information(both, counts[:, None], counts[None, :], 60.0)
    expected = [[written_out(rows[:, i], rows[:, j]) for j in range(7)] for i in range(7)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_best_candidates_come_first() -> None:
    rows = random_matrix(1)
    found = candidates(Baskets(rows), 3)
    for i, chosen in enumerate(found):
        values = [written_out(rows[:, i], rows[:, j]) if j != i else -1.0 for j in range(7)]
        assert np.array(values)[chosen] == pytest.approx(sorted(values, reverse=True)[:3])


def test_only_earlier_items() -> None:
    found = candidates(Baskets(random_matrix(2)), 10, np.arange(7)[::-1].copy())
    assert found[6].tolist() == []
    assert all((chosen > i).all() for i, chosen in enumerate(found))


def test_items_without_information() -> None:
    rows = np.column_stack([random_matrix(), np.zeros(60, int), np.ones(60, int)])
    found = candidates(Baskets(rows), 20)
    assert found[7].tolist() == found[8].tolist() == []
    assert all(7 not in chosen and 8 not in chosen for chosen in found)
    assert all(not len(chosen) for chosen in candidates(Baskets(rows), 0))
    assert information(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), 0.0) == pytest.approx(0.0)
