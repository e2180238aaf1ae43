from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.data import scatter


@pytest.mark.parametrize("function", [scatter.add_rows, getattr(scatter.add_rows, "py_func", scatter.add_rows)])
def test_moments_of_each_context(function):
    rng = np.random.default_rng(0)
    rows, places, weights = rng.normal(1e6, 1, (200, 3)), rng.integers(0, 2, 200), rng.integers(0, 3, 200) / 2
    counts, means, scatters = np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3, 3))
    function(places, rows, weights, counts, means, scatters)
    for context in range(2):
        mine, weight = rows[places == context], weights[places == context]
        np.testing.assert_allclose(counts[context], weight.sum())
        np.testing.assert_allclose(means[context], np.average(mine, axis=0, weights=weight))
        expected = np.cov(mine.T - 1e6, aweights=weight, ddof=0) * weight.sum()
        np.testing.assert_allclose(np.tril(scatters[context]), np.tril(expected), rtol=1e-7, atol=1e-7)
    assert (counts[2], means[2].any(), scatters[2].any()) == (0, False, False)
