"""Kernels of local trees: interpreted and compiled forms, splits of a leaf against tables written out."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.base.threads import NEVER
from sepset.kernels.structure import localtrees as kernels
from sepset.kernels.structure.familyscores import EVIDENCE, LIKELIHOOD
from sepset.learning.structure.familyscores import small_logs
from sepset.learning.structure.local import trees
from sepset.learning.structure.local.leaves import LeafRows, LeafScore
from support.local_trees import bdeu_leaf, penalized_leaf


def rows(seed: int, cards: tuple[int, ...], num_rows: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, card, num_rows) for card in cards], dtype=np.int32)
    return codes, rng.integers(0, 3, num_rows).astype(np.int32), rng.random(num_rows)


@pytest.mark.parametrize("kind", [EVIDENCE, LIKELIHOOD])
def test_splits_of_one_leaf(kind: int) -> None:
    cards = (2, 4)
    codes, child, weights = rows(0, cards)
    leaf = bdeu_leaf(3.0) if kind == EVIDENCE else penalized_leaf(0.5)
    terms = np.array([0.0, 1.0, 0.0]) if kind == EVIDENCE else np.array([0.0, 0.0, 1.0])
    inside = np.flatnonzero(codes[1] != 2)
    possible = np.array([[True, True, False, False], [True, True, False, True]])
    out = np.empty((2, 5))
    kernels.score_splits(
        codes, child, weights, inside, np.array(cards), possible, 0.75, 3, kind, terms, True, small_logs(), NEVER, out
    )

    def value(chosen: np.ndarray, share: float) -> float:
        return leaf(np.bincount(child[inside][chosen], weights[inside][chosen], 3), share)

    x, y = codes[0][inside], codes[1][inside]
    assert out[0, 0] == pytest.approx(value(x == 0, 0.375) + value(x == 1, 0.375))
    assert (out[0, 1:] == -np.inf).all()  # of two states, one against the rest is the same test
    assert out[1, 0] == pytest.approx(sum(value(y == v, 0.25) for v in (0, 1, 3)))
    assert out[1, 1] == pytest.approx(value(y == 0, 0.25) + value(y != 0, 0.5))
    assert out[1, 3] == -np.inf
    assert out[1, 4] == pytest.approx(value(y == 3, 0.25) + value(y != 3, 0.5))


@pytest.mark.parametrize("by_value", [False, True])
def test_interpreted_and_compiled_trees(by_value: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, cards in enumerate([(2, 2), (3, 1, 4), (2, 5, 3, 2)]):
        codes, child, weights = rows(seed, cards)
        leaf = LeafScore(3, EVIDENCE, 0.0, 2.0, 0.0)
        found = []
        for name in ("grow", "prune"):
            monkeypatch.setattr(trees, name, getattr(kernels, name))
        for _ in range(2):
            growth = trees.Growth(LeafRows(codes, child, weights), np.array(cards), np.zeros(len(cards), bool), leaf)
            growth.run(len(cards), by_value, NEVER)
            found.append((growth.nodes, growth.values))
            for name in ("grow", "prune"):
                made = getattr(kernels, name)
                monkeypatch.setattr(trees, name, getattr(made, "py_func", made))
        assert np.array_equal(found[0][0], found[1][0])
        assert np.allclose(found[0][1], found[1][1])
