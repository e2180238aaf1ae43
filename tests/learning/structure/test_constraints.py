"""Constraints: what they forbid, and which contradict each other."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.constraints import Constraints

NAMES = ("a", "b", "c", "d")


def test_bound_masks() -> None:
    constraints = Constraints(
        required=["a -> b"], forbidden=[("c", "d")], tiers=[["a", "b"], ["c"]], max_parents=2, candidates={"d": ["a"]}
    )
    allowed = constraints.bind(NAMES)
    assert np.argwhere(allowed.required).tolist() == [[0, 1]]
    expected = {(2, 3), (2, 0), (2, 1), (1, 3)} | {(k, k) for k in range(4)}
    assert {tuple(pair) for pair in np.argwhere(allowed.forbidden).tolist()} == expected
    assert allowed.max_parents == 2
    assert not allowed.is_free
    assert allowed.permits([[], [0], [0, 1], [0]])
    assert not allowed.permits([[], [], [], []])
    assert not allowed.permits([[2], [0], [], []])


def test_tiers_without_edges_inside() -> None:
    allowed = Constraints(tiers=[["a", "b"], ["c", "d"]], within_tiers=[False, True]).bind(NAMES)
    assert allowed.forbidden[0, 1]
    assert allowed.forbidden[1, 0]
    assert not allowed.forbidden[2, 3]


def test_no_constraints_are_free() -> None:
    assert Constraints().bind(NAMES).is_free
    assert Constraints().bind(()).max_parents == 0


def test_columns_in_another_order() -> None:
    constraints = Constraints(required=[("a", "b")], forbidden=[("c", "d")], tiers=[["d"], ["a"]])
    one, other = constraints.bind(NAMES), constraints.bind(NAMES[::-1])
    assert np.array_equal(one.required, other.required[::-1, ::-1])
    assert np.array_equal(one.forbidden, other.forbidden[::-1, ::-1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"required": [("a", "b")], "forbidden": [("a", "b")]}, "both require and forbid 'a -> b'"),
        ({"required": [("a", "b"), ("b", "c"), ("c", "a")]}, "cycle"),
        ({"required": [("a", "d"), ("b", "d")], "max_parents": 1}, "max_parents=1"),
        ({"required": [("a", "z")]}, "not a column"),
        ({"required": ["a b"]}, "source -> target"),
        ({"forbidden": [("a", "a")]}, "to itself"),
        ({"tiers": [["a"], ["a"]]}, "in several"),
        ({"tiers": [["a"]], "within_tiers": [True, False]}, "one per tier"),
        ({"max_parents": -1}, "max_parents"),
        ({"required": [("b", "a")], "tiers": [["a"], ["b"]]}, "both require and forbid"),
    ],
)
def test_contradictions(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ss.SepsetError, match=message):
        Constraints(**settings).bind(NAMES)  # type: ignore[arg-type]
