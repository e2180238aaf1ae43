"""Forests with their own copies of the variables."""

import numpy as np
import pytest

from sepset.inference.map.dual import bound_of
from sepset.inference.map.relaxation.copies import Copies
from support.blocks import in_blocks
from support.planted import planted_union
from support.wired import best_value


@pytest.mark.parametrize("over", ["trees", "factors"])
@in_blocks("seed", range(12))
def test_any_split_gives_an_upper_bound(seed, over):
    rng = np.random.default_rng(seed)
    wiring = planted_union(rng, 1)[0].consistent
    best, copies = best_value(wiring), Copies.of(wiring, over=over)
    assert copies.wiring.traversal.is_forest
    values = copies.split + copies.apart(rng.normal(size=len(copies.home)))
    np.testing.assert_allclose(np.bincount(copies.home, values, len(wiring.unary)), wiring.unary, atol=1e-12)
    found = copies.maximum(values)
    assert best - 1e-9 <= bound_of(wiring, found.messages) <= found.value + 1e-9
    assert copies.at(values).log_value(found.codes) == pytest.approx(found.value)


@in_blocks("seed", range(6))
def test_smooth_maxima_and_their_slopes(seed):
    rng = np.random.default_rng(seed)
    wiring = planted_union(rng, 1)[0].consistent
    copies = Copies.of(wiring, over="trees")
    values = copies.split + copies.apart(rng.normal(size=len(copies.home)))
    top, marginals = copies.smooth(values, 0.3)
    assert top >= copies.maximum(values).value - 1e-9
    assert copies.smooth(values, 1e-4)[0] == pytest.approx(copies.maximum(values).value, abs=1e-2)
    way = rng.normal(size=len(values)) * (values > -np.inf)
    slope = (copies.smooth(values + 1e-6 * way, 0.3)[0] - copies.smooth(values - 1e-6 * way, 0.3)[0]) / 2e-6
    assert marginals @ way == pytest.approx(slope, abs=1e-4)
