"""Spanning forests of factors."""

import numpy as np

from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.traversal import spanning_forest
from support.blocks import in_blocks
from support.wired import random_problem


@in_blocks("seed", range(40))
def test_factors_outside_a_forest_would_close_a_cycle(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    n, num = wiring.num_variables, wiring.num_factors
    left_out = np.zeros(num, np.uint8)
    spanning_forest(wiring.wires, rng.permutation(num), np.arange(n), np.full(n, -1), left_out)
    assert wiring.traversal_of(left_out).is_forest
    for f in np.flatnonzero(left_out):
        more = left_out.copy()
        more[f] = 0
        assert not wiring.traversal_of(more).is_forest
