"""One number per set of columns, against plain counts."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from sepset.kernels.structure.setsums import set_sums

NEVER = np.zeros(1, np.uint8)


@pytest.mark.parametrize(("alpha", "is_divided"), [(0.0, False), (1.5, False), (2.0, True)])
@pytest.mark.parametrize("max_size", [1, 2, 4])
@pytest.mark.parametrize("part", [0.0, 0.5])
@pytest.mark.parametrize("first", [0, 2])
def test_against_counts(alpha, is_divided, max_size, part, first):
    rng = np.random.default_rng(max_size)
    cards = np.array([2, 3, 1, 4])
    codes = np.unique(np.stack([rng.integers(0, c, 25) for c in cards]), axis=1).astype(np.int8, order="C")
    weights = rng.integers(1, 4, codes.shape[1]) + part * (rng.random(codes.shape[1]) < 0.2)
    numbers = np.zeros(0) if part else np.arange(weights.sum() + 1)
    logs = numbers * np.log(np.maximum(numbers, 1.0))
    kinds, place = np.unique(weights, return_inverse=True)
    count = sum(math.comb(4, k) for k in range(max_size + 1))
    masks, values, end = np.zeros(count, np.int64), np.zeros(count), 0
    for prefix in (p for k in range(min(first, max_size) + 1) for p in itertools.combinations(range(first), k)):
        of = slice(end, end + sum(math.comb(4 - first, k) for k in range(max_size - len(prefix) + 1)))
        end = of.stop
        set_sums(
            codes, cards, weights, place.astype(np.int64), kinds, logs, alpha, is_divided, max_size,
            np.array(prefix, np.int64), first, masks[of], values[of], NEVER,
        )  # fmt: skip
    assert sorted(masks) == [m for m in range(16) if m.bit_count() <= max_size]
    for mask, value in zip(masks.tolist(), values.tolist(), strict=True):
        columns = [i for i in range(4) if mask >> i & 1]
        totals: Counter[tuple[int, ...]] = Counter()
        for row, weight in zip(codes.T.tolist(), weights.tolist(), strict=True):
            totals[tuple(row[i] for i in columns)] += weight
        a = alpha / math.prod(int(cards[i]) for i in columns) if is_divided else alpha
        terms = [m * math.log(m) if a == 0 else math.lgamma(a + m) - math.lgamma(a) for m in totals.values()]
        assert value == pytest.approx(sum(terms), abs=1e-9)


def test_canceled_before_it_is_done():
    codes = np.array([[0, 1], [1, 0]], np.int8)
    masks, values = np.full(4, -1, np.int64), np.zeros(4)
    ones = np.ones(2)
    set_sums(
        codes,
        np.array([2, 2]),
        ones,
        np.zeros(2, np.int64),
        ones[:1],
        np.zeros(0),
        0.0,
        False,
        2,
        np.zeros(0, np.int64),
        0,
        masks,
        values,
        NEVER + 1,
    )
    assert (masks[1:] == -1).all()
