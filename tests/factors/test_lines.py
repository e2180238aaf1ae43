"""Lines of variables: places first, names for the rest."""

from __future__ import annotations

import pickle

from hypothesis import given, strategies as st

from sepset.factors.lines import BY_NAME, Line, by_name
from sepset.variables.variable import Discrete


def test_names_go_by_their_numbers():
    names = ["x10", "x9", "x", "a2b10", "a2b9", "a02b1", "x009", str(10**30), "7"]
    assert sorted(names, key=by_name) == ["7", str(10**30), "a02b1", "a2b9", "a2b10", "x", "x009", "x9", "x10"]
    assert BY_NAME.order([Discrete(name) for name in ("c10", "c2", "b")]) == [2, 1, 0]


@given(st.permutations(["a", "b", "c", "d", "e"]), st.integers(0, 5), st.permutations(["a", "b", "c", "d", "e"]))
def test_variables_with_places_come_first_whatever_the_listing(placed, number, listed):
    line = Line({name: i for i, name in enumerate(placed[:number])})
    found = [listed[i] for i in line.order([Discrete(name) for name in listed])]
    assert found == [*placed[:number], *sorted(placed[number:])]


def test_a_line_without_places_is_false_and_copies_are_equal():
    assert not BY_NAME
    assert Line({"a": 0})
    assert pickle.loads(pickle.dumps(Line({"a": 0}))) == Line({"a": 0})
    assert BY_NAME.order([]) == []
