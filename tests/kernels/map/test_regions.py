"""Interpreted kernels of regions answer like compiled ones, and canceled ones change nothing."""

import numpy as np

from sepset.inference.map.search.workspace import Workspace
from sepset.inference.wiring import Wiring
from sepset.kernels.kernel import Kernel, plain
from sepset.kernels.map import regions
from support.wired import random_problem


def test_canceled_work_changes_nothing():
    rng = np.random.default_rng(3)
    wiring = Wiring.of(random_problem(rng))
    space = Workspace(wiring, 64)
    codes = wiring.modes.copy()
    solve = regions.solve_region if not isinstance(regions.solve_region, Kernel) else plain(regions.solve_region)
    draws = rng.random(len(codes))
    count = solve(*space.model, space.region, space.free, draws, draws, codes, space.loss, 64, np.ones(1, np.uint8))
    assert count == 0
    np.testing.assert_array_equal(codes, wiring.modes)
