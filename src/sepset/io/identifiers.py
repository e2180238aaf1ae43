"""Identifiers for names, as the formats NET and XDSL want them: a letter or `_`, then letters, digits and `_`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OTHERS = re.compile(r"[^A-Za-z0-9]+")
_MINUS = re.compile(r"^-(?=[0-9.])")


def is_identifier(name: str) -> bool:
    """Whether a name is one already.

    >>> is_identifier("rain_2"), is_identifier("2")
    (True, False)
    """
    return _IDENTIFIER.fullmatch(name) is not None


def identifiers(names: Iterable[str], prefix: str, reserved: Collection[str] = ()) -> dict[str, str]:
    """An identifier for each name: the name itself if it is one, otherwise one that resembles it.

    Args:
        names: the names, all different.
        prefix: the word before names that do not begin with a letter.
        reserved: the identifiers that have another meaning.

    >>> identifiers(["rain", "two words", "12", "-0.5"], "state")
    {'rain': 'rain', 'two words': 'two_words', '12': 'state_12', '-0.5': 'minus_0_5'}
    """
    listed = list(names)
    taken = {*listed, *reserved}
    used: dict[str, int] = {}
    keys: dict[str, str] = {}
    for name in listed:
        keys[name] = name
        if not is_identifier(name) or name in reserved:
            keys[name] = _free(_resembling(name, prefix), taken, used)
            taken.add(keys[name])
    return keys


def _resembling(name: str, prefix: str) -> str:
    """The letters and digits of a name, with `_` for what is between them, without accents."""
    spelled = _MINUS.sub("minus ", name).replace("<", " below ").replace(">", " above ")
    plain = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
    words = [word for word in _OTHERS.split(plain) if word]
    return "_".join(words if words and words[0][0].isalpha() else [prefix, *words])


def _free(key: str, taken: Collection[str], used: dict[str, int]) -> str:
    """The key, or the first of key_2, key_3, ... that is not taken; `used` has the last number of each key."""
    number = used.get(key, 0) + 1
    while (found := key if number == 1 else f"{key}_{number}") in taken:
        number += 1
    used[key] = number
    return found
