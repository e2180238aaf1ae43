"""Max-marginals of three tables that share variables."""

import numpy as np

from sepset.kernels.map.triplets import triplet_marginals
from support.blocks import in_blocks


@in_blocks("seed", range(10))
def test_the_largest_sums_at_each_entry(seed):
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(1, 5, 3).tolist()
    tables = [np.where(rng.random(s) < 0.2, -np.inf, rng.normal(size=s)) for s in ((a, b), (b, c), (a, c))]
    joint = tables[0][:, :, None] + tables[1][None] + tables[2][:, None]
    step = 16
    h, out = np.zeros(3 * step), np.empty(3 * step)
    for k, table in enumerate(tables):
        h[k * step : k * step + table.size] = table.ravel()
    triplet_marginals(a, b, c, h, out, step)
    for k, axis in enumerate((2, 0, 1)):
        expected = joint.max(axis=axis).ravel()
        np.testing.assert_allclose(out[k * step : k * step + expected.size], expected)
