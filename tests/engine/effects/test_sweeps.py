"""Rounding of derivatives, the factors that matter, and findings about the target's own state."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sepset as ss
from sepset.engine.effects.parametereffects import ROUNDING
from sepset.engine.effects.sweeps import Sweeps, with_state
from sepset.inference.compiled.gradients import Gradient
from sepset.variables.evidence import Evidence


def test_the_posterior_is_the_share_of_the_part_and_logarithms_cost_digits():
    near = Sweeps(Gradient(math.log(0.25), {}), Gradient(math.log(0.5), {}))
    assert near.posterior == pytest.approx(0.5, rel=1e-15)
    far = Sweeps(Gradient(-1000.0, {}), Gradient(-1000.0, {}))
    assert far.posterior == 1.0
    assert far.rounding > 100 * near.rounding >= 100 * ROUNDING
    assert Sweeps(Gradient(-math.inf, {}), Gradient(0.0, {})).posterior == 0.0


def test_factors_that_matter():
    some = Sweeps(Gradient(0.0, {}), Gradient(0.0, {}), needed=frozenset({1, 2}))
    assert some.is_needed([0, 1])
    assert not some.is_needed([0, 3])
    assert not some.is_needed([])
    assert Sweeps(Gradient(0.0, {}), Gradient(0.0, {})).is_needed([0])


def test_derivatives_are_relative_to_the_whole():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    problem = ss.prepare(ss.MarkovNet(ss.Table(a, [1.0, 3.0]), ss.Table(b, [1.0, 1.0]))).prepared.problem
    part, whole = Gradient(0.0, {0: (np.array([0.0, 2.0]), 0.0)}), Gradient(math.log(8.0), {})
    first, second = Sweeps(part, whole).relative(problem, 0)
    np.testing.assert_allclose(first, [0.0, 0.25], rtol=1e-15)
    np.testing.assert_array_equal(second, [0.0, 0.0])


def test_a_state_of_the_target_leaves_its_likelihood():
    a = ss.Discrete("a", ("x", "y", "z"))
    told = with_state(Evidence({1: 0}, {}), 0, a, "y")
    assert (told.codes, told.weights[0].tolist()) == ({1: 0}, [0.0, 1.0, 0.0])
    weighed = Evidence({}, {0: np.array([0.5, 0.25, 0.0])})
    assert with_state(weighed, 0, a, "y").weights[0].tolist() == [0.0, 0.25, 0.0]
    assert with_state(weighed, 0, a, None).weights[0].tolist() == [0.5, 0.25, 0.0]
    assert with_state(Evidence({}, {}), 0, a, None).weights[0].tolist() == [1.0, 1.0, 1.0]
