from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, strategies as st

from sepset.errors import FileFormatError
from sepset.io.cursor import JsonSource
from sepset.io.jsonvariables import (
    VariableReader,
    continuous_all,
    discrete_all,
    found,
    read_state,
    state_document,
    variable_document,
)
from sepset.variables.array import VariableArray
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real, Vector
from support.strategies import DOMAINS, names

STATES = st.sampled_from(DOMAINS) | st.lists(
    st.text() | st.booleans() | st.integers() | st.floats(allow_nan=False), min_size=1, max_size=4, unique=True
).map(tuple)
INDEX = st.lists(st.integers(0, 5), max_size=2).map(tuple)
LAG = st.integers(-2, 3)


def cursor(document):
    return JsonSource(json.dumps(document), "f.json").root()


def back(variable):
    return VariableReader().part(cursor(variable_document(variable)))


@given(names(), STATES, INDEX, LAG, st.sampled_from(["", "max 1"]))
def test_discrete_variables_come_back_with_their_types(name, states, index, lag, part):
    variable = Discrete(name, states, index=index, lag=lag, part=part)
    assert back(variable) == variable
    assert [type(s) for s in back(variable).states] == [type(s) for s in states]


@given(names(), INDEX, LAG, st.integers(1, 4))
def test_continuous_variables_come_back(name, index, lag, size):
    assert back(Real(name, index=index, lag=lag)) == Real(name, index=index, lag=lag)
    assert type(back(Real(name))) is Real
    assert back(Vector(name, size, index=index, lag=lag)) == Vector(name, size, index=index, lag=lag)


@given(names(), st.lists(st.integers(0, 4), min_size=1, max_size=3), STATES)
def test_arrays_come_back(name, shape, states):
    assert back(VariableArray(name, shape, states=states)) == VariableArray(name, shape, states=states)


@given(st.text() | st.booleans() | st.integers() | st.floats(allow_nan=False))
def test_states_come_back(state):
    again = read_state(cursor(state_document(state)))
    assert again == state
    assert type(again) is type(state)


def test_counted_states_are_short():
    assert variable_document(Discrete("a", 3)) == {"name": "a", "states": 3}
    assert variable_document(Discrete("a", (False, True)))["states"] == [False, True]
    assert state_document(-math.inf) == {"float": "-inf"}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"states": 2}, "expected the key 'name'"),
        ({"name": "", "states": 2}, "non-empty string"),
        ({"name": "a"}, "expected the key 'states'"),
        ({"name": "a", "states": 0}, "at least 1"),
        ({"name": "a", "states": True}, "expected a list"),
        ({"name": "a", "states": []}, "no states"),
        ({"name": "a", "states": ["x", "x"]}, "twice"),
        ({"name": "a", "states": [None]}, "expected a state"),
        ({"name": "a", "states": [{"float": "nan"}]}, "expected 'inf' or '-inf'"),
        ({"name": "a", "states": 10**9}, "more states"),
        ({"name": "a", "kind": "array", "shape": [10**9], "states": 2}, "at most"),
        ({"name": "a", "kind": "array", "shape": [10**6, 10**6, 10**6, 10**6], "states": 2}, "at most"),
        ({"name": "a", "kind": "array", "shape": [-1], "states": 2}, "at least 0"),
        ({"name": "a", "kind": "vector", "size": 0}, "at least 1"),
        ({"name": "a", "kind": "tensor"}, "expected discrete, array, real or vector"),
        ({"name": "a", "states": 2, "color": 1}, "unknown key"),
        ({"name": "a", "states": 2, "lag": "1"}, "whole number"),
    ],
)
def test_what_is_refused(document, message):
    with pytest.raises(FileFormatError) as caught:
        VariableReader().part(cursor(document))
    assert message in str(caught.value)


def test_limits_hold_for_the_whole_file():
    reader = VariableReader()
    for i in range(4):
        reader.part(cursor({"name": f"a{i}", "states": 1 << 16}))
    with pytest.raises(FileFormatError, match="more states"):
        reader.part(cursor({"name": "b", "states": 1}))


def test_references_by_name():
    known = Universe([Discrete("a"), Real("x"), VariableArray("p", (2, 2))])
    assert found(cursor("p[1,0]"), known) == Discrete("p", 2, index=(1, 0))
    assert discrete_all(cursor(["a"]), known) == (Discrete("a"),)
    assert continuous_all(cursor(["x"]), known) == (Real("x"),)
    for read, names_ in ((discrete_all, ["x"]), (continuous_all, ["a"]), (discrete_all, ["b"]), (discrete_all, [1])):
        with pytest.raises(FileFormatError):
            read(cursor(names_), known)
