"""Alternating directions: projections, and the dual of the linear program."""

import numpy as np
import pytest

from sepset.inference.map.dual import bound_of
from sepset.inference.map.relaxation.admm import Multipliers, simplex
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import local_polytope, random_binary


@in_blocks("seed", range(20))
def test_projections_are_nearest_points(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(0, 2, size=(3, 4))
    points[0, 1] = -np.inf
    found = simplex(points)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (found >= 0.0).all()
    assert found[0, 1] == 0.0
    others = rng.dirichlet(np.ones(4), size=200)
    for row, point in zip(found[1:], points[1:], strict=True):
        assert ((point - row) ** 2).sum() <= ((point - others) ** 2).sum(axis=1).min() + 1e-12


@in_blocks("seed", range(8))
def test_the_bound_arrives_at_the_linear_program(seed):
    wiring = Wiring.of(random_binary(np.random.default_rng(seed), one_state=0.0))
    method = Multipliers.of(wiring)
    state, best = method.start(), np.inf
    for _ in range(200):
        state = method.stepped(state)
        best = min(best, bound_of(wiring, state.copy))
    assert best == pytest.approx(local_polytope(wiring), abs=1e-3)
    assert best >= local_polytope(wiring) - 1e-7
