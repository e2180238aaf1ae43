"""Parts of messages and displays: the nearest valid name, short lists, sizes, and how wide a text is."""

from __future__ import annotations

import difflib
import math
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import FunctionType, MethodType
from typing import Any

LONG_SETTING = 80
"""The number of characters from which on a setting is only named by its type."""

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


def described(method: object) -> str:
    """A method as text: its name, and the settings that are not the default; a value that is long by its type.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Climb:
    ...     restarts: int = 1
    ...     inner: object = None
    >>> described(Climb(3)), described(Climb(inner=Climb())), described(None)
    ('Climb(restarts=3)', 'Climb(inner=Climb())', 'None')
    """
    if is_dataclass(method) and hasattr(type(method).__repr__, "__wrapped__"):  # as a dataclass makes it
        return settings(method)
    if isinstance(method, FunctionType | MethodType):
        return method.__qualname__.rpartition("<locals>.")[2]
    text = repr(method)
    return text if len(text) <= LONG_SETTING and "\n" not in text else f"<{type(method).__name__}>"


def settings(method: Any) -> str:
    """The name of a dataclass, and the fields that are not the default."""
    shown = [(field.name, described(getattr(method, field.name)), field) for field in fields(method) if field.repr]
    told = ", ".join(f"{name}={text}" for name, text, field in shown if text != _default(field))
    return f"{type(method).__name__}({told})"


def _default(field: Any) -> str | None:
    made = field.default if field.default_factory is MISSING else field.default_factory()
    return None if made is MISSING else described(made)


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


def num_columns(text: str) -> int:
    """The number of columns that a text takes in a terminal: two for each wide character, none for an accent.

    >>> num_columns("rain"), num_columns("雨"), num_columns("e\u0301")
    (4, 2, 1)
    """
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, width: int) -> str:
    """The text with spaces behind it, so that it takes this number of columns in a terminal.

    >>> padded("雨", 4) + "|"
    '雨  |'
    """
    return text + " " * (width - num_columns(text))


def page_width(otherwise: int) -> int:
    """The number of columns of the terminal that is printed to, or another number where there is none."""
    try:
        is_terminal = sys.stdout.isatty()
    except (AttributeError, ValueError):  # there is no standard output, or it is closed
        return otherwise
    return shutil.get_terminal_size((otherwise, 24)).columns if is_terminal else otherwise


def rounded(number: float) -> str:
    """A number with three digits, or as a power of ten beyond all floating-point numbers.

    >>> rounded(1234567), rounded(2**2000)
    ('1.23e+06', '10^602')
    """
    return f"{number:.3g}" if number < 1e300 else f"10^{math.log10(number):.0f}"


def in_digits(number: int) -> str:
    """A whole number with all its digits, or a power of ten if it is long.

    >>> in_digits(1200), in_digits(2**5000)
    ('1,200', 'about 10^1505')
    """
    return f"{number:,}" if number < 10**15 else f"about 10^{math.log10(number):.0f}"


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "edge"), counted(1200, "edge")
    ('1 edge', '1,200 edges')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def alternatives(items: Iterable[object]) -> str:
    """The items as a list of choices.

    >>> alternatives(["a", "b", "c"])
    "'a', 'b' or 'c'"
    """
    shown = [repr(item) for item in items]
    return " or ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def facts_of(info: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The names and texts of information about a result; a mapping has one line for each of its keys.

    >>> list(facts_of({"different_rows": 4, "variance": {"x": "small"}}))
    [('different rows', '4'), ('variance of x', 'small')]
    """
    for key, value in info.items():
        name = key.replace("_", " ")
        if isinstance(value, Mapping):
            yield from ((f"{name} of {part}", str(told)) for part, told in value.items())
        else:
            yield name, str(value)


def escaped(text: str) -> str:
    """The text as HTML that shows it.

    >>> escaped("a < b")
    'a &lt; b'
    """
    from html import escape  # which loads all characters that HTML has a name for

    return escape(text)
