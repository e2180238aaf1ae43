"""Plain lines of the commands about a model, read without loading what parses and explains all other lines.

A line with an unknown option, a missing value or a request for help is left to the application, which says what is
wrong. Both read a plain line the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

MOST_DIGITS = 1_000
"""The most digits of a number; Python reads no number of more than some thousands."""

COMPLETION = "_SEPSET_COMPLETE"
"""The variable with which a shell asks for completions."""


class Option(NamedTuple):
    """An option of a command.

    Attributes:
        name: the parameter that it sets.
        kind: how its value is read; a flag has none.
        least: the smallest number.
    """

    name: str
    kind: str
    least: int = 0


class Line(NamedTuple):
    """The arguments of a command.

    Attributes:
        answer: the name of the function in `answers`.
        arguments: the parameters without a dash, all needed, each with its kind.
        options: by what is written.
    """

    answer: str
    arguments: Mapping[str, str]
    options: Mapping[str, Option]


_JSON = {"--json": Option("as_json", "flag")}
_GIVEN = {
    **dict.fromkeys(("--given", "-g"), Option("given", "texts")),
    "--likelihood": Option("likelihood", "texts"),
    "--soft": Option("soft", "texts"),
}
_METHOD = dict.fromkeys(("--method", "-m"), Option("method", "method"))
LINES = {
    "info": Line("info", {"file": "text"}, _JSON),
    "convert": Line("convert", {"source": "text", "target": "path"}, {}),
    "query": Line(
        "query",
        {"file": "text"},
        {**_GIVEN, **_METHOD, **_JSON, **dict.fromkeys(("--target", "-t"), Option("target", "texts"))},
    ),
    "map": Line(
        "best",
        {"file": "text"},
        {
            **_GIVEN,
            **dict.fromkeys(("--method", "-m"), Option("method", "assignment")),
            **_JSON,
            "--seconds": Option("seconds", "seconds"),
            "--over": Option("over", "texts"),
            **dict.fromkeys(("--best", "-k"), Option("k", "number", 1)),
        },
    ),
    "draw": Line(
        "draw",
        {"file": "text"},
        {
            **_GIVEN,
            **dict.fromkeys(("--beliefs", "-b"), Option("beliefs", "flag")),
            "--strengths": Option("strengths", "flag"),
            **dict.fromkeys(("--out", "-o"), Option("out", "path")),
            "--format": Option("form", "picture"),
            "--compare": Option("compare", "texts"),
            "--prior": Option("prior", "flag"),
            "--titles": Option("titles", "flag"),
            "--layout": Option("layout", "places"),
            "--group": Option("group", "texts"),
        },
    ),
    "sample": Line(
        "sample",
        {"file": "text"},
        {
            **_GIVEN,
            **_JSON,
            **dict.fromkeys(("--rows", "-n"), Option("rows", "number")),
            **dict.fromkeys(("--seed", "-s"), Option("seed", "number")),
            **dict.fromkeys(("--out", "-o"), Option("out", "path")),
        },
    ),
}
"""The commands about a model, and what each takes: the same as the application declares."""


class NotPlain(Exception):
    """The line is one for the application."""


def quick(words: Sequence[str]) -> Callable[[], None] | None:
    """The answer to a plain line, to be called; None for any other line.

    >>> quick(["query", "asia", "--target"]) is None
    True
    """
    line = LINES.get(words[0]) if words else None
    if line is None:
        return None
    try:
        settings = read(line, words[1:])
    except NotPlain:
        return None
    from sepset.cli import answers

    return partial(getattr(answers, line.answer), **settings)


def read(line: Line, words: Sequence[str]) -> dict[str, Any]:
    """The parameters of a plain line; `NotPlain` is raised for any other.

    >>> read(LINES["sample"], ["asia", "-n", "3", "--json"])
    {'rows': 3, 'as_json': True, 'file': 'asia'}
    """
    found: dict[str, Any] = {}
    free: list[str] = []
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if not word.startswith("-"):
            free.append(word)
            continue
        name, equals, value = word.partition("=")
        option = line.options.get(name)
        if option is None or (equals and (option.kind == "flag" or not name.startswith("--"))):
            raise NotPlain
        if option.kind == "flag":
            found[option.name] = True
            continue
        if not equals:
            value = waiting.pop() if waiting else "-"
            if value.startswith("-"):
                raise NotPlain
        _put(found, option, value)
    if len(free) != len(line.arguments):
        raise NotPlain
    return {
        **found,
        **{name: _value(kind, text, 0) for (name, kind), text in zip(line.arguments.items(), free, strict=True)},
    }


def _put(found: dict[str, Any], option: Option, text: str) -> None:
    if option.kind == "texts":
        found.setdefault(option.name, []).append(text)
    else:
        found[option.name] = _value(option.kind, text, option.least)


def _value(kind: str, text: str, least: int) -> Any:
    """The value that a text means."""
    if kind == "number":
        if not (text.isascii() and text.isdigit()) or len(text) > MOST_DIGITS or int(text) < least:
            raise NotPlain
        return int(text)
    if kind in ("method", "assignment", "picture", "places"):
        from sepset.cli.answers import AssignmentMethod, MethodName, PictureFormat, PicturePlaces

        named: type[StrEnum] = {
            "method": MethodName,
            "assignment": AssignmentMethod,
            "picture": PictureFormat,
            "places": PicturePlaces,
        }[kind]
        if text not in list(named):
            raise NotPlain
        return named(text)
    if kind == "seconds":
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            raise NotPlain
        return float(text)
    if kind == "path":
        from pathlib import Path

        return Path(text)
    return text
