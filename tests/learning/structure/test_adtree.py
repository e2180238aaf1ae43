"""Counts from a sparse tree against direct counting, and how many counts it keeps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.errors import NotApplicable
from sepset.learning.structure.adtree import ADTree
from sepset.learning.structure.columns import Columns

CARDS = (2, 3, 1, 4, 2)


def skewed_rows(seed, num_rows=200):
    rng = np.random.default_rng(seed)
    return {f"x{k}": np.minimum(rng.geometric(0.6, num_rows) - 1, card - 1) for k, card in enumerate(CARDS)}


def by_hand(rows, weights, chosen):
    names = list(rows)
    table = np.zeros([CARDS[c] for c in chosen])
    for k, weight in enumerate(weights):
        table[tuple(int(rows[names[c]][k]) for c in chosen)] += weight
    return table


@pytest.mark.parametrize("leaf_rows", [0, 5, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_counts_against_direct_counting(seed, leaf_rows):
    """All subsets of columns, in any order of the axes, the most common values by subtraction included."""
    rows = skewed_rows(seed)
    weights = np.random.default_rng(seed).integers(1, 4, 200)
    columns = Columns.of(rows, weights=weights)
    cards = tuple(int(c) for c in columns.cards)
    tree = ADTree(columns, leaf_rows=leaf_rows)
    rng = np.random.default_rng(seed)
    for size in range(6):
        for chosen in itertools.combinations(range(5), size):
            chosen = tuple(rng.permutation(chosen).tolist())
            found = tree.counts(chosen)
            wanted = by_hand(rows, weights, chosen)
            assert np.array_equal(found, wanted[tuple(slice(cards[c]) for c in chosen)])


def test_fewer_counts_than_tables():
    rng = np.random.default_rng(0)
    rows = {f"x{k}": (rng.random(400) < 0.05).astype(int) for k in range(12)}
    tree = ADTree(Columns.of(rows), leaf_rows=0)
    assert tree.counts(tuple(range(12))).sum() == 400
    assert tree.num_counts < 2**12 / 10
    before = tree.num_counts
    tree.counts(tuple(range(12)))
    assert tree.num_counts == before


def test_what_it_does_not_count():
    for data in ({"x": [0.5, 1.5]}, {"x": [0, 1]}):
        weights = None if data["x"][0] else [0.5, 1.0]
        with pytest.raises(NotApplicable, match="whole numbers"):
            ADTree(Columns.of(data, weights=weights))
