"""Variables matched by name: positions and codes in one list, found from another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.errors import ScopeError
from sepset.variables.matching import Match, state_codes, state_order
from sepset.variables.variable import Discrete, Real, Vector

A, B, ONE = Discrete("a", ("x", "y")), Discrete("b", (0, 1, 2)), Discrete("one", 1)


def test_entries_are_found_state_by_state():
    wanted = (Discrete("b", (2, 0, 1)), ONE, Discrete("a", ("y", "x")))
    joint = {states: place for place, states in enumerate(itertools.product(A.states, B.states, ONE.states))}
    expected = [joint[a, b, one] for b, one, a in itertools.product(*(v.states for v in wanted))]
    assert Match.of((A, B, ONE), wanted).entries.tolist() == expected


def test_no_variables_have_one_joint_state():
    assert Match.of((), ()).entries.tolist() == [0]


def test_codes_and_orders_undo_each_other():
    moved = Discrete("b", (2, 0, 1))
    assert state_order(B, moved).tolist() == [2, 0, 1]
    assert state_codes(B, moved)[state_order(B, moved)].tolist() == [0, 1, 2]


def test_reals_have_a_place_and_no_states():
    found = Match.of((Real("r"), A), (A, Real("r")))
    assert found.axes == (1, 0)
    assert found.entries.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("own", "wanted", "named"),
    [
        ((A,), (B,), "'[ab]'"),
        ((A, B), (A,), "'b'"),
        ((A,), (Discrete("a", ("x", "z")),), "different variables"),
        ((A,), (Discrete("a", ("x", "y", "z")),), "different variables"),
        ((A,), (Real("a"),), "different variables"),
        ((Vector("p", 2),), (Vector("p", 3),), "different variables"),
    ],
)
def test_what_does_not_match_is_refused(own, wanted, named):
    with pytest.raises(ScopeError, match=named):
        Match.of(own, wanted)


def test_numbers_are_states_whatever_their_type():
    assert state_order(Discrete("n", (0, 1)), Discrete("n", (1.0, 0.0))).tolist() == [1, 0]
    with pytest.raises(ScopeError):
        state_order(Discrete("n", (0, 1)), Discrete("n", (False, True)))


def test_the_match_is_read_only_data():
    assert all(isinstance(order, np.ndarray) for order in Match.of((A, B), (B, A)).orders)
