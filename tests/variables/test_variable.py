import pickle
from enum import Enum, IntEnum, StrEnum

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.errors import ModelError, StateError
from sepset.variables.variable import (
    Discrete,
    Domain,
    Real,
    Vector,
    check_name,
    display_name,
    plain,
    short_states,
)

state = st.text(max_size=3) | st.integers(-3, 3) | st.booleans() | st.floats(allow_nan=False)
names = st.text(min_size=1, max_size=5)


def distinct(states) -> bool:
    return len(set(states)) == len(states)


state_lists = st.lists(state, min_size=1, max_size=5).filter(distinct)


@given(names, state_lists)
def test_codes_and_states_are_inverse(name, states):
    variable = Discrete(name, states)
    assert variable.states == tuple(states)
    assert variable.num_states == len(states)
    assert [variable.code(s) for s in states] == list(range(len(states)))
    found = [variable.state(code) for code in range(len(states))]
    assert [type(s) for s in found] == [type(s) for s in states]


@given(names, state_lists)
def test_pickling_keeps_value_hash_and_types(name, states):
    for variable in (Discrete(name, states), Discrete(name, states, index=(1, 2), lag=1), Real(name), Vector(name, 3)):
        back = pickle.loads(pickle.dumps(variable))
        assert back == variable
        assert hash(back) == hash(variable)
        assert type(back) is type(variable)
        assert repr(back) == repr(variable)
    domain = Discrete(name, states).domain
    assert pickle.loads(pickle.dumps(domain)) == domain


def test_states_are_told_apart_by_type():
    truth, bits, floats = Discrete("x", (False, True)), Discrete("x", (0, 1)), Discrete("x", (0.0, 1.0))
    assert truth != bits
    assert bits != floats
    assert len({truth, bits, floats, Discrete("x", 2)}) == 3
    assert bits.code(1.0) == bits.code(np.int8(1)) == bits.code(np.float32(1)) == 1
    assert truth.code(np.bool_(True)) == 1
    for variable, wrong in ((bits, True), (truth, 1), (bits, "1"), (Discrete("x", ("0", "1")), 1)):
        with pytest.raises(StateError, match=r"Unknown state .* for x; states are"):
            variable.code(wrong)
        assert variable.domain.find(wrong) is None


def test_unknown_states():
    grade = Discrete("grade", ("low", "high"))
    with pytest.raises(
        StateError, match=r"Unknown state 'hgih' for grade; states are 'low', 'high'. Did you mean 'high'\?"
    ):
        grade.code("hgih")
    for strange in ([1], {}, None, object()):
        with pytest.raises(StateError, match="Unknown state"):
            grade.code(strange)
    for code in (-1, 2):
        with pytest.raises(StateError, match=f"codes 0 to 1; found {code}"):
            grade.state(code)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ((), "no states"),
        (0, "number of states of x is a whole number of at least 1, or give the states themselves"),
        (-1, "at least 1, or give the states themselves; found -1"),
        (True, "at least 1, or give the states themselves; found True"),
        (("a", "b", "a"), "'a' twice"),
        ((1, True), "True twice"),
        ((1, 1.0), "1.0 twice"),
        ((float("nan"), 1.0), "NaN among its states"),
        ((None,), r"None \(NoneType\)"),
        (((1, 2),), "States are strings"),
    ],
)
def test_bad_states_are_refused(states, message):
    with pytest.raises(ModelError, match=message):
        Discrete("x", states)


def test_ways_to_give_states():
    assert Discrete("x").states == (0, 1)
    assert Discrete("x", np.int64(3)).states == (0, 1, 2)
    assert Discrete("x", np.array([2, 5])).states == (2, 5)
    assert [type(s) for s in Discrete("x", np.array([2, 5])).states] == [int, int]
    assert Discrete("x", (s for s in "ab")).states == ("a", "b")
    assert Discrete("x", ("one",)).num_states == 1
    assert Discrete("x", Discrete("y", "ab").domain) == Discrete("x", ("a", "b"))


@pytest.mark.parametrize("name", ["", None, 3, b"x"])
def test_bad_names_are_refused(name):
    for make in (lambda: Discrete(name), lambda: Real(name), lambda: Vector(name, 2), lambda: check_name(name)):
        with pytest.raises(ModelError, match="non-empty string"):
            make()


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2"])
def test_bad_dimensions_are_refused(size):
    with pytest.raises(ModelError, match="The dimension of 'p' is a whole number of at least 1"):
        Vector("p", size)


def test_slices():
    rain = Discrete("rain", ("no", "yes"))
    assert rain.prev == rain.at_lag(1)
    assert rain.prev.prev.name == "rain[t-2]"
    assert rain.prev.at_lag(0) == rain
    assert rain != rain.prev
    assert rain.at_lag(-1).name == "rain[t+1]"
    assert isinstance(Real("x").prev, Real)
    assert Vector("p", 2).prev == Vector("p", 2, lag=1)
    assert Discrete("x", index=(0, 3)).prev.name == "x[0,3][t-1]"


def test_names_are_structured_not_parsed():
    element, lookalike = Discrete("x", index=(3,)), Discrete("x[3]")
    assert element.name == lookalike.name
    assert element != lookalike
    assert display_name("x") == "x"


def test_kinds():
    discrete, real, vector = Discrete("x"), Real("x"), Vector("x", 1)
    assert (discrete.is_discrete, real.is_discrete, vector.is_discrete) == (True, False, False)
    assert len({discrete, real, vector}) == 3
    assert real.size == 1


@pytest.mark.parametrize("variable", [Discrete("x"), Real("x"), Vector("x", 2)], ids=repr)
def test_immutable(variable):
    for name in ("name", "base", "lag", "domain", "new"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(variable, name, "y")
    with pytest.raises(AttributeError, match="immutable"):
        del variable.name


def test_reprs():
    assert repr(Discrete("x", 9)) == "Discrete('x', (0, 1, 2, ..., 8))"
    assert repr(Discrete("x", ("a",))) == "Discrete('x', ('a',))"
    assert short_states(tuple(range(6))) == "(0, 1, 2, 3, 4, 5)"
    assert repr(Domain.of(2, "x")) == "Domain(states=(0, 1))"


def test_plain():
    assert [type(plain(v)) for v in (np.int8(1), np.bool_(True), np.str_("a"), 2.5)] == [int, bool, str, float]


def test_equality_with_other_things():
    assert Discrete("x") != "x"
    assert Discrete("x").domain != (0, 1)
    assert Discrete("x") != Discrete("x", 3)


def test_members_of_enums_are_the_texts_and_numbers_they_hold():
    color, size = StrEnum("Color", ["RED", "BLUE"]), IntEnum("Size", ["SMALL", "LARGE"])
    mixed = Enum("Mixed", {"RED": "red"}, type=str)
    assert Discrete("x", color).states == ("red", "blue")
    assert Discrete("x", size).states == (1, 2)
    assert [type(state) for state in (*Discrete("x", color).states, *Discrete("x", size).states)] == [str] * 2 + [
        int
    ] * 2
    assert Discrete("x", color) == Discrete("x", ("red", "blue"))
    assert Discrete("x", size).code(size.LARGE) == Discrete("x", ("no", 2)).code(size.LARGE) == 1
    assert Discrete("x", ("red", "blue")).code(mixed.RED) == 0
    assert plain(mixed.RED) == "red"
    assert type(plain(mixed.RED)) is str
    with pytest.raises(ModelError, match="States are strings, ints, bools or floats"):
        Discrete("x", Enum("Plain", ["A", "B"]))
