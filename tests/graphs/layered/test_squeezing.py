"""Wide layers are squeezed: in order, apart, and as near as they can to where they were."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from sepset.graphs.layered.squeezing import isotonic, squeezed


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_places_by_a_general_optimizer(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=7)
    rising = {"type": "ineq", "fun": np.diff}
    best = minimize(lambda y: ((y - values) ** 2).sum(), np.sort(values), constraints=rising, options={"ftol": 1e-14})
    np.testing.assert_allclose(isotonic(values.tolist()), best.x, atol=1e-5)


def test_items_stay_in_order_and_apart_on_the_least_width():
    rng = np.random.default_rng(1)
    rows = [list(range(4)), list(range(4, 16)), list(range(16, 21))]
    xs = [0.0] * 21
    for row in rows:
        for item, x in zip(row, np.sort(rng.uniform(0.0, 5000.0, len(row))) + 20.0 * np.arange(len(row)), strict=True):
            xs[item] = float(x)
    found = squeezed(rows, xs, separation=lambda a, b: 10.0 + (a + b) % 3)
    for row in rows:
        for a, b in itertools.pairwise(row):
            assert found[b] - found[a] >= 10.0 + (a + b) % 3 - 1e-9
    widest = sum(10.0 + (a + b) % 3 for a, b in itertools.pairwise(rows[1]))
    assert max(found) - min(found) <= 1.5 * widest


def test_what_is_narrow_already_stays():
    assert squeezed([[0, 1]], [0.0, 10.0], separation=lambda a, b: 10.0) == [0.0, 10.0]
    assert squeezed([], [], separation=lambda a, b: 1.0) == []
    assert squeezed([[0], [1]], [3.0, 3.0], separation=lambda a, b: 1.0) == [3.0, 3.0]
