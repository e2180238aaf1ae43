"""Centered statistics add up to those of all rows, context by context."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.cpds.moments import Scatters
from sepset.errors import DataError


def make(seed, num=20, shift=0.0):
    rng = np.random.default_rng(seed)
    return shift + rng.normal(size=(num, 3)), rng.integers(3, size=num), rng.random(num)


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_parts_add_up_and_can_be_taken_away(seed):
    rows, context, weights = make(seed)
    whole = Scatters.of(rows, context, 3, weights)
    first = Scatters.of(rows[:8], context[:8], 3, weights[:8])
    second = Scatters.of(rows[8:], context[8:], 3, weights[8:])
    for joined, expected in ((first + second, whole), (whole - second, first)):
        np.testing.assert_allclose(joined.counts, expected.counts, atol=1e-12)
        for mine, other in zip(joined.contexts, expected.contexts, strict=True):
            np.testing.assert_allclose(mine.products, other.products, atol=1e-9)
    for c, scatter in enumerate(whole.contexts):
        at = context == c
        if weights[at].sum() > 0:
            expected = np.cov(rows[at].T, aweights=weights[at], ddof=0) * weights[at].sum()
            np.testing.assert_allclose(scatter.products, expected, atol=1e-9)


def test_raw_sums_give_the_same():
    rows, context, _ = make(1)
    z = np.column_stack([np.ones(20), rows])
    sums = np.stack([z[context == c].T @ z[context == c] for c in range(3)])
    for mine, other in zip(Scatters.from_sums(sums).contexts, Scatters.of(rows, context, 3).contexts, strict=True):
        np.testing.assert_allclose(mine.products, other.products, atol=1e-9)


def test_pooled_forgets_the_contexts():
    rows, context, _ = make(2)
    pooled = Scatters.of(rows, context, 3).pooled
    np.testing.assert_allclose(pooled.mean, rows.mean(axis=0))
    np.testing.assert_allclose(pooled.products, np.cov(rows.T, ddof=0) * 20)


def test_large_means_lose_no_digits():
    rows, context, _ = make(3, shift=1e9)
    exact = make(3)[0]
    found = Scatters.of(rows, context, 3)
    np.testing.assert_allclose(found.pooled.products, np.cov(exact.T, ddof=0) * 20, rtol=1e-5)


def test_other_contexts_do_not_join():
    rows, context, _ = make(4)
    some = Scatters.of(rows, context, 3)
    with pytest.raises(DataError, match="same contexts"):
        some + Scatters.of(rows, context, 4)
    assert (some.size, repr(some)) == (3, "Scatters(3 contexts, 20 rows)")
