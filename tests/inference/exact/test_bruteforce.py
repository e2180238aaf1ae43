"""The whole joint as one factor: limits and what it answers by itself."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import sepset as ss
from sepset.variables.evidence import Evidence, resolve

A, B, C = ss.Discrete("a", 2), ss.Discrete("b", 3), ss.Discrete("c", 2)


def test_the_joint_covers_isolated_variables_and_leaves_out_observed_ones():
    model = ss.MarkovNet(ss.Table((A, B), np.arange(6.0)), variables=[A, B, C])
    joint = ss.inference.BruteForce().prepare(model.problem()).joint(resolve({"b": 1}, model.variables))
    assert {v.name for v in joint.scope} == {"a", "c"}
    np.testing.assert_array_equal(joint.align(["a", "c"]).values, [[1.0, 1.0], [4.0, 4.0]])


def test_large_models_are_refused_before_anything_is_allocated():
    model = ss.MarkovNet(variables=[ss.Discrete(f"v{i}", 10) for i in range(40)])
    prepared = ss.inference.BruteForce().prepare(model.problem())
    tracemalloc.start()
    with pytest.raises(
        ss.TooLarge, match=r"over 40 variables would list 10\^40\.0 joint states; the limit is 16,777,216"
    ):
        prepared.log_partition(Evidence())
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_its_plan_says_what_elimination_would_cost():
    model = ss.MarkovNet(ss.Table((A, B), np.ones((2, 3))), ss.Table((B, C), np.ones((3, 2))))
    assert ss.plan(model, method=ss.inference.BruteForce()).width == 1


def test_a_measure_that_is_zero_everywhere_has_no_best():
    model = ss.MarkovNet(ss.Table(A, [0.0, 0.0]))
    prepared = ss.inference.BruteForce().prepare(model.problem())
    assert prepared.best(Evidence(), [0]).log_value == -np.inf
