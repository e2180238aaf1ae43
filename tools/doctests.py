"""A reader of docstrings for the site: examples become fenced blocks, arguments lists, and notes paragraphs."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

NOTES = re.compile(r"^(Cost|Reference|Guarantee|Tested by):", re.MULTILINE)
SECTION = re.compile(r"^(Args|Attributes|Raises|Returns):\n((?: {4}.*(?:\n|\Z))+)", re.MULTILINE)


class Doctests(griffe.Extension):
    """Fences the examples of every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Replace the docstring of an object."""
        if obj.docstring is not None:
            listed = SECTION.sub(entries, fenced(obj.docstring.value))
            obj.docstring.value = NOTES.sub(r"\n**\1**:", listed)


def entries(section: re.Match[str]) -> str:
    """The names of a section and what each one means, as a list.

    >>> print(SECTION.sub(entries, "Args:\\n    a: one\\n        thing\\n    b: other").replace("`", "'"))
    **Args**:
    <BLANKLINE>
    - 'a': one thing
    - 'b': other
    <BLANKLINE>
    """
    items: list[str] = []
    for line in textwrap.dedent(section[2]).splitlines():
        if line.startswith(" ") and items:
            items[-1] += f" {line.strip()}"
        elif line.strip():
            items.append(line.strip())
    split = [item.partition(": ") for item in items]
    lines = [f"- `{name}`: {meaning}" if meaning else f"- {name}" for name, _, meaning in split]
    return "\n".join([f"**{section[1]}**:", "", *lines, ""])


def fenced(text: str) -> str:
    """A docstring with its examples in fences.

    >>> print(fenced("One.\\n\\n>>> 1 + 1\\n2\\n").replace("`", "'"))
    One.
    <BLANKLINE>
    '''pycon
    >>> 1 + 1
    2
    '''
    <BLANKLINE>
    """
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(f"```pycon\n{p.strip()}\n```\n" if p.lstrip().startswith(">>>") else p for p in paragraphs)
