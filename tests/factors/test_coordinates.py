from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.errors import ModelError, ScopeError, StateError
from sepset.factors import coordinates as co
from sepset.variables.variable import Real, Vector
from support.random_forms import ONE, REALS, STATES, A, B, P, X, Y, some

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@given(seeds)
def test_entries_are_those_of_the_contained_state(rng):
    scope = some(rng, STATES)
    part = some(rng, scope)
    cells = list(itertools.product(*(range(v.num_states) for v in part)))
    found = co.entries(scope, part)
    for i, cell in enumerate(itertools.product(*(range(v.num_states) for v in scope))):
        inside = tuple(cell[scope.index(v)] for v in part)
        assert cells[found[i]] == inside


@given(seeds)
def test_places_follow_the_order_asked(rng):
    scope = some(rng, REALS)
    part = some(rng, scope)
    labels = [(v, i) for v in scope for i in range(v.size)]
    assert [labels[i] for i in co.places(scope, part)] == [(v, i) for v in part for i in range(v.size)]
    assert co.width(scope) == len(labels)


def test_columns_and_matrices_are_inverses():
    rng = np.random.default_rng(0)
    lone = Vector("lone", 1)
    values = rng.normal(size=(5, 4))
    split = co.columns((X, P, lone), values)
    assert [split[v].shape for v in (X, P, lone)] == [(5,), (5, 2), (5, 1)]
    np.testing.assert_array_equal(co.matrix((X, P, lone), split, 5), values)
    assert co.matrix((), {}, 5).shape == (5, 0)


def test_rows_of_codes_are_flat_entries():
    rows = {A: np.array([1, 0]), B: np.array([2, 1])}
    assert co.row_entries((A, B), rows, 2).tolist() == [5, 1]
    assert co.row_entries((), {}, 2).tolist() == [0, 0]


def test_states_read_in_scope_order():
    assert co.states_of((A, B, ONE), 5) == "a='v', b=2, one=0"
    assert co.states_of((), 0) == ""


def test_points_are_bare_for_one_variable():
    assert co.point((X,), np.array([2.5])) == 2.5
    assert co.point((P,), np.array([1.0, 2.0])).tolist() == [1, 2]
    assert co.point((X, Y), np.array([1.0, 2.0])) == {"x": 1.0, "y": 2.0}
    assert co.point((), np.empty(0)) == {}


def test_findings_come_in_scope_order():
    known, values = co.findings((X, P, Y), {"p": [1, 2], X: 3, "elsewhere": 1})
    assert known == (X, P)
    assert values.tolist() == [3, 1, 2]
    with pytest.raises(StateError, match="p needs 2 finite"):
        co.findings((P,), {"p": 1.0})


def test_a_scope_of_reals():
    assert co.continuous_scope([X, P]) == (X, P)
    with pytest.raises(ScopeError, match="twice"):
        co.continuous_scope([X, Real("x")])
    with pytest.raises(ScopeError, match="Use CanonicalTable"):
        co.continuous_scope([A])


@pytest.mark.parametrize(
    ("value", "prefix", "core"),
    [
        (3.0, (), (1, 1)),
        ([3.0], (), (1,)),
        ([1, 2], (2,), (1, 1)),
        ([[1], [2]], (2,), (1, 1)),
        ([[1, 2], [3, 4]], (2,), (2, 1)),
        ([5.0], (3,), (1, 1)),
        ([[1, 2], [3, 4]], (), (2, 2)),
        ([1, 2], (3,), (1, 2)),
        (np.ones((2, 3, 2, 2)), (2, 3), (2, 2)),
        (np.ones((6, 2, 2)), (2, 3), (2, 2)),
        (np.ones((2, 3)), (2, 3), ()),
        (0.0, (2, 3), ()),
    ],
)
def test_shapes_with_and_without_axes_of_one(value, prefix, core):
    found = co.shaped(value, prefix, core, "numbers")
    assert found.shape == (int(np.prod(prefix, dtype=int)), *core)
    assert found.flags.writeable


def test_a_wrong_shape_is_named():
    with pytest.raises(ModelError, match=r"Means of GPA have shape \(3,\); expected \(2, 1\)"):
        co.shaped([1, 2, 3], (2,), (1,), "means of GPA")


def test_checks():
    with pytest.raises(ModelError, match="Means must be finite; found inf"):
        co.check_finite(np.array([1.0, np.inf]), "means")
    with pytest.raises(ModelError, match="up to 1"):
        co.check_symmetric(np.array([[1.0, 2.0], [1.0, 1.0]]), "K")
    co.check_symmetric(np.zeros((0, 0)), "K")


@pytest.mark.parametrize("value", ["yes", {1.0}, 1j, b"x"], ids=repr)
def test_what_is_no_number_is_refused_by_name(value):
    with pytest.raises(ModelError, match="The covariances are real numbers; found "):
        co.shaped(value, (), (1, 1), "covariances")
