import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.errors import ScopeError, SepsetError
from sepset.variables.evidence import resolve
from sepset.variables.universe import MANY, ExtendedUniverse, Universe
from sepset.variables.variable import Discrete, Real, Vector

a, b, r = Discrete("a", 3), Discrete("b/c d", ("x", "y")), Real("r")
x = Discrete.array("x", (2, 3))
everyone = Universe([a, x, b, Vector("v", 2), r])


def test_order_names_and_cards():
    assert len(everyone) == 10
    assert everyone.names == ("a", *(v.name for v in x), "b/c d", "v", "r")
    assert everyone.cards.tolist() == [3, 2, 2, 2, 2, 2, 2, 2, 0, 0]
    assert not everyone.cards.flags.writeable
    assert list(everyone) == [a, *x, b, Vector("v", 2), r]
    assert list(everyone) == [everyone[i] for i in range(10)] == [*everyone[:]]
    assert everyone[-1] == r
    assert everyone[1:3] == (x[0, 0], x[0, 1])


def test_lookup_by_name_value_and_position():
    for place, variable in enumerate(everyone):
        assert everyone.id(variable) == everyone.id(variable.name) == place
        assert everyone[variable.name] == everyone[variable] == variable
        assert variable in everyone
    assert everyone.ids(["r", a, x[1, 2]]).tolist() == [9, 0, 6]
    assert everyone.places([r, a, x[1, 2]]) == [9, 0, 6]
    assert everyone.array_offset(x) == 1
    assert everyone.ids([]).dtype == np.int64


@given(st.lists(st.sampled_from(["p", "q", "it's", 'a"b', "变量", "x[0]"]), unique=True))
def test_any_names(names):
    variables = Universe([Discrete(name) for name in names])
    assert variables.names == tuple(names)
    assert variables.ids(names).tolist() == list(range(len(names)))
    assert (
        variables.places(variables) == variables.places([Discrete(name) for name in names]) == list(range(len(names)))
    )
    assert variables == Universe([Discrete(name) for name in names])
    assert hash(variables) == hash(Universe([Discrete(name) for name in names]))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("aa", r"Unknown variable 'aa'. Did you mean 'a'\?"),
        ("x[2,0]", r"Unknown variable 'x\[2,0\]'"),
        ("x[0]", "Unknown variable"),
        ("x[a,b]", "Unknown variable"),
        (Discrete("zzz"), "Unknown variable 'zzz'"),
        (Discrete("a", 2), "share one name"),
        (Real("a"), "share one name"),
        (x[0, 0].prev, "Unknown variable"),
        (Discrete("x", 3, index=(0, 0)), "share one name"),
        (3.5, "A variable or its name was expected; found 3.5"),
    ],
)
def test_unknown_variables(asked, message):
    with pytest.raises(ScopeError, match=message):
        everyone.id(asked)


def test_unknown_in_an_empty_model():
    with pytest.raises(ScopeError, match="The model has no variables"):
        Universe().id("a")
    assert (len(Universe()), Universe().names, Universe().cards.tolist()) == (0, (), [])


def test_positions_outside():
    for place in (10, -11):
        with pytest.raises(IndexError, match="There are 10 variables"):
            everyone[place]
    with pytest.raises(ScopeError, match="Unknown array"):
        everyone.array_offset(Discrete.array("x", (3, 3)))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([a, a], "appears twice"),
        ([a, Discrete("a", 2)], "Two different variables share one name"),
        ([x, Discrete.array("x", (4,))], "Two arrays are named 'x'"),
        ([x, Discrete("x")], "names both a variable and an array"),
        ([x, Discrete("x[0,1]")], "names both a variable and an array"),
        (["a"], "A variable was expected; found 'a'"),
        ([x, x[0, 0]], "names both"),
    ],
)
def test_clashes_are_refused(parts, message):
    with pytest.raises(ScopeError, match=message):
        Universe(parts)


def test_union_keeps_the_first_order():
    assert Universe.union([a, x], [b, a], [x, r]).parts == (a, x, b, r)
    with pytest.raises(ScopeError, match="share one name"):
        Universe.union([a], [Discrete("a", 2)])
    with pytest.raises(ScopeError, match="share one name"):
        Universe.union([x], [Discrete.array("x", (3, 3))])
    assert len(Universe.union()) == 0


def test_single_elements_may_stand_without_their_array():
    some = Universe([x[0, 0], x[1, 2]])
    assert some.id("x[1,2]") == 1
    assert some.id(x[0, 0]) == 0


def test_slices_are_variables_of_their_own():
    both = Universe([a, a.prev])
    assert both.id("a[t-1]") == both.id(a.prev) == 1


def test_arrays_stay_lazy():
    wide = Universe([Discrete.array("pixel", (2000, 2000)), a])
    assert len(wide) == 4_000_001
    assert wide.id("pixel[1,0]") == 2000
    assert wide[4_000_000] == a
    assert "4000001" in repr(wide)


def test_comparison_and_repr():
    assert Universe([a]) != Universe([b])
    assert Universe([a]) != [a]
    assert repr(Universe([a, r])) == "Universe(2: 'a', 'r')"


def test_names_of_states_are_found_or_left_to_a_longer_look():
    variables = Universe([Discrete("g", ("A", 1)), Real("r"), Discrete("h", ("A", "B"))])
    assert resolve({"h": "B", "g": "A"}, variables).codes == {2: 1, 0: 0}
    assert resolve({"g": 1}, variables).codes == {0: 1}
    for name, state in [("g", "1"), ("r", "A"), ("x", "A"), ("h", "C")]:
        with pytest.raises(SepsetError):
            resolve({name: state}, variables)
    with_array = Universe([Discrete("h", ("A", "B")), Discrete.array("x", (2,), states=("A", "B"))])
    assert resolve({"h": "B", "x[0]": "B"}, with_array).codes == {0: 1, 1: 1}


def test_many_variables_are_found_by_identity_and_others_by_name():
    known = Universe([Discrete(f"v{i}") for i in range(MANY)])
    asked = [known[i] for i in np.random.default_rng(0).permutation(MANY).tolist()]
    asked[7] = Discrete(asked[7].name)  # equal, and another object
    assert known.found_places(asked).tolist() == known.places(asked)
    with pytest.raises(ScopeError, match="Unknown variable 'w'"):
        known.found_places([*asked, Discrete("w")])
    some = Universe([Discrete.array("x", (2, 2)), Discrete("y")])
    assert some.found_places([some[4], some[1]]).tolist() == [4, 1]


def test_hidden_variables_are_made_when_they_are_read():
    made = []

    def make():
        made.append(1)
        return [a.hidden("max 1", 3), a.hidden("max 2", 3)]

    more = ExtendedUniverse(Universe([a, b]), [3, 3], make, lambda i: a.hidden(f"max {i + 1}", 3))
    assert (len(more), more.cards.tolist(), more[1], more.id("a"), more.id(b), "a" in more) == (
        4,
        [3, 2, 3, 3],
        b,
        0,
        1,
        True,
    )
    assert more.all_discrete
    assert [more[2], more[3]] == [a.hidden("max 1", 3), a.hidden("max 2", 3)]
    assert not made
    whole = Universe([a, b, *make()])
    assert more == whole
    assert pickle.loads(pickle.dumps(more)) == whole
    assert [*more] == [*whole]
    assert more.names == whole.names
    assert more[-1] == whole[3] == more["a(max 2)"]
    assert more[1:3] == whole[1:3]
    assert more.places([*whole]) == [0, 1, 2, 3]
    assert len(made) == 2
    with pytest.raises(ScopeError, match="Unknown variable"):
        more.id("z")
    with pytest.raises(AttributeError):
        more.nothing


def test_elements_of_arrays_are_found_by_their_states():
    pixel, other = Discrete.array("x", (2, 3)), Discrete.array("x", (2, 3), states=("a", "b"))
    universe = Universe([Discrete("first"), pixel, Discrete("last")])
    assert [universe.id(v) for v in pixel] == list(range(1, 7))
    assert [universe.id(pixel.element(i).name) for i in range(6)] == list(range(1, 7))
    assert [universe[i] for i in range(1, 7)] == [pixel.element(i) for i in range(6)] == list(pixel)
    assert [hash(v) for v in pixel] == [hash(Discrete("x", index=v.index)) for v in pixel]
    assert other[1, 1] not in universe
    with pytest.raises(ScopeError, match="x"):
        universe.id(other[1, 1])
    with pytest.raises(ScopeError):
        universe.id(Vector("x", 1, index=(1, 1)))
