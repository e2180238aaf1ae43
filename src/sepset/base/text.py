"""Parts of messages: the nearest valid name, short lists, and sizes."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable

UNITS = "KMGTPE"
"""Units of bytes, each 1024 times the one before."""


def nearest(asked: object, valid: Iterable[object], *, cutoff: float = 0.5) -> str:
    """A clause such as ` Did you mean 'high'?`, or the empty string if no name is close.

    Args:
        cutoff: the smallest similarity, from 0 to 1, that counts as close.

    >>> nearest("hgih", ("low", "high"))
    " Did you mean 'high'?"
    """
    by_text = {str(candidate): candidate for candidate in valid}
    lowered = {text.lower(): text for text in by_text}
    asked_text = str(asked)
    if asked_text in by_text:
        return f" Did you mean {by_text[asked_text]!r}?"
    close = difflib.get_close_matches(asked_text.lower(), list(lowered), n=1, cutoff=cutoff)
    return f" Did you mean {by_text[lowered[close[0]]]!r}?" if close else ""


def listing(items: Iterable[object], limit: int = 8) -> str:
    """The items as a short readable list.

    >>> listing(range(20), limit=3)
    '0, 1, 2, ... (20 in all)'
    """
    return joined((repr(item) for item in items), limit)


def joined(texts: Iterable[str], limit: int = 8) -> str:
    """Texts as a short list; of more than `limit`, the first ones and their number.

    >>> joined(["a=1", "b=0"]), joined("abcdef", limit=2)
    ('a=1, b=0', 'a, b, ... (6 in all)')
    """
    shown = list(texts)
    if len(shown) <= limit:
        return ", ".join(shown)
    return f"{', '.join(shown[:limit])}, ... ({len(shown)} in all)"


def brief(value: object) -> str:
    """The text of a value for a message; only its type if the text is long.

    >>> brief([1, 2]), brief(list(range(100)))
    ('[1, 2]', 'a list')
    """
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"a {type(value).__name__}"


def readable(size: float) -> str:
    """A number of bytes in a readable unit, or as a power of ten beyond all units.

    >>> readable(3_400_000), readable(5 * 2**40), readable(2**200)
    ('3.2 MiB', '5.0 TiB', '10^60 bytes')
    """
    if size < 1024:
        return f"{size:.0f} B"
    unit = next((i for i in range(1, len(UNITS)) if size < 999.95 * 1024**i), len(UNITS))
    if size >= 999.95 * 1024 ** len(UNITS):
        return f"10^{math.log10(size):.0f} bytes"
    return f"{size / 1024**unit:.1f} {UNITS[unit - 1]}iB"


def alternatives(items: Iterable[object]) -> str:
    """The items as a list of choices.

    >>> alternatives(["a", "b", "c"])
    "'a', 'b' or 'c'"
    """
    shown = [repr(item) for item in items]
    return " or ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
