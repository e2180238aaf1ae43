"""The values of wired models, one variable at a time."""

import numpy as np

from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import conditional, first_modes
from support.blocks import in_blocks
from support.wired import random_problem


@in_blocks("seed", range(60))
def test_conditionals_are_differences_of_values(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    if not wiring.num_variables:
        return
    codes = np.array([rng.integers(card) for card in wiring.wires.cards], np.int64)
    i = int(rng.integers(wiring.num_variables))
    out = np.empty(wiring.wires.cards[i])
    conditional(wiring.wires, wiring.unary, wiring.factors, i, codes, out)
    values = []
    for x in range(len(out)):
        codes[i] = x
        values.append(wiring.log_value(codes))
    live = np.isfinite(values)
    assert not np.isfinite(out[~live]).any() or not live.any()
    if live.any():
        found = out[live] - out[live][0]
        np.testing.assert_allclose(found, np.array(values)[live] - np.array(values)[live][0], atol=1e-9)


def test_the_first_of_equal_states_is_the_mode():
    out = np.empty(3, np.int64)
    first_modes(np.array([0, 1, 3, 6]), np.array([-np.inf, 2.0, 2.0, 0.0, 3.0, 1.0]), out)
    assert out.tolist() == [0, 0, 1]
