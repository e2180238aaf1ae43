"""Widths of texts, cuts, and numbers."""

from __future__ import annotations

import pytest

from sepset.graphs.pictures.textsize import cut, percent, shown, text_width


def test_widths():
    assert text_width("iii", 10.0) < text_width("aaa", 10.0) < text_width("WWW", 10.0)
    assert text_width("漢", 10.0) > text_width("W", 10.0)
    assert text_width("ab", 20.0) == pytest.approx(2.0 * text_width("ab", 10.0))


def test_widths_are_not_too_small():
    """Against the font of matplotlib, which is a wide one."""
    textpath = pytest.importorskip("matplotlib.textpath")
    for text in ("VENTLUNG", "HYPOVOLEMIA", "either", "Problem1", "GrphcsRltdDrvrSttngs", "wet grass"):
        width = textpath.TextPath((0, 0), text, size=10.0).get_extents().width
        assert 0.85 * width <= text_width(text, 10.0) <= 1.4 * width


def test_long_names_keep_their_ends():
    name = "a" * 30 + "17"
    assert len(cut(name)) == 26
    assert cut(name).endswith("17")
    assert cut(name) != cut("a" * 30 + "18")
    assert cut("short") == "short"
    assert cut("two\nlines\there") == "two lines here"


def test_characters_that_cannot_be_shown():
    assert cut("a\x00b\x1b") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"
    assert cut("\u202egnp.exe") == "\N{REPLACEMENT CHARACTER}gnp.exe"
    assert not shown("\ud800")
    assert shown("é")


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5, "50.0%"), (0.0006, "0.1%"), (0.0004, "<0.1%"), (0.9996, ">99.9%"), (0.999, "99.9%"), (1e-300, "<0.1%")],
)
def test_percents(share, text):
    assert percent(share) == text
