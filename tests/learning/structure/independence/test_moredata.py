"""The test that draws more rows: when it stops, and how often it rejects what is true."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.errors import ArgumentError
from sepset.learning.structure.independence.independencetest import independence_test
from sepset.learning.structure.independence.moredata import MoreData


def weak(strength):
    def draw(num_rows, rng):
        x = rng.integers(0, 2, num_rows)
        y = np.where(rng.random(num_rows) < strength, x, rng.integers(0, 2, num_rows))
        return {"x": x, "y": y, "z": rng.integers(0, 2, num_rows)}

    return draw


def test_weak_dependences_take_more_rows():
    used = [
        independence_test(None, between=("x", "y"), given="z", test=MoreData(weak(s), seed=1)).num_rows
        for s in (0.8, 0.2, 0.05)
    ]
    assert used[0] < used[1] < used[2]
    assert all(rows in 100 * 2.0 ** np.arange(10) for rows in used)


def test_true_independences_are_seldom_rejected():
    """Ten looks without a correction would reject about a fifth of them."""
    rejected = 0
    for seed in range(120):
        test = MoreData(weak(0.0), num_rows=20, most_rows=20 * 2**5, seed=seed)
        found = independence_test(None, between=("x", "y"), test=test)
        rejected += not found.is_independent
        assert found.is_independent == (found.num_rows == 640) or found.p_value <= 0.05
    assert rejected <= 0.05 * 120 + 3 * np.sqrt(120 * 0.05 * 0.95)


def test_questions_share_rows():
    drawn = []

    def draw(num_rows, rng):
        drawn.append(num_rows)
        return weak(0.0)(num_rows, rng)

    from sepset.learning.structure.independence.boundtest import Names

    bound = MoreData(draw, num_rows=50, most_rows=200).bind(Names(("x", "y", "z")))
    first = bound.outcome((0,), (1,), ())
    assert bound.outcome((0,), (1,), ()) == first
    bound.outcome((1,), (2,), ())
    assert drawn == [50, 50, 100]


def test_refusals():
    with pytest.raises(ArgumentError):
        MoreData(weak(0.0), growth=1.0)
    with pytest.raises(ArgumentError):
        MoreData(weak(0.0), num_rows=100, most_rows=50)
