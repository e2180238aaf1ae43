from __future__ import annotations

import pytest

from sepset.data.families import discrete_scope, members
from sepset.errors import ScopeError
from sepset.variables.variable import Discrete, Real

A, B, C = (Discrete(name) for name in "abc")


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (A, (A,)),
        ("a", ("a",)),
        ((A,), (A,)),
        ((A, ()), (A,)),
        ((A, []), (A,)),
        ((A, (B, C)), (B, C, A)),
        (("a", ["b"]), ("b", "a")),
        ((A, B), (A, B)),
        ((A, B, C), (A, B, C)),
        ([B, "c"], (B, "c")),
    ],
)
def test_members(family, expected):
    assert members(family) == expected


@pytest.mark.parametrize("family", [3, (), (A, 3), (A, B, 2.5), None])
def test_what_is_no_family(family):
    with pytest.raises((ScopeError, TypeError)):
        members(family)


def test_scopes_are_discrete_and_list_each_once():
    assert discrete_scope([A, B], lambda v: v) == (A, B)
    with pytest.raises(ScopeError, match="once"):
        discrete_scope([A, A], lambda v: v)
    with pytest.raises(ScopeError, match="Moments"):
        discrete_scope([A, Real("r")], lambda v: v)
