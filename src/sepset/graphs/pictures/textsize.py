"""Widths of text in a sans-serif font, estimated; texts that fit a width; texts that XML can hold."""

from __future__ import annotations

import unicodedata

NARROW = frozenset("fijlrtI1.,:;!|'`()[]{}/\\ -")
WIDE = frozenset("mwMW@%&")
MOST_CHARACTERS = 26
"""The longest name that is shown in full."""


def text_width(text: str, size: float) -> float:
    """The width of a text in a font of this size, rather too large than too small.

    >>> round(text_width("mill", 10.0), 1), text_width("", 10.0)
    (20.0, 0.0)
    """
    return size * sum(map(_width, text))


def _width(character: str) -> float:
    if character in NARROW:
        return 0.36
    if character in WIDE:
        return 0.92
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.7 if character.isupper() else 0.59


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text on one line, without its middle if it is long; characters that cannot be shown are replaced.

    >>> cut("a very long name that ends with 17", 16)
    'a very lo…ith 17'
    """
    clean = "".join(c if shown(c) else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split()))
    if len(clean) <= most:
        return clean
    tail = (most - 1) * 2 // 5
    return f"{clean[: most - 1 - tail]}…{clean[len(clean) - tail :]}"


def shown(character: str) -> bool:
    """Whether a character can be shown, and stand in an XML file: not a control, a surrogate, or unassigned."""
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")


def percent(share: float) -> str:
    """A probability with one decimal; one that is rounded to 0 or 100 only if it is.

    >>> percent(0.25), percent(1.0), percent(0.99999), percent(0.00002), percent(0.0)
    ('25.0%', '100%', '>99.9%', '<0.1%', '0%')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f}%"
    if share < 0.0005:
        return "<0.1%"
    return ">99.9%" if share > 0.9995 else f"{100 * share:.1f}%"
