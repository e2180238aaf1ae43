"""The kernel of sweeps against the same draws written out."""

from __future__ import annotations

import numpy as np

import sepset as ss
from sepset.base.threads import NEVER
from sepset.kernels.structure.pseudogibbs import sweep
from sepset.learning.structure.dependency.flattrees import FlatTrees
from sepset.variables.universe import Universe


def test_draws_are_those_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 3)
    first, second = rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(3), 2)
    trees = FlatTrees.of((ss.TableCPD(a, first, given=b), ss.TableCPD(b, second, given=a)), Universe([a, b]))
    assert trees is not None
    uniforms = rng.random((50, 2))
    codes, sums, joint = np.array([1, 2]), np.zeros(5), np.zeros(50, np.int64)
    sweep(codes, np.array([0, 1]), *trees, uniforms, np.array([0, 2, 5]), sums, np.array([1, 0]), joint, NEVER)
    x, y, expected, places = 1, 2, np.zeros(5), []
    for u in uniforms:
        expected[:2] += first[y]
        x = int(np.searchsorted(np.cumsum(first[y]), u[0], side="right"))
        expected[2:] += second[x]
        y = int(np.searchsorted(np.cumsum(second[x]), u[1], side="right"))
        places.append(2 * y + x)
    assert joint.tolist() == places
    assert codes.tolist() == [x, y]
    np.testing.assert_allclose(sums, expected)
