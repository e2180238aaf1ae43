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


def test_only_the_columns_of_the_question_are_read():
    """Other kinds of columns, and missing cells elsewhere, are no matter; weights count as copies."""
    rng = np.random.default_rng(3)
    rows = ROWS.assign(u=rng.normal(size=90), v=rng.normal(size=90), weight=rng.integers(0, 3, 90))
    rows.loc[:4, "z"] = None
    found = independence_test(rows, between=("u", "v"), test=ss.structure.FisherZ(), weights="weight")
    copies = rows.loc[rows.index.repeat(rows["weight"])]
    r = np.corrcoef(copies["u"], copies["v"])[0, 1]
    assert found.statistic == pytest.approx(np.arctanh(r) * np.sqrt(len(copies) - 3))
    assert independence_test(rows, between=("x", "y")).num_rows == 90
    with pytest.raises(ss.SepsetError, match="'z' misses 5 cells"):
        independence_test(rows, between=("x", "z"))
    seen = independence_test(rows, between=("x", "z"), missing="available")
    assert seen.statistic == pytest.approx(independence_test(rows.iloc[5:], between=("x", "z")).statistic)
    known = independence_test(rows, between=("x", "y"), variables=[ss.Discrete("y", ("0", "1", "2", "3"))])
    assert known.statistic == pytest.approx(independence_test(rows, between=("x", "y")).statistic)
