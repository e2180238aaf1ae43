from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from sepset.io.identifiers import identifiers, is_identifier


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a_1", "a_1"),
        ("1", "state_1"),
        ("-1", "minus_1"),
        ("2.50", "state_2_50"),
        ("1e-05", "state_1e_05"),
        ("< 10", "below_10"),
        (">= 10", "above_10"),
        ("10 - 20", "state_10_20"),
        ("café au lait", "cafe_au_lait"),
        ("да", "state"),
        ("", "state"),
    ],
)
def test_an_identifier_resembles_its_name(name, expected):
    assert identifiers([name], "state") == {name: expected}


def test_names_alike_are_told_apart_and_identifiers_stay():
    assert identifiers(["a b", "a_b", "a-b", "a.b", "a_b_3"], "node") == {
        "a b": "a_b_2",
        "a_b": "a_b",
        "a-b": "a_b_4",
        "a.b": "a_b_5",
        "a_b_3": "a_b_3",
    }


def test_reserved_words_are_left_to_the_format():
    assert identifiers(["net", "net 2"], "node", {"net"}) == {"net": "net_2", "net 2": "net_2_2"}


@given(st.lists(st.text(max_size=4) | st.sampled_from(["a b", "a-b", "a_b", "a_b_2", "1"]), unique=True))
def test_identifiers_differ(names):
    found = identifiers(names, "n", {"a_b"})
    assert list(found) == names
    assert len(set(found.values())) == len(names)
    assert all(map(is_identifier, found.values()))
    assert "a_b" not in found.values()


def test_many_names_alike_are_numbered():
    found = identifiers(["я" * i for i in range(1, 2001)], "x")
    assert len(set(found.values())) == 2000
    assert list(found.values())[-1] == "x_2000"
