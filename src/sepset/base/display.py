"""Tables for display: described once, shown in terminals (by Rich), as plain text and in notebooks (as HTML).

Names and states given by users are text, never markup: `x[t]` is shown as it is written.
"""

from __future__ import annotations

import itertools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from sepset.base.foreign import TakesNames
from sepset.base.text import described, escaped, num_columns, page_width

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group as RichGroup
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

UNTOLD = ("state", "task")
"""The attributes that are not told in plain values: those from which a method resumes."""

MOST_ROWS, MOST_COLUMNS = 50, 16
"""The most rows and columns of a table that are shown."""

FEW_COLUMNS = 8
"""The number of columns up to which a table is never cut, however narrow the page."""

PAGE = 120
"""The number of characters in a line of text that is not printed to a terminal."""

LONG_TITLE = 80
"""The number of characters above which a title is wrapped to the width of its table."""

LEFT = 'style="text-align:left"'
"""The style of cells with words."""

FULL_BAR = 20
"""The number of characters in a bar for the value one."""


class Shown(NamedTuple):
    """A table as text.

    Attributes:
        head: the titles of the columns; empty for a list of facts, whose names are in the first column.
        rows: the cells.
        title: the text above it.
        caption: the text below it.
        words: the number of leading columns that hold words, which are left-aligned; numbers are right-aligned.
        bars: a fraction from 0 to 1 for each row, drawn as a bar after it; or empty.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    caption: str = ""
    words: int = 1
    bars: Sequence[float] = ()


class Tabulated(TakesNames, ABC):
    """An object that describes its table in `_shown`, which Rich and notebooks then display.

    >>> class Answer(Tabulated):
    ...     def _shown(self):
    ...         return Shown(["x[t]"], [["0.5"]], words=0)
    >>> Answer()._repr_html_()
    '<table><thead><tr><th>x[t]</th></tr></thead><tbody><tr><td>0.5</td></tr></tbody></table>'
    """

    __slots__ = ()

    @abstractmethod
    def _shown(self) -> Shown:
        """The table."""

    def __str__(self) -> str:
        return text_table(shortened(self._shown(), page_width(PAGE)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RichGroup]:
        yield rich_table(shortened(self._shown(), options.max_width, between=RULES))

    def _repr_html_(self) -> str:
        return html_table(shortened(self._shown()))


class Page(Tabulated):
    """A table that is described already."""

    __slots__ = ("shown",)

    def __init__(self, shown: Shown) -> None:
        self.shown = shown

    def _shown(self) -> Shown:
        return self.shown


class Plain(TakesNames):
    """An object whose attributes can be read as plain values: names, numbers, and lists and dictionaries of them.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Answer(Plain):
    ...     value: float
    >>> Answer(0.5).to_json()
    '{"value": 0.5}'
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The attributes in plain values, as `to_json` writes them; models and methods are described in words."""
        found = {part.name: getattr(self, part.name) for part in fields(self)}  # type: ignore[arg-type]
        return {name: plain(value) for name, value in found.items() if _is_told(name, value)}

    def to_json(self, indent: int | None = None) -> str:
        """The attributes as JSON; numbers that are not finite are null."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)


class Report(Tabulated, Plain):
    """A result that shows itself as a table and can be read as plain values."""

    __slots__ = ()


def _is_told(name: str, value: object) -> bool:
    is_text = isinstance(value, str | int | float)  # the state of a variable, not of a run
    return not (callable(value) or name.startswith("_") or (name in UNTOLD and not is_text))


def plain(value: Any) -> Any:
    """The value as names, numbers, and lists and dictionaries of them; null for what is not finite.

    >>> plain({"a": [1.0, math.inf]}), plain({(1, 2): "x"})
    ({'a': [1.0, None]}, [{'key': [1, 2], 'value': 'x'}])
    """
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if (listed := getattr(value, "tolist", None)) is not None:  # of NumPy, which need not be loaded
        return plain(listed())
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: plain(one) for key, one in value.items()}
        return [{"key": plain(key), "value": plain(one)} for key, one in value.items()]
    if isinstance(value, tuple) and (names := getattr(value, "_fields", ())):
        return {name: plain(one) for name, one in zip(names, value, strict=True)}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, Tabulated):
        return repr(value)
    return described(value) if is_dataclass(value) else str(value)


class Worded(TakesNames):
    """An object whose text is all there is to show: notebooks and Rich show it as it is printed.

    >>> class Answer(Worded):
    ...     def __str__(self):
    ...         return "a < b"
    >>> Answer()._repr_html_()
    '<code>a &lt; b</code>'
    """

    __slots__ = ()

    def __rich__(self) -> RichText:
        return rich_text(str(self))

    def _repr_html_(self) -> str:
        text = str(self)
        return f"<pre>{escaped(text)}</pre>" if "\n" in text else html_text(text)


RULES = 3
"""The characters between the columns of a table with rules."""


def shortened(shown: Shown, width: int | None = None, *, between: int = 2) -> Shown:
    """The first rows and columns of a table, with a caption that counts what there is.

    Args:
        shown: the table.
        width: the characters in a line, beyond which the last of many columns are left out.
        between: the characters between two columns.

    >>> long = Shown(("x", "value"), [[str(k), "0"] for k in range(60)])
    >>> len(shortened(long).rows), shortened(long).caption
    (50, 'first 50 of 60 rows')
    """
    rows, head, counts = shown.rows, shown.head, [shown.caption]
    if len(rows) > MOST_ROWS:
        counts.append(f"first {MOST_ROWS} of {len(rows):,} rows")
        rows = rows[:MOST_ROWS]
    most = MOST_COLUMNS
    if width is not None and len(head) > FEW_COLUMNS:
        wide = [max(map(num_columns, column)) + between for column in zip(head, *rows, strict=True)]
        most = max(FEW_COLUMNS // 2, sum(total <= width for total in itertools.accumulate(wide[:MOST_COLUMNS])))
    if len(head) > most:
        counts.append(f"first {most} of {len(head):,} columns")
        head, rows = head[:most], [row[:most] for row in rows]
    caption = "; ".join(filter(None, counts))
    return shown._replace(head=head, rows=rows, caption=caption, bars=shown.bars[: len(rows)])


def rich_table(shown: Shown) -> RichGroup:
    """The table for a terminal, between its title and its caption."""
    from rich.console import Group

    above = [rich_text(shown.title, "table.title")] if shown.title else []
    below = [rich_text(shown.caption, "table.caption")] if shown.caption else []
    table = [_rich_cells(shown)] if shown.head or shown.rows else []
    return Group(*above, *table, *below)


def _rich_cells(shown: Shown) -> RichTable:
    from rich.table import Table as RichTable

    head, rows = _with_bars(shown)
    table = RichTable(show_header=bool(head))
    for place, name in enumerate(head or ("", "")):
        side = "left" if _is_word(shown, place) else "right"
        style = "bold" if not head and place == 0 else None
        table.add_column(rich_text(_visible(name)), justify=side, style=style, overflow="fold")  # type: ignore[arg-type]  # one of two words
    for row in rows:
        table.add_row(*(rich_text(_visible(cell)) for cell in row))
    return table


def rich_text(text: str, style: str = "") -> RichText:
    """The text for a terminal, not interpreted as markup."""
    from rich.text import Text

    return Text(text, style)


def html_table(shown: Shown) -> str:
    """The table for a notebook, whose own style aligns everything to the right unless told otherwise."""
    wrap = "" if len(shown.title) > LONG_TITLE else ";white-space:nowrap"
    caption = f'<caption style="text-align:left{wrap}">{escaped(shown.title)}</caption>' if shown.title else ""
    names = [*shown.head, *([""] if shown.head and shown.bars else [])]
    cells = (_cell("th", name, _is_word(shown, place)) for place, name in enumerate(names))
    head = f"<thead><tr>{''.join(cells)}</tr></thead>" if names else ""
    bars = [_html_bar(share) for share in shown.bars] or [""] * len(shown.rows)
    body = "".join(f"<tr>{_html_row(shown, row)}{bar}</tr>" for row, bar in zip(shown.rows, bars, strict=True))
    foot = f"<p>{escaped(shown.caption)}</p>" if shown.caption else ""
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>{foot}"


def _html_row(shown: Shown, row: Sequence[str]) -> str:
    first = "td" if shown.head else "th"
    tags = (first if place == 0 else "td" for place in range(len(row)))
    cells = enumerate(zip(tags, row, strict=True))
    return "".join(_cell(tag, text, _is_word(shown, place)) for place, (tag, text) in cells)


def _cell(tag: str, text: str, is_word: bool) -> str:
    """A cell, whose spaces are kept: they may indent it."""
    return f"<{tag}{' ' + LEFT if is_word else ''}>{escaped(text).replace('  ', '&nbsp;&nbsp;')}</{tag}>"


def _html_bar(share: float) -> str:
    """A cell with a bar whose full length is one."""
    bar = f'<div style="background:#3b82c4;height:0.8em;width:{100 * share:.4g}%"></div>'
    return f'<td><div style="background:#8884;width:9em">{bar}</div></td>'


def html_text(text: str) -> str:
    """The text for a notebook, not interpreted as HTML.

    >>> html_text("A -> B")
    '<code>A -&gt; B</code>'
    """
    return f"<code>{escaped(text)}</code>"


def text_table(shown: Shown) -> str:
    """The table as plain text.

    >>> print(text_table(Shown((), [["width", "3"], ["cost", "1,024"]], "Plan")))
    Plan
      width 3
      cost  1,024
    >>> print(text_table(Shown(("x", "value"), [["low", "0.25"], ["high", "0.5"]])))
    x     value
    low    0.25
    high    0.5
    """
    names, cells = _with_bars(shown)
    rows = [[_visible(cell) for cell in row] for row in (*([names] if names else []), *cells)]
    widths = [max(map(num_columns, column)) for column in zip(*rows, strict=True)]
    indent, gap = "  " if shown.title else "", "  " if names else " "
    lines = [indent + gap.join(_padded(shown, row, widths)).rstrip() for row in rows]
    return "\n".join([*filter(None, [shown.title]), *lines, *filter(None, [shown.caption])])


def _padded(shown: Shown, row: Sequence[str], widths: Sequence[int]) -> list[str]:
    spaces = [" " * (width - num_columns(cell)) for cell, width in zip(row, widths, strict=True)]
    pairs = enumerate(zip(row, spaces, strict=True))
    return [cell + space if _is_word(shown, place) else space + cell for place, (cell, space) in pairs]


def _visible(cell: str) -> str:
    r"""A cell on one line.

    >>> print(_visible("two\nlines"))
    two\nlines
    """
    return cell if cell.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in cell)


def _is_word(shown: Shown, place: int) -> bool:
    """Whether a column is left-aligned: words, facts and bars are."""
    return not shown.head or place < shown.words or place >= len(shown.head)


def _with_bars(shown: Shown) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The titles and rows, with one more column if bars are drawn."""
    if not shown.bars:
        return shown.head, shown.rows
    drawn = ("█" * round(FULL_BAR * share) for share in shown.bars)
    return (*shown.head, ""), [(*row, bar) for row, bar in zip(shown.rows, drawn, strict=True)]
