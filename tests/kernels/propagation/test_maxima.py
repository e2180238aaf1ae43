"""Messages in linear time are those of all pairs of states."""

import numpy as np
import pytest

import sepset as ss
from sepset.factors.block import FactorBlock
from sepset.factors.potentials import Potts, TruncatedLinear, TruncatedQuadratic
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.maxima import pair_maxima
from sepset.problem import Problem
from sepset.variables.universe import Variables


@pytest.mark.parametrize("seed", range(80))
def test_messages_are_maxima_over_all_pairs(seed):
    rng = np.random.default_rng(seed)
    size, other = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    weight, limit = rng.normal(), [np.inf, rng.random() * 4][rng.integers(2)]
    kinds = [Potts(weight), TruncatedLinear(weight, limit), TruncatedQuadratic(weight, limit), None]
    chosen = kinds[rng.integers(4)]
    other = size if chosen is not None else other
    values = np.where(rng.random((size, other)) < 0.2, -np.inf, rng.normal(size=(size, other)))
    made = FactorBlock([[0, 1]], (size, other), values, space="log") if chosen is None else None
    block = made or FactorBlock([[0, 1]], (size, size), chosen)
    wiring = Wiring.of(Problem(Variables([ss.Discrete("a", size), ss.Discrete("b", other)]), (block,)))
    table = wiring.table(0)
    for s, cards in ((0, (size, other)), (1, (other, size))):
        h = np.where(rng.random(cards[0]) < 0.2, -np.inf, rng.normal(size=cards[0]))
        out = np.zeros(cards[1] + 2)
        pair_maxima(wiring.wires, 0, s, h, out, 1)
        expected = (h[:, None] + (table if s == 0 else table.T)).max(axis=0)
        np.testing.assert_allclose(out[1:-1], expected, atol=1e-12)
        assert out[0] == out[-1] == 0.0
