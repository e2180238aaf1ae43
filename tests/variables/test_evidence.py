"""Evidence resolved into codes and weights; what it refuses, and how it says so."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sepset as ss
from sepset.errors import ScopeError, StateError
from sepset.variables.evidence import Evidence, Likelihood, Not, Soft, is_missing, real_value, resolve
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real, Vector

GRADE = Discrete("grade", ("A", "B", "C"))
COUNT = Discrete("count", (0, 1, 2))
FLAG = Discrete("flag", (False, True))
VARIABLES = Universe([GRADE, COUNT, FLAG, Real("x"), Vector("p", 2), Discrete.array("pixel", (2, 2))])


def test_bare_values_are_states_never_indices():
    found = resolve({"grade": "B", COUNT: 2, "flag": True, "pixel[1,0]": 1}, VARIABLES)
    assert found.codes == {0: 1, 1: 2, 2: 1, 7: 1}
    with pytest.raises(StateError, match="Unknown state 1 for grade"):
        resolve({"grade": 1}, VARIABLES)
    with pytest.raises(StateError):
        resolve({"flag": 1}, VARIABLES)
    with pytest.raises(StateError):
        resolve({"count": True}, VARIABLES)
    assert resolve({"count": np.int64(2), "flag": np.bool_(True), "grade": np.str_("C")}, VARIABLES).codes == {
        1: 2,
        2: 1,
        0: 2,
    }
    assert resolve({"count": 2.0}, VARIABLES).codes == {1: 2}


def test_subsets_and_exclusions():
    found = resolve({"grade": {"A", "C"}}, VARIABLES)
    assert found.weights[0].tolist() == [1, 0, 1]
    assert found.codes == {}
    assert resolve({"grade": Not("B")}, VARIABLES).weights[0].tolist() == [1, 0, 1]
    assert resolve({"grade": Not("B", "C")}, VARIABLES).codes == {0: 0}
    assert resolve({"grade": frozenset({"C"})}, VARIABLES).codes == {0: 2}
    assert not resolve({"grade": {"A", "B", "C"}}, VARIABLES)


def test_likelihoods_keep_their_size():
    found = resolve({"grade": Likelihood([0.5, 0, 2]), "count": Likelihood({1: 3.0})}, VARIABLES)
    assert found.weights[0].tolist() == [0.5, 0, 2]
    assert found.weights[1].tolist() == [0, 3, 0]
    assert found.codes == {}
    assert not resolve({"grade": Likelihood([1, 1, 1])}, VARIABLES)
    assert Likelihood(np.array([0.5, 1.0])).weights == (0.5, 1.0)


def test_soft_evidence_sums_to_one():
    found = resolve({"grade": Soft([0.2, 0.3, 0.5]), "flag": Soft({True: 1.0})}, VARIABLES)
    assert found.soft[0].tolist() == [0.2, 0.3, 0.5]
    assert found.soft[2].tolist() == [0, 1]
    almost = resolve({"flag": Soft([0.5, 0.5 + 1e-8])}, VARIABLES).soft[2]
    assert almost.sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(StateError, match=r"sums to 0\.9"):
        resolve({"flag": Soft([0.5, 0.4])}, VARIABLES)


def test_continuous_findings():
    found = resolve({"x": 3, "p": [1.0, 2.0]}, VARIABLES)
    assert found.reals[3].tolist() == [3.0]
    assert found.reals[4].tolist() == [1.0, 2.0]
    for bad in ({"x": "high"}, {"x": [1, 2]}, {"p": 1.0}, {"x": math.inf}, {"p": [1.0, math.nan]}):
        with pytest.raises(StateError):
            resolve(bad, VARIABLES)
    assert real_value(Real("r"), np.float32(0.5)).tolist() == [0.5]


@pytest.mark.parametrize("missing", [None, math.nan, np.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_missing_means_unobserved(missing):
    assert is_missing(missing)
    assert not resolve({"grade": missing, "x": missing}, VARIABLES)


@pytest.mark.parametrize("present", [0, "", False, "nan", 0.0, (), np.array([math.nan])])
def test_other_values_are_present(present):
    assert not is_missing(present)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"grad": "A"}, ScopeError, "Did you mean 'grade'"),
        ({"grade": "a"}, StateError, "Did you mean 'A'"),
        ({"grade": {"A", "D"}}, StateError, "Unknown state 'D'"),
        ({"grade": ["A", "B"]}, StateError, "a sequence"),
        ({"grade": ("A",)}, StateError, "a sequence"),
        ({"grade": np.array([1, 0, 0])}, StateError, "a sequence"),
        ({"grade": set()}, StateError, "leaves no state"),
        ({"grade": Not("A", "B", "C")}, StateError, "leaves no state"),
        ({"grade": Not("Z")}, StateError, "Unknown state 'Z'"),
        ({"grade": Likelihood([1, 2])}, StateError, "has 2 weights; it has 3 states"),
        ({"grade": Likelihood([0, 0, 0])}, StateError, "not all zero"),
        ({"grade": Likelihood([-1, 1, 1])}, StateError, ">= 0"),
        ({"grade": Likelihood([math.nan, 1, 1])}, StateError, "finite"),
        ({"grade": Soft({"Z": 1.0})}, StateError, "Unknown state 'Z'"),
        ({"grade": "A", GRADE: "B"}, ScopeError, "appears twice"),
        ({Discrete("grade", 2): 0}, ScopeError, "share one name"),
        ({"pixel[5,5]": 0}, ScopeError, "Unknown variable"),
        ({"grade": {}}, StateError, "Unknown state"),
        ([("grade", "A")], ScopeError, "mapping"),
    ],
)
def test_refusals(given, error, message):
    with pytest.raises(error, match=message):
        resolve(given, VARIABLES)


def test_not_needs_a_state():
    with pytest.raises(StateError, match="no state"):
        Not()


def test_no_evidence():
    for given in (None, {}):
        found = resolve(given, VARIABLES)
        assert not found
        assert found.observed == found.touched == ()
    assert found.codes == {}


def test_observed_and_touched_are_in_order():
    found = resolve({"x": 1.0, "flag": {True}, "count": Likelihood([1, 2, 3]), "grade": Soft([1, 0, 0])}, VARIABLES)
    assert found.observed == (2, 3)
    assert found.touched == (0, 1, 2, 3)
    assert found


def test_findings_are_values():
    assert Not("A") == Not("A")
    assert Likelihood([1, 2]) == Likelihood((1.0, 2.0))
    assert Soft([0.5, 0.5]) != Soft([0.4, 0.6])
    with pytest.raises(AttributeError):
        Not("A").states = ()
    for finding in (Not("A", "B"), Likelihood([1, 2]), Soft({"A": 1.0}), Evidence({0: 1})):
        assert pickle.loads(pickle.dumps(finding)) == finding


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_a_frame_of_one_row_is_evidence(make):
    net = ss.datasets.load("asia")
    row = make({"smoke": ["no"], "xray": ["yes"], "dysp": [None]})
    expected = ss.query(net, "lung", given={"xray": "yes", "smoke": "no"})["yes"]
    assert ss.query(net, "lung", given=row)["yes"] == expected
    assert ss.prepare(net).observe(row).marginals()["lung"]["yes"] == pytest.approx(expected, abs=1e-15)
    with pytest.raises(ss.SepsetError, match=r"Evidence is one row; found a frame of 2 rows\. Use predict"):
        ss.query(net, "lung", given=make({"xray": ["yes", "no"]}))


def test_a_series_is_evidence_of_views_too():
    net = ss.datasets.load("asia")
    seen = ss.prepare(net).observe(pd.Series({"xray": "yes", "smoke": None}))
    assert dict(seen.given) == {"xray": "yes"}
    assert dict(seen.observe(pd.Series({"xray": None, "smoke": "no"})).given) == {"smoke": "no"}


def test_known_states_take_their_likelihoods_along():
    evidence = resolve({"grade": Likelihood([1e-200, 0.5, 0.0]), "count": Likelihood([1e-200, 1.0, 2.0])}, VARIABLES)
    told, log_weight = evidence.with_codes({0: 0, 1: 0, 2: 1})
    assert dict(told.codes) == {0: 0, 1: 0, 2: 1}
    assert dict(told.weights) == {}
    assert log_weight == pytest.approx(-400.0 * math.log(10.0))
    rest, log_weight = evidence.with_codes({1: 2})
    assert list(rest.weights) == [0]
    assert log_weight == pytest.approx(math.log(2.0))
    assert evidence.with_codes({0: 2})[1] == -math.inf
