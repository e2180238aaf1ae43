"""The max-marginals of one factor are those of its table, for every kind."""

import numpy as np
import pytest

from sepset.factors.block import FactorBlock
from sepset.factors.potentials import AtLeastOne, Parity, Potts, TruncatedLinear, TruncatedQuadratic
from sepset.inference.wiring import Wiring
from sepset.kernels.map.mplp import max_marginals
from sepset.problem import Problem
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

KINDS = [
    ((3, 3), Potts(1.2)), ((3, 3), Potts(-0.5)), ((4, 4), TruncatedLinear(0.5, 1.5)), ((4, 4), TruncatedQuadratic(0.2)),
    ((2, 2, 2), Parity()), ((2, 2, 2, 2), AtLeastOne()), ((2, 3, 4), None), ((2, 1, 2, 3), None),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "kind"), KINDS)
def test_max_marginals_of_one_factor(shape, kind):
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = rng.gamma(1.0, size=shape) * (rng.random(shape) > 0.2)
        block = FactorBlock([list(range(len(shape)))], shape, values=values[None] if kind is None else kind)
        names = [Discrete(f"v{i}", c) for i, c in enumerate(shape)]
        wiring = Wiring.of(Problem(Universe(names), (block,)))
        h = rng.normal(size=sum(shape))
        h[rng.random(len(h)) < 0.2] = -np.inf
        out = np.empty(len(h))
        max_marginals(wiring.wires, 0, h, np.empty(4), np.empty(4, np.int64), out)
        total, parts = wiring.table(0), np.split(h, np.cumsum(shape)[:-1])
        for axis, part in enumerate(parts):
            total = total + np.expand_dims(part, [a for a in range(len(shape)) if a != axis])
        for axis, part in enumerate(np.split(out, np.cumsum(shape)[:-1])):
            others = tuple(a for a in range(len(shape)) if a != axis)
            np.testing.assert_allclose(part, total.max(axis=others))
