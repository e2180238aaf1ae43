"""The public question: order, names, display, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.errors import ArgumentError, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.structure.independence.discrete import G, Pearson
from sepset.learning.structure.independence.independencetest import independence_test
from sepset.learning.structure.independence.mixedtest import ConditionalGaussianTest

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame({"x": RNG.integers(0, 2, 90), "y": RNG.integers(0, 3, 90), "z": RNG.integers(0, 2, 90)}).astype(str)


@pytest.mark.parametrize("test", [G(), Pearson(), ConditionalGaussianTest()])
def test_the_answer_does_not_depend_on_the_order(test):
    one = independence_test(ROWS, between=("x", "y"), given="z", test=test)
    for data in (ROWS[["z", "y", "x"]], ROWS.iloc[::-1], ROWS.replace({"0": "b", "1": "a"})):
        for between in (("x", "y"), ("y", "x")):
            other = independence_test(data, between=between, given=["z"], test=test)
            assert other.statistic == pytest.approx(one.statistic)
            assert other.degrees_of_freedom == one.degrees_of_freedom


def test_sets_of_variables_are_their_joint_states():
    joint = ROWS.assign(xz=ROWS["x"] + ROWS["z"])
    one = independence_test(ROWS, between=(["x", "z"], "y"))
    other = independence_test(joint, between=("xz", "y"))
    assert one.statistic == pytest.approx(other.statistic)
    assert one.degrees_of_freedom == other.degrees_of_freedom
    assert one.between == (("x", "z"), ("y",))


def test_it_is_shown():
    found = independence_test(ROWS, between=("x", "y"), given="z")
    text = str(found)
    assert "x ⊥ y | z" in text
    assert "at level 0.05" in text
    assert found.num_rows == 90
    assert found.is_independent == (found.p_value > 0.05)
    few = independence_test(ROWS.iloc[:10], between=("x", "y"))
    assert "fewer than 5 rows" in str(few)


def test_it_is_public():
    assert ss.structure.independence_test is independence_test
    assert ss.structure.G is G


@pytest.mark.parametrize("between", ["xy", ("x",), ("x", "y", "z"), ("x", [])])
def test_two_sets_are_wanted(between):
    with pytest.raises(ArgumentError, match="between="):
        independence_test(ROWS, between=between)


def test_refusals():
    with pytest.raises(ScopeError, match="two of them"):
        independence_test(ROWS, between=("x", "y"), given="x")
    with pytest.raises(ScopeError, match="'q'"):
        independence_test(ROWS, between=("x", "q"))
    with pytest.raises(ArgumentError, match="level"):
        independence_test(ROWS, between=("x", "y"), level=1.0)
    with pytest.raises(ArgumentError, match="rows"):
        independence_test(None, between=("x", "y"))
    with pytest.raises(ss.SepsetError):
        independence_test(DAG.parse("A -> B"), between=("x", "y"))
