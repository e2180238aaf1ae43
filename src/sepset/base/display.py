"""Results that are shown as a table: described once, drawn in terminals and in notebooks.

Names and states of users are text, never markup: `x[t]` is shown as it is written.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table as RichTable


class Shown(NamedTuple):
    """A table as text.

    Attributes:
        head: the titles of the columns; none for a list of facts, whose names stand in the first column.
        rows: the cells.
        title: above it.
        caption: below it.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    caption: str = ""


class Tabulated(ABC):
    """A result that says how it is shown, and is shown like that by Rich and by notebooks.

    >>> class Answer(Tabulated):
    ...     def _shown(self):
    ...         return Shown(["of"], [["x[t]"]])
    >>> Answer()._repr_html_()
    '<table><thead><tr><th>of</th></tr></thead><tbody><tr><td>x[t]</td></tr></tbody></table>'
    """

    __slots__ = ()

    @abstractmethod
    def _shown(self) -> Shown:
        """What is shown."""

    def __rich__(self) -> RichTable:
        return rich_table(self._shown())

    def _repr_html_(self) -> str:
        return html_table(self._shown())


def rich_table(shown: Shown) -> RichTable:
    """The table for a terminal: words to the left, what follows them to the right."""
    from rich.markup import escape
    from rich.table import Table as RichTable

    title, caption = escape(shown.title) or None, escape(shown.caption) or None
    table = RichTable(title=title, caption=caption, show_header=bool(shown.head))
    for place, name in enumerate(shown.head or ("", "")):
        facts = "bold" if not shown.head and place == 0 else None
        table.add_column(escape(name), justify="right" if shown.head and place else "left", style=facts)
    for row in shown.rows:
        table.add_row(*map(escape, row))
    return table


def html_table(shown: Shown) -> str:
    """The table for a notebook."""
    caption = f"<caption>{html.escape(shown.title)}</caption>" if shown.title else ""
    head = f"<thead><tr>{_cells(shown.head, 'th')}</tr></thead>" if shown.head else ""
    first = "td" if shown.head else "th"
    rows = (f"<tr>{_cells(row[:1], first)}{_cells(row[1:], 'td')}</tr>" for row in shown.rows)
    foot = f"<p>{html.escape(shown.caption)}</p>" if shown.caption else ""
    return f"<table>{caption}{head}<tbody>{''.join(rows)}</tbody></table>{foot}"


def _cells(texts: Sequence[str], tag: str) -> str:
    return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)
