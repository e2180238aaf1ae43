"""Datasets in terminals and notebooks: the first rows, and how much there is."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Group

    from sepset.data.dataset import Dataset

_ROWS, _COLUMNS = 8, 10


def _corner(dataset: Dataset) -> tuple[list[str], list[list[str]]]:
    """The names and first rows that fit on a screen, as text."""
    names = list(dataset.variables.names[:_COLUMNS])
    more = ["..."] if len(dataset.variables) > _COLUMNS else []
    part = dataset.select(names).head(_ROWS)
    rows = [[*("" if cell is None else str(cell) for cell in row.values()), *more] for row in part.rows()]
    return names + more, rows


def rich_table(dataset: Dataset) -> Group:
    """The size, and the first rows as a Rich table."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    names, rows = _corner(dataset)
    table = Table()
    for name in names:
        table.add_column(Text(name))
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return Group(Text(repr(dataset)), table) if names else Group(Text(repr(dataset)))


def html_table(dataset: Dataset) -> str:
    """The first rows as an HTML table, with names and states escaped."""
    names, rows = _corner(dataset)
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    caption = escape(repr(dataset))
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
