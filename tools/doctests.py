"""A reader of docstrings for the site: examples become fenced blocks, and notes after a colon paragraphs."""

from __future__ import annotations

import re
from typing import Any

import griffe

NOTES = re.compile(r"^(Reference|Guarantee|Tested by):", re.MULTILINE)


class Doctests(griffe.Extension):
    """Fences the examples of every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Replace the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = NOTES.sub(r"\n**\1**:", fenced(obj.docstring.value))


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
