"""The bound of zero messages is the sum of all maxima."""

import numpy as np
import pytest

from sepset.inference.wiring import Wiring
from sepset.kernels.map.dual import dual_bound
from support.blocks import in_blocks
from support.wired import random_problem


@in_blocks("seed", range(40))
def test_without_messages_maxima_add_up(seed):
    wiring = Wiring.of(random_problem(np.random.default_rng(seed))).consistent
    if not np.isfinite(wiring.unary).all():
        return
    messages, going = np.zeros(int(wiring.wires.messages[-1])), np.zeros(1, np.uint8)
    found = dual_bound(wiring.wires, wiring.unary, messages, np.empty(4, np.int64), going)
    expected = sum(wiring.logs(i).max() for i in range(wiring.num_variables))
    assert found == pytest.approx(expected + sum(wiring.table(f).max() for f in range(wiring.num_factors)))
