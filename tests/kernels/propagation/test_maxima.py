"""Messages in linear time are those of all pairs of states."""

import numpy as np
import pytest

import sepset as ss
from sepset.factors.block import FactorBlock
from sepset.factors.potentials import Potts, TruncatedLinear, TruncatedQuadratic
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.maxima import largest, pair_maxima, quadratic_maxima
from sepset.problem import Problem
from sepset.variables.universe import Universe
from support.blocks import in_blocks


@in_blocks("seed", range(80))
def test_messages_are_maxima_over_all_pairs(seed):
    rng = np.random.default_rng(seed)
    size, other = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    weight, limit = rng.normal(), [np.inf, rng.random() * 4][rng.integers(2)]
    kinds = [Potts(weight), TruncatedLinear(weight, limit), TruncatedQuadratic(weight, limit), None]
    chosen = kinds[rng.integers(4)]
    other = size if chosen is not None else other
    values = np.where(rng.random((size, other)) < 0.2, -np.inf, rng.normal(size=(size, other)))
    made = FactorBlock([[0, 1]], (size, other), values=values, space="log") if chosen is None else None
    block = made or FactorBlock([[0, 1]], (size, size), values=chosen)
    wiring = Wiring.of(Problem(Universe([ss.Discrete("a", size), ss.Discrete("b", other)]), (block,)))
    table = wiring.table(0)
    for s, cards in ((0, (size, other)), (1, (other, size))):
        h = np.where(rng.random(cards[0]) < 0.2, -np.inf, rng.normal(size=cards[0]))
        out = np.zeros(cards[1] + 2)
        pair_maxima(wiring.wires, 0, s, h, out, 1)
        expected = (h[:, None] + (table if s == 0 else table.T)).max(axis=0)
        np.testing.assert_allclose(out[1:-1], expected, atol=1e-12)
        assert out[0] == out[-1] == 0.0


@in_blocks("seed", range(60))
def test_envelopes_of_parabolas_are_maxima_over_all_pairs(seed):
    rng = np.random.default_rng(seed)
    size, weight = int(rng.integers(1, 40)), float(np.exp(rng.normal(0, 3)))
    h = rng.integers(-5, 6, size).astype(float) if seed % 2 else rng.normal(0, np.exp(rng.normal(0, 3)), size)
    h = np.where(rng.random(size) < 0.3 * (seed % 3), -np.inf, h)
    out = np.full(size + 2, 7.0)
    quadratic_maxima(h, size, weight, out, 1)
    x = np.arange(size)
    expected = (h[:, None] - weight * (x[:, None] - x) ** 2).max(axis=0)
    np.testing.assert_allclose(out[1:-1], expected, rtol=1e-12, atol=1e-9)
    assert out[0] == out[-1] == 7.0


@pytest.mark.parametrize("size", range(10))
def test_the_largest_of_any_number(size):
    values = np.array([9.0, *np.random.default_rng(size).normal(size=size), 9.0])
    assert largest(values[1 : 1 + size]) == max(values[1:-1], default=-np.inf)
