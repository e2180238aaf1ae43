"""One sweep of coordinate ascent."""

import numpy as np

from sepset.inference.wiring import Wiring
from sepset.kernels.map.coordinates import sweep
from support.blocks import in_blocks
from support.wired import random_problem


@in_blocks("seed", range(40))
def test_a_sweep_never_lowers_the_value_and_counts_its_changes(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    codes = np.array([rng.integers(card) for card in wiring.wires.cards], np.int64)
    before, old = wiring.log_value(codes), codes.copy()
    order, room = rng.permutation(wiring.num_variables), np.empty(4)
    changes = sweep(wiring.wires, wiring.unary, wiring.factors, order, codes, room, np.zeros(1, np.uint8))
    assert changes == np.count_nonzero(codes != old)
    assert wiring.log_value(codes) >= before - 1e-12
    stopped = old.copy()
    assert sweep(wiring.wires, wiring.unary, wiring.factors, order, stopped, room, np.ones(1, np.uint8)) == 0
    assert (stopped == old).all()
