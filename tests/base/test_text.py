"""The nearest valid name, and short lists."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from sepset.base.text import alternatives, brief, escaped, listing, nearest


@pytest.mark.parametrize(
    ("asked", "valid", "clause"),
    [
        ("hgih", ("low", "high"), " Did you mean 'high'?"),
        ("HIGH", ("low", "high"), " Did you mean 'high'?"),
        ("zzz", ("low", "high"), ""),
        ("1", (0, 1), " Did you mean 1?"),
        (True, ("True", "False"), " Did you mean 'True'?"),
        ("x", (), ""),
        ("Low", ("low", "LOW"), " Did you mean 'LOW'?"),
    ],
)
def test_nearest(asked, valid, clause):
    assert nearest(asked, valid) == clause


@given(st.text(), st.lists(st.text() | st.integers() | st.booleans()))
def test_nearest_only_suggests_what_is_valid(asked, valid):
    clause = nearest(asked, valid)
    assert clause == "" or any(clause == f" Did you mean {v!r}?" for v in valid)


def test_listing():
    assert listing([]) == ""
    assert listing(["a", 1]) == "'a', 1"
    assert listing(range(8)) == "0, 1, 2, 3, 4, 5, 6, 7"
    assert listing(range(9), limit=2) == "0, 1, ... (9 in all)"
    assert listing(n for n in (1, 2)) == "1, 2"


def test_nearest_can_ask_for_more_in_common():
    assert nearest("h1", ["h2"]) == " Did you mean 'h2'?"
    assert nearest("h1", ["h2"], cutoff=0.7) == ""
    assert nearest("Lung", ["lung"], cutoff=1.0) == " Did you mean 'lung'?"


def test_alternatives():
    assert [alternatives(items) for items in ([], ["a"], ["a", "b"], "abc")] == [
        "",
        "'a'",
        "'a' or 'b'",
        "'a', 'b' or 'c'",
    ]


def test_values_that_would_fill_the_screen_are_named_by_type():
    assert brief("x") == "'x'"
    assert brief({"a": "b" * 60}) == "a dict"
    assert brief("two\nlines" * 9) == "a str"


def test_escaped_text_is_shown_as_it_is():
    assert escaped("a < b & \"c\" > 'd'") == "a &lt; b &amp; &quot;c&quot; &gt; &#x27;d&#x27;"
