"""Scopes: finding, splitting, joining and refusing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from sepset.errors import ScopeError, TooLarge
from sepset.factors.algebra import (
    MAX_ENTRIES,
    Conditional,
    Distribution,
    Factor,
    arrange,
    axis_of,
    check_scope,
    check_size,
    discrete_scope,
    find,
    num_entries,
    split,
    union,
)
from sepset.factors.table import Table
from sepset.variables.variable import Discrete, Real, Vector
from support import small_tables as small

LONG = tuple(Discrete(f"v{i}", 2) for i in range(40))


def test_find_by_variable_and_by_name():
    scope = (Discrete("a"), Real("r"), Discrete("b", 3))
    assert [find(scope, key) for key in ("a", "r", "b", "c")] == [0, 1, 2, -1]
    assert find(scope, Discrete("b", 3)) == 2
    assert find(scope, Real("r")) == 1
    with pytest.raises(ScopeError, match="share one name"):
        find(scope, Discrete("b", 2))
    with pytest.raises(ScopeError, match="share one name"):
        find(scope, Vector("r", 2))


def test_axis_of_suggests_the_nearest_name():
    with pytest.raises(ScopeError, match="Did you mean 'grade'"):
        axis_of((Discrete("grade"), Discrete("sat")), "grad")


@given(small.scopes(6), small.scopes(6))
def test_split_and_union_follow_lists(first, second):
    kept, removed = split(first, second)
    assert kept == tuple(v for v in first if v not in second)
    assert removed == tuple(v for v in first if v in second)
    assert split(first, [v.name for v in second]) == (kept, removed)
    assert union(first, second) == first + tuple(v for v in second if v not in first)


def test_long_scopes_behave_as_short_ones():
    out = [*LONG[::3], "v1", Discrete("elsewhere")]
    kept, removed = split(LONG, out)
    assert kept == tuple(v for i, v in enumerate(LONG) if i % 3 and i != 1)
    assert set(kept) | set(removed) == set(LONG)
    assert union(LONG[:20], LONG[10:]) == LONG
    with pytest.raises(ScopeError, match="share one name"):
        union(LONG, (Discrete("v7", 5),))
    with pytest.raises(ScopeError, match="share one name"):
        split(LONG, [Discrete("v7", 5)])


def test_one_variable_may_stand_for_a_list():
    assert split(LONG, "v3")[1] == (LONG[3],)
    assert split(LONG, LONG[3])[1] == (LONG[3],)
    assert split((Real("r"),), Real("r")) == ((), (Real("r"),))


def test_arrange():
    a, b = Discrete("a"), Discrete("b")
    assert arrange((a, b), ["b", a]) == (b, a)
    assert arrange((a,), a) == (a,)
    with pytest.raises(ScopeError, match="missing 'a'"):
        arrange((a, b), ["b"])
    with pytest.raises(ScopeError, match="twice"):
        arrange((a, b), ["b", "b"])
    with pytest.raises(ScopeError, match="not in the scope"):
        arrange((a, b), ["b", "c"])


def test_scopes_are_checked():
    a = Discrete("a")
    assert check_scope([a]) == (a,)
    with pytest.raises(ScopeError, match="twice"):
        check_scope([a, Discrete("a", 3)])
    assert discrete_scope(a) == (a,)
    with pytest.raises(ScopeError, match="CanonicalTable"):
        discrete_scope([a, Real("r")])


def test_sizes():
    assert num_entries(()) == 1
    assert num_entries((Discrete("a", 3), Real("r"), Discrete("b", 5))) == 15
    assert num_entries(LONG * 10) == 2**400
    check_size(LONG[:30])
    assert MAX_ENTRIES == 2**30
    with pytest.raises(TooLarge, match="31 variables"):
        check_size(LONG[:31])
    with pytest.raises(TooLarge):
        check_size([Discrete(f"w{i}", 1000) for i in range(500)])


def test_protocols_are_met_by_tables():
    table = Table(Discrete("a"), [1, 2])
    assert isinstance(table, Factor)
    assert isinstance(table, Distribution)
    assert isinstance(table.eliminate("a")[0], Conditional)
    assert not isinstance(np.zeros(2), Factor)
